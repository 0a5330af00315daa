//! What a person sees of an agent's signup.

use http::StatusCode;
use purser_actors::entity::api_key::MAX_NAME_LEN;

use crate::page::fields::{Field, fields};
use crate::page::values::counted;
use crate::page::{Fixed, Html, Page, html, icons};

/// An open signup.
pub(super) struct Offer {
    /// Name that the agent gave itself; empty for none.
    pub(super) agent: String,
    /// Code that the agent shows too.
    pub(super) code: String,
    /// Of the page's URL.
    pub(super) claim_key: String,
    pub(super) asked_minutes_ago: u64,
    pub(super) minutes_left: u64,
}

/// The form of a signed-in owner. `wrong` is the entered name and what is wrong with it.
pub(super) fn form(offer: &Offer, wrong: Option<(&str, &str)>) -> Page {
    let (value, error) = wrong.unzip();
    let longest = MAX_NAME_LEN.to_string();
    let default = match offer.agent.as_str() {
        "" => format!("Agent {}", offer.code),
        own => own.to_owned(),
    };
    let name = fields(&[Field {
        name: "name",
        label: "What to call it",
        hint: &format!("At most {longest} characters. {default} if you leave it empty."),
        error,
        value: value.unwrap_or_default(),
        attributes: Fixed("autocomplete=\"off\""),
    }]);
    let point = |icon: Fixed, text: &'static str| html("<li>{}<span>{}</span></li>", &[&icon, &text]);
    let content = html(
        "<div class=\"sheet\">{}\
         <form method=\"post\" action=\"/claim\" class=\"stack\">\
         <div class=\"can\"><div><h2 class=\"small quiet\">It can</h2><ul class=\"points small\">{}{}</ul></div>\
         <div><h2 class=\"small quiet\">It cannot</h2><ul class=\"points small soft\">{}{}{}</ul></div></div>\
         <input type=\"hidden\" name=\"signup\" value=\"{}\">{}\
         <div class=\"twin\"><button type=\"submit\">Yes, same code</button>\
         <button type=\"submit\" name=\"answer\" value=\"no\" class=\"plain\">No</button></div>\
         <p class=\"small quiet\">If you did not ask for this, answer no or close this page. You can revoke the key on your account \
         page at any time.</p></form></div>",
        &[
            &question(offer),
            &point(
                icons::CHECK,
                "Spend from your managed wallet, to any address, within the limits that you set",
            ),
            &point(icons::CHECK, "See what was bought, card numbers included"),
            &point(icons::CROSS, "Withdraw your balance to other wallets"),
            &point(icons::CROSS, "Raise limits or make further keys"),
            &point(icons::CROSS, "Verify your identity"),
            &offer.claim_key,
            &name,
        ],
    );
    let title = if error.is_some() {
        "Error: an agent asks for access"
    } else {
        "An agent asks for access"
    };
    Page::narrow(title, content)
}

/// The code, and how to sign in. Browsers keep the session's cookie back when the link is opened from another app, so the
/// person may be signed in: the link of the first button is opened from here, and then the cookie comes.
pub(super) fn signed_out(offer: &Offer) -> Page {
    let content = html(
        "<div class=\"sheet\">{}<div class=\"stack\"><p id=\"sign-in\" role=\"status\">Whose account should it get access to? \
         If you are signed in in this browser, go on. If not, sign in first, then come back to this page.</p>\
         <p><a class=\"button primary wide\" href=\"/claim?signup={}\">I am signed in: go on</a></p>\
         <p><a class=\"button wide\" href=\"/dashboard\">Sign in</a></p>\
         <p class=\"small quiet\">You cannot sign in yet? Ask an agent that pays with your wallet for a login \
         link (GET /get-auth-link).</p>\
         </div></div>",
        &[&question(offer), &offer.claim_key],
    );
    Page::narrow("An agent asks for access", content)
}

fn question(offer: &Offer) -> Html {
    let asked = match offer.asked_minutes_ago {
        0 => "Requested just now".to_owned(),
        minutes => format!("Requested {} ago", counted(minutes, "minute")),
    };
    // Letters one by one, so that they are not read as a word.
    let spelled: Vec<String> = offer.code.chars().filter(|c| *c != '-').map(String::from).collect();
    let agent = match &*offer.agent {
        "" => html("An agent", &[]),
        name => html("An agent that calls itself “<bdi>{}</bdi>”", &[&name]),
    };
    html(
        "<div><h1>Does your agent show this code?</h1>\
         <p class=\"soft\">{} asks to use your account. Approve it only if you asked for it.</p>\
         <p id=\"code\" class=\"big-code\"><span aria-hidden=\"true\">{}</span><span class=\"hidden\">{}</span></p>\
         <p class=\"small quiet middle-text\">{} · ends in {}</p></div>",
        &[
            &agent,
            &offer.code,
            &spelled.join(" "),
            &asked,
            &counted(offer.minutes_left, "minute"),
        ],
    )
}

pub(super) fn invalid_link() -> Page {
    let text = "This link is not valid. Ask your agent to request access again.";
    Page::message(StatusCode::NOT_FOUND, "No such request", &[text])
}

pub(super) fn answered(is_rejected: bool) -> Page {
    let text = match is_rejected {
        true => "It was rejected, so the agent has no access.",
        false => "It was approved. The account that approved it lists the key and can revoke it.",
    };
    ended("This request was answered already", text)
}

/// The owner said no just now.
pub(super) fn rejected() -> Page {
    let content = html(
        "<div class=\"sheet\"><div><h1>Rejected</h1><p class=\"soft\" role=\"status\">The agent is informed and gets no access \
         to your account.</p></div><div><a class=\"button wide\" href=\"/dashboard\">Go to my account</a></div></div>",
        &[],
    );
    Page::narrow("Rejected", content)
}

pub(super) fn expired() -> Page {
    ended(
        "This request has ended",
        "It is too old: no one approved it in time. If you still want it, tell your agent to request access again.",
    )
}

fn ended(title: &str, text: &str) -> Page {
    let content = html(
        "<div class=\"sheet\"><div><h1>{}</h1><p class=\"soft\" role=\"status\">{}</p></div>\
         <div><a class=\"button wide\" href=\"/dashboard\">Go to my account</a></div></div>",
        &[&title, &text],
    );
    Page {
        status: StatusCode::GONE,
        ..Page::narrow(title, content)
    }
}
