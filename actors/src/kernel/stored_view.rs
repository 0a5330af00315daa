//! Stored form of a view, from which its JSON text is rendered when an event is read: the same bytes each time, whatever
//! the view's type has become since.
//!
//! It is a fifth of the text, and cheaper to make. Names are [words](super::words), and ids, times, addresses and
//! amounts are numbers. Other text is stored as in the JSON, without its quotes.

#[cfg(test)]
mod tests;

use std::fmt::{self, Write as _};

use serde::ser::{self, Serialize, Serializer};

use super::json_object::{sanitize_text, to_json};
use super::words;
use crate::answer::moment;
use crate::json_text::{DECIMAL, HEX, ID, TIME};
use crate::time::Timestamp;

/// First byte of a value. The numbers are stored: only append.
mod tag {
    /// End of a list. In an object, where a name is expected: end of the object.
    pub(super) const END: u8 = 0;
    pub(super) const NULL: u8 = 1;
    pub(super) const FALSE: u8 = 2;
    pub(super) const TRUE: u8 = 3;
    pub(super) const OBJECT: u8 = 4;
    pub(super) const LIST: u8 = 5;
    /// A string: its length, and its JSON text without the quotes.
    pub(super) const TEXT: u8 = 6;
    /// A string: the number of a word.
    pub(super) const WORD: u8 = 7;
    /// A whole number.
    pub(super) const NUMBER: u8 = 8;
    /// Any value: the length of its JSON text, and the text.
    pub(super) const JSON: u8 = 9;
    /// Milliseconds, shown as RFC 3339.
    pub(super) const TIME: u8 = 10;
    /// The word that is its prefix, and 16 bytes.
    pub(super) const ID: u8 = 11;
    /// How many bytes, and the bytes: a string of `0x` and their digits.
    pub(super) const HEX: u8 = 12;
    /// Places behind the point, at least one, and the digits as a number.
    pub(super) const DECIMAL: u8 = 13;
}

/// In an object: a name that is no word.
const TEXT_NAME: u64 = 1;
/// In an object: the name with word number 0.
const WORD_NAME: u64 = 2;

/// No view is nested deeper than this.
const MAX_DEPTH: usize = 16;

/// `serde_json` presents JSON text of another origin as a struct of this name.
const RAW_VALUE: &str = "$serde_json::private::RawValue";

/// The members of a view.
#[derive(Debug)]
pub(crate) struct StoredView {
    bytes: Vec<u8>,
    /// Where each member ends.
    ends: Vec<usize>,
}

impl StoredView {
    /// The members of a struct or a map; no members for any other value.
    pub(crate) fn of(view: &impl Serialize) -> Self {
        let mut writer = Writer {
            bytes: Vec::with_capacity(256),
            ends: Vec::with_capacity(20),
            depth: 0,
            form: Form::Plain,
        };
        // Writing to memory cannot fail, and no view has a number that is not exact.
        let done = view.serialize(&mut writer);
        debug_assert!(done.is_ok(), "a view has no stored form");
        let Writer {
            mut bytes, mut ends, ..
        } = writer;
        if done.is_err() || bytes.first() != Some(&tag::OBJECT) || bytes.pop() != Some(tag::END) {
            bytes.clear();
            ends.clear();
        }
        Self { bytes, ends }
    }

    /// Appends the object.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.bytes.get(1..).unwrap_or_default());
        out.push(tag::END);
    }

    /// Appends an object without members.
    pub(crate) fn write_empty(out: &mut Vec<u8>) {
        out.push(tag::END);
    }

    /// Appends an object of the members that another view has with another value or not at all.
    pub(crate) fn write_changed(&self, out: &mut Vec<u8>, now: &Self) {
        for (n, member) in self.members().enumerate() {
            // Nearly all members are where they were.
            if now.member_at(n) != Some(member) && now.members().all(|other| other != member) {
                out.extend_from_slice(member);
            }
        }
        out.push(tag::END);
    }

    /// A member with its name.
    fn member_at(&self, n: usize) -> Option<&[u8]> {
        let begin = match n.checked_sub(1) {
            // After the tag.
            None => 1,
            Some(before) => *self.ends.get(before)?,
        };
        self.bytes.get(begin..*self.ends.get(n)?)
    }

    fn members(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.ends.len()).filter_map(|n| self.member_at(n))
    }
}

