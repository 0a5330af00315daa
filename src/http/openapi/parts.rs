//! Divides the operations into two documents: what clients call, and everything else.

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// Tags of the clients' operations.
const CLIENT_TAGS: [(&str, &str); 14] = [
    ("Account", "The balance, payments and withdrawals of the account."),
    (
        "Agent wallet",
        "A wallet that the service manages for an agent, within limits of the account owner.",
    ),
    ("API keys", "Keys for agents without a wallet of their own."),
    ("Authentication", "Sign-in with a wallet, and tokens."),
    ("Banking", "Bank accounts, transfers and payouts to bank recipients."),
    ("Card balance", "The balance at the card issuer."),
    ("Cards", "Prepaid cards, international cards and reloadable cards."),
    ("Catalog", "Merchants and gift cards that can be searched."),
    ("Events", "What changed in the account, in pages or as a stream."),
    ("Gift cards", "Orders of gift cards."),
    (
        "Identity verification",
        "Whether the account owner's identity is verified.",
    ),
    ("Payouts", "Payments to cards, bank accounts and users of payment apps."),
    ("Service", "Prices, versions, keys and documents of the service."),
    ("Webhooks", "Events that are posted to an endpoint of the account."),
];

/// Tags of the other document.
const OTHER_TAGS: [(&str, &str); 3] = [
    ("Account pages", "Pages and forms for the account owner's browser."),
    ("Provider callbacks", "Signed notices of the providers."),
    ("Sandbox", "Controls of the simulated chains and providers."),
];

const OTHER_DESCRIPTION: &str = "Controls of the sandbox, pages for the account owner's browser, and notices of providers. \
    `/openapi.json` describes what agents call.";

/// The document of what clients call.
pub(super) fn for_clients(whole: &Value) -> Value {
    part(whole, &CLIENT_TAGS, |operation| !is_other(operation))
}

/// The document of the sandbox's controls, the pages and the providers' callbacks.
pub(super) fn for_sandbox(whole: &Value) -> Value {
    let mut document = part(whole, &OTHER_TAGS, is_other);
    document["info"]["title"] = "Purser, controls, pages and callbacks".into();
    document["info"]["description"] = OTHER_DESCRIPTION.into();
    document
}

fn is_other(operation: &Value) -> bool {
    OTHER_TAGS.iter().any(|(name, _)| operation["tags"][0] == *name)
}

/// The operations that `belongs` selects, with the components that they refer to.
fn part(whole: &Value, tags: &[(&str, &str)], belongs: impl Fn(&Value) -> bool) -> Value {
    let mut part = whole.clone();
    if let Some(paths) = part["paths"].as_object_mut() {
        paths.retain(|_, methods| {
            methods.as_object_mut().is_some_and(|methods| {
                methods.retain(|_, operation| belongs(operation));
                !methods.is_empty()
            })
        });
    }
    remove_unused(&mut part);
    part["tags"] = tags_of(tags);
    part
}

/// The declaration of tags.
pub(in crate::http) fn tags_of(tags: &[(&str, &str)]) -> Value {
    let tags = tags.iter();
    tags.map(|(name, description)| json!({"name": name, "description": description}))
        .collect()
}

/// Removes the components that no operation refers to.
pub(in crate::http) fn remove_unused(document: &mut Value) {
    let mut used = BTreeSet::new();
    let mut missing = Vec::new();
    references(&document["paths"], &mut missing);
    while let Some(reference) = missing.pop() {
        if used.insert(reference.clone()) {
            let target = document.pointer(reference.trim_start_matches('#'));
            references(target.unwrap_or(&Value::Null), &mut missing);
        }
    }
    let components = document["components"].as_object_mut().into_iter().flatten();
    for (kind, named) in components.filter(|(kind, _)| *kind != "securitySchemes") {
        if let Some(named) = named.as_object_mut() {
            named.retain(|name, _| used.contains(&format!("#/components/{kind}/{name}")));
        }
    }
}

/// The references to components in a part of a document.
pub(in crate::http) fn references(part: &Value, found: &mut Vec<String>) {
    match part {
        Value::Object(members) => {
            found.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
            members.values().for_each(|member| references(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}
