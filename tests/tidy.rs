//! Conventions of the project, held by tests: dependencies, sizes, names, and words that must not be used.

#![allow(clippy::unwrap_used, reason = "a test")]

#[path = "tidy/api_documents.rs"]
mod api_documents;
#[path = "tidy/cases.rs"]
mod cases;
#[path = "tidy/contract.rs"]
mod contract;
#[path = "tidy/documents.rs"]
mod documents;
#[path = "tidy/generated.rs"]
mod generated;
#[path = "tidy/import_circles.rs"]
mod import_circles;
#[path = "tidy/jobs.rs"]
mod jobs;
#[path = "tidy/precedence.rs"]
mod precedence;
#[path = "tidy/recorded_diffs.rs"]
mod recorded_diffs;
#[path = "tidy/response_coverage.rs"]
mod response_coverage;
#[path = "tidy/routes.rs"]
mod routes;
#[path = "tidy/schema_numbers.rs"]
mod schema_numbers;
#[path = "tidy/source_files.rs"]
mod source_files;
#[path = "tidy/state_charts.rs"]
mod state_charts;
#[path = "tidy/words.rs"]
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use source_files::{ROOT, files, lines_with, none};

/// The crates of the workspace, each with those of them that it may use. A crate stands below all that use it.
const CRATES: [(&str, &[&str]); 14] = [
    ("purser-storage", &[]),
    ("purser-chains", &[]),
    ("purser-actors", &["purser-storage"]),
    ("purser-verify", &["purser-actors", "purser-storage"]),
    ("purser-host", &["purser-actors"]),
    ("purser-vault", &["purser-actors", "purser-host"]),
    ("purser-protocol", &["purser-actors", "purser-chains", "purser-host"]),
    (
        "purser-config",
        &["purser-actors", "purser-chains", "purser-host", "purser-protocol"],
    ),
    (
        "purser-cli",
        &["purser-actors", "purser-config", "purser-host", "purser-protocol"],
    ),
    (
        "purser-edge",
        &[
            "purser-actors",
            "purser-config",
            "purser-host",
            "purser-protocol",
            "purser-storage",
        ],
    ),
    (
        "purser-settlement",
        &[
            "purser-actors",
            "purser-chains",
            "purser-config",
            "purser-host",
            "purser-protocol",
            "purser-storage",
        ],
    ),
    (
        "purser-sandbox",
        &[
            "purser-actors",
            "purser-host",
            "purser-protocol",
            "purser-settlement",
            "purser-storage",
        ],
    ),
    (
        "purser-provider",
        &[
            "purser-actors",
            "purser-config",
            "purser-host",
            "purser-protocol",
            "purser-sandbox",
            "purser-storage",
            "purser-vault",
        ],
    ),
    (
        "purser",
        &[
            "purser-actors",
            "purser-chains",
            "purser-cli",
            "purser-config",
            "purser-edge",
            "purser-host",
            "purser-protocol",
            "purser-provider",
            "purser-sandbox",
            "purser-settlement",
            "purser-storage",
            "purser-vault",
            "purser-verify",
        ],
    ),
];

/// The packages of the workspace.
fn packages() -> Vec<serde_json::Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(ROOT)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

// Checks: crate dependencies point one way, and the engine has no web or chain dependency.
#[test]
fn dependencies_run_one_way() {
    let mut needs: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in packages() {
        let own = package["name"].as_str().unwrap().to_owned();
        // Development dependencies count too: a test dependency on a higher crate would create a cycle. What is optional is
        // for the generation of documents.
        let dependencies = package["dependencies"].as_array().unwrap().iter();
        let needed = dependencies.filter(|d| d["optional"] == false && d["name"] != own);
        let names = needed.map(|d| d["name"].as_str().unwrap().to_owned()).collect();
        needs.insert(own, names);
    }
    let mut below = BTreeSet::new();
    for (name, may) in CRATES {
        assert!(may.iter().all(|used| below.contains(used)), "{name} stands too low");
        below.insert(name);
        let used = needs[name].iter().filter(|used| used.starts_with("purser"));
        assert_eq!(used.collect::<Vec<_>>(), may, "{name}");
    }
    assert_eq!(needs.len(), CRATES.len(), "{:?}", needs.keys());
    let (actors, storage) = (&needs["purser-actors"], &needs["purser-storage"]);
    let outside = [
        "axum",
        "hyper",
        "hyper-util",
        "http",
        "tower",
        "reqwest",
        "tokio-tungstenite",
        "utoipa",
        "secp256k1",
        "k256",
        "ed25519-dalek",
        "sha3",
        "clap",
        "toml",
    ];
    for crate_name in outside {
        assert!(!actors.contains(crate_name), "actors must not know {crate_name}");
        assert!(!storage.contains(crate_name), "storage must not know {crate_name}");
    }
    assert!(
        !storage.contains("ractor") && !actors.contains("sled"),
        "actors act, storage stores"
    );
}

