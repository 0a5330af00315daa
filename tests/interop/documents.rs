//! Checks our documents against the schemas that their standards publish.

use serde_json::Value;

use super::node::Node;
use super::server_process::ServerProcess;

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
    document["operations"]["push"]["action"] = "shout".into();
    assert!(!validator.is_valid(&document));
}
