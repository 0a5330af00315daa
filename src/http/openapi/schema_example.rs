//! Generates an example value for a schema. The schema's own hints come first (an example, the first enum value, the
//! backticked value at the start of its description), then typical values by member name.

use serde_json::{Map, Value, json};

/// Typical values by member name in snake case. Addresses, ids and times are generated instead.
const EXAMPLES_BY_NAME: &[(&str, &str)] = &[
    ("account_holder_name", "Ada Lovelace"),
    ("account_number_last4", "6789"),
    ("amount", "5000000"),
    ("api_version", super::super::headers::API_VERSION),
    ("as_of", "2026-11-20T21:40:00.000Z"),
    ("asset", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"),
    ("account_number", "000123456789"),
    ("bank_name", "First Bank"),
    ("base", WALLET),
    ("card_number", "4242424242424242"),
    ("category", "Books"),
    ("city", "Springfield"),
    ("code", "payment_required"),
    ("content", "JVBERi0xLjQK"),
    ("country", "US"),
    ("currency", "USD"),
    ("cvv", "123"),
    ("date_of_birth", "1990-01-31"),
    ("description", "USA prepaid card, 5 USD"),
    ("display_name", "Ada"),
    ("docs_version", "0f1e2d3c4b5a"),
    ("email", "ada@example.com"),
    ("error", "Payment required"),
    ("error_message", "The payer has less than that."),
    ("error_reason", "insufficient_funds"),
    ("exp_month", "12"),
    ("exp_year", "2027"),
    ("expires_in", "3600"),
    ("first_name", "Ada"),
    ("id_token", "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiIweDFmOTgifQ.c2lnbmF0dXJl"),
    ("last4", "4242"),
    ("last_name", "Lovelace"),
    ("max_amount_required", "5000000"),
    ("message", "Done."),
    ("mime_type", "application/json"),
    ("name", "Ada Lovelace"),
    ("network", "eip155:8453"),
    ("nonce", "7f6d1c2b3a495867"),
    ("pay_to", WALLET),
    ("payer", WALLET),
    ("platform", "paypal"),
    ("product", "usa_prepaid_card"),
    ("product_id", "gift_quietshield_vpn"),
    ("refresh_token", "rt_9c4e7a0b1d2f4c6e8a0b1d2f4c6e8a0b"),
    ("resource", "https://pay.example/get-card?amount=5"),
    ("route", "/get-card"),
    ("routing_number", "021000021"),
    ("scheme", "exact"),
    ("solana", "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM"),
    ("state", "ready"),
    ("status", "ready"),
    ("types", "card.ready"),
    ("url", "https://pay.example/get-card?amount=5"),
    ("user_id", "0x1f98431c8ad98523631ae4a59f267346ea31f984"),
];

/// Numbers that are not amounts.
const NUMBERS: &[(&str, u64)] = &[
    ("amount", 10),
    ("exp_month", 12),
    ("exp_year", 2027),
    ("expires_in", 900),
    ("max_timeout_seconds", 300),
    ("retry_after_seconds", 2),
    ("status", 200),
    ("x402_version", 2),
];

const WALLET: &str = "0x1F98431c8aD98523631AE4a59f267346ea31F984";
const DIGITS: &str = "4b7f0c1d2e3a495867768594a3b2c1d0";
/// Base64 of 32 bytes.
const SECRET: &str = "S38MHS46SVhndoWUo7LB0EuPDB0uOklYZ3aFlKOywdA=";

/// Maximum depth of nested schemas. None of our schemas is recursive.
const DEPTH: u8 = 16;

/// Generates values for schemas whose references point into `schemas`.
#[derive(Clone, Copy)]
pub(super) struct SchemaExample<'a> {
    pub(super) schemas: &'a Value,
    /// Omit optional members, because some exclude each other.
    pub(super) bare: bool,
}

