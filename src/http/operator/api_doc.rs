//! Generates the OpenAPI document of the operator API, `docs/admin.openapi.json`. Request schemas and permissions come
//! from the types that the handlers use. A test compares the rest with the router and with every response.

use purser_actors::operator::{Permission, Role};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

use super::approvals::Approval;
use super::extractors::OperatorRequest;
use super::listings;
use crate::http::schemas::Error;
use crate::http::{headers, openapi};

/// Named schemas that other schemas reference.
type NamedSchemas = Vec<(String, RefOr<Schema>)>;

/// A schema, and the schemas it references.
pub(super) type SchemaRef = fn(&mut NamedSchemas) -> RefOr<Schema>;

/// The schema of a type.
pub(super) fn of<T: ToSchema>(named: &mut NamedSchemas) -> RefOr<Schema> {
    T::schemas(named);
    T::schema()
}

/// Any JSON object, for a response that another document defines.
pub(super) fn any(_: &mut NamedSchemas) -> RefOr<Schema> {
    Schema::default().into()
}

pub(super) struct QueryParameter {
    name: &'static str,
    required: bool,
    kind: &'static str,
    description: &'static str,
}

/// Name of an operation in the document.
pub(super) struct Operation {
    /// Unique in the document: generated clients name their methods after it.
    pub(super) id: &'static str,
    pub(super) tag: &'static str,
}

/// Description of one operation. Its method and path are those of its route.
pub(in crate::http) struct OperationDoc {
    operation: Operation,
    permission: Permission,
    description: &'static str,
    request_schema: Option<SchemaRef>,
    parameters: Vec<QueryParameter>,
    response_schema: SchemaRef,
    success: &'static str,
    may_wait: bool,
    errors: Vec<(u16, &'static str)>,
}

impl OperationDoc {
    /// A read operation.
    pub(super) fn get(
        operation: Operation,
        permission: Permission,
        description: &'static str,
        response_schema: SchemaRef,
    ) -> Self {
        Self {
            operation,
            permission,
            description,
            request_schema: None,
            parameters: Vec::new(),
            response_schema,
            success: "200",
            may_wait: false,
            errors: vec![(400, "A parameter is unknown or wrong.")],
        }
    }

    /// A state-changing operation.
    pub(super) fn post<T: OperatorRequest + ToSchema>(
        operation: Operation,
        description: &'static str,
        response_schema: SchemaRef,
    ) -> Self {
        Self {
            operation,
            permission: T::TASK,
            description,
            request_schema: Some(of::<T>),
            parameters: Vec::new(),
            response_schema,
            success: "200",
            may_wait: false,
            errors: vec![
                (400, "The body is malformed, or a member is missing, unknown or wrong."),
                (
                    503,
                    "Not now: nothing was done, unless it is found done when it is looked at again.",
                ),
            ],
        }
    }

    /// Adds an optional parameter.
    pub(super) fn with(mut self, name: &'static str, kind: &'static str, description: &'static str) -> Self {
        let required = false;
        self.parameters.push(QueryParameter {
            name,
            required,
            kind,
            description,
        });
        self
    }

    /// Adds a required parameter.
    pub(super) fn needs(mut self, name: &'static str, kind: &'static str, description: &'static str) -> Self {
        let required = true;
        self.parameters.push(QueryParameter {
            name,
            required,
            kind,
            description,
        });
        self
    }

    /// A page ordered by time.
    pub(super) fn paged(self) -> Self {
        self.with("after", "string", "`next_after` of the page before.").with(
            "limit",
            "integer",
            "1 to 1,000, 100 by default.",
        )
    }

    /// A page of a queue.
    pub(super) fn queued(self) -> Self {
        self.with("starting_after", "string", "The last id of the page before.")
            .with("limit", "integer", "1 to 1,000, 100 by default.")
    }

    /// Answers 202: the action is in progress.
    pub(super) fn accepted(mut self) -> Self {
        self.success = "202";
        self
    }

    /// May exceed the limit of one operator: then it answers 202 and waits for a second one.
    pub(super) fn may_wait(mut self) -> Self {
        self.may_wait = true;
        self
    }

