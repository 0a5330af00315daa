//! Checks our documents with what others publish: schemas, linters, and generators of types and clients.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use super::KEY;
use super::node::{Node, folder};
use super::server_process::ServerProcess;

/// A copy of `typescript/` beside the installed packages, for what tools read and write.
struct ToolFolder {
    node: Node,
    folder: tempfile::TempDir,
}

/// How a tool ended.
struct ToolRun {
    success: bool,
    stdout: String,
    /// Of both streams.
    output: String,
}

impl ToolRun {
    fn succeeded(self) -> String {
        assert!(self.success, "{}", self.output);
        self.stdout
    }
}

impl ToolFolder {
    fn new(node: Node) -> Self {
        let own = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(folder().join("node_modules"), own.path().join("node_modules")).unwrap();
        for file in std::fs::read_dir(folder().join("typescript")).unwrap() {
            let file = file.unwrap();
            std::fs::copy(file.path(), own.path().join(file.file_name())).unwrap();
        }
        Self { node, folder: own }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, name: &str, document: &Value) {
        std::fs::write(self.path().join(name), document.to_string()).unwrap();
    }

    /// Runs a script of a package, or one of this folder.
    fn run(&self, script: &str, arguments: &[&str]) -> ToolRun {
        let run = self
            .node
            .script(self.path().join(script).to_str().unwrap())
            .args(arguments)
            .current_dir(self.path())
            // Neither reports its use nor looks for a newer version.
            .env("REDOCLY_TELEMETRY", "off")
            .env("REDOCLY_SUPPRESS_UPDATE_NOTICE", "true")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let stdout = String::from_utf8_lossy(&run.stdout).into_owned();
        ToolRun {
            success: run.status.success(),
            output: format!("{stdout}{}", String::from_utf8_lossy(&run.stderr)),
            stdout,
        }
    }

    fn redocly(&self, name: &str) -> ToolRun {
        self.run(
            "node_modules/@redocly/cli/bin/cli.js",
            &["lint", "--extends", "recommended", name],
        )
    }

    fn spectral(&self, names: &[&str]) -> ToolRun {
        let rules = ["lint", "--ruleset", "spectral.yaml", "--display-only-failures"];
        self.run(
            "node_modules/@stoplight/spectral-cli/dist/index.js",
            &[rules.as_slice(), names].concat(),
        )
    }
}

/// The document of the operator's API.
async fn operator_document(purser: &ServerProcess) -> Value {
    let file = |name: &str| std::fs::read_to_string(purser.data().join(name)).unwrap();
    let url = format!("http://{}/admin/openapi.json", file("operator.address").trim());
    let request = purser.http.get(url).bearer_auth(file("operator.token").trim());
    request.send().await.unwrap().json().await.unwrap()
}

#[tokio::test]
async fn generated_typescript_client_buys_a_card() {
    // Checks: types of `openapi-typescript` and a client of `@hey-api/openapi-ts`, both generated from the running
    // service's document, compile under `--strict` with a program that narrows a card's status and buys a card through
    // that client with the published x402 client. A status without a case does not compile.
    let Some(node) = Node::ready() else { return };
    let tools = ToolFolder::new(node);
    let purser = ServerProcess::start();
    let (_, _, document) = purser.get("/openapi.json", &[]).await;
    tools.write("openapi.json", &document);
    tools
        .run(
            "node_modules/openapi-typescript/bin/cli.js",
            &["openapi.json", "-o", "types.ts"],
        )
        .succeeded();
    tools
        .run("node_modules/@hey-api/openapi-ts/bin/run.js", &["--no-log-file"])
        .succeeded();
    let compile = || tools.run("node_modules/typescript/bin/tsc", &["--project", "."]);
    compile().succeeded();

    let output = tools.run("built/buy.js", &[&purser.url(""), KEY]).succeeded();
    let bought: Value = serde_json::from_str(&output).unwrap_or_else(|e| panic!("{e}: {output}"));
    assert!(
        bought["card_id"].as_str().is_some_and(|id| id.starts_with("card_")),
        "{output}"
    );
    assert_eq!(
        bought["statuses"].as_array().unwrap().last().unwrap(),
        "ready",
        "{output}"
    );
    assert_eq!(purser.transfers("base").await.len(), 1);

    let program = tools.path().join("buy.ts");
    let text = std::fs::read_to_string(&program).unwrap();
    std::fs::write(&program, text.replace("    case 'expired':\n", "")).unwrap();
    let incomplete = compile();
    assert!(
        !incomplete.success
            && incomplete
                .output
                .contains("'\"expired\"' is not assignable to type 'never'"),
        "{}",
        incomplete.output
    );
}

