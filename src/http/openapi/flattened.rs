//! Answers that begin with another type's members have one list of members, as their JSON has.

use serde_json::{Map, Value, json};

/// Replaces each `allOf`, which is how a member with `flatten` is described, by one object with all members.
pub(super) fn merge(schemas: &mut Value) {
    let known = schemas.clone();
    for schema in schemas.as_object_mut().into_iter().flat_map(Map::values_mut) {
        if schema.get("allOf").is_some() {
            let (mut members, mut required) = (Map::new(), Vec::new());
            collect(schema, &known, &mut members, &mut required);
            let description = schema["description"].take();
            *schema =
                json!({"type": "object", "description": description, "properties": members, "required": required});
        }
    }
}

/// Collects the members of a schema: those of the other types first, in the order of the JSON.
fn collect(schema: &Value, known: &Value, members: &mut Map<String, Value>, required: &mut Vec<Value>) {
    if let Some(name) = schema["$ref"]
        .as_str()
        .and_then(|reference| reference.rsplit('/').next())
    {
        return collect(&known[name], known, members, required);
    }
    for part in schema["allOf"].as_array().into_iter().flatten() {
        collect(part, known, members, required);
    }
    members.extend(schema["properties"].as_object().cloned().unwrap_or_default());
    required.extend(schema["required"].as_array().cloned().unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    // Checks: a flattened type gives all its members, and nothing else of the document changes.
    #[test]
    fn flattened_members_are_in_one_list() {
        let card = json!({"type": "object", "description": "A card.", "required": ["id"],
            "properties": {"id": {"type": "string"}, "note": {"type": "string"}}});
        let mut schemas = json!({
            "Card": card,
            "Shown": {"description": "A card with its charges.", "allOf": [{"$ref": "#/components/schemas/Card"},
                {"type": "object", "required": ["charges"], "properties": {"charges": {"type": "array"}}}]},
        });
        merge(&mut schemas);
        assert_eq!(schemas["Card"], card);
        let shown = json!({"type": "object", "description": "A card with its charges.", "required": ["id", "charges"],
            "properties": {"id": {"type": "string"}, "note": {"type": "string"}, "charges": {"type": "array"}}});
        assert_eq!(schemas["Shown"], shown);
    }
}
