//! Schemas in the form of the JSON that they describe: one list of members for an answer that begins with another type's
//! members, and plain strings for ids, times and addresses.

use purser_actors::documents::TEXT;
use serde_json::{Map, Value, json};

/// Replaces each `allOf`, which is how a member with `flatten` is described, by one object with all members, and each
/// reference to [`TEXT`] by a string.
pub(in crate::http) fn merge(document: &mut Value) {
    write_out_text(document, &json!({"$ref": format!("#/components/schemas/{TEXT}")}));
    let known = document["components"]["schemas"].clone();
    write_out_members(document, &known);
}

fn write_out_members(part: &mut Value, known: &Value) {
    if part.get("allOf").is_some() {
        let (mut members, mut required) = (Map::new(), Vec::new());
        collect(part, known, &mut members, &mut required);
        if let Some(schema) = part.as_object_mut() {
            schema.remove("allOf");
        }
        part["type"] = "object".into();
        part["properties"] = members.into();
        part["required"] = required.into();
    }
    match part {
        Value::Object(members) => members.values_mut().for_each(|member| write_out_members(member, known)),
        Value::Array(items) => items.iter_mut().for_each(|item| write_out_members(item, known)),
        _ => {}
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

fn write_out_text(part: &mut Value, text: &Value) {
    match part {
        Value::Object(members) => {
            if let Some([found, other]) = members.get("oneOf").and_then(Value::as_array).map(Vec::as_slice)
                && found["$ref"] == text["$ref"]
                && other["type"] == "null"
            {
                let mut nullable = found.as_object().cloned().unwrap_or_default();
                nullable.remove("$ref");
                nullable.insert("type".into(), json!(["string", "null"]));
                members.remove("oneOf");
                members.extend(nullable);
            } else if members.get("$ref") == text.get("$ref") {
                members.remove("$ref");
                members.insert("type".into(), "string".into());
            }
            members.values_mut().for_each(|member| write_out_text(member, text));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| write_out_text(item, text)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Checks: a flattened type gives all its members, text is a string, and nothing else of the document changes.
    #[test]
    fn schemas_have_the_form_of_their_json() {
        let reference = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
        let mut id = reference(TEXT);
        id["description"] = "Of the card.".into();
        let note =
            json!({"oneOf": [{"$ref": reference(TEXT)["$ref"], "description": "By its owner."}, {"type": "null"}]});
        let card = json!({"type": "object", "description": "A card.", "required": ["id"],
            "properties": {"id": id, "note": note, "state": reference("State")}});
        let charges = json!({"type": "array", "items": reference(TEXT)});
        let mut document = json!({"components": {"schemas": {
            "Card": card,
            "Shown": {"description": "A card with its charges.", "allOf": [reference("Card"),
                {"type": "object", "required": ["charges"], "properties": {"charges": charges}}]},
        }}});
        merge(&mut document);
        let mut members = json!({"id": {"type": "string", "description": "Of the card."},
            "note": {"type": ["string", "null"], "description": "By its owner."}, "state": reference("State")});
        let card = json!({"type": "object", "description": "A card.", "required": ["id"], "properties": members});
        let schemas = &document["components"]["schemas"];
        assert_eq!(schemas["Card"], card);
        members["charges"] = json!({"type": "array", "items": {"type": "string"}});
        let shown = json!({"type": "object", "description": "A card with its charges.", "required": ["id", "charges"],
            "properties": members});
        assert_eq!(schemas["Shown"], shown);
    }
}
