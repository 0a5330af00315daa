//! `/asyncapi.json`: the messages of streams and webhooks. The envelope is that of `/openapi.json`.

use serde_json::{Value, json};

/// Generates the document. `url` provides the host and whether it uses TLS.
pub(super) fn document(openapi: &Value, url: &str, types: &[String]) -> Value {
    let (protocol, host) = match url.split_once("://") {
        Some(("https", host)) => ("wss", host),
        Some((_, host)) => ("ws", host),
        None => ("ws", url),
    };
    let parts = parts(&openapi["components"]["schemas"], types);
    json!({
        "asyncapi": "3.0.0",
        "info": {"title": "Purser", "version": super::super::headers::API_VERSION,
            "description": "Changes of an account, pushed over a WebSocket as they become durable."},
        "defaultContentType": "application/json",
        "servers": {"service": {"host": host, "protocol": protocol,
            "security": [{"$ref": "#/components/securitySchemes/bearer"}]}},
        "channels": {"stream": {
            "address": "/stream",
            "description": "Authenticates by `Authorization: Bearer`, by the session cookie, or by a first message `auth` \
                within 5 seconds. Close codes: 1002 a malformed frame; 4001 the token is missing, expired or revoked; 4003 the account is frozen; 4008 the client does not read, \
                its cursor in the reason; 4010 the cursor is older than what is kept, the oldest in the reason; 4029 too many \
                streams of the account, or too many messages; 1001 the service stops, the cursor in the reason.",
            "messages": {
                "event": {"$ref": "#/components/messages/event"},
                "ping": {"$ref": "#/components/messages/ping"},
                "error": {"$ref": "#/components/messages/error"},
                "auth": {"$ref": "#/components/messages/auth"},
                "subscribe": {"$ref": "#/components/messages/subscribe"},
                "pong": {"$ref": "#/components/messages/pong"},
            },
            "bindings": {"ws": {"method": "GET"}},
        }, "webhook": {
            "address": null,
            "description": "The URL that an account gave to `POST /register-webhook`. Any 2xx within 15 seconds is a receipt.",
            "messages": {"posted": {"$ref": "#/components/messages/posted"}},
        }},
        "operations": {
            "post": operation("send", "webhook", "The service posts each event that the endpoint wants, and tries again.", &["posted"]),
            "push": operation("send", "stream",
                "The service pushes events, in the order of `seq`, pings, and what was wrong with a message.",
                &["event", "ping", "error"]),
            "ask": operation("receive", "stream", "The client says who it is and what it wants.", &["auth", "subscribe", "pong"]),
        },
        "components": {
            "schemas": parts,
            "messages": {
                "event": message("An event", "Frame"),
                "posted": posted(),
                "ping": message("Are you there; the first one follows each subscription", "Ping"),
                "error": message("A message was not followed; what was asked for before goes on", "Error"),
                "auth": message("A credential, as the first message", "Auth"),
                "subscribe": message("What is wanted; again to want something else", "Subscribe"),
                "pong": message("The answer to a ping; none is needed", "Pong"),
            },
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    })
}

/// Schemas of the messages, by name.
fn parts(schemas: &Value, types: &[String]) -> Value {
    let mut event = schemas["Event"].clone();
    event["properties"]["type"] = json!({"type": "string", "enum": types, "description": "`<resource>.<change>`."});
    // The envelope's schemas by name, without the rest of the OpenAPI document.
    let mut parts = json!({"Event": event, "EventData": schemas["EventData"]});
    parts["Frame"] = frame(
        "event",
        json!({"event": {"$ref": "#/components/schemas/Event"}}),
        &["event"],
    );
    let cursor = json!({"type": "integer", "minimum": 0,
        "description": "Nothing up to here is missing: a place to resume. Absent until the client has subscribed."});
    parts["Ping"] = frame("ping", json!({"cursor": cursor}), &[]);
    let code = json!({"type": "string", "enum": ["message_malformed", "message_invalid", "types_invalid", "cursor_ahead",
        "already_authenticated"]});
    let param = json!({"type": "string", "description": "The member that is wrong."});
    let error = json!({"type": "string", "description": "In words."});
    parts["Error"] = frame(
        "error",
        json!({"code": code, "param": param, "error": error}),
        &["code", "error"],
    );
    parts["Pong"] = frame("pong", json!({}), &[]);
    let token = json!({"type": "string", "description": "An `id_token`."});
    parts["Auth"] = frame("auth", json!({"token": token}), &["token"]);
    let after = json!({"type": "integer", "minimum": 0, "description": "The last `seq` the client has; without it, what happens next."});
    let request = json!({"type": "array", "maxItems": 64, "items": {"type": "string"},
        "description": "Types such as `card.ready` or `card.*`, where `*` stands for any characters; empty for all."});
    parts["Subscribe"] = frame("subscribe", json!({"after": after, "types": request}), &[]);
    parts
}

fn frame(kind: &str, mut properties: Value, needed: &[&str]) -> Value {
    properties["type"] = json!({"type": "string", "const": kind});
    let required = [&["type"], needed].concat();
    json!({"type": "object", "required": required, "properties": properties, "additionalProperties": false})
}

fn message(title: &str, schema: &str) -> Value {
    json!({"title": title, "payload": {"$ref": format!("#/components/schemas/{schema}")}})
}

/// An event as posted to a webhook: the envelope is the body, with the headers of Standard Webhooks.
fn posted() -> Value {
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
    let mut message = message("An event, posted", "Event");
    message["headers"] = json!({"type": "object", "required": names, "properties": headers});
    message
}

fn operation(action: &str, channel: &str, summary: &str, messages: &[&str]) -> Value {
    let channel = format!("#/channels/{channel}");
    let of = |name: &&str| json!({"$ref": format!("{channel}/messages/{name}")});
    json!({"action": action, "channel": {"$ref": channel}, "summary": summary,
        "messages": messages.iter().map(of).collect::<Vec<_>>()})
}
