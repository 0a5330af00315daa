//! Writes flattened structs as one object, as their JSON is.

use serde_json::{Map, Value};

/// Replaces each `allOf`, which utoipa writes for a struct with flattened members, by an object with the members of all
/// parts.
pub(in crate::http) fn merge(document: &mut Value) {
    let known = document["components"]["schemas"].clone();
    merge_part(document, &known);
}

fn merge_part(part: &mut Value, known: &Value) {
    if let Some(Value::Array(pieces)) = part.as_object_mut().and_then(|schema| schema.remove("allOf")) {
        let (mut properties, mut required) = (Map::new(), Vec::new());
        for mut piece in pieces {
            if let Some(reference) = piece["$ref"].as_str() {
                piece = known[reference.rsplit('/').next().unwrap_or_default()].clone();
            }
            merge_part(&mut piece, known);
            properties.extend(piece["properties"].as_object().cloned().unwrap_or_default());
            required.extend(piece["required"].as_array().cloned().unwrap_or_default());
        }
        part["type"] = "object".into();
        part["properties"] = properties.into();
        if !required.is_empty() {
            part["required"] = required.into();
        }
    }
    match part {
        Value::Object(members) => members.values_mut().for_each(|member| merge_part(member, known)),
        Value::Array(items) => items.iter_mut().for_each(|item| merge_part(item, known)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // Checks: a flattened struct becomes one object, also if a part of it has a flattened struct.
    #[test]
    fn flattened_structs_are_one_object() {
        let reference = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
        let object =
            |name: &str| json!({"type": "object", "required": [name], "properties": {name: {"type": "string"}}});
        let mut document = json!({"components": {"schemas": {
            "Job": object("job_id"),
            "Open": {"description": "An open job.", "allOf": [reference("Job"), object("late")]},
            "Held": {"allOf": [reference("Open"), {"type": "object", "properties": {"held": {"type": "string"}}}]},
        }}});
        merge(&mut document);
        let schemas = &document["components"]["schemas"];
        assert_eq!(schemas["Open"]["description"], "An open job.");
        assert_eq!(schemas["Held"]["required"], json!(["job_id", "late"]));
        let members: Vec<&String> = schemas["Held"]["properties"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|m| m.0)
            .collect();
        assert_eq!(members, ["held", "job_id", "late"]);
        assert!(schemas["Held"].get("allOf").is_none() && schemas["Held"]["type"] == "object");
    }
}