#[tokio::test]
async fn linters_find_no_error_in_the_openapi_documents() {
    // Checks: Redocly's recommended rules and Spectral's rules for OpenAPI find no error in the three documents. In a
    // document with a wrong response, an undeclared tag and an unknown schema both find errors.
    let Some(node) = Node::ready() else { return };
    let tools = ToolFolder::new(node);
    let purser = ServerProcess::start();
    let (_, _, clients) = purser.get("/openapi.json", &[]).await;
    let (_, _, sandbox) = purser.get("/sandbox/openapi.json", &[]).await;
    let operator = operator_document(&purser).await;
    let documents = [
        ("clients.json", &clients),
        ("sandbox.json", &sandbox),
        ("operator.json", &operator),
    ];
    for (name, document) in documents {
        assert!(document["paths"].as_object().unwrap().len() > 30, "{name}");
        tools.write(name, document);
        tools.redocly(name).succeeded();
    }
    tools.spectral(&documents.map(|(name, _)| name)).succeeded();

    let mut broken = sandbox;
    let mut operation = broken["paths"]["/sandbox/magic"]["get"].take();
    operation["tags"] = json!(["Unknown"]);
    operation["responses"]["200"] =
        json!({"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Unknown"}}}});
    broken["paths"] = json!({"/sandbox/magic": {"get": operation}});
    tools.write("broken.json", &broken);
    let (redocly, spectral) = (tools.redocly("broken.json"), tools.spectral(&["broken.json"]));
    assert!(
        !redocly.success && redocly.output.contains("no-unresolved-refs"),
        "{}",
        redocly.output
    );
    assert!(
        !spectral.success && spectral.output.contains("operation-tag-defined"),
        "{}",
        spectral.output
    );
}

#[tokio::test]
async fn asyncapi_document_matches_its_published_schema() {
    // Checks: /asyncapi.json is valid AsyncAPI 3.0.0 by the official schema and has a message for each event type, and an invalid document is detected.
    let Some(_node) = Node::ready() else { return };
    let published = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/interop/node_modules/@asyncapi/specs/schemas/3.0.0.json"
    );
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(published).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let purser = ServerProcess::start();
    let (_, _, mut document) = purser.get("/asyncapi.json", &[]).await;
    let wrong: Vec<String> = validator
        .iter_errors(&document)
        .map(|e| format!("{e} at {}", e.instance_path()))
        .collect();
    assert_eq!(wrong, Vec::<String>::new());
    let channel = |name: &str| document["channels"][name]["messages"].as_object().unwrap().clone();
    let (pushed, posted) = (channel("stream"), channel("webhook"));
    for kind in ["card.ready", "balance.credited", "identity.in-review"] {
        assert!(pushed.contains_key(kind) && posted.contains_key(kind), "{kind}");
    }
    assert!(
        posted.keys().all(|name| name.split('.').count() == 2),
        "{:?}",
        posted.keys()
    );
    assert!(posted.keys().all(|name| pushed.contains_key(name)));
    // Each message has the schema of its type, and that the schema of its resource.
    let (_, _, openapi) = purser.get("/openapi.json", &[]).await;
    let types = openapi
        .pointer("/components/schemas/Event/discriminator/mapping")
        .unwrap();
    let types: BTreeSet<&String> = types.as_object().unwrap().keys().collect();
    assert_eq!(posted.keys().collect::<BTreeSet<_>>(), types);
    let at = |reference: &Value| {
        let reference = reference["$ref"].as_str().unwrap_or_else(|| panic!("{reference}"));
        document
            .pointer(&reference[1..])
            .unwrap_or_else(|| panic!("{reference}"))
    };
    for (kind, message) in &posted {
        let schema = at(&at(message)["payload"]);
        assert_eq!(&schema["allOf"][1]["properties"]["type"]["const"], kind);
        let data = &at(&schema["allOf"][0])["properties"]["data"];
        let resource = at(&data["properties"]["object"]);
        assert!(
            resource["properties"]
                .as_object()
                .is_some_and(|members| members.len() > 2),
            "{kind}"
        );
    }
    document["operations"]["push"]["action"] = "shout".into();
    assert!(!validator.is_valid(&document));
}
