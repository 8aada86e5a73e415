//! The JSON of the core's types. Each type that is sent has a mirror in this room, of the same shape, with serde's
//! attributes (`#[serde(remote = ...)]`). A flight (src/record/flight) holds these types, too, but in the core's own layout:
//! formats that people cannot read get that, as serde derives it in src/election/core.

/// Makes serde write and read a type of the core as its mirror says.
macro_rules! mirrors {
    ($($mirror:ty => $core:ty),* $(,)?) => {$(
        impl ::serde::Serialize for $core {
            fn serialize<S: ::serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                if to.is_human_readable() {
                    <$mirror>::serialize(self, to)
                } else {
                    <$core>::serialize(self, to)
                }
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $core {
            fn deserialize<D: ::serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                if from.is_human_readable() {
                    <$mirror>::deserialize(from)
                } else {
                    <$core>::deserialize(from)
                }
            }
        }
    )*};
}

pub(super) use mirrors;

/// For a variant with only an id, which the JSON writes as a field.
pub mod id {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct IdField<T> {
        id: T,
    }

    pub fn serialize<T: Serialize, S: Serializer>(id: &T, to: S) -> Result<S::Ok, S::Error> {
        IdField { id }.serialize(to)
    }

    pub fn deserialize<'de, T, D>(from: D) -> Result<T, D::Error>
    where
        T: Deserialize<'de>,
        D: Deserializer<'de>,
    {
        IdField::deserialize(from).map(|IdField { id }| id)
    }
}