/// Objects in their stored form, the one at this place without the member of this name. `None` if the bytes are none.
pub(crate) fn without_member(objects: &[u8], place: usize, member: &str) -> Option<Vec<u8>> {
    edit_member(objects, place, member, |_, _, _| Some(()))
}

/// The same with another text in this member. `None` also if the member is no text.
pub(crate) fn with_text(
    objects: &[u8],
    place: usize,
    member: &str,
    change: impl Fn(&str) -> String,
) -> Option<Vec<u8>> {
    edit_member(objects, place, member, |kept, name, json| {
        let text: String = serde_json::from_str(json).ok()?;
        kept.extend_from_slice(name);
        kept.push(tag::TEXT);
        put_bytes(kept, change(&text).as_bytes());
        Some(())
    })
}

/// Objects in their stored form. In the one at this place, `edit` appends what replaces the member of this name; it gets
/// the member's name as stored and its value as JSON.
fn edit_member(
    objects: &[u8],
    place: usize,
    member: &str,
    edit: impl Fn(&mut Vec<u8>, &[u8], &str) -> Option<()>,
) -> Option<Vec<u8>> {
    let (mut from, mut json) = (Reader(objects), String::new());
    for _ in 0..place {
        from.object(&mut json)?;
    }
    let mut kept = objects[..objects.len() - from.0.len()].to_vec();
    loop {
        let rest = from.0;
        let name = match from.number()? {
            0 => {
                kept.extend_from_slice(rest);
                return Some(kept);
            }
            TEXT_NAME => from.text()?,
            number => words::word(number - WORD_NAME)?,
        };
        let stored_name = &rest[..rest.len() - from.0.len()];
        let tag = from.byte()?;
        json.clear();
        from.value(tag, &mut json, MAX_DEPTH)?;
        if name == member {
            edit(&mut kept, stored_name, &json)?;
        } else {
            kept.extend_from_slice(&rest[..rest.len() - from.0.len()]);
        }
    }
}

/// Appends a number: seven bits a byte, the lowest first.
pub(crate) fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends bytes behind their number.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// What the next value stands for.
#[derive(Clone, Copy)]
enum Form {
    Plain,
    Time,
    Id,
    Hex,
    Decimal(u8),
    Json,
}

struct Writer {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    depth: usize,
    form: Form,
}

impl Writer {
    fn begin(&mut self, tag: u8) {
        self.bytes.push(tag);
        self.depth += 1;
    }

    fn end(&mut self) {
        self.bytes.push(tag::END);
        self.depth -= 1;
    }

    /// Name of the next member; `quoted` is its JSON text without the quotes.
    fn name(&mut self, quoted: &str) {
        match words::number_of(quoted) {
            Some(number) => put_number(&mut self.bytes, number + WORD_NAME),
            None => {
                put_number(&mut self.bytes, TEXT_NAME);
                put_bytes(&mut self.bytes, quoted.as_bytes());
            }
        }
    }

    fn nested(&mut self, tag: u8) -> Nested<'_> {
        self.begin(tag);
        Nested { writer: self, ends: 1 }
    }

    /// An object with one member.
    fn variant(&mut self, name: &str, tag: u8) -> Nested<'_> {
        self.begin(tag::OBJECT);
        self.name(name);
        self.begin(tag);
        Nested { writer: self, ends: 2 }
    }

    fn end_member(&mut self) {
        if self.depth == 1 {
            self.ends.push(self.bytes.len());
        }
    }

    fn take_form(&mut self) -> Form {
        std::mem::replace(&mut self.form, Form::Plain)
    }

    fn json(&mut self, json: &str) {
        self.bytes.push(tag::JSON);
        put_bytes(&mut self.bytes, json.as_bytes());
    }

    fn text(&mut self, text: &str) {
        if let Some(number) = words::number_of(text) {
            self.bytes.push(tag::WORD);
            return put_number(&mut self.bytes, number);
        }
        if let Some((bytes, len)) = hex_of(text) {
            self.bytes.extend_from_slice(&[tag::HEX, len as u8]);
            return self.bytes.extend_from_slice(&bytes[..len]);
        }
        self.bytes.push(tag::TEXT);
        let is_plain = |b: u8| matches!(b, b' '..=b'~') && !matches!(b, b'<' | b'>' | b'"' | b'\\');
        if text.bytes().all(is_plain) {
            return put_bytes(&mut self.bytes, text.as_bytes());
        }
        let json = to_json(&text);
        put_bytes(&mut self.bytes, unquoted(&json).as_bytes());
    }
}

