//! One behaviour suite for every provider: the sandbox in this process, the sandbox over HTTP (`purser
//! serve-providers`), and a Python stub written from the protocol document alone. Then how the client treats malformed
//! responses.

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

#[tokio::test]
async fn the_sandbox_in_this_process_keeps_the_rules() {
    let folder = tempfile::tempdir().unwrap();
    suite::check_all_rules(&in_process(folder.path())).await;
}

// Checks: the HTTP protocol carries everything that the rules need.
#[tokio::test]
async fn the_sandbox_over_http_keeps_the_rules() {
    let served = SandboxOverHttp::start(&[]).await;
    suite::check_all_rules(&served.with_control().await).await;
}

// Checks: the document suffices to build a provider: an independent one in another language keeps the rules too.
#[tokio::test]
async fn stub_written_from_the_document_keeps_the_rules() {
    let Some(stub) = PythonStub::start().await else { return };
    suite::check_all_rules(&stub.with_control().await).await;
}