// Checks: the schemas of the API documents are not part of the program.
#[test]
fn documents_are_generated_by_tests_only() {
    for package in packages() {
        let mut dependencies = package["dependencies"].as_array().unwrap().iter();
        let optional = dependencies.all(|d| d["name"] != "utoipa" || d["optional"] == true);
        assert!(
            optional && package["features"]["default"].is_null(),
            "{}",
            package["name"]
        );
    }
}

// Checks: every crate uses the lints of the workspace, and those forbid what they should.
#[test]
fn every_crate_takes_the_lints() {
    for package in packages() {
        let manifest = package["manifest_path"].as_str().unwrap();
        let text = fs::read_to_string(manifest).unwrap();
        assert!(text.contains("[lints]\nworkspace = true"), "{manifest}");
    }
    let root = fs::read_to_string(Path::new(ROOT).join("Cargo.toml")).unwrap();
    for lint in [
        "unwrap_used",
        "expect_used",
        "float_arithmetic",
        "print_stdout",
        "dbg_macro",
        "todo",
    ] {
        assert!(root.contains(&format!("{lint} = \"warn\"")), "{lint}");
    }
    for library in ["actors/src/lib.rs", "storage/src/lib.rs"] {
        let text = fs::read_to_string(Path::new(ROOT).join(library)).unwrap();
        assert!(text.contains("\n#![warn(missing_docs)]\n"), "{library}");
    }
    assert!(root.contains("unsafe_code = \"deny\""));
}

// Checks: shipped code does not unwrap an Option or Result: the lint is silenced in tests only.
#[test]
fn only_tests_unwrap() {
    let lints = ["clippy::unwrap_used", "clippy::expect_used", "clippy::panic"];
    let mut found = Vec::new();
    for file in files().iter().filter(|f| f.is_product()) {
        for (n, line) in lines_with(file.code(), &lints) {
            found.push(format!("{}:{n}: {line}", file.name));
        }
    }
    none(&found, "a lint is silenced outside tests");
}

// Checks: a file name says what the file contains, and every module is `x.rs` beside `x/`.
#[test]
fn module_names_are_descriptive() {
    let empty = ["utils", "util", "common", "helpers", "helper", "misc"];
    let mut found = Vec::new();
    for file in files() {
        if file.name.ends_with("/mod.rs") || file.name.split(['/', '.']).any(|part| empty.contains(&part)) {
            found.push(file.name);
        }
    }
    none(&found, "names that say nothing");
}

#[test]
fn source_has_no_unfinished_code() {
    let words = [
        concat!("to", "do!"),
        concat!("d", "bg!"),
        concat!("unimple", "mented!"),
        concat!("FIX", "ME"),
        concat!("X", "XX"),
        concat!("#[ig", "nore"),
        concat!("allow(dead", "_code"),
    ];
    let mut found = Vec::new();
    for file in files().iter().filter(|f| f.is_rust() || f.name.ends_with(".toml")) {
        for (n, line) in lines_with(&file.text, &words) {
            found.push(format!("{}:{n}: {line}", file.name));
        }
    }
    none(&found, "unfinished");
}

