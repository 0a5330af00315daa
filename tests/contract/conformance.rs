//! Holds answers against `/openapi.json`: the status is documented, the content type is one of its own, and the body
//! fits its schema and has no member that the schema does not name.

use std::collections::{HashMap, HashSet};
use std::io::Write as _;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use jsonschema::Validator;
use serde_json::{Value, json};

/// What the front may answer where there is no operation.
const STATUSES_WITHOUT_OPERATION: [u16; 8] = [400, 404, 405, 408, 413, 414, 429, 431];

pub(crate) struct Conformance {
    pub(crate) document: Value,
    compiled: Mutex<HashMap<String, Arc<Validator>>>,
}

/// An answer to hold against the document.
#[derive(Debug)]
pub(crate) struct CheckedResponse<'a> {
    pub(crate) method: &'a str,
    /// With its query, which does not count.
    pub(crate) path: &'a str,
    pub(crate) status: u16,
    pub(crate) content_type: Option<&'a str>,
    pub(crate) body: &'a str,
}

impl Conformance {
    pub(crate) fn new(mut document: Value) -> Self {
        close(&mut document);
        Self {
            document,
            compiled: Mutex::default(),
        }
    }

    /// Panics with what is wrong.
    pub(crate) fn check(&self, answered: &CheckedResponse<'_>) {
        let path = answered.path.split('?').next().unwrap_or_default();
        if answered.method == "OPTIONS" && answered.status == 204 {
            return;
        }
        let method = if answered.method == "HEAD" {
            "GET"
        } else {
            answered.method
        };
        let operation = &self.document["paths"][path][method.to_ascii_lowercase()];
        // The addresses within the web apps are pages, and no operations.
        let is_page = ["/dashboard/", "/desk/"].iter().any(|app| path.starts_with(app));
        if operation.is_null() && is_page && [200, 307].contains(&answered.status) {
            return;
        }
        if operation.is_null() {
            assert!(
                STATUSES_WITHOUT_OPERATION.contains(&answered.status),
                "outside of every operation: {answered:?}"
            );
            let callable = answered.body.starts_with("{\"error\":{");
            let form = if callable { "CallableError" } else { "Error" };
            return self.fits(&json!({"$ref": format!("#/components/schemas/{form}")}), answered);
        }
        // A method that the front refuses is no operation, though HEAD looks like one.
        if answered.method == "HEAD" && answered.status == 405 {
            return;
        }
        let mut response = &operation["responses"][answered.status.to_string()];
        if let Some(shared) = response["$ref"].as_str() {
            response = self
                .document
                .pointer(shared.trim_start_matches('#'))
                .unwrap_or(&Value::Null);
        }
        assert!(!response.is_null(), "an undocumented status: {answered:?}");
        let Some(content) = response["content"].as_object() else {
            assert!(answered.body.is_empty(), "an undocumented body: {answered:?}");
            return record_response(&format_response(method, path, answered.status, ""));
        };
        let kind = answered.content_type.unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default();
        // A browser gets an error as a page, whatever the route: docs/errors.md.
        if kind == "text/html" && answered.status >= 400 && answered.method == "GET" {
            assert!(answered.body.starts_with("<!doctype html>"), "no page: {answered:?}");
            return record_response(&format_response(method, path, answered.status, ""));
        }
        let media = content
            .get(kind)
            .unwrap_or_else(|| panic!("an undocumented content type: {answered:?}"));
        self.fits(&media["schema"], answered);
        record_response(&format_response(method, path, answered.status, answered.body));
    }

    fn fits(&self, schema: &Value, answered: &CheckedResponse<'_>) {
        let is_json = answered.content_type.is_some_and(|kind| kind.contains("json"));
        if answered.method == "HEAD" || !is_json {
            return;
        }
        let body: Value = serde_json::from_str(answered.body).unwrap_or_else(|e| panic!("{e}: {answered:?}"));
        let wrong = self.wrong(schema, &body);
        assert!(
            wrong.is_empty(),
            "{answered:?} does not fit {schema}:\n{}",
            wrong.join("\n")
        );
    }

    /// What of a value does not fit a closed schema of the document.
    pub(crate) fn wrong(&self, schema: &Value, value: &Value) -> Vec<String> {
        let validator = self.validator(schema);
        let errors = validator.iter_errors(value);
        errors
            .map(|error| format!("{} at `{}`", error, error.instance_path()))
            .collect()
    }

    fn validator(&self, schema: &Value) -> Arc<Validator> {
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        let build = || {
            let whole = json!({
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "allOf": [schema],
                "components": self.document["components"],
            });
            Arc::new(jsonschema::validator_for(&whole).unwrap_or_else(|e| panic!("{e}: {schema}")))
        };
        compiled.entry(schema.to_string()).or_insert_with(build).clone()
    }
}

/// Writes down what a test has met, with its name, into the file that `PURSER_ANSWERED` names: answers that fitted and
/// events. `tests/tidy/answered.rs` reads it when all tests have run.
pub(crate) fn record_response(met: &str) {
    static RECORDED: LazyLock<Mutex<HashSet<String>>> = LazyLock::new(Mutex::default);
    let Some(file) = std::env::var_os("PURSER_ANSWERED") else {
        return;
    };
    let thread = std::thread::current();
    // What a test has spawned runs on threads without its name.
    let test = thread.name().filter(|name| name.contains("::")).unwrap_or("-");
    let line = format!("{met} {test}\n");
    if RECORDED
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(line.clone())
    {
        let mut file = std::fs::File::options().create(true).append(true).open(file).unwrap();
        // In one write, so that lines of other programs do not come between.
        file.write_all(line.as_bytes()).unwrap();
    }
}

/// An answer as [`note`] writes it, with the code of a refusal.
pub(crate) fn format_response(method: &str, path: &str, status: u16, body: &str) -> String {
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    let code = body["code"].as_str().or(body["error"]["code"].as_str());
    format!("answer {method} {path} {status} {}", code.unwrap_or("-"))
}

/// The document tells clients to tolerate new members; here there must be none that it does not name.
fn close(value: &mut Value) {
    match value {
        Value::Object(members) => {
            if members.get("properties").is_some_and(Value::is_object) {
                members.entry("additionalProperties").or_insert(json!(false));
            }
            members.values_mut().for_each(close);
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}
