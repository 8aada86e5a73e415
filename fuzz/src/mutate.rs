//! Changes of an input that leave JSON what it is: libFuzzer's own changes seldom do.

use libfuzzer_sys::fuzzer_mutate;
use serde_json::{Value, json};

/// A small generator (SplitMix64): libFuzzer gives the seed, so that a run can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) >> 1).unwrap_or_default() % end.max(1)
    }
}

/// Changes the first `size` bytes, of which there may be `most`. Gives how many there are then.
pub fn mutate(bytes: &mut [u8], size: usize, most: usize, seed: u32) -> usize {
    let mut random = Random(seed.into());
    let begin = json_begins(&bytes[..size]);
    if random.below(2) == 0
        && let Some(begin) = begin
        && let Some(changed) = changed(&bytes[begin..size], &mut random)
        && begin + changed.len() <= most
    {
        if begin == PREFIX
            && let Ok(length) = u32::try_from(changed.len())
        {
            bytes[..PREFIX].copy_from_slice(&length.to_be_bytes());
        }
        bytes[begin..begin + changed.len()].copy_from_slice(&changed);
        return begin + changed.len();
    }
    fuzzer_mutate(bytes, size, most)
}

/// The length before a frame.
const PREFIX: usize = 4;

/// Where a document begins: at once, after the length of a frame, or after the header of a request.
fn json_begins(bytes: &[u8]) -> Option<usize> {
    let is = |at: usize| bytes.get(at) == Some(&b'{');
    let after_head = || {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
        Some(end + 4).filter(|at| is(*at))
    };
    [0, PREFIX].into_iter().find(|at| is(*at)).or_else(after_head)
}

/// The document with one or two of its values changed; what follows it is left out. None if it is none.
fn changed(bytes: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    let mut documents = serde_json::Deserializer::from_slice(bytes).into_iter::<Value>();
    let mut document = documents.next()?.ok()?;
    for _ in 0..=random.below(2) {
        let count = count(&document);
        let other = at(&mut document, &mut random.below(count)).map(|value| value.clone());
        let place = at(&mut document, &mut random.below(count))?;
        change(place, other.unwrap_or(Value::Null), random);
    }
    // As a state file is written, or as a frame is.
    let pretty = bytes.contains(&b'\n');
    if pretty { serde_json::to_vec_pretty(&document) } else { serde_json::to_vec(&document) }.ok()
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(list) => list.iter().map(count).sum(),
        Value::Object(map) => map.values().map(count).sum(),
        _ => 0,
    }
}

/// The value with this number, where they are counted as they are written.
fn at<'v>(value: &'v mut Value, number: &mut usize) -> Option<&'v mut Value> {
    if *number == 0 {
        return Some(value);
    }
    *number -= 1;
    match value {
        Value::Array(list) => list.iter_mut().find_map(|value| at(value, number)),
        Value::Object(map) => map.values_mut().find_map(|value| at(value, number)),
        _ => None,
    }
}

/// Changes a value: to another of the document, to an odd one, or by a little.
fn change(value: &mut Value, other: Value, random: &mut Random) {
    match (random.below(4), &mut *value) {
        (0, _) => *value = other,
        (1, Value::Array(list)) => {
            let times = 1 + random.below(2) * random.below(300);
            list.extend(std::iter::repeat_n(other, times));
        }
        (2, Value::Array(list)) if !list.is_empty() => {
            list.remove(random.below(list.len()));
        }
        (1, Value::Object(map)) => {
            let key = map.keys().nth(random.below(map.len())).cloned();
            key.and_then(|key| map.remove(&key));
        }
        (1 | 2, Value::Number(number)) => {
            let number = number.as_i64().unwrap_or_default();
            *value = number.wrapping_add([1, -1, 16, 1 << 32][random.below(4)]).into();
        }
        (1 | 2, Value::String(text)) => {
            let parts = text.match_indices(|c: char| !c.is_alphanumeric());
            let begins: Vec<usize> = parts.map(|(at, part)| at + part.len()).chain([0]).collect();
            let any = text.char_indices().nth(random.below(text.chars().count() + 1));
            let at = match random.below(2) {
                0 => begins[random.below(begins.len())],
                _ => any.map_or(text.len(), |(at, _)| at),
            };
            let odd = ["0", ".", "\0", "\n", "ä", "x", ":1", "[", " ", "\u{202e}"];
            let odd = odd[random.below(odd.len())].repeat(1 + random.below(2) * random.below(400));
            text.insert_str(at, &odd);
        }
        _ => *value = odd(random),
    }
}

fn odd(random: &mut Random) -> Value {
    let greatest = 1_u64 << 62;
    let odd = [
        Value::Null,
        true.into(),
        0.into(),
        1.into(),
        (-1).into(),
        greatest.into(),
        (greatest + 1).into(),
        u64::MAX.into(),
        i64::MIN.into(),
        86_400_000_000_000_u64.into(),
        1.5.into(),
        "".into(),
        "00000000-0000-4000-8000-000000000001".into(),
        "[fe80::1%3]:7101".into(),
        "24h".into(),
        json!([]),
        json!({}),
    ];
    odd[random.below(odd.len())].clone()
}
