//! Form fields with their hint and their error, so that a screen reader reads both with the field.

use super::icons;
use super::markup::{Fixed, Html, html};

/// A text field of a form.
pub(crate) struct Field<'a> {
    pub(crate) name: &'static str,
    pub(crate) label: &'a str,
    /// Shown below the field; empty for none.
    pub(crate) hint: &'a str,
    /// What is wrong with what was entered, and how to go on.
    pub(crate) error: Option<&'a str>,
    pub(crate) value: &'a str,
    /// Further attributes.
    pub(crate) attributes: Fixed,
}

/// The fields. The first one with an error has the focus.
pub(crate) fn fields(fields: &[Field<'_>]) -> Html {
    let first_wrong = fields.iter().position(|field| field.error.is_some());
    let mut all = Html::default();
    for (n, field) in fields.iter().enumerate() {
        all.push(&field.markup(first_wrong == Some(n)));
    }
    all
}

impl Field<'_> {
    fn markup(&self, is_focused: bool) -> Html {
        let name = self.name;
        let hint = match self.hint {
            "" => Html::default(),
            hint => html("<p class=\"hint\" id=\"{}-hint\">{}</p>", &[&name, &hint]),
        };
        let error = match self.error {
            None => Html::default(),
            Some(error) => html(
                "<p class=\"error\" id=\"{}-error\">{}<span>{}</span></p>",
                &[&name, &icons::WRONG, &error],
            ),
        };
        let mut attributes = Html::default();
        if !self.value.is_empty() {
            attributes.add(" value=\"{}\"", &[&self.value]);
        }
        match (self.hint, self.error) {
            ("", None) => {}
            (_, None) => attributes.add(" aria-describedby=\"{}-hint\"", &[&name]),
            ("", Some(_)) => attributes.add(" aria-describedby=\"{}-error\" aria-invalid=\"true\"", &[&name]),
            _ => attributes.add(
                " aria-describedby=\"{}-hint {}-error\" aria-invalid=\"true\"",
                &[&name, &name],
            ),
        }
        if is_focused {
            attributes.add(" autofocus", &[]);
        }
        html(
            "<div class=\"field\"><label for=\"{}\">{}</label><input id=\"{}\" name=\"{}\" {}{}>{}{}</div>",
            &[
                &name,
                &self.label,
                &name,
                &name,
                &self.attributes,
                &attributes,
                &hint,
                &error,
            ],
        )
    }
}
