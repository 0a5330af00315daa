//! Markup from fixed text and escaped values. There is no way to add a value unescaped, except markup made here.

use std::fmt::{self, Display, Write};

/// Markup that is safe to show.
#[derive(Clone, Debug, Default)]
pub(crate) struct Html(String);

/// A value in a template. Values are escaped, and markup is not.
pub(crate) trait Insert {
    fn insert(&self, markup: &mut String);
}

/// Fixed markup.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fixed(pub(crate) &'static str);

impl Insert for Html {
    fn insert(&self, markup: &mut String) {
        markup.push_str(&self.0);
    }
}

impl Insert for Fixed {
    fn insert(&self, markup: &mut String) {
        markup.push_str(self.0);
    }
}

impl<T: Display> Insert for T {
    fn insert(&self, markup: &mut String) {
        // Writing to a string cannot fail.
        let _ = write!(Escaping(markup), "{self}");
    }
}

/// Markup of a fixed template, in which each `{}` is replaced by the next value.
pub(crate) fn html(template: &'static str, values: &[&dyn Insert]) -> Html {
    let mut markup = Html::default();
    markup.add(template, values);
    markup
}

impl Html {
    /// Appends a template with its values; see [`html`].
    pub(crate) fn add(&mut self, template: &'static str, values: &[&dyn Insert]) {
        debug_assert_eq!(template.matches("{}").count(), values.len(), "{template}");
        let mut pieces = template.split("{}");
        self.0.push_str(pieces.next().unwrap_or_default());
        for (piece, value) in pieces.zip(values) {
            value.insert(&mut self.0);
            self.0.push_str(piece);
        }
    }

    /// Appends other markup.
    pub(crate) fn push(&mut self, other: &Self) {
        self.0.push_str(&other.0);
    }

    pub(crate) fn into_text(self) -> String {
        self.0
    }
}

/// Escapes what is written for text and for attributes in double quotes.
struct Escaping<'a>(&'a mut String);

impl Write for Escaping<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                '\n' => self.0.push('\n'),
                c if c.is_control() => self.0.push(' '),
                c => self.0.push(c),
            }
        }
        Ok(())
    }
}
