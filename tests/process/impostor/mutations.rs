//! Good frames, and everything that can be wrong with one: each field in turn missing, of another type,
//! or with an unexpected value; and the bytes cut short, or one byte changed.

use serde_json::{Value, json};

/// The frames that the codec's own tests write, one of each kind: a new kind is added to its samples.
const SAMPLES: &str = include_str!(
    "../../../src/election/wire/snapshots/electd_election__wire__codec__tests__frames.snap"
);

/// The greatest number that is taken, as the decoder says.
const GREATEST: u64 = 1 << 62;

/// Stands for a number that no JSON value of this test can hold.
const ENDLESS: &str = "@endless@";

/// The good frames that satisfy this.
pub fn samples(wanted: fn(&Value) -> bool) -> Vec<Value> {
    let frames = SAMPLES.lines().filter(|line| line.starts_with('{'));
    let frames: Vec<Value> = frames.map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(frames.len() > 40, "the snapshot has {} frames", frames.len());
    frames.into_iter().filter(wanted).collect()
}

/// The replacements of each field.
fn odd_values(epoch: u64) -> Vec<Value> {
    vec![
        Value::Null,
        true.into(),
        0.into(),
        1.into(),
        (-1).into(),
        epoch.into(),
        (epoch + 1).into(),
        ((1_u64 << 53) + 1).into(),
        (GREATEST + 1).into(),
        u64::MAX.into(),
        i64::MIN.into(),
        1.5.into(),
        ENDLESS.into(),
        "".into(),
        "a\0b\u{1b}[2J\n".into(),
        "\u{202e}\u{1f4a5}\u{e4}".into(),
        "x".repeat(50_000).into(),
        json!([]),
        json!({}),
        json!(["a", 1, null]),
        json!([u64::MAX, u64::MAX]),
        json!(vec![0; 2_000]),
    ]
}

/// One step into a value.
#[derive(Clone)]
enum Step {
    Key(String),
    At(usize),
}

/// Every place in a value, itself included.
fn places(value: &Value) -> Vec<Vec<Step>> {
    let steps: Vec<(Step, &Value)> = match value {
        Value::Object(map) => {
            map.iter().map(|(key, value)| (Step::Key(key.clone()), value)).collect()
        }
        Value::Array(list) => {
            list.iter().enumerate().map(|(at, value)| (Step::At(at), value)).collect()
        }
        _ => Vec::new(),
    };
    let below = steps.into_iter().flat_map(|(step, value)| {
        places(value).into_iter().map(move |rest| [vec![step.clone()], rest].concat())
    });
    [Vec::new()].into_iter().chain(below).collect()
}

fn at<'v>(value: &'v mut Value, place: &[Step]) -> &'v mut Value {
    place.iter().fold(value, |value, step| match step {
        Step::Key(key) => &mut value[key],
        Step::At(at) => &mut value[at],
    })
}

/// All that can be wrong with a frame: whole frames, with their length before them.
pub fn mutations(good: &Value, epoch: u64) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for place in places(good) {
        for odd in odd_values(epoch) {
            let mut frame = good.clone();
            *at(&mut frame, &place) = odd;
            found.push(frame);
        }
        let mut missing = good.clone();
        match place.split_last() {
            Some((Step::Key(key), above)) => {
                at(&mut missing, above).as_object_mut().unwrap().remove(key);
            }
            Some((Step::At(index), above)) => {
                at(&mut missing, above).as_array_mut().unwrap().remove(*index);
            }
            None => missing["unknown"] = json!({"deep": [1, {"er": null}]}),
        }
        found.push(missing);
    }
    let written = found.iter().map(|frame| {
        let text = frame.to_string().replace(&format!("\"{ENDLESS}\""), "1e999");
        framed(text.as_bytes(), 0)
    });
    written.chain(bytes(good.to_string().as_bytes())).collect()
}

/// The bytes of a frame cut, off by one, or with another in their midst.
fn bytes(good: &[u8]) -> Vec<Vec<u8>> {
    let mut found: Vec<Vec<u8>> = [0, 1, good.len() / 2, good.len() - 1]
        .into_iter()
        .flat_map(|cut| [framed(&good[..cut], 0), framed(&good[..cut], 1)])
        .collect();
    found.extend([framed(good, 1), framed(good, -1), framed(good, i64::from(u32::MAX) / 2)]);
    for at in (0..good.len()).step_by(good.len().div_ceil(16)) {
        for other in [0, b'"', b'{', b'9', 0xff] {
            let mut changed = good.to_vec();
            changed[at] = other;
            found.push(framed(&changed, 0));
        }
    }
    found
}

/// A payload with its length before it, or with one that is wrong by so much.
fn framed(payload: &[u8], wrong_by: i64) -> Vec<u8> {
    let length =
        u32::try_from(i64::try_from(payload.len()).unwrap() + wrong_by).unwrap_or(u32::MAX);
    [&length.to_be_bytes(), payload].concat()
}
