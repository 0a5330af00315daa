//! The protocol's OpenAPI document, from the definitions of the providers and their types.

use serde_json::{Map, Value, json};
use utoipa::openapi::path::ParameterIn;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{IntoParams, OpenApi, ToSchema};

use super::wire::{ErrorCode, ErrorResponse, VERSION};

/// The protocol's OpenAPI 3.1 document.
///
/// # Errors
/// Never for documents that utoipa generates.
pub fn document() -> Result<Value, serde_json::Error> {
    #[derive(OpenApi)]
    #[openapi(
        info(
            title = "Purser provider protocol",
            version = "1",
            description = "What Purser asks of those who make what it sells. The same Idempotency-Key asks again and never \
                does a second thing. A definite answer is a 200 that names the order again; any other answer leaves the outcome open \
                unless it is a refusal in the form below with its code's own status. Amounts and rates are decimal text, \
                moments are Unix milliseconds."
        ),
        components(schemas(ErrorResponse))
    )]
    struct ProtocolApiDoc;

    let mut operations = Operations::default();
    super::describe(&mut operations);

    let mut api = ProtocolApiDoc::openapi();
    let components = api.components.get_or_insert_default();
    components.schemas.extend(operations.schemas);
    components.add_security_scheme("bearer", SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)));
    api.security = Some(vec![SecurityRequirement::new("bearer", [""; 0])]);
    let mut document = serde_json::to_value(&api)?;
    document["paths"] = Value::Object(operations.paths);
    document["tags"] = Value::Array(operations.tags);
    Ok(document)
}

/// The operations of a document, and the schemas that they name.
#[derive(Default)]
pub(super) struct Operations {
    paths: Map<String, Value>,
    tags: Vec<Value>,
    schemas: Vec<(String, RefOr<Schema>)>,
}

impl Operations {
    /// Adds a group of operations.
    pub(super) fn tag(&mut self, name: &str, description: &str) {
        self.tags.push(json!({ "name": name, "description": description }));
    }

    /// Adds an operation. What follows a blank line of `summary` is its description.
    pub(super) fn operation(
        &mut self,
        method: &str,
        path: &str,
        id: &str,
        tag: &str,
        summary: &str,
    ) -> DescribedOperation<'_> {
        let (summary, description) = match summary.split_once("\n\n") {
            Some((summary, description)) => (summary, Some(description)),
            None => (summary, None),
        };
        let mut content = json!({ "operationId": id, "tags": [tag], "summary": summary });
        if let Some(description) = description {
            content["description"] = description.into();
        }
        for code in ErrorCode::ALL {
            let name = serde_json::to_value(code).unwrap_or_default();
            content["responses"][code.status().to_string()] = json!({
                "description": format!("Code `{}`.", name.as_str().unwrap_or_default()),
                "content": { "application/json": { "schema": { "$ref": "#/components/schemas/ErrorResponse" } } },
            });
        }
        let at_path = self
            .paths
            .entry(format!("/{VERSION}{path}"))
            .or_insert_with(|| json!({}));
        at_path[method.to_lowercase()] = content;
        DescribedOperation {
            content: &mut at_path[method.to_lowercase()],
            schemas: &mut self.schemas,
        }
    }
}

/// One operation, to be completed.
pub(super) struct DescribedOperation<'d> {
    content: &'d mut Value,
    schemas: &'d mut Vec<(String, RefOr<Schema>)>,
}

impl DescribedOperation<'_> {
    fn parameter(self, parameter: Value) -> Self {
        match &mut self.content["parameters"] {
            Value::Array(all) => all.push(parameter),
            none => *none = Value::Array(vec![parameter]),
        }
        self
    }

    fn text_parameter(self, place: &str, name: &str, description: &str) -> Self {
        self.parameter(json!({
            "in": place, "name": name, "description": description, "required": true, "schema": { "type": "string" },
        }))
    }

    /// A parameter in the path.
    pub(super) fn at(self, name: &str, description: &str) -> Self {
        self.text_parameter("path", name, description)
    }

    pub(super) fn key(self, description: &str) -> Self {
        self.text_parameter("header", "Idempotency-Key", description)
    }

    pub(super) fn query<T: IntoParams>(self) -> Self {
        let parameters = T::into_params(|| Some(ParameterIn::Query)).into_iter();
        parameters.fold(self, |this, one| {
            this.parameter(serde_json::to_value(one).unwrap_or_default())
        })
    }

    pub(super) fn body<T: ToSchema>(mut self) -> Self {
        self.content["requestBody"] = json!({ "content": self.json::<T>(), "required": true });
        self
    }

    pub(super) fn answers<T: ToSchema>(mut self, description: &str) {
        self.content["responses"]["200"] = json!({ "content": self.json::<T>(), "description": description });
    }

    fn json<T: ToSchema>(&mut self) -> Value {
        self.schemas.push((T::name().into_owned(), T::schema()));
        T::schemas(self.schemas);
        json!({ "application/json": { "schema": { "$ref": format!("#/components/schemas/{}", T::name()) } } })
    }
}
