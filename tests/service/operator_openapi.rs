//! The operator API's document and command line have every route and describe it correctly.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use clap::Args as _;
use purser::http::routes::PATHS as ROUTES;
use serde_json::Value;

use super::admin::{ADMIN, TRUSTED};
use super::host::Host;
use super::operator_client::OperatorClient;

#[tokio::test(flavor = "multi_thread")]
async fn operator_document_is_complete() {
    // Checks: The document has exactly the routes of the table, which another test compares with the router. It names
    // the table's roles, a body for every POST, and a schema for every 200 and every error. All other operator tests
    // check responses against it.
    let host = Host::new();
    let service = host.start();
    let operator = OperatorClient::first(&host, &service);
    let document = operator.get("/admin/openapi.json").await.body;
    assert_eq!(document["openapi"], "3.1.0");
    let mut described: BTreeMap<(String, String), &Value> = BTreeMap::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            described.insert((method.to_uppercase(), path.clone()), operation);
        }
    }
    let ids: BTreeSet<&str> = described
        .values()
        .filter_map(|operation| operation["operationId"].as_str())
        .collect();
    assert_eq!(ids.len(), described.len(), "every operation has an id of its own");
    let routes = ADMIN.map(|(method, path)| (method.to_owned(), path.to_owned()));
    // Routes of the desk's sign-in need no role.
    let known = described.keys().filter(|(_, path)| path.starts_with("/admin/"));
    let known: BTreeSet<_> = known.cloned().collect();
    assert_eq!(known, BTreeSet::from(routes.clone()));
    for (n, route) in routes.iter().enumerate() {
        let operation = described[route];
        let roles: BTreeSet<&str> = operation["x-roles"]
            .as_array()
            .unwrap()
            .iter()
            .map(|r| r.as_str().unwrap())
            .collect();
        let trusted = TRUSTED
            .iter()
            .filter(|(_, trusted)| n < *trusted)
            .map(|(role, _)| *role);
        assert_eq!(roles, trusted.collect(), "{route:?}");
        assert_eq!(operation["requestBody"].is_object(), route.0 == "POST", "{route:?}");
        assert!(
            operation["summary"].as_str().is_some_and(|says| says.len() > 10),
            "{route:?}"
        );
        let done = operation["responses"].get("202").map_or("200", |_| "202");
        for status in [done, "400", "401", "403", "429", "500", "503"] {
            let answer = &operation["responses"][status];
            let shared = answer["$ref"]
                .as_str()
                .map(|pointer| document.pointer(&pointer[1..]).unwrap());
            let answer = shared.unwrap_or(answer);
            let content = &answer["content"]["application/json"]["schema"];
            assert!(content.is_object(), "{route:?} has no shape for {status}");
        }
    }
    let whole = document.to_string();
    let mut references = 0;
    for reference in whole.split("\"$ref\":\"").skip(1) {
        let pointer = reference.split('"').next().unwrap();
        assert!(
            document.pointer(&pointer[1..]).is_some_and(Value::is_object),
            "{pointer} is not there"
        );
        references += 1;
    }
    assert!(references > 50, "only {references} references");
}

/// Methods and paths.
type RequestedOperations = BTreeSet<(String, String)>;

/// A server that answers `{}` to everything and records the requests.
fn recorder() -> (String, Arc<Mutex<RequestedOperations>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let requests: Arc<Mutex<RequestedOperations>> = Arc::default();
    let written = requests.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let mut first = String::new();
            stream.read_line(&mut first).unwrap();
            let mut length = 0;
            loop {
                let mut line = String::new();
                stream.read_line(&mut line).unwrap();
                let line = line.trim().to_ascii_lowercase();
                if let Some(bytes) = line.strip_prefix("content-length:") {
                    length = bytes.trim().parse().unwrap();
                }
                if line.is_empty() {
                    break;
                }
            }
            stream.read_exact(&mut vec![0; length]).unwrap();
            let mut words = first.split(' ');
            let method = words.next().unwrap().to_owned();
            let path = words.next().unwrap().split('?').next().unwrap().to_owned();
            written.lock().unwrap().insert((method, path));
            let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
            stream.get_mut().write_all(answer.as_bytes()).unwrap();
        }
    });
    (url, requests)
}

