//! One suite of behaviour for whoever makes what is sold: the sandbox in this process, the sandbox over HTTP
//! (`purser serve-providers`), and a stub written in Python from the protocol's document alone. Then what the client makes of
//! answers that are none.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "providers/balances.rs"]
mod balances;
#[path = "providers/bridge.rs"]
mod bridge;
#[path = "providers/control.rs"]
mod control;
#[path = "providers/malformed_money_responses.rs"]
mod malformed_money_responses;
#[path = "providers/malformed_responses.rs"]
mod malformed_responses;
#[path = "providers/process.rs"]
mod process;
#[path = "providers/processes.rs"]
mod processes;
#[path = "providers/reconciliation.rs"]
mod reconciliation;
#[path = "providers/suite.rs"]
mod suite;

use processes::{PythonStub, SandboxOverHttp, in_process};

// Aim: the sandbox keeps the rules of every port.
#[tokio::test]
async fn the_sandbox_in_this_process_keeps_the_rules() {
    let folder = tempfile::tempdir().unwrap();
    suite::check_all_rules(&in_process(folder.path())).await;
}

// Aim: over HTTP it keeps the same rules, so that nothing of them is lost on the wire.
#[tokio::test]
async fn the_sandbox_over_http_keeps_the_rules() {
    let served = SandboxOverHttp::start(&[]).await;
    suite::check_all_rules(&served.with_control().await).await;
}

// Aim: the document says enough to build a provider from: one that somebody else wrote, in another language, keeps the
// rules too.
#[tokio::test]
async fn a_stub_written_from_the_document_keeps_the_rules() {
    let Some(stub) = PythonStub::start().await else { return };
    suite::check_all_rules(&stub.with_control().await).await;
}

// Aim: the document in the repository is the one that the routes and types make.
#[test]
fn the_document_is_what_is_served() {
    let made = format!("{:#}\n", purser::provider::server::document().unwrap());
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/providers.openapi.json");
    let kept = std::fs::read_to_string(file).unwrap();
    assert!(
        kept == made,
        "docs/providers.openapi.json is old: purser serve-providers --openapi > docs/providers.openapi.json"
    );
}
