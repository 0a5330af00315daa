//! An entity as its owner sees it: an ordered list of JSON fields, stored as text so that amounts stay exact and
//! changes are found by comparing text.

use std::fmt::{self, Display, Write as _};

use rust_decimal::Decimal;
use serde::ser::{Error as _, Serialize, SerializeMap as _, Serializer};
use serde_json::value::RawValue;

use crate::kernel::event_record::moment;
use crate::port::Timestamp;

/// A JSON object under construction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JsonObject(Vec<(&'static str, String)>);

impl JsonObject {
    /// An object without fields.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    fn with(mut self, name: &'static str, json: String) -> Self {
        self.0.push((name, json));
        self
    }

    /// Adds a string.
    #[must_use]
    pub fn text(self, name: &'static str, value: impl Display) -> Self {
        let json = write_quoted(value);
        self.with(name, json)
    }

    /// Adds a string, or null.
    #[must_use]
    pub fn optional_text(self, name: &'static str, value: Option<impl Display>) -> Self {
        match value {
            Some(value) => self.text(name, value),
            None => self.with(name, "null".into()),
        }
    }

    /// Adds a number with its exact decimal text.
    #[must_use]
    pub fn number(self, name: &'static str, value: Decimal) -> Self {
        self.with(name, value.to_string())
    }

    /// Adds a whole number.
    #[must_use]
    pub fn integer(self, name: &'static str, value: u64) -> Self {
        self.with(name, value.to_string())
    }

    /// Adds true or false.
    #[must_use]
    pub fn boolean(self, name: &'static str, value: bool) -> Self {
        self.with(name, value.to_string())
    }

    /// Adds a time, RFC 3339 in UTC.
    #[must_use]
    pub fn time(self, name: &'static str, value: Timestamp) -> Self {
        self.text(name, moment(value))
    }

    /// Adds an object.
    #[must_use]
    pub fn object(self, name: &'static str, value: &Self) -> Self {
        let json = value.to_json();
        self.with(name, json)
    }

    /// Adds a list of objects.
    #[must_use]
    pub fn list(self, name: &'static str, values: impl IntoIterator<Item = Self>) -> Self {
        let values: Vec<String> = values.into_iter().map(|value| value.to_json()).collect();
        self.with(name, format!("[{}]", values.join(",")))
    }

    /// Adds the JSON of a value.
    #[must_use]
    pub fn value(self, name: &'static str, value: &impl Serialize) -> Self {
        // Values with named members always serialize.
        let json = serde_json::to_string(value).unwrap_or_else(|_| "null".into());
        self.with(name, sanitize_text(json))
    }

    /// Adds a list of strings.
    #[must_use]
    pub fn texts(self, name: &'static str, values: impl IntoIterator<Item = impl Display>) -> Self {
        let values: Vec<String> = values.into_iter().map(write_quoted).collect();
        self.with(name, format!("[{}]", values.join(",")))
    }

    /// The object as JSON text.
    pub fn to_json(&self) -> String {
        let mut out = String::with_capacity(32 * self.0.len() + 2);
        self.write(&mut out);
        out
    }

    /// Appends the object as JSON text.
    pub fn write(&self, out: &mut String) {
        write_fields(out, self.0.iter());
    }

    /// Appends an object of the fields that another view has with another value or not at all.
    pub(crate) fn write_changed(&self, out: &mut String, now: &Self) {
        write_fields(out, self.0.iter().filter(|field| !now.0.contains(field)));
    }
}

/// So that a view can be a member of a typed answer, or with `flatten` its beginning.
impl Serialize for JsonObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, json) in &self.0 {
            let json = RawValue::from_string(json.clone()).map_err(S::Error::custom)?;
            map.serialize_entry(name, &json)?;
        }
        map.end()
    }
}

fn write_fields<'a>(out: &mut String, fields: impl Iterator<Item = &'a (&'static str, String)>) {
    out.push('{');
    for (n, (name, json)) in fields.enumerate() {
        for part in [if n == 0 { "\"" } else { ",\"" }, name, "\":", json] {
            out.push_str(part);
        }
    }
    out.push('}');
}

/// Characters that a terminal or a page could act upon: controls (C0, DEL and C1, where 0x9b alone starts a terminal
/// sequence), JavaScript line terminators, direction overrides, and characters that start markup. An `&` alone starts
/// nothing, and URLs that people copy often contain it.
const fn is_control(c: char) -> bool {
    matches!(c, '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '<' | '>')
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// JSON text of any serializer with every control character escaped. Outside of strings JSON has only white space, and
/// inside of them serializers escape C0 controls themselves.
pub fn sanitize_text(json: String) -> String {
    let live = |c: char| c >= ' ' && is_control(c);
    if !json.contains(live) {
        return json;
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if live(c) {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// A JSON string literal; every character that could end it or act is escaped.
pub(crate) fn write_quoted(value: impl Display) -> String {
    let mut out = String::with_capacity(48);
    out.push('"');
    // Writing to a String cannot fail.
    let _ = write!(Escaped(&mut out), "{value}");
    out.push('"');
    out
}

/// Escapes the text written through it. Text that needs no escape, which is nearly all, is copied whole.
struct Escaped<'a>(&'a mut String);

impl fmt::Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let plain = |b: u8| matches!(b, b' '..=b'~') && !matches!(b, b'"' | b'\\' | b'<' | b'>');
        if text.bytes().all(plain) {
            self.0.push_str(text);
            return Ok(());
        }
        for c in text.chars() {
            match c {
                '"' => self.0.push_str("\\\""),
                '\\' => self.0.push_str("\\\\"),
                c if is_control(c) => write!(self.0, "\\u{:04x}", u32::from(c))?,
                c => self.0.push(c),
            }
        }
        Ok(())
    }
}
