//! Tells the variants of unions apart.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// Adds a discriminator to each union in which a required member has different values in each variant.
///
/// The others have no such member, and their JSON is the contract's:
/// - `CardDataResponse`, `GetWebhookResponse`, `PayoutStatusResponse`, `WebhookDeliveriesResponse` and
///   `WithdrawalStatusResponse` are one resource or a page, as the caller asked with an id or without.
/// - `AppPaymentPurchaseResponse`, `BankPaymentPurchaseResponse` and `IntlOrderPurchaseResponse` have a `status` only
///   if the charge was credited. What was bought has its status inside.
pub(super) fn add(schemas: &mut Value) {
    let known = schemas.clone();
    for schema in schemas.as_object_mut().into_iter().flat_map(Map::values_mut) {
        if schema.get("discriminator").is_none()
            && let Some(found) = discriminator(schema, &known)
        {
            schema["discriminator"] = found;
        }
    }
}

fn discriminator(union: &Value, known: &Value) -> Option<Value> {
    let references = union["oneOf"]
        .as_array()?
        .iter()
        .map(|variant| variant["$ref"].as_str());
    let references: Vec<&str> = references.collect::<Option<_>>()?;
    let variants: Vec<&Value> = references.iter().map(|reference| target(known, reference)).collect();
    let members = variants.first()?["required"]
        .as_array()?
        .iter()
        .filter_map(Value::as_str);
    members.into_iter().find_map(|member| {
        let mut mapping = Map::new();
        for (variant, reference) in variants.iter().zip(&references) {
            for value in values(variant, member, known)? {
                let earlier = mapping.insert(value, (*reference).into());
                if earlier.is_some() {
                    return None;
                }
            }
        }
        Some(json!({"propertyName": member, "mapping": mapping}))
    })
}

fn target<'a>(known: &'a Value, reference: &str) -> &'a Value {
    &known[reference.rsplit('/').next().unwrap_or_default()]
}

/// The closed set of values of a required member; `None` if it is optional or open.
fn values(variant: &Value, member: &str, known: &Value) -> Option<BTreeSet<String>> {
    let required = variant["required"].as_array()?;
    required.iter().any(|name| name == member).then_some(())?;
    let mut schema = &variant["properties"][member];
    if let Some(reference) = schema["$ref"].as_str() {
        schema = target(known, reference);
    }
    let values = schema["enum"].as_array()?.iter();
    values.map(|value| value.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Checks: a union gets a discriminator only if a required member of all variants has no value in common.
    #[test]
    fn only_disjoint_required_values_discriminate() {
        let object = |values: &[&str], required: &[&str]| {
            json!({"type": "object", "required": required, "properties": {"id": {"type": "string"},
                "status": {"type": "string", "enum": values}}})
        };
        let union = |names: [&str; 2]| {
            let variants = names.map(|name| json!({"$ref": format!("#/components/schemas/{name}")}));
            json!({"oneOf": variants})
        };
        let mut schemas = json!({
            "Pending": object(&["pending", "sent"], &["id", "status"]),
            "Credited": object(&["credited"], &["id", "status"]),
            "Other": object(&["pending"], &["id", "status"]),
            "Optional": object(&["gone"], &["id"]),
            "Tagged": union(["Pending", "Credited"]),
            "Equal": union(["Pending", "Other"]),
            "Absent": union(["Credited", "Optional"]),
        });
        add(&mut schemas);
        let reference = |name: &str| format!("#/components/schemas/{name}");
        let mapping =
            json!({"pending": reference("Pending"), "sent": reference("Pending"), "credited": reference("Credited")});
        assert_eq!(
            schemas["Tagged"]["discriminator"],
            json!({"propertyName": "status", "mapping": mapping})
        );
        assert!(schemas["Equal"].get("discriminator").is_none());
        assert!(schemas["Absent"].get("discriminator").is_none());
    }
}
