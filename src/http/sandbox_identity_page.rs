//! The page of the sandbox identity check: a form without a script.

use axum::response::Response;
use http::StatusCode;

use crate::page::fields::{Field, fields};
use crate::page::{Fixed, Html, Page, PageFrame, html};
use crate::provider::sandbox::identity_check::{CheckPage, InvalidField};

/// The page, with an error of the form if there is one. It contains no text of the caller.
pub fn page(frame: &PageFrame, shown: CheckPage, wrong: Option<InvalidField>, status: StatusCode) -> Response {
    let back = "<p><a class=\"button wide\" href=\"/dashboard/settings\">Back to your account</a></p>";
    let sheet = match shown {
        CheckPage::Open => html("{}<div>{}</div>", &[&introduction(), &form(wrong)]),
        CheckPage::Answered => message(
            "Thank you",
            "The check is in progress. Its result is on your account page.",
            Fixed(back),
        ),
        CheckPage::Expired => message(
            "This check has ended",
            "This check was given up. Begin another one.",
            Fixed(back),
        ),
    };
    let title = if wrong.is_some() {
        "Error: identity check"
    } else {
        "Identity check"
    };
    frame.render(Page {
        status,
        ..Page::narrow(title, html("<div class=\"sheet\">{}</div>", &[&sheet]))
    })
}

fn introduction() -> Html {
    html(
        "<div><h1>Sandbox identity check</h1>\
         <p class=\"soft\">A simulated provider: invent a person. Nothing that you enter here is kept.</p></div>",
        &[],
    )
}

fn message(title: &str, text: &str, link: Fixed) -> Html {
    html(
        "<div><h1>{}</h1><p class=\"soft\" role=\"status\">{}</p></div><div>{}</div>",
        &[&title, &text, &link],
    )
}

fn form(wrong: Option<InvalidField>) -> Html {
    let error = |name: &str| wrong.filter(|wrong| wrong.name == name).map(|wrong| wrong.error);
    let field = |name: &'static str, label: &'static str, hint: &'static str, attributes: &'static str| Field {
        name,
        label,
        hint,
        error: error(name),
        value: "",
        attributes: Fixed(attributes),
    };
    let name = "autocomplete=\"off\" required maxlength=\"100\"";
    let all = fields(&[
        field("given_name", "Given name", "", name),
        field(
            "family_name",
            "Family name",
            "Reject, Pending, Silent, Twice, Forged, Contrary and Garbage each have their own outcome.",
            name,
        ),
        field(
            "date_of_birth",
            "Date of birth",
            "",
            "type=\"date\" required min=\"1900-01-01\"",
        ),
        field(
            "country",
            "Country",
            "Two letters, such as US.",
            "required minlength=\"2\" maxlength=\"2\" pattern=\"[A-Za-z]{2}\" autocomplete=\"off\" class=\"code\"",
        ),
    ]);
    html(
        "<form method=\"post\" class=\"stack\">{}<button type=\"submit\">Submit the check</button></form>",
        &[&all],
    )
}
