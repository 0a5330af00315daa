//! The pages in a real Chromium, as people use them while agents and operators call the service from other processes.
//! Each test runs one file of scenarios of `tests/interop/pages/`, which share a service and a browser. `PURSER_PICTURES`
//! names a folder for pictures of every screen that was inspected.

use crate::chromium;
use crate::node::{Node, present};

/// Runs a file of scenarios and fails with those that failed.
fn run(scenarios: &str) {
    let Some(program) = present(chromium::find()) else {
        return;
    };
    let Some(node) = Node::ready() else { return };
    let run = node
        .script("pages/run.mjs")
        .arg(env!("CARGO_BIN_EXE_purser"))
        .arg(program)
        .arg(scenarios)
        .output()
        .unwrap();
    let (passed, failed) = (
        String::from_utf8_lossy(&run.stdout),
        String::from_utf8_lossy(&run.stderr),
    );
    assert!(run.status.success(), "{passed}\n{failed}");
}

#[test]
fn public_pages_work_without_scripts() {
    // Checks: the front page, the price of a paid route, the recipient's form, an agent's signup, the identity check and
    // used links, on a phone and a desktop, light and dark: no accessibility violation, no console error, no violated
    // policy, nothing from other hosts, no secret that stays, and hostile texts stay text. At 320 px, at 200 % and with
    // texts of twice the size nothing is cut or covered, and a page is read in the order in which it is shown.
    run("public");
}

#[test]
fn owner_watches_and_acts_on_the_dashboard() {
    // Checks: a purchase, a credit, the steps of a top-up and a freeze appear without a reload. After a kill of the
    // service the page says that it is not live, resumes, and shows nothing twice. An agent's next call after a stop is
    // rejected. Every page is accessible in both schemes and sizes, no name that another chose becomes markup, and no
    // secret stays.
    run("holder");
}

#[test]
fn owner_limits_agents_and_answers_what_they_ask() {
    // Checks: an owner sets limits for the balances and by merchant on the page. A withdrawal over a limit appears without
    // a reload, passes once after a yes and never after a no; decided ones are listed. What is no host is said at its
    // field.
    run("limits");
}

#[test]
fn owner_uses_passkeys() {
    // Checks: with the browser's virtual device an owner adds a passkey, returns with it without a link, and reveals a
    // card whose number stays nowhere. A device whose person does not confirm opens no session.
    run("passkeys");
}

#[test]
fn owner_returns_without_passkeys_and_after_a_stop() {
    // Checks: at the default address a page leads to localhost, where the virtual device adds a passkey that Home offers.
    // A recovery that the wallet begins is seen without a reload and cancelled with the passkey; another one brings back an
    // owner who lost it. The stop offers a passkey first, and an owner without one returns by a link of the wallet.
    run("recovery");
}

#[test]
fn operators_work_at_their_own_address() {
    // Checks: the first sign-in by token adds a passkey, and the token stays nowhere. Every page and state is accessible
    // in both schemes and sizes. A fulfilled order appears on its owner's open page, and its number stays nowhere. A
    // second operator approves a refund. After a kill both pages say that they are stale, resume, and show nothing twice.
    run("desk");
}

#[test]
fn owner_follows_money_on_its_way() {
    // Checks: each leg of a top-up appears without a reload, with its transaction and who did it. A failed payout says
    // where the money is, and leads to its line in the statement and back. A card that was not made is listed with what
    // came back.
    run("transfers");
}

#[test]
fn tabs_of_operators_stay_live() {
    // Checks: a new order is announced in the title of an open tab. A note of an operator appears in the timeline of its
    // customer, stays text, and is not for its owner. An order is entered with the keyboard alone; a pasted number shows
    // as dots and stays nowhere. An administrator adds a colleague, whose token is shown once, and ends it. Eight tabs of
    // one browser share one stream, stay live when the tab that has it is closed, and go on after a kill; eight tabs of the
    // dashboard stay live too.
    run("desk-live");
}

#[test]
fn agents_feel_their_owner_and_operators() {
    // Checks: an agent in a process of its own waits for an approval that its owner gives on the page, and goes on; it
    // hears of a decline. After a stop, and after an operator's freeze, no call of a running agent that begins after the
    // answer succeeds. The owner's open page shows the freeze without a reload.
    run("agents");
}

#[test]
fn both_apps_work_by_keyboard_alone() {
    // Checks: an owner's and an operator's whole way with the keyboard only. The focus is always seen, is kept when a
    // dialog, a menu or the focused element goes, and every control of every page is reached, at 200 % too.
    run("keyboard");
}

#[test]
fn screens_are_read_in_order() {
    // Checks: the tree that the browser hands to screen readers, of the main screens of both apps on a desktop and a phone.
    // One first heading and no skipped level, parts with names of their own in the order in which they are seen, tables
    // with headings, no two links or buttons of one name that do different things, dialogs whose text is read with their
    // title, and a live region that says what appeared.
    run("reading");
}

#[test]
fn attackers_get_nothing_from_the_pages() {
    // Checks: each text that an agent, a customer, a seller, a provider or an operator chooses is shown as text on every
    // page of both apps. Requests and frames of another site of the same host change and show nothing; a planted
    // session is replaced. No secret is left in pages, storage, history or logs, where planted ones are found.
    run("attacks");
}
