//! JSON text of answers and events. Amounts stay exact, and no text in it can act on a terminal or a page.
//!
//! A view is written into one buffer with the end of each of its members. Events are stored in another form
//! (`stored_view.rs`), which is rendered to the same text; debug builds check that with every event.

use std::cell::RefCell;
use std::fmt::{Display, Write as _};
use std::io;

use rust_decimal::Decimal;
use serde::ser::{Error as _, SerializeMap as _};
use serde::{Serialize, Serializer};
use serde_json::ser::{CharEscape, Formatter};
use serde_json::value::RawValue;

use crate::answer::{ExactDecimal, Text, Time};
use crate::time::Timestamp;

/// A JSON object as text, or the beginning of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonObject {
    /// Without the closing brace.
    text: String,
    /// Where each member ends. The next one begins after a comma.
    ends: Vec<usize>,
}

impl Default for JsonObject {
    fn default() -> Self {
        Self {
            text: "{".into(),
            ends: Vec::new(),
        }
    }
}

impl JsonObject {
    /// An object without members.
    pub fn new() -> Self {
        Self::default()
    }

    /// The object that a struct or a map serializes to.
    pub fn of(value: &impl Serialize) -> Self {
        let (mut text, ends) = render(value, 512, 20);
        match text.pop() {
            Some('}') => Self { text, ends },
            _ => Self::new(),
        }
    }

    /// Adds a member of any type.
    #[must_use]
    pub fn member(mut self, name: &'static str, value: &impl Serialize) -> Self {
        self.text.push_str(if self.ends.is_empty() { "\"" } else { ",\"" });
        self.text.push_str(name);
        self.text.push_str("\":");
        self.text.push_str(&render(value, 48, 0).0);
        self.ends.push(self.text.len());
        self
    }

    /// Adds a string.
    #[must_use]
    pub fn text(self, name: &'static str, value: impl Display) -> Self {
        self.member(name, &Text(value))
    }

    /// Adds a string, or null.
    #[must_use]
    pub fn optional_text(self, name: &'static str, value: Option<impl Display>) -> Self {
        self.member(name, &value.map(Text))
    }

    /// Adds a number with its exact decimal text.
    #[must_use]
    pub fn number(self, name: &'static str, value: Decimal) -> Self {
        self.member(name, &ExactDecimal(value))
    }

    /// Adds a whole number.
    #[must_use]
    pub fn integer(self, name: &'static str, value: u64) -> Self {
        self.member(name, &value)
    }

    /// Adds true or false.
    #[must_use]
    pub fn boolean(self, name: &'static str, value: bool) -> Self {
        self.member(name, &value)
    }

    /// Adds a time, RFC 3339 in UTC.
    #[must_use]
    pub fn time(self, name: &'static str, value: Timestamp) -> Self {
        self.member(name, &Time(value))
    }

    /// Adds an object.
    #[must_use]
    pub fn object(self, name: &'static str, value: &impl Serialize) -> Self {
        self.member(name, value)
    }

    /// Adds a list of objects.
    #[must_use]
    pub fn list(self, name: &'static str, values: impl IntoIterator<Item = impl Serialize>) -> Self {
        let values: Vec<_> = values.into_iter().collect();
        self.member(name, &values)
    }

    /// Adds a list of strings.
    #[must_use]
    pub fn texts(self, name: &'static str, values: impl IntoIterator<Item = impl Display>) -> Self {
        self.list(name, values.into_iter().map(Text))
    }

    /// The object as JSON text.
    pub fn to_json(&self) -> String {
        let mut out = String::with_capacity(self.text.len() + 1);
        self.write(&mut out);
        out
    }

    /// Appends the object as JSON text.
    pub fn write(&self, out: &mut String) {
        out.push_str(&self.text);
        out.push('}');
    }

    /// Appends an object of the members that another object has with another value or not at all.
    #[cfg(debug_assertions)]
    pub(crate) fn write_changed(&self, out: &mut String, now: &Self) {
        out.push('{');
        let mut first = true;
        for (n, member) in self.members().enumerate() {
            // Nearly all members are where they were.
            if now.member_at(n) == Some(member) || now.members().any(|other| other == member) {
                continue;
            }
            if !first {
                out.push(',');
            }
            first = false;
            out.push_str(member);
        }
        out.push('}');
    }

    /// A member with its name.
    fn member_at(&self, n: usize) -> Option<&str> {
        let begin = match n.checked_sub(1) {
            None => 0,
            Some(before) => *self.ends.get(before)?,
        };
        self.text.get(begin + 1..*self.ends.get(n)?)
    }