    /// Adds an error of the operation.
    pub(super) fn error(mut self, status: u16, description: &'static str) -> Self {
        self.errors.push((status, description));
        self
    }

    fn described(&self, named: &mut NamedSchemas) -> Value {
        let roles: Vec<&str> = Role::ALL
            .into_iter()
            .filter(|role| role.allows(self.permission))
            .map(Role::name)
            .collect();
        let schema = |shape: SchemaRef, named: &mut NamedSchemas| json!({"application/json": {"schema": shape(named)}});
        let mut responses = Map::new();
        let content = schema(self.response_schema, named);
        responses.insert(
            self.success.to_owned(),
            json!({"description": "Done.", "content": content}),
        );
        if self.may_wait {
            let content = schema(of::<Approval>, named);
            let description = "Nothing was done: it is too much for one operator, and waits for another to approve it.";
            responses.insert(
                "202".to_owned(),
                json!({"description": description, "content": content}),
            );
        }
        let everywhere = [
            (401, "No operator's token."),
            (403, "The token's role is not trusted with this."),
        ];
        for (status, description) in everywhere.iter().chain(&self.errors) {
            responses.insert(status.to_string(), json!({"description": description}));
        }
        let parameters: Vec<Value> = self.parameters.iter().map(QueryParameter::described).collect();
        let mut operation = json!({
            "operationId": self.operation.id,
            "summary": self.description,
            "tags": [self.operation.tag],
            "description": format!("For {}.", roles.join(", ")),
            "x-roles": roles,
            "security": [{"operator": []}],
            "parameters": parameters,
            "responses": responses,
        });
        if let Some(takes) = self.request_schema {
            operation["requestBody"] = json!({"required": true, "content": schema(takes, named)});
        }
        operation
    }
}

impl QueryParameter {
    fn described(&self) -> Value {
        json!({
            "name": self.name, "in": "query", "required": self.required, "description": self.description,
            "schema": {"type": self.kind},
        })
    }
}

/// Tags of the operations.
const TAGS: [(&str, &str); 14] = [
    ("Accounts", "Customers with what they have, and frozen accounts."),
    ("Approvals", "Actions that need a second operator."),
    (
        "Availability",
        "Product lines that are sold, and chains that are accepted.",
    ),
    ("Desk", "Sessions and passkeys of operators in a browser."),
    ("Card withdrawals", "Withdrawals from the balance at the card issuer."),
    (
        "Incoming transfers",
        "Transfers to the treasury that no payment claims.",
    ),
    ("International cards", "Reports of the issuer of international cards."),
    ("International orders", "Orders of international cards."),
    ("Jobs", "Jobs that failed or wait."),
    ("Reconciliation", "Differences from the lists of chains and providers."),
    ("Refunds", "Refunds at the cost of the service."),
    ("System", "Status of the service, its events and the audit log."),
    ("Tokens", "Tokens of operators."),
    ("Webhooks", "Webhook endpoints and deliveries of all accounts."),
];

pub(in crate::http) fn document() -> Value {
    let mut named = NamedSchemas::new();
    let mut paths = Map::new();
    for route in listings().flat_map(|listing| listing.routes) {
        if let Some(operation) = route.operation {
            let path = paths.entry(route.path).or_insert_with(|| json!({}));
            path[route.method.to_ascii_lowercase()] = operation().described(&mut named);
        }
    }
    let refusal = of::<Error>(&mut named);
    named.push(("Error".to_owned(), refusal));
    let schemas: Map<String, Value> = named.into_iter().map(|(name, schema)| (name, json!(schema))).collect();
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Purser, the operator's side",
            "description": "At an address of its own, never the public one. Every operation says in `x-roles` whom it admits.",
            "version": headers::API_VERSION,
        },
        "servers": [{"url": "/", "description": "The operator's address."}],
        "tags": openapi::parts::tags_of(&TAGS),
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"operator": {
                "type": "http", "scheme": "bearer",
                "description": "From `purser admin tokens create`, or of `[operator] tokens` in the settings.",
            }},
        },
    });
    openapi::flattened::merge(&mut document);
    openapi::responses::complete(&mut document);
    openapi::parts::remove_unused(&mut document);
    document
}
