//! Bytes as a row of dice, and the changes that they choose. No dice left means: no change, or the first choice.

use serde_json::{Value, json};

/// What is left of an input.
pub(crate) struct FuzzInput<'a>(pub(crate) &'a [u8]);

impl FuzzInput<'_> {
    pub(crate) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    /// Below `n`, which is not zero.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        let wide = u16::from_le_bytes([self.byte(), self.byte()]);
        usize::from(wide) % n
    }

    pub(crate) fn of<'x, T>(&mut self, choices: &'x [T]) -> &'x T {
        &choices[self.below(choices.len())]
    }

    /// One in `n`.
    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }

    /// Numbers cluster where rules have edges: around `near`, at powers of two, anywhere.
    pub(crate) fn number(&mut self, near: u64) -> u64 {
        let offset = u64::from(self.byte() % 8);
        match self.byte() % 6 {
            0 => near,
            1 => near.saturating_add(offset),
            2 => near.saturating_sub(offset),
            3 => (1u64 << (self.byte() % 64)).saturating_sub(offset / 4),
            4 => near.wrapping_mul(1 << offset),
            _ => u64::from_le_bytes(std::array::from_fn(|_| self.byte())),
        }
    }
}

/// One small change of bytes: a bit, a byte, a range cut, doubled or moved.
pub(crate) fn change_bytes(bytes: &mut Vec<u8>, dice: &mut FuzzInput<'_>) {
    let kind = dice.byte() % 8;
    let at = dice.below(bytes.len() + 1);
    if at == bytes.len() || kind == 2 {
        bytes.insert(at, dice.byte());
        return;
    }
    let end = (at + 1 + dice.below(16)).min(bytes.len());
    match kind {
        0 => bytes[at] ^= 1 << (dice.byte() % 8),
        1 => bytes[at] = dice.byte(),
        3 => drop(bytes.drain(at..end)),
        4 => bytes.truncate(at),
        5 => {
            let copy = bytes[at..end].to_vec();
            let to = dice.below(bytes.len());
            bytes.splice(to..to, copy);
        }
        6 => {
            let copy = bytes[at..end].to_vec();
            let to = dice.below(bytes.len() - copy.len() + 1);
            bytes[to..to + copy.len()].copy_from_slice(&copy);
        }
        _ => bytes[at] = *dice.of(&[0, 0xff, 0x7f, 0x80, b'=', b'"', b'\\', b'0', b'\n', b'%', b'+', b'.']),
    }
}

/// As [`change_bytes`] on text; what is no longer UTF-8 gets replacement characters.
pub(crate) fn change_text(text: &str, dice: &mut FuzzInput<'_>) -> String {
    let mut bytes = text.as_bytes().to_vec();
    change_bytes(&mut bytes, dice);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The place of every value inside a value, outermost first.
fn pointers(value: &Value) -> Vec<String> {
    fn collect(value: &Value, at: &str, into: &mut Vec<String>) {
        into.push(at.to_owned());
        match value {
            Value::Object(members) => members
                .iter()
                .for_each(|(key, v)| collect(v, &format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), into)),
            Value::Array(items) => items
                .iter()
                .enumerate()
                .for_each(|(n, v)| collect(v, &format!("{at}/{n}"), into)),
            _ => {}
        }
    }
    let mut all = Vec::new();
    collect(value, "", &mut all);
    all
}

/// One change of a document: a value replaced by nothing, another kind, an odd number or text, its namesake in another
/// document, or itself with a change; a member removed or added.
pub(crate) fn change_json(document: &mut Value, donors: &[Value], dice: &mut FuzzInput<'_>) {
    let kind = dice.byte() % 12;
    let all = pointers(document);
    let place = dice.of(&all).clone();
    let donor = (!donors.is_empty()).then(|| dice.of(donors).pointer(&place)).flatten();
    let Some(value) = document.pointer_mut(&place) else {
        return;
    };
    *value = match (kind, &*value) {
        (0, _) => Value::Null,
        (1, _) => json!(dice.number(1)),
        (2, _) => json!(-1),
        (3, _) => json!([value.clone()]),
        (4, _) => json!(""),
        (5 | 6, _) if donor.is_some() => donor.cloned().unwrap_or_default(),
        (7, Value::String(text)) if dice.one_in(2) => json!(text.to_uppercase()),
        (7, Value::String(text)) => json!(text.to_lowercase()),
        (8, Value::String(text)) => json!(format!(" {text}")),
        (9, Value::String(text)) if text.parse::<u64>().is_ok() => {
            json!(dice.number(text.parse().unwrap_or_default()).to_string())
        }
        (_, Value::String(text)) => json!(change_text(text, dice)),
        (_, Value::Number(number)) => json!(dice.number(number.as_u64().unwrap_or_default())),
        (10, Value::Object(members)) => {
            let mut more = members.clone();
            more.insert(format!("x{}", dice.byte()), json!({"deep": [1, null, "x"]}));
            Value::Object(more)
        }
        (_, Value::Object(members)) if !members.is_empty() => {
            let mut less = members.clone();
            let name = dice.of(&members.keys().collect::<Vec<_>>()).to_string();
            less.remove(&name);
            Value::Object(less)
        }
        _ => json!(true),
    };
}