    fn members(&self) -> impl Iterator<Item = &str> {
        (0..self.ends.len()).filter_map(|n| self.member_at(n))
    }
}

impl Serialize for JsonObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.ends.len()))?;
        for member in self.members() {
            // Names of members are plain.
            let (name, json) = member.split_once("\":").ok_or_else(|| S::Error::custom("no member"))?;
            let json: &RawValue = serde_json::from_str(json).map_err(S::Error::custom)?;
            map.serialize_entry(name.trim_start_matches('"'), json)?;
        }
        map.end()
    }
}

/// Any value as JSON text, in which every character is escaped that could end a string or act.
pub fn to_json(value: &impl Serialize) -> String {
    render(value, 512, 0).0
}

/// The text, and if it is an object, where each of its members ends. The sizes are only expectations.
fn render(value: &impl Serialize, text_size: usize, members: usize) -> (String, Vec<usize>) {
    let buffer = Buffer {
        text: RefCell::new(Vec::with_capacity(text_size)),
        ends: RefCell::new(Vec::with_capacity(members)),
    };
    let formatter = MarkMembers {
        depth: 0,
        buffer: &buffer,
    };
    let mut serializer = serde_json::Serializer::with_formatter(&buffer, formatter);
    if let Err(error) = value.serialize(&mut serializer) {
        // Writing to memory cannot fail, and no answer has a map whose keys are not text.
        tracing::error!(%error, "a value has no JSON form");
        debug_assert!(false, "a value has no JSON form: {error}");
    }
    let text = String::from_utf8(buffer.text.into_inner());
    debug_assert!(text.is_ok(), "serializers write UTF-8");
    (text.unwrap_or_default(), buffer.ends.into_inner())
}

/// Text that is being written, and the ends of its members. The formatter needs both while the serializer writes.
struct Buffer {
    text: RefCell<Vec<u8>>,
    ends: RefCell<Vec<usize>>,
}

impl io::Write for &Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.text.borrow_mut().extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Compact JSON that escapes more than it must, and notes where the members of the outermost object end.
struct MarkMembers<'a> {
    depth: usize,
    buffer: &'a Buffer,
}

impl Formatter for MarkMembers<'_> {
    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth += 1;
        writer.write_all(b"{")
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth -= 1;
        writer.write_all(b"}")
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        if self.depth == 1 {
            let end = self.buffer.text.borrow().len();
            self.buffer.ends.borrow_mut().push(end);
        }
        Ok(())
    }

    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, writer: &mut W, text: &str) -> io::Result<()> {
        // Nearly all text needs no escape and is copied whole.
        if text
            .bytes()
            .all(|b| matches!(b, b' '..=b'~') && !matches!(b, b'<' | b'>'))
        {
            return writer.write_all(text.as_bytes());
        }
        for c in text.chars() {
            match is_control(c) {
                true => write!(writer, "\\u{:04x}", u32::from(c))?,
                false => write!(writer, "{c}")?,
            }
        }
        Ok(())
    }

    /// JSON that another program wrote, for example the body of a server's response. Outside of strings it has only white
    /// space, and inside of them its C0 controls are escaped.
    fn write_raw_fragment<W: ?Sized + io::Write>(&mut self, writer: &mut W, json: &str) -> io::Result<()> {
        match sanitized(json) {
            Some(json) => writer.write_all(json.as_bytes()),
            None => writer.write_all(json.as_bytes()),
        }
    }

    fn write_char_escape<W: ?Sized + io::Write>(&mut self, writer: &mut W, escaped: CharEscape) -> io::Result<()> {
        let control = match escaped {
            CharEscape::Quote => return writer.write_all(b"\\\""),
            CharEscape::ReverseSolidus => return writer.write_all(b"\\\\"),
            CharEscape::Solidus => return writer.write_all(b"/"),
            CharEscape::Backspace => 8,
            CharEscape::Tab => b'\t',
            CharEscape::LineFeed => b'\n',
            CharEscape::FormFeed => 12,
            CharEscape::CarriageReturn => b'\r',
            CharEscape::AsciiControl(control) => control,
        };
        write!(writer, "\\u{control:04x}")
    }
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
    sanitized(&json).unwrap_or(json)
}

/// `None` if nothing needs an escape.
fn sanitized(json: &str) -> Option<String> {
    let live = |c: char| c >= ' ' && is_control(c);
    if !json.contains(live) {
        return None;
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
    Some(out)
}