/// The text of a JSON string without its quotes.
fn unquoted(json: &str) -> &str {
    let inner = json.strip_prefix('"').and_then(|json| json.strip_suffix('"'));
    inner.unwrap_or(json)
}

/// The bytes of text that is exactly an EVM address or transaction hash in lower case.
fn hex_of(text: &str) -> Option<([u8; 32], usize)> {
    if !matches!(text.len(), 42 | 66) || text.bytes().any(|b| b.is_ascii_uppercase()) {
        return None;
    }
    let digits = text.strip_prefix("0x")?;
    let (mut bytes, len) = ([0; 32], digits.len() / 2);
    hex::decode_to_slice(digits, &mut bytes[..len]).ok()?;
    Some((bytes, len))
}

impl<'a> Serializer for &'a mut Writer {
    type Ok = ();
    type Error = fmt::Error;
    type SerializeSeq = Nested<'a>;
    type SerializeTuple = Nested<'a>;
    type SerializeTupleStruct = Nested<'a>;
    type SerializeTupleVariant = Nested<'a>;
    type SerializeMap = Nested<'a>;
    type SerializeStruct = Nested<'a>;
    type SerializeStructVariant = Nested<'a>;

    /// `json_text.rs` presents what has a form of its own to a serializer for machines.
    fn is_human_readable(&self) -> bool {
        false
    }

    fn serialize_bool(self, value: bool) -> fmt::Result {
        self.bytes.push(if value { tag::TRUE } else { tag::FALSE });
        Ok(())
    }

    fn serialize_i8(self, value: i8) -> fmt::Result {
        self.serialize_i64(value.into())
    }

    fn serialize_i16(self, value: i16) -> fmt::Result {
        self.serialize_i64(value.into())
    }

    fn serialize_i32(self, value: i32) -> fmt::Result {
        self.serialize_i64(value.into())
    }

    fn serialize_i64(self, value: i64) -> fmt::Result {
        match u64::try_from(value) {
            Ok(value) => self.serialize_u64(value)?,
            Err(_) => self.json(&value.to_string()),
        }
        Ok(())
    }

    fn serialize_i128(self, value: i128) -> fmt::Result {
        self.json(&value.to_string());
        Ok(())
    }

    fn serialize_u8(self, value: u8) -> fmt::Result {
        self.serialize_u64(value.into())
    }

    fn serialize_u16(self, value: u16) -> fmt::Result {
        self.serialize_u64(value.into())
    }

    fn serialize_u32(self, value: u32) -> fmt::Result {
        self.serialize_u64(value.into())
    }

    fn serialize_u64(self, value: u64) -> fmt::Result {
        match self.take_form() {
            Form::Time => self.bytes.push(tag::TIME),
            Form::Decimal(places) => self.bytes.extend_from_slice(&[tag::DECIMAL, places]),
            _ => self.bytes.push(tag::NUMBER),
        }
        put_number(&mut self.bytes, value);
        Ok(())
    }

    fn serialize_u128(self, value: u128) -> fmt::Result {
        match self.take_form() {
            Form::Id => self.bytes.extend_from_slice(&value.to_be_bytes()),
            _ => self.json(&value.to_string()),
        }
        Ok(())
    }

    fn serialize_f32(self, _: f32) -> fmt::Result {
        Err(fmt::Error)
    }

    fn serialize_f64(self, _: f64) -> fmt::Result {
        Err(fmt::Error)
    }

    fn serialize_char(self, value: char) -> fmt::Result {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, text: &str) -> fmt::Result {
        match self.take_form() {
            Form::Json => self.json(&sanitize_text(text.to_owned())),
            _ => self.text(text),
        }
        Ok(())
    }

