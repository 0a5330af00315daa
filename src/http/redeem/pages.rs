//! The pages that the recipient of a push to card sees.

use http::StatusCode;
use purser_actors::entity::payout::{Payout, PayoutTarget, Status};

use super::{CardErrors, RedemptionLink};
use crate::page::fields::{Field, fields};
use crate::page::values::{counted, currency_words, day, minute, money, short};
use crate::page::{Fixed, Html, Page, html, icons};

const DAY_MS: u64 = 86_400_000;

/// The form, or what became of the payout.
pub(super) fn payout(status: StatusCode, link: &RedemptionLink, payout: &Payout) -> Page {
    match &payout.status {
        Status::AwaitingDetails => form(status, link, payout, CardErrors::default(), ""),
        Status::Expired => expired(status, payout),
        Status::Failed { .. } | Status::Cancelled { .. } | Status::Returned { .. } => not_paid(status, payout),
        Status::Queued => progress(status, link, payout, Step::Accepted),
        Status::InProcess => progress(status, link, payout, Step::WithTheBank),
        Status::Complete { .. } => progress(status, link, payout, Step::Paid),
    }
}

/// The form with what is wrong in it, and the expiry that was entered. The card number has to be entered again.
pub(super) fn form(
    status: StatusCode,
    link: &RedemptionLink,
    payout: &Payout,
    errors: CardErrors,
    entered_expiry: &str,
) -> Page {
    let amount = amount(payout);
    let currency = currency_words(payout.currency.as_str());
    let is_wrong = errors.number.is_some() || errors.expiry.is_some();
    let number_hint = match (&errors.number, errors.expiry) {
        (None, Some(_)) => "Enter it again: this page does not keep card numbers.".to_owned(),
        _ => format!("A debit card that is paid in {currency}."),
    };
    let fields = fields(&[
        Field {
            name: "card_number",
            label: "Card number",
            hint: &number_hint,
            error: errors.number.as_deref(),
            value: "",
            attributes: Fixed(
                "inputmode=\"numeric\" autocomplete=\"cc-number\" maxlength=\"24\" required class=\"code\"",
            ),
        },
        Field {
            name: "expiry",
            label: "Expiry",
            hint: "Month and year, like 08/29.",
            error: errors.expiry,
            value: entered_expiry,
            attributes: Fixed(
                "autocomplete=\"cc-exp\" placeholder=\"MM/YY\" maxlength=\"7\" required class=\"code brief\"",
            ),
        },
    ]);
    let content = html(
        "<div class=\"sheet\"><div>{}<p class=\"soft\">by the owner of <code>{}</code>. You get the full amount; the fee is \
         paid.</p>{}</div>\
         <form method=\"post\" action=\"/redeem\" class=\"stack\" autocomplete=\"on\" novalidate><h1>Which debit card should get it?</h1>\
         <input type=\"hidden\" name=\"payout_id\" value=\"{}\"><input type=\"hidden\" name=\"key\" value=\"{}\">{}\
         <button type=\"submit\">{}Send {} to this card</button></form>\
         <div><ul class=\"points small soft\">\
         <li>{}<span>We need the number and the expiry, nothing more.</span></li>\
         <li>{}<span>We never ask for a CVV, PIN, password or a code from your phone.</span></li>\
         <li>{}<span>This link ends on {} and works for one card.</span></li></ul></div></div>",
        &[
            &sum(payout),
            &short(&payout.owner.address()),
            &message(payout),
            &link.id,
            &link.key,
            &fields,
            &icons::LOCK,
            &amount,
            &icons::CHECK,
            &icons::CROSS,
            &icons::CLOCK,
            &day(payout.expires_at()),
        ],
    );
    let title = if is_wrong {
        "Error: you are being paid"
    } else {
        "You are being paid"
    };
    Page {
        status,
        ..Page::narrow(format!("{title} {amount}"), content)
    }
}

/// The card was accepted just now.
pub(super) fn submitted(link: &RedemptionLink, payout: &Payout, last4: &str) -> Page {
    steps(StatusCode::OK, link, payout, Some(last4), Step::Accepted)
}

/// How far a payout is on its way to the card.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Accepted,
    WithTheBank,
    Paid,
}

fn progress(status: StatusCode, link: &RedemptionLink, payout: &Payout, step: Step) -> Page {
    let last4 = match &payout.plan.target {
        PayoutTarget::Card(last4) => last4.as_deref(),
        _ => None,
    };
    steps(status, link, payout, last4, step)
}

