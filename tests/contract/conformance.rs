//! Holds answers against `/openapi.json`: the status is documented, the content type is one of its own, and the body fits
//! its schema and has no member that the schema does not name.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::Validator;
use serde_json::{Value, json};

/// What the front may answer where there is no operation.
const OUTSIDE: [u16; 8] = [400, 404, 405, 408, 413, 414, 429, 431];

pub(crate) struct Conformance {
    document: Value,
    compiled: Mutex<HashMap<String, Arc<Validator>>>,
}

/// An answer to hold against the document.
#[derive(Debug)]
pub(crate) struct Answered<'a> {
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
    pub(crate) fn check(&self, answered: &Answered<'_>) {
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
        if operation.is_null() {
            assert!(
                OUTSIDE.contains(&answered.status),
                "outside of every operation: {answered:?}"
            );
            let callable = answered.body.starts_with("{\"error\":{");
            let form = if callable { "CallableRefusal" } else { "Refusal" };
            return self.fits(&json!({"$ref": format!("#/components/schemas/{form}")}), answered);
        }
        // A method that the front refuses is no operation, though HEAD looks like one.
        if answered.method == "HEAD" && answered.status == 405 {
            return;
        }
        let response = &operation["responses"][answered.status.to_string()];
        assert!(!response.is_null(), "an undocumented status: {answered:?}");
        let Some(content) = response["content"].as_object() else {
            assert!(answered.body.is_empty(), "an undocumented body: {answered:?}");
            return;
        };
        let kind = answered.content_type.unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default();
        let media = content
            .get(kind)
            .unwrap_or_else(|| panic!("an undocumented content type: {answered:?}"));
        self.fits(&media["schema"], answered);
    }

    fn fits(&self, schema: &Value, answered: &Answered<'_>) {
        let is_json = answered.content_type.is_some_and(|kind| kind.contains("json"));
        if answered.method == "HEAD" || !is_json {
            return;
        }
        let body: Value = serde_json::from_str(answered.body).unwrap_or_else(|e| panic!("{e}: {answered:?}"));
        let validator = self.validator(schema);
        let wrong: Vec<String> = validator
            .iter_errors(&body)
            .map(|error| format!("{} at `{}`", error, error.instance_path()))
            .collect();
        assert!(
            wrong.is_empty(),
            "{answered:?} does not fit {schema}:\n{}",
            wrong.join("\n")
        );
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
