//! The state charts of docs/states.md are the code's: a table that differs from `TRANSITIONS` fails here, with the
//! correct text.

#![allow(clippy::expect_used, reason = "a test")]

use std::fmt::Write as _;

use purser_actors::account::Account;
use purser_actors::agent_wallet::AgentWallet;
use purser_actors::api_key::ApiKey;
use purser_actors::bank_destination::BankDestination;
use purser_actors::banking::account::BankAccount;
use purser_actors::banking::application::BankingApplication;
use purser_actors::banking::profile::BankingProfile;
use purser_actors::banking::transfer::BankTransfer;
use purser_actors::card::Card;
use purser_actors::card_withdrawal::CardWithdrawal;
use purser_actors::discrepancy::Discrepancy;
use purser_actors::gift_card::GiftCard;
use purser_actors::identity_verification::IdentityVerification;
use purser_actors::incoming::Incoming;
use purser_actors::intl_order::IntlOrder;
use purser_actors::issuer_link::IssuerLink;
use purser_actors::kernel::Entity;
use purser_actors::late_return::LateReturn;
use purser_actors::line::LineState;
use purser_actors::payment::Payment;
use purser_actors::payment_recipient::PaymentRecipient;
use purser_actors::payout::Payout;
use purser_actors::refund::Refund;
use purser_actors::reloadable_card::ReloadableCard;
use purser_actors::session::Session;
use purser_actors::top_up::TopUp;
use purser_actors::wallet_payment::WalletPayment;
use purser_actors::webhook::WebhookEndpoint;
use purser_actors::webhook_delivery::WebhookDelivery;
use purser_actors::withdrawal::Withdrawal;

/// The chart as a Markdown table. A state without transitions is final and bold.
fn table<E: Entity>() -> String {
    let is_final = |state: &str| E::TRANSITIONS.iter().all(|(from, _, _)| *from != state);
    let mut text = String::from("| from | what moves it | to |\n| --- | --- | --- |\n");
    for (from, why, to) in E::TRANSITIONS {
        let to = if is_final(to) {
            format!("**{to}**")
        } else {
            (*to).to_owned()
        };
        writeln!(text, "| {from} | {why} | {to} |").expect("a string takes everything");
    }
    text
}

fn check<E: Entity>(document: &str, wrong: &mut String) {
    let name = E::KIND.name();
    let (begin, end) = (format!("<!-- chart: {name} -->\n"), "<!-- chart end -->");
    let shown = document.split_once(&begin).and_then(|(_, rest)| rest.split_once(end));
    let expected = table::<E>();
    if shown.map(|(table, _)| table) != Some(&expected) {
        writeln!(wrong, "\n{begin}{expected}{end}").expect("a string takes everything");
    }
}

// Checks: the document has the code's state charts.
#[test]
fn documented_state_charts_match_the_code() {
    let document = include_str!("../docs/states.md");
    let mut wrong = String::new();
    check::<Account>(document, &mut wrong);
    check::<Payment>(document, &mut wrong);
    check::<Card>(document, &mut wrong);
    check::<IntlOrder>(document, &mut wrong);
    check::<Session>(document, &mut wrong);
    check::<GiftCard>(document, &mut wrong);
    check::<IdentityVerification>(document, &mut wrong);
    check::<IssuerLink>(document, &mut wrong);
    check::<TopUp>(document, &mut wrong);
    check::<Withdrawal>(document, &mut wrong);
    check::<Payout>(document, &mut wrong);
    check::<LateReturn>(document, &mut wrong);
    check::<PaymentRecipient>(document, &mut wrong);
    check::<BankDestination>(document, &mut wrong);
    check::<BankingProfile>(document, &mut wrong);
    check::<ReloadableCard>(document, &mut wrong);
    check::<CardWithdrawal>(document, &mut wrong);
    check::<AgentWallet>(document, &mut wrong);
    check::<WalletPayment>(document, &mut wrong);
    check::<BankingApplication>(document, &mut wrong);
    check::<BankAccount>(document, &mut wrong);
    check::<BankTransfer>(document, &mut wrong);
    check::<Discrepancy>(document, &mut wrong);
    check::<LineState>(document, &mut wrong);
    check::<ApiKey>(document, &mut wrong);
    check::<WebhookEndpoint>(document, &mut wrong);
    check::<WebhookDelivery>(document, &mut wrong);
    check::<Refund>(document, &mut wrong);
    check::<Incoming>(document, &mut wrong);
    assert!(wrong.is_empty(), "docs/states.md should say:\n{wrong}");
}