fn steps(status: StatusCode, link: &RedemptionLink, payout: &Payout, last4: Option<&str>, step: Step) -> Page {
    let card = last4.map_or_else(|| "the card".to_owned(), |last4| format!("the card ending in {last4}"));
    let title = match step {
        Step::Paid => format!("It is on {card}"),
        Step::Accepted | Step::WithTheBank => format!("It is on its way to {card}"),
    };
    let stop = |own: Step, name: &'static str, note: &'static str| {
        let (class, icon, state) = match own.cmp(&step) {
            std::cmp::Ordering::Less => ("done", icons::CHECK, "done"),
            std::cmp::Ordering::Equal if step == Step::Paid => ("done", icons::CHECK, "done"),
            std::cmp::Ordering::Equal => ("now", icons::CLOCK, "now"),
            std::cmp::Ordering::Greater => ("next", Fixed("<span class=\"icon\"></span>"), "still to come"),
        };
        let note = if own == step { note } else { "" };
        html(
            "<li class=\"{}\">{}<span>{} <span class=\"hidden\">({})</span></span><span class=\"quiet\">{}</span></li>",
            &[&class, &icon, &name, &state, &note],
        )
    };
    let again = match step {
        Step::Paid => Html::default(),
        Step::Accepted | Step::WithTheBank => html(
            "<p><a class=\"button wide\" href=\"/redeem?payout_id={}&amp;key={}\">Look again</a></p>",
            &[&link.id, &link.key],
        ),
    };
    let content = html(
        "<div class=\"sheet\"><div>{}<h1>{}</h1></div>\
         <div><ol class=\"route\">{}{}{}</ol></div>\
         <div class=\"stack\"><p class=\"small soft\">You can close this page; the link shows how far it is. If your bank rejects \
         the payment, the sender gets the money back and can pay you again.</p>{}</div></div>",
        &[
            &sum(payout),
            &title,
            &stop(Step::Accepted, "Card accepted", "just now"),
            &stop(Step::WithTheBank, "With your bank", "usually minutes"),
            &stop(Step::Paid, "On your card", "up to 2 days until your bank shows it"),
            &again,
        ],
    );
    Page {
        status,
        ..Page::narrow(format!("{}: {title}", amount(payout)), content)
    }
}

fn expired(status: StatusCode, payout: &Payout) -> Page {
    let days = payout.plan.terms.wait_ms.div_ceil(DAY_MS).max(1);
    let text = format!(
        "This payment link has expired: no card was entered within {}, so the money went back to the sender. Ask the sender \
         for a new link.",
        counted(days, "day")
    );
    Page::message(status, "This link has ended", &[&text])
}

/// The rail's reason concerns the payer, so it is not shown.
fn not_paid(status: StatusCode, payout: &Payout) -> Page {
    let text = format!(
        "{} did not reach your card, and the money went back to the sender on {}.",
        amount(payout),
        minute(payout.updated_at)
    );
    Page::message(
        status,
        "You were not paid",
        &[&text, "Ask the sender for a new link, and use another card."],
    )
}

/// The reason concerns only the payer and the service, so it is not shown.
pub(super) fn on_hold(payout: &Payout) -> Page {
    let end = format!(
        "Nothing is lost: try this link again later, until {}, or ask the sender.",
        day(payout.expires_at())
    );
    let title = format!("Your {} is on hold", amount(payout));
    Page::message(
        StatusCode::FORBIDDEN,
        &title,
        &["This payment is on hold, so you can't enter a card now.", &end],
    )
}

pub(super) fn invalid_link() -> Page {
    Page::message(
        StatusCode::NOT_FOUND,
        "No such link",
        &["This link is incomplete or invalid. Ask the sender for a new one."],
    )
}

pub(super) fn other_site() -> Page {
    Page::message(
        StatusCode::FORBIDDEN,
        "Not from here",
        &["This form was sent by another site. Open the link itself and enter your card there."],
    )
}

pub(super) fn unavailable() -> Page {
    Page::message(
        StatusCode::SERVICE_UNAVAILABLE,
        "Not now",
        &["That could not be done now. Nothing was sent: please try again in a moment."],
    )
}

fn amount(payout: &Payout) -> String {
    money(payout.amount.decimal(), payout.currency.as_str())
}

fn sum(payout: &Payout) -> Html {
    html(
        "<p class=\"small quiet\">You are being paid</p><p><data class=\"sum\" value=\"{} {}\">{}</data></p>",
        &[
            &format!("{:.2}", payout.amount.decimal()),
            &payout.currency,
            &amount(payout),
        ],
    )
}

/// What the sender wrote. It is marked as theirs, so that it is not taken for the service's.
fn message(payout: &Payout) -> Html {
    match payout.message.as_deref() {
        None => Html::default(),
        Some(message) => html(
            "<figure class=\"message\"><figcaption class=\"small quiet\">The sender writes</figcaption>\
             <blockquote><bdi>{}</bdi></blockquote></figure>",
            &[&message],
        ),
    }
}