    fn serialize_bytes(self, bytes: &[u8]) -> fmt::Result {
        match (self.take_form(), u8::try_from(bytes.len())) {
            (Form::Hex, Ok(len)) => {
                self.bytes.extend_from_slice(&[tag::HEX, len]);
                self.bytes.extend_from_slice(bytes);
                Ok(())
            }
            _ => self.collect_seq(bytes),
        }
    }

    fn serialize_none(self) -> fmt::Result {
        self.serialize_unit()
    }

    fn serialize_some<T: ?Sized + Serialize>(self, value: &T) -> fmt::Result {
        value.serialize(self)
    }

    fn serialize_unit(self) -> fmt::Result {
        self.bytes.push(tag::NULL);
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> fmt::Result {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> fmt::Result {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: ?Sized + Serialize>(self, name: &'static str, value: &T) -> fmt::Result {
        match name {
            TIME => self.form = Form::Time,
            HEX => self.form = Form::Hex,
            _ => {}
        }
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        name: &'static str,
        number: u32,
        variant: &'static str,
        value: &T,
    ) -> fmt::Result {
        match (name, u8::try_from(number), words::number_of(variant)) {
            (ID, _, Some(prefix)) => {
                self.bytes.push(tag::ID);
                put_number(&mut self.bytes, prefix);
                self.form = Form::Id;
                value.serialize(self)
            }
            (DECIMAL, Ok(places), _) => {
                self.form = Form::Decimal(places);
                value.serialize(self)
            }
            _ => {
                self.begin(tag::OBJECT);
                self.name(variant);
                value.serialize(&mut *self)?;
                self.end_member();
                self.end();
                Ok(())
            }
        }
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Nested<'a>, fmt::Error> {
        Ok(self.nested(tag::LIST))
    }

    fn serialize_tuple(self, _: usize) -> Result<Nested<'a>, fmt::Error> {
        self.serialize_seq(None)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Nested<'a>, fmt::Error> {
        self.serialize_seq(None)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Nested<'a>, fmt::Error> {
        Ok(self.variant(variant, tag::LIST))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Nested<'a>, fmt::Error> {
        Ok(self.nested(tag::OBJECT))
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Nested<'a>, fmt::Error> {
        if name != RAW_VALUE {
            return Ok(self.nested(tag::OBJECT));
        }
        self.form = Form::Json;
        Ok(Nested { writer: self, ends: 0 })
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Nested<'a>, fmt::Error> {
        Ok(self.variant(variant, tag::OBJECT))
    }
}

/// A list or an object whose content is being written.
struct Nested<'a> {
    writer: &'a mut Writer,
    /// How many ends it has: two within the object of a variant, none if it is only another program's JSON.
    ends: usize,
}

impl Nested<'_> {
    fn element(&mut self, value: &(impl ?Sized + Serialize)) -> fmt::Result {
        value.serialize(&mut *self.writer)
    }

    fn member(&mut self, name: &str, value: &(impl ?Sized + Serialize)) -> fmt::Result {
        if self.ends > 0 {
            self.writer.name(name);
        }
        self.element(value)?;
        self.writer.end_member();
        Ok(())
    }

    fn close(self) -> fmt::Result {
        (0..self.ends).for_each(|_| self.writer.end());
        Ok(())
    }
}

macro_rules! nested {
    ($($form:ident: $method:ident($($name:ident)?) => $by:ident,)+) => {$(
        impl ser::$form for Nested<'_> {
            type Ok = ();
            type Error = fmt::Error;

            fn $method<T: ?Sized + Serialize>(&mut self, $($name: &'static str,)? value: &T) -> fmt::Result {
                self.$by($($name,)? value)
            }

            fn end(self) -> fmt::Result {
                self.close()
            }
        }
    )+};
}

nested! {
    SerializeSeq: serialize_element() => element,
    SerializeTuple: serialize_element() => element,
    SerializeTupleStruct: serialize_field() => element,
    SerializeTupleVariant: serialize_field() => element,
    SerializeStruct: serialize_field(name) => member,
    SerializeStructVariant: serialize_field(name) => member,
}

