//! `/asyncapi.json`: the messages of streams and webhooks, one for each event type. The events' schemas are those of
//! `/openapi.json`.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::super::openapi::event_schemas::{resource_of, schema_name};
use super::super::openapi::parts::references;

/// Messages of the stream that are not events.
const STREAM_CONTROL: [&str; 2] = ["ping", "error"];
/// Messages of the client.
const STREAM_REQUESTS: [&str; 3] = ["auth", "subscribe", "pong"];

/// Generates the document. The program replaces its server.
pub(in crate::http) fn document(openapi: &Value, types: &[String]) -> Value {
    let pushed: Vec<&str> = types.iter().map(String::as_str).chain(STREAM_CONTROL).collect();
    let posted: Vec<&str> = types.iter().map(String::as_str).collect();
    let in_stream = pushed.iter().copied().chain(STREAM_REQUESTS);
    json!({
        "asyncapi": "3.0.0",
        "info": {"title": "Purser", "version": super::super::headers::API_VERSION,
            "description": "Changes of an account, pushed over a WebSocket as they become durable."},
        "defaultContentType": "application/json",
        "servers": {"service": {"host": "pay.example", "protocol": "wss",
            "security": [{"$ref": "#/components/securitySchemes/bearer"}]}},
        "channels": {"stream": {
            "address": "/stream",
            "description": "Authenticates by `Authorization: Bearer`, by the session cookie, or by a first message `auth` \
                within 5 seconds. Close codes: 1002 a malformed frame; 4001 the token is missing, expired or revoked; 4003 the account is frozen; 4008 the client does not read, \
                its cursor in the reason; 4010 the cursor is older than what is kept, the oldest in the reason; 4029 too many \
                streams of the account, or too many messages; 1001 the service stops, the cursor in the reason.",
            "messages": in_stream.map(|name| (name.to_owned(), message_reference("stream", name))).collect::<Map<_, _>>(),
            "bindings": {"ws": {"method": "GET"}},
        }, "webhook": {
            "address": null,
            "description": "The URL that an account gave to `POST /register-webhook`. Any 2xx within 15 seconds is a receipt.",
            "messages": posted.iter().map(|name| ((*name).to_owned(), message_reference("webhook", name))).collect::<Map<_, _>>(),
        }},
        "operations": {
            "post": operation("send", "webhook", "The service posts each event that the endpoint wants, and tries again.", &posted),
            "push": operation("send", "stream",
                "The service pushes events, in the order of `seq`, pings, and what was wrong with a message.",
                &pushed),
            "ask": operation("receive", "stream", "The client says who it is and what it wants.", &STREAM_REQUESTS),
        },
        "components": {
            "schemas": schemas(&openapi["components"]["schemas"], types),
            "messages": messages(types),
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    })
}

/// Name of a message among the document's components: both channels have one for each event type.
fn component(channel: &str, name: &str) -> String {
    format!("{channel}.{name}")
}

fn message_reference(channel: &str, name: &str) -> Value {
    json!({"$ref": format!("#/components/messages/{}", component(channel, name))})
}

fn schema_reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// All messages, by name.
fn messages(types: &[String]) -> Map<String, Value> {
    let control = [
        ("ping", "Are you there; the first one follows each subscription", "Ping"),
        (
            "error",
            "A message was not followed; what was asked for before goes on",
            "Error",
        ),
        ("auth", "A credential, as the first message", "Auth"),
        ("subscribe", "What is wanted; again to want something else", "Subscribe"),
        ("pong", "The answer to a ping; none is needed", "Pong"),
    ];
    let control = control.map(|(name, title, schema)| {
        let message = json!({"name": name, "title": title, "payload": schema_reference(schema)});
        (component("stream", name), message)
    });
    let events = types.iter().flat_map(|kind| {
        let pushed = frame("event", json!({"event": schema_reference(kind)}), &["event"]);
        let pushed = json!({"name": kind, "title": kind, "payload": pushed});
        let posted =
            json!({"name": kind, "title": kind, "payload": schema_reference(kind), "headers": webhook_headers()});
        [
            (component("stream", kind), pushed),
            (component("webhook", kind), posted),
        ]
    });
    control.into_iter().chain(events).collect()
}

/// Schemas of the messages by name, with all that they refer to in the OpenAPI document.
fn schemas(all: &Value, types: &[String]) -> Map<String, Value> {
    let mut parts = control_schemas();
    let mut missing = Vec::new();
    for kind in types {
        let event = schema_name(resource_of(kind));
        let narrowed = json!({"type": "object", "properties": {"type": {"type": "string", "const": kind}}});
        parts.insert(kind.clone(), json!({"allOf": [schema_reference(&event), narrowed]}));
        missing.push(event);
    }
    let mut seen = BTreeSet::new();
    while let Some(reference) = missing.pop() {
        let name = reference.rsplit('/').next().unwrap_or_default().to_owned();
        if seen.insert(name.clone()) {
            references(&all[&name], &mut missing);
            parts.insert(name.clone(), all[&name].clone());
        }
    }
    parts
}

fn control_schemas() -> Map<String, Value> {
    let mut parts = Map::new();
    let cursor = json!({"type": "integer", "minimum": 0,
        "description": "Nothing up to here is missing: a place to resume. Absent until the client has subscribed."});
    parts.insert("Ping".into(), frame("ping", json!({"cursor": cursor}), &[]));
    let code = json!({"type": "string", "enum": ["message_malformed", "message_invalid", "types_invalid", "cursor_ahead",
        "already_authenticated"]});
    let param = json!({"type": "string", "description": "The member that is wrong."});
    let error = json!({"type": "string", "description": "In words."});
    let members = json!({"code": code, "param": param, "error": error});
    parts.insert("Error".into(), frame("error", members, &["code", "error"]));
    parts.insert("Pong".into(), frame("pong", json!({}), &[]));
    let token = json!({"type": "string", "description": "An `id_token`."});
    parts.insert("Auth".into(), frame("auth", json!({"token": token}), &["token"]));
    let after = json!({"type": "integer", "minimum": 0, "description": "The last `seq` the client has; without it, what happens next."});
    let request = json!({"type": "array", "maxItems": 64, "items": {"type": "string"},
        "description": "Types such as `card.ready` or `card.*`, where `*` stands for any characters; empty for all."});
    let members = json!({"after": after, "types": request});
    parts.insert("Subscribe".into(), frame("subscribe", members, &[]));
    parts
}

fn frame(kind: &str, mut properties: Value, needed: &[&str]) -> Value {
    properties["type"] = json!({"type": "string", "const": kind});
    let required = [&["type"], needed].concat();
    json!({"type": "object", "required": required, "properties": properties, "additionalProperties": false})
}

/// Headers of a posted event, by Standard Webhooks. The body is the event.
fn webhook_headers() -> Value {
    let text = |about: &str| json!({"type": "string", "description": about});
    let headers = json!({
        crate::webhooks::ID.as_str(): text("Of the event, the same on every try."),
        crate::webhooks::TIMESTAMP.as_str(): text("Unix seconds of the try."),
        crate::webhooks::SIGNATURE.as_str(): text("`v1,` and base64 of the HMAC-SHA256 over `id.timestamp.body`, one by each \
            secret in force, with spaces between."),
    });
    let names: Vec<_> = headers
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| name)
        .collect();
    json!({"type": "object", "required": names, "properties": headers})
}

fn operation(action: &str, channel: &str, summary: &str, messages: &[&str]) -> Value {
    let channel = format!("#/channels/{channel}");
    let of = |name: &&str| json!({"$ref": format!("{channel}/messages/{name}")});
    json!({"action": action, "channel": {"$ref": channel}, "summary": summary,
        "messages": messages.iter().map(of).collect::<Vec<_>>()})
}