impl SchemaExample<'_> {
    /// A value that fits `schema`, for a member called `name`.
    pub(super) fn of(self, schema: &Value, name: &str) -> Value {
        self.within(schema, name, DEPTH)
    }

    fn within(self, schema: &Value, name: &str, depth: u8) -> Value {
        let Some(depth) = depth.checked_sub(1) else {
            return Value::Null;
        };
        if let Some(example) = schema.get("example") {
            return example.clone();
        }
        if let Some(target) = schema["$ref"].as_str() {
            let target = &self.schemas[target.rsplit('/').next().unwrap_or_default()];
            return described_value(schema, target).unwrap_or_else(|| self.within(target, name, depth));
        }
        if let Some(first) = schema["enum"].get(0).or(schema.get("const")) {
            return first.clone();
        }
        let mut choices = schema["oneOf"].as_array().into_iter().flatten();
        if let Some(choice) = choices.find(|choice| choice["type"] != "null") {
            return self.within(choice, name, depth);
        }
        if let Some(parts) = schema["allOf"].as_array() {
            let parts = parts.iter().map(|part| self.within(part, name, depth));
            let members = parts.filter_map(|part| part.as_object().cloned()).flatten();
            return members.collect::<Map<_, _>>().into();
        }
        let kind = match schema["type"].as_array() {
            Some(kinds) => kinds.iter().find(|kind| *kind != "null"),
            None => schema.get("type"),
        };
        match kind.and_then(Value::as_str) {
            Some("array") => json!([self.within(&schema["items"], name, depth)]),
            Some("boolean") => json!(!name.starts_with("has")),
            Some("integer") => json!(number(schema, &snake(name)).unwrap_or(1)),
            Some("number") => json!(number(schema, &snake(name)).unwrap_or(5)),
            Some("string") => text(schema, &snake(name)).into(),
            _ => self.members(schema, depth),
        }
    }

    fn members(self, schema: &Value, depth: u8) -> Value {
        let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
        let members = schema["properties"].as_object().into_iter().flatten();
        let shown = members.filter(|(name, _)| !self.bare || required.iter().any(|required| required == *name));
        let shown = shown.map(|(name, member)| (name.clone(), self.within(member, name, depth)));
        shown.collect::<Map<_, _>>().into()
    }
}

/// The value of an enum that the description of a reference to it begins with.
fn described_value(reference: &Value, target: &Value) -> Option<Value> {
    let word = described_word(reference)?;
    let mut values = target["enum"].as_array()?.iter();
    values.find(|value| *value == word).cloned()
}

/// The backticked word at the start of a description.
fn described_word(schema: &Value) -> Option<&str> {
    schema["description"].as_str()?.strip_prefix('`')?.split('`').next()
}

fn number(schema: &Value, name: &str) -> Option<u64> {
    // `402.`: descriptions of constant numbers.
    let constant = schema["description"]
        .as_str()
        .and_then(|text| text.strip_suffix('.')?.parse().ok());
    let known = || {
        NUMBERS
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| *value)
    };
    constant.or_else(known)
}

fn text(schema: &Value, name: &str) -> String {
    // `pending`, `ready` …: descriptions of string types begin with one of their values.
    if let Some(word) = described_word(schema) {
        // `wd_…`: the prefix of an id.
        return match word.strip_suffix('…') {
            Some("whsec_") => format!("whsec_{SECRET}"),
            Some(prefix) => format!("{prefix}{DIGITS}"),
            None => word.to_owned(),
        };
    }
    if let Some((_, value)) = EXAMPLES_BY_NAME.iter().find(|(known, _)| *known == name) {
        return (*value).to_owned();
    }
    let last = name.rsplit('_').next().unwrap_or_default();
    match last {
        "at" | "time" | "expires" | "until" => "2026-11-20T21:40:00.000Z".to_owned(),
        "url" => format!("https://pay.example/{}", name.replace('_', "-")),
        "address" | "wallet" | "to" | "from" => WALLET.to_owned(),
        "id" => {
            let of = name.strip_suffix("_id").unwrap_or("evt");
            let prefix = PREFIXES.iter().find(|(known, _)| *known == of).map_or(of, |(_, p)| p);
            format!("{prefix}_{DIGITS}")
        }
        _ if name.ends_with("hash") || name == "transaction" => format!("0x{DIGITS}{DIGITS}"),
        _ => name.replace('_', " "),
    }
}

