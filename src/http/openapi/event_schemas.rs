//! One schema for the events of each resource: their types, the resource after the event, and the earlier values of the
//! members that changed. They replace the general envelope in the public documents.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use utoipa::OpenApi;

use super::super::schemas;

/// Schemas of resources that only events have.
#[derive(OpenApi)]
#[openapi(components(schemas(
    schemas::AccountBalance,
    schemas::AgentWalletResource,
    schemas::ApiKeyResource,
    schemas::ApprovalResource,
    schemas::BankAccountResource,
    schemas::BankDestinationResource,
    schemas::BankTransferResource,
    schemas::BankingApplicationResource,
    schemas::BankingProfileResource,
    schemas::IdentityResource,
    schemas::IssuerLinkResource,
    schemas::LateReturn,
    schemas::PasskeyResource,
    schemas::PaymentRecipientResource,
    schemas::RecoveryResource,
    schemas::RefundResource,
    schemas::SessionResource,
    schemas::WalletPaymentResource,
)))]
pub(super) struct EventResources;

fn reference(schema: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{schema}")})
}

/// The resource of an event type: `card` of `card.ready`.
pub(in crate::http) fn resource_of(event_type: &str) -> &str {
    event_type.split('.').next().unwrap_or_default()
}

/// Name of the schema of a resource: `GiftCard`, or `SessionResource` if only events show it so.
fn object_of(resource: &str, schemas: &Value) -> String {
    let name = match resource {
        "account" | "balance" => "AccountBalance".to_owned(),
        "intl_order" => "IntlCard".to_owned(),
        "card_withdrawal" => "Withdrawal".to_owned(),
        resource => camel_case(resource),
    };
    let in_events = format!("{name}Resource");
    match schemas.get(&in_events) {
        Some(_) => in_events,
        None => name,
    }
}

fn camel_case(resource: &str) -> String {
    let capitalize = |word: &str| word[..1].to_ascii_uppercase() + &word[1..];
    resource.split('_').map(capitalize).collect()
}

/// Name of the schema of a resource's events: `GiftCardEvent` for `gift_card`.
pub(in crate::http) fn schema_name(resource: &str) -> String {
    camel_case(resource) + "Event"
}

/// Replaces the envelope `Event` by one schema for each resource of `types`, distinguished by `type`.
pub(super) fn add(schemas: &mut Value, types: &[String]) {
    let envelope = schemas["Event"].take();
    let mut mapping = Map::new();
    let mut choices = Vec::new();
    let resources: BTreeSet<_> = types.iter().map(|name| resource_of(name)).collect();
    for resource in resources {
        let names: Vec<_> = types.iter().filter(|name| resource_of(name) == resource).collect();
        let object = object_of(resource, schemas);
        let name = schema_name(resource);
        mapping.extend(
            names
                .iter()
                .map(|kind| ((*kind).clone(), reference(&name)["$ref"].clone())),
        );
        choices.push(reference(&name));
        let changes = format!("{object}Changes");
        let mut event = envelope.clone();
        event["description"] = format!("An event of `{resource}`.").into();
        event["properties"]["type"] = json!({"type": "string", "enum": names, "description": "`<resource>.<change>`."});
        event["properties"]["data"] = json!({"type": "object", "required": ["object"], "description": "Resource of the event.",
            "properties": {"object": reference(&object)}});
        event["properties"]["previous"] = reference(&changes);
        schemas[name] = event;
        let mut earlier = schemas[&object].clone();
        earlier["description"] = "Earlier values of the members that changed.".into();
        if let Some(members) = earlier.as_object_mut() {
            members.remove("required");
        }
        schemas[changes] = earlier;
    }
    if let Some(delivered) = schemas.pointer_mut("/WebhookDelivery/properties/type") {
        delivered["enum"] = json!(types);
    }
    schemas["Event"] = json!({"description": "An event of the account.", "oneOf": choices,
        "discriminator": {"propertyName": "type", "mapping": mapping}});
    if let Some(schemas) = schemas.as_object_mut() {
        schemas.remove("EventData");
    }
}