/// Command lines that send a request, with their standard input.
const LINES: &[(&str, &str)] = &[
    ("customers 0x12", ""),
    ("search 0x12", ""),
    ("timeline 0x12", ""),
    ("timeline card_1", ""),
    ("notes add 0x12 --text Called", ""),
    ("notes list 0x12", ""),
    ("announcements list", ""),
    ("announcements test", ""),
    ("queues", ""),
    ("series", ""),
    ("watch", ""),
    ("system", ""),
    ("openapi", ""),
    ("freeze 0x12 --message Stop", ""),
    ("freeze 0x12 --message Stop --preview", ""),
    ("unfreeze 0x12", ""),
    ("intl-orders list", ""),
    ("intl-orders claim card_1", ""),
    ("intl-orders renew card_1 --lease 1", ""),
    ("intl-orders release card_1 --lease 1", ""),
    (
        "intl-orders fulfil card_1 --lease 1 --billing-address 1 Valletta Malta 1010 MT",
        "4000\n12/2031\n123\n",
    ),
    ("intl-orders actions", ""),
    ("intl-orders report card_1 paused --available 5 --ends-request", ""),
    ("intl-orders reject card_1 --reason No", ""),
    ("card-withdrawals list", ""),
    ("card-withdrawals claim wd_1", ""),
    ("card-withdrawals renew wd_1 --lease 1", ""),
    ("card-withdrawals release wd_1 --lease 1", ""),
    ("card-withdrawals fulfil wd_1 --lease 1 --tx-hash 0x12", ""),
    ("card-withdrawals reject wd_1 --reason No", ""),
    ("dead-letters", ""),
    ("jobs retry job_1", ""),
    ("jobs resolve job_1 --completed --reference 0x12 --evidence Seen", ""),
    ("jobs credit job_1 --evidence Seen", ""),
    ("jobs keep job_1 --evidence Seen", ""),
    ("incoming list", ""),
    ("incoming credit dep_1 --evidence Seen", ""),
    ("incoming operator-funds dep_1 --evidence Seen", ""),
    ("incoming return dep_1 --evidence Seen", ""),
    ("confirm --everything", ""),
    ("refunds list", ""),
    ("refunds show pay_1", ""),
    ("refunds request pay_1 --amount 5 --reason Lost", ""),
    (
        "refunds request pay_1 --amount 5 --reason Lost --holder-keeps-product",
        "",
    ),
    // A negative amount must reach the service, which rejects it with its own error.
    ("refunds approve ref_1 --amount -5", ""),
    ("refunds reject ref_1 --reason No", ""),
    ("approvals list", ""),
    ("approvals approve apr_1 --amount 5", ""),
    ("approvals reject apr_1 --reason No", ""),
    ("chains accept base --evidence Seen", ""),
    ("lines list", ""),
    ("lines close gift_card --reason Down", ""),
    ("lines open gift_card --reason Up", ""),
    ("reconciliation", ""),
    ("reconciliation --now", ""),
    ("events", ""),
    ("late-returns", ""),
    ("untracked-transfers attribute 0x12 --loss --evidence Seen", ""),
    ("audit", ""),
    ("audit --newest --before 7", ""),
    ("audit --verify", ""),
    ("webhooks list", ""),
    ("webhooks deliveries wh_1", ""),
    ("webhooks redeliver dlv_1", ""),
    ("tokens create ann --role support", ""),
    ("tokens revoke ann", ""),
    ("tokens list", ""),
    ("tokens generate ann --role support", ""),
    ("sandbox-call /sandbox/magic", ""),
    ("sandbox state chains", ""),
    ("sandbox state payouts", ""),
    ("sandbox state catalogs", ""),
    ("sandbox magic-values", ""),
    ("sandbox clock", ""),
    ("sandbox advance-clock 30d", ""),
    ("sandbox fault chain decline", ""),
    ("sandbox fault issuer decline", ""),
    ("sandbox fault reloadable-cards slow --delay-ms 10", ""),
    ("sandbox fault payouts timeout --times 2", ""),
    ("sandbox fault bank decline --operation open", ""),
    ("sandbox fault bridge stall --operation mint", ""),
    ("sandbox fault identity decline", ""),
    ("sandbox fault issuer-accounts clear", ""),
    ("sandbox fault gift-cards stock --product-id gift_1 --stock 3", ""),
    ("sandbox fault merchants clear", ""),
    ("sandbox payout-event po_1 returned", ""),
    ("sandbox bank-return ba_1 btr_1 5", ""),
    ("sandbox bank-deposit ba_1 5", ""),
    ("sandbox identity 0x12 failed --reason under_age", ""),
    ("sandbox link 0x12", ""),
    ("sandbox charge card_1 Shop 5 --pending", ""),
    ("sandbox charge-outcome card_1 sbx_1 refunded", ""),
    ("sandbox hold-credits", ""),
    ("sandbox exchange-rate GBP 1.25", ""),
    ("sandbox faucet 0x12 -5", ""),
    ("sandbox balance 0x12", ""),
    ("sandbox transfers solana", ""),
];