/// Id prefixes that differ from the resource name.
const PREFIXES: &[(&str, &str)] = &[
    ("account", "ba"),
    ("address_book_entry", "adr"),
    ("api_key", "key"),
    ("application", "bapp"),
    ("delivery", "whd"),
    ("destination", "dst"),
    ("discrepancy", "disc"),
    ("document", "doc"),
    ("effect", "job"),
    ("entry", "stl"),
    ("event", "evt"),
    ("late_return", "lr"),
    ("payment", "pay"),
    ("payout", "po"),
    ("recipient", "rcp"),
    ("refund", "rf"),
    ("request", "req"),
    ("session", "ses"),
    ("wallet_payment", "wpay"),
    ("top_up", "top"),
    ("transaction", "btr"),
    ("webhook", "wh"),
    ("withdrawal", "wd"),
];

/// `createdAt` becomes `created_at`.
fn snake(name: &str) -> String {
    name.chars().fold(String::new(), |mut snake, c| {
        if c.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
        snake
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // Checks: an example id has its own prefix and 32 hexadecimal digits.
    #[test]
    fn example_ids_have_prefix_and_32_hex_digits() {
        let schemas = json!({});
        let sample = SchemaExample {
            schemas: &schemas,
            bare: false,
        };
        let described = |text: &str| json!({"type": "string", "description": text});
        for (schema, name, prefix) in [
            (described("`wd_…`."), "id", "wd_"),
            (described("`top_…`, as under `top_ups`."), "top_up_id", "top_"),
            (json!({"type": "string"}), "webhook_id", "wh_"),
            (json!({"type": "string"}), "apiKeyId", "key_"),
            (json!({"type": "string"}), "wallet_payment_id", "wpay_"),
        ] {
            let id = sample.of(&schema, name);
            let digits = id.as_str().and_then(|id| id.strip_prefix(prefix));
            assert_eq!(digits, Some(DIGITS), "{name}: {id}");
        }
    }

    // Checks: a reference to an enum shows the value that its description begins with, otherwise the first one.
    #[test]
    fn enum_reference_shows_its_described_value() {
        let schemas = json!({"Status": {"type": "string", "enum": ["pending", "ready"]}});
        let sample = SchemaExample {
            schemas: &schemas,
            bare: false,
        };
        let reference = |text: &str| json!({"$ref": "#/components/schemas/Status", "description": text});
        for (description, value) in [
            ("`ready` in every case.", "ready"),
            ("`closed` is not one.", "pending"),
            ("Same as `status`.", "pending"),
        ] {
            let schema = reference(description);
            assert_eq!(sample.of(&schema, "status"), value, "{description}");
            let optional = json!({"oneOf": [{"type": "null"}, schema]});
            assert_eq!(sample.of(&optional, "status"), value, "{description}");
        }
    }

    // Checks: hints of the schema go before typical values by name, and null appears only if no value fits.
    #[test]
    fn schema_hints_precede_values_by_name() {
        let schemas = json!({"Card": {"type": "object", "properties": {
            "card_id": {"type": "string"}, "status": {"type": "string", "description": "`pending`."},
            "createdAt": {"type": ["string", "null"]}, "has_more": {"type": "boolean"}}}});
        let card = json!({"oneOf": [{"type": "null"}, {"$ref": "#/components/schemas/Card"}]});
        let sample = SchemaExample {
            schemas: &schemas,
            bare: false,
        };
        let shown = sample.of(&json!({"type": "array", "items": card}), "cards");
        let expected = json!([{"card_id": format!("card_{DIGITS}"), "status": "pending",
            "createdAt": "2026-11-20T21:40:00.000Z", "has_more": false}]);
        assert_eq!(shown, expected);
        let word = json!({"type": "string", "enum": ["slow", "reorg"]});
        assert_eq!(sample.of(&word, "status"), "slow");
        assert_eq!(
            sample.of(&json!({"type": "string", "example": "7.50"}), "amount"),
            "7.50"
        );
        let bare = SchemaExample { bare: true, ..sample };
        assert_eq!(bare.of(&card, "card"), json!({}));
    }
}
