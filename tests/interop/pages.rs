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
    // policy, nothing from other hosts, no secret that stays, and hostile texts stay text.
    run("public");
}

#[test]
fn owner_watches_and_acts_on_the_dashboard() {
    // Checks: a purchase, a credit and a freeze appear without a reload. After a kill of the service the page says that
    // it is not live, resumes, and shows nothing twice. An agent's next call after a stop is rejected. Every page is
    // accessible in both schemes and sizes, no name that another chose becomes markup, and no secret stays.
    run("holder");
}

#[test]
fn owner_uses_passkeys() {
    // Checks: with the browser's virtual device an owner adds a passkey, returns with it without a link, and reveals a
    // card whose number stays nowhere. A device whose person does not confirm opens no session.
    run("passkeys");
}

#[test]
fn operators_work_at_their_own_address() {
    // Checks: the first sign-in by token adds a passkey, and the token stays nowhere. Every page is accessible in both
    // schemes and sizes. A fulfilled order appears on its owner's open page, and its number stays nowhere.
    run("desk");
}

#[test]
fn owner_follows_money_on_its_way() {
    // Checks: each leg of a top-up appears without a reload, with its transaction and who did it. A failed payout says
    // where the money is, and leads to its line in the statement and back. A card that was not made is listed with what
    // came back.
    run("transfers");
}