impl ser::SerializeMap for Nested<'_> {
    type Ok = ();
    type Error = fmt::Error;

    fn serialize_key<T: ?Sized + Serialize>(&mut self, key: &T) -> fmt::Result {
        // A number is a string where a name is expected.
        self.writer.name(unquoted(&to_json(&key)));
        Ok(())
    }

    fn serialize_value<T: ?Sized + Serialize>(&mut self, value: &T) -> fmt::Result {
        self.element(value)?;
        self.writer.end_member();
        Ok(())
    }

    fn end(self) -> fmt::Result {
        self.close()
    }
}

/// Reads stored bytes from the front.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    /// A number from [`put_number`]; `None` for any other bytes, longer forms of it included.
    pub(crate) fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return None;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return (byte > 0 || shift == 0).then_some(number);
            }
        }
        None
    }

    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = usize::try_from(self.number()?).ok()?;
        self.take(len)
    }

    pub(crate) fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    /// Appends the JSON text of an object behind its tag. `None` if the bytes are none; then `out` has a part of it.
    pub(crate) fn object(&mut self, out: &mut String) -> Option<()> {
        self.object_at(out, MAX_DEPTH)
    }

    fn object_at(&mut self, out: &mut String, depth: usize) -> Option<()> {
        let mut separator = '{';
        loop {
            let name = match self.number()? {
                0 => break,
                TEXT_NAME => self.text()?,
                number => words::word(number - WORD_NAME)?,
            };
            out.push(separator);
            separator = ',';
            out.push('"');
            out.push_str(name);
            out.push_str("\":");
            let tag = self.byte()?;
            self.value(tag, out, depth)?;
        }
        if separator == '{' {
            out.push('{');
        }
        out.push('}');
        Some(())
    }

    fn list(&mut self, out: &mut String, depth: usize) -> Option<()> {
        let mut separator = '[';
        loop {
            let tag = self.byte()?;
            if tag == tag::END {
                break;
            }
            out.push(separator);
            separator = ',';
            self.value(tag, out, depth)?;
        }
        if separator == '[' {
            out.push('[');
        }
        out.push(']');
        Some(())
    }

    fn value(&mut self, tag: u8, out: &mut String, depth: usize) -> Option<()> {
        match tag {
            tag::NULL => out.push_str("null"),
            tag::FALSE => out.push_str("false"),
            tag::TRUE => out.push_str("true"),
            tag::OBJECT => return self.object_at(out, depth.checked_sub(1)?),
            tag::LIST => return self.list(out, depth.checked_sub(1)?),
            tag::TEXT => push_quoted(out, self.text()?),
            tag::WORD => push_quoted(out, words::word(self.number()?)?),
            tag::NUMBER => push_display(out, self.number()?),
            tag::JSON => out.push_str(self.text()?),
            tag::TIME => {
                let at = Timestamp(self.number()?);
                out.push('"');
                push_display(out, moment(at));
                out.push('"');
            }
            tag::ID => {
                let prefix = words::word(self.number()?)?;
                out.push('"');
                out.push_str(prefix);
                push_hex(out, self.take(16)?);
                out.push('"');
            }
            tag::HEX => {
                let len = self.byte()?;
                out.push_str("\"0x");
                push_hex(out, self.take(len.into())?);
                out.push('"');
            }
            tag::DECIMAL => {
                let places = usize::from(self.byte()?).checked_sub(1)? + 1;
                let digits = format!("{:0>width$}", self.number()?, width = places + 1);
                let (whole, fraction) = digits.split_at(digits.len() - places);
                out.push_str(whole);
                out.push('.');
                out.push_str(fraction);
            }
            _ => return None,
        }
        Some(())
    }
}

fn push_display(out: &mut String, value: impl fmt::Display) {
    // Writing to a String cannot fail.
    let _ = write!(out, "{value}");
}

fn push_quoted(out: &mut String, text: &str) {
    out.push('"');
    out.push_str(text);
    out.push('"');
}

fn push_hex(out: &mut String, bytes: &[u8]) {
    for byte in bytes {
        for digit in [byte >> 4, byte & 15] {
            out.push(char::from(b"0123456789abcdef"[usize::from(digit)]));
        }
    }
}
