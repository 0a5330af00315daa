//! Runs `schemathesis`, the published tester of OpenAPI documents, on `/openapi.json` and `/sandbox/openapi.json`. It
//! generates valid and invalid requests from the schemas and compares the responses with the document.
//!
//! Each run takes 60 seconds, or `PURSER_SCHEMATHESIS_SECONDS`; the shortest takes a third of it. Each finding is
//! printed with a `curl` command that repeats it.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::node::folder as folder_of_settings;
use super::python::Python;
use super::server_process::{ServerProcess, print_line};

/// For every response: no server error, and a documented status, content type, headers and body. Requests that the
/// document forbids are rejected, and so are requests without a required token.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,\
    response_schema_conformance,negative_data_rejection,unsupported_method,allow_header_conformance,\
    missing_required_header,ignored_auth";

/// A run of `schemathesis`.
struct TestRun {
    what: &'static str,
    document: &'static str,
    /// Arguments that select operations.
    selection: &'static [&'static str],
    /// Divides the time of a run.
    divisor: u64,
}

/// The sandbox controls come last, because they inject faults.
const RUNS: [TestRun; 3] = [
    TestRun {
        what: "the service",
        document: "/openapi.json",
        selection: &[],
        divisor: 1,
    },
    TestRun {
        what: "the pages and callbacks",
        document: "/sandbox/openapi.json",
        selection: &["--exclude-path-regex", "^/sandbox"],
        divisor: 3,
    },
    TestRun {
        what: "the sandbox controls",
        document: "/sandbox/openapi.json",
        // Without the document that it reads, which it leaves out of the other runs by itself.
        selection: &["--include-path-regex", "^/sandbox(?!/openapi)"],
        divisor: 1,
    },
];

#[tokio::test]
async fn schemathesis_finds_only_documented_responses() {
    // Checks: signed in with a wallet that has purchases, a link and an agent wallet: no 500, no undocumented status,
    // no response outside its schema, and no forbidden request accepted. Every operation was called.
    let Some(python) = Python::ready() else { return };
    let purser = ServerProcess::start_with(&[
        ("PURSER_LIMITS__REQUESTS_PER_WINDOW", "1000000000"),
        // Ends an unanswered long poll soon.
        ("PURSER_SIGNUP__LONG_POLL_SECONDS", "1"),
        // Ends an injected timeout soon.
        ("PURSER_ENGINE__SETTLEMENT_TIMEOUT_MS", "1000"),
        ("PURSER_ENGINE__RESPONSE_TIMEOUT_MS", "1500"),
        ("PURSER_SERVER__REQUEST_TIMEOUT_MS", "4000"),
    ]);
    let folder = tempfile::tempdir().unwrap();
    let token = customer(&purser, folder.path()).await;
    let mut tried = 0;
    for TestRun {
        what,
        document,
        selection,
        divisor,
    } in RUNS
    {
        let report = folder.path().join("report.json");
        let mut command = python.program("schemathesis");
        command
            .current_dir(folder.path())
            .arg("--config-file")
            .arg(folder_of_settings().join("schemathesis.toml"))
            .args(["run", &purser.url(document), "--header"])
            .arg(format!("Authorization: Bearer {token}"))
            .args([
                "--phases",
                "examples,coverage,fuzzing",
                "--workers",
                "1",
                "--checks",
                CHECKS,
            ])
            .args([
                "--max-time",
                &(seconds() / divisor).to_string(),
                "--continue-on-failure",
                "--suppress-health-check",
                "all",
            ])
            .args(["--no-color", "--report-json-path"])
            .arg(&report)
            .args(selection);
        let run = command.output().unwrap();
        let report: Value = serde_json::from_slice(&std::fs::read(&report).unwrap_or_default()).unwrap_or_default();
        let stdout = String::from_utf8_lossy(&run.stdout);
        let output = || format!("{what}: {stdout}\n{}", String::from_utf8_lossy(&run.stderr));
        assert!(run.status.success(), "{}", output());
        assert_eq!(
            (&report["failures"], &report["errors"]),
            (&json!([]), &json!([])),
            "{}",
            output()
        );
        let operations = &report["operations"];
        assert_eq!(operations["tested"], operations["selected"], "{}", output());
        tried += operations["tested"].as_u64().unwrap();
        print_line(&format!(
            "schemathesis tried {what}: {} requests",
            report["test_cases"]["generated"]
        ));
    }
    let mut known = 0;
    for document in ["/openapi.json", "/sandbox/openapi.json"] {
        let (_, _, body) = purser.get(document, &[]).await;
        let paths = body["paths"].as_object().unwrap().iter();
        // The document that it has read is no operation to it.
        let paths = paths.filter(|(path, _)| *path != document);
        known += paths
            .map(|(_, methods)| methods.as_object().unwrap().len())
            .sum::<usize>();
    }
    assert_eq!(tried, known as u64);
}

fn seconds() -> u64 {
    let set = std::env::var("PURSER_SCHEMATHESIS_SECONDS").ok();
    set.map_or(60, |seconds| seconds.parse().unwrap())
}

/// A wallet that signs in, has an account at the card issuer and a managed wallet: its token.
async fn customer(purser: &ServerProcess, folder: &Path) -> String {
    let run = Command::new(env!("CARGO_BIN_EXE_purser"))
        .args(["token", &purser.url("")])
        .env("PURSER_WALLET", folder.join("wallet.json"))
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let token = String::from_utf8(run.stdout).unwrap().trim().to_owned();
    let (_, account) = purser.bearer("/get-account-balance", &token).await;
    let (status, linked) = purser
        .post("/sandbox/link", &json!({"wallet": account["user_id"], "linked": true}))
        .await;
    assert_eq!(status, 200, "{linked}");
    let made = purser.http.post(purser.url("/createAgentWallet")).bearer_auth(&token);
    let made = made.json(&json!({"data": {}})).send().await.unwrap();
    assert_eq!(made.status(), 200);
    token
}