/// Sandbox routes without an operator command: those for clients and other processes, and the one `freeze` replaces.
const NOT_FOR_OPERATORS: [&str; 7] = [
    "/sandbox/bank-recipients",
    "/sandbox/base",
    "/sandbox/freeze",
    "/sandbox/identity-check",
    "/sandbox/openapi.json",
    "/sandbox/chain-rpc",
    "/sandbox/solana",
];

/// The commands that send a request, each as its words.
fn leaf_commands(command: &clap::Command, words: &str, found: &mut BTreeSet<String>) {
    let below: Vec<_> = command
        .get_subcommands()
        .filter(|below| below.get_name() != "help")
        .collect();
    if below.is_empty() {
        found.insert(words.to_owned());
    }
    for below in below {
        leaf_commands(below, format!("{words} {}", below.get_name()).trim(), found);
    }
}

#[test]
fn command_line_covers_every_operator_route() {
    // Checks: Run once each, all commands of `purser admin` request exactly the operator and sandbox routes. No command
    // is missing here.
    let mut commands = BTreeSet::new();
    leaf_commands(
        &purser::cli::admin::Args::augment_args(clap::Command::new("admin")),
        "",
        &mut commands,
    );
    for command in &commands {
        let tried = LINES
            .iter()
            .any(|(line, _)| line == command || line.starts_with(&format!("{command} ")));
        assert!(tried, "`purser admin {command}` is not run here");
    }
    let (url, requests) = recorder();
    let directory = tempfile::tempdir().unwrap();
    for (line, typed) in LINES {
        let mut command = Command::new(env!("CARGO_BIN_EXE_purser"));
        command
            .args(["admin", "--url", &url, "--data"])
            .arg(directory.path())
            .args(line.split(' '));
        if line.starts_with("sandbox ") {
            command.args(["--service", &url]);
        }
        command.env_clear().env("PURSER_OPERATOR_TOKEN", "pop_1");
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A command that reads no input may have exited already.
        drop(child.stdin.take().unwrap().write_all(typed.as_bytes()));
        let output = child.wait_with_output().unwrap();
        assert!(
            output.status.success(),
            "{line}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let requests = requests.lock().unwrap();
    let of = |prefix: &str| -> BTreeSet<(&str, &str)> {
        let requests = requests.iter().filter(|(_, path)| path.starts_with(prefix));
        requests
            .map(|(method, path)| (method.as_str(), path.as_str()))
            .collect()
    };
    // A command has a token, and no session to ask about.
    let with_commands = ADMIN.into_iter().filter(|(_, path)| *path != "/admin/session");
    assert_eq!(of("/admin/"), with_commands.collect());
    let controls = ROUTES.iter().copied().filter(|route| route.starts_with("/sandbox"));
    let controls: BTreeSet<&str> = controls.filter(|route| !NOT_FOR_OPERATORS.contains(route)).collect();
    assert_eq!(
        of("/sandbox")
            .into_iter()
            .map(|(_, path)| path)
            .collect::<BTreeSet<_>>(),
        controls
    );
}