// Checks: only the command line prints to the terminal; everything else logs.
#[test]
fn only_the_command_line_prints() {
    let words = ["println!", "eprintln!", "print!", "eprint!", "io::stdout", "io::stderr"];
    let allowed = ["src/cli/terminal.rs", "src/commands/serve.rs"];
    let mut found = Vec::new();
    for file in files()
        .iter()
        .filter(|f| f.is_product() && !allowed.contains(&f.name.as_str()))
    {
        for (n, line) in lines_with(file.code(), &words) {
            found.push(format!("{}:{n}: {line}", file.name));
        }
    }
    none(&found, "printing");
}

// Checks: no code uses floats near money. Only the pricing schema names the type, because OpenAPI has no other number, and
// the serializer of stored views, which refuses it.
#[test]
fn no_float_is_near_money() {
    let mut found = Vec::new();
    for file in files().iter().filter(|f| f.is_product()) {
        for (n, line) in lines_with(file.code(), &["f32", "f64"]) {
            let allowed = match file.name.as_str() {
                "src/http/pricing.rs" => line.contains("schema(value_type = f64)"),
                "actors/src/kernel/stored_view.rs" => line.contains("fn serialize_f") && line.contains("(self, _:"),
                _ => false,
            };
            if !allowed {
                found.push(format!("{}:{n}: {line}", file.name));
            }
        }
    }
    none(&found, "floats");
}

// Checks: random ids are minted in a shard. Only the key of a signup is not, because it has no account yet, and what belongs
// to operators, who have no account.
#[test]
fn random_ids_are_minted_in_a_shard() {
    let mut found = Vec::new();
    for file in files().iter().filter(|f| f.is_product()) {
        for (n, line) in lines_with(file.code(), &["random())"]) {
            let is_id = line.contains("Id(") && !line.contains("::mint(") && !line.contains("shard().assign(");
            let without_account = [
                "src/protocol/identity/api_key.rs",
                "src/http/operator/desk/passkeys.rs",
                "src/http/operator/desk/sign_in.rs",
                "src/announcements.rs",
            ];
            if is_id && !without_account.contains(&file.name.as_str()) {
                found.push(format!("{}:{n}: {line}", file.name));
            }
        }
    }
    none(&found, "ids without a shard");
}

// Checks: time and randomness come in through ports, and one file reads them from the system.
#[test]
fn only_one_file_reads_system_time_and_randomness() {
    let words = [
        "SystemTime::now",
        "Instant::now",
        "getrandom",
        "thread_rng",
        "OsRng",
        "rand",
    ];
    // Intervals, not decisions: how long a transfer was seen while its payment is in progress, the ping interval of a stream,
    // the time to apply snapshots, the speed of an RPC endpoint, the time limit for a request's head.
    let pauses = [
        "actors/src/engine/incoming/watcher.rs",
        "src/chains/rpc/clock.rs",
        "src/edge/connection_timer.rs",
        "src/stream/socket.rs",
        "storage/src/journal/threads.rs",
    ];
    let mut found = Vec::new();
    for file in files()
        .iter()
        .filter(|f| f.is_product() && f.name != "src/host/system.rs")
    {
        for (n, line) in lines_with(file.code(), &words) {
            let pause = pauses.contains(&file.name.as_str()) && line.contains("Instant::now");
            // The salts of the journal: the disk is a port too, and a simulated disk draws them from its seed.
            let salt = file.name == "storage/src/disk.rs" && line.starts_with("getrandom::fill");
            if !pause && !salt && !line.starts_with("//") {
                found.push(format!("{}:{n}: {line}", file.name));
            }
        }
    }
    none(&found, "time or chance outside its port");
}

// Checks: no committed file names a path of the machine it was written on.
#[test]
fn no_path_of_a_developers_machine() {
    let paths = [
        concat!("/ho", "me/"),
        concat!("/Us", "ers/"),
        concat!("/ro", "ot/"),
        concat!("/wo", "rk/"),
    ];
    let mut found = Vec::new();
    for file in files() {
        for (n, line) in file.text.lines().enumerate() {
            if paths.iter().any(|p| line.contains(p)) {
                found.push(format!("{}:{}: {}", file.name, n + 1, line.trim()));
            }
        }
    }
    none(&found, "paths of a machine");
}
