//! Goes through the tables of `docs/precedence.md` row by row and takes a snapshot of every answer.
//!
//! `INSTA_UPDATE=always cargo test` writes the snapshots anew; what differs is then reviewed as a diff.

use serde_json::{Map, Value, json};

/// What differs from run to run, by name.
const VOLATILE: &[&str] = &[
    "pin_code",
    "redemption_code",
    "redemption_url",
    "account_key",
    "api_key",
    "api_key_id",
    "claim_code",
    "claim_token",
    "claim_url",
    "message_for_human",
    "prefix",
    "session_id",
    "approval_id",
    "last_used_at",
    "address",
    "auth_url",
    "kyc_url",
    "blockhash",
    "card_id",
    "payout_id",
    "destination_id",
    "recipient_id",
    "card_number",
    "challenge_id",
    "cause",
    "created_at",
    "cvv",
    "docs_version",
    "entry_id",
    "exp_month",
    "exp_year",
    "expiration_time",
    "id",
    "id_token",
    "issued_at",
    "kid",
    "last4",
    "last_valid_block_height",
    "last_updated_at",
    "n",
    "next_after",
    "nonce",
    "payer",
    "payment_id",
    "recent_blockhash",
    "reference",
    "refresh_token",
    "request_id",
    "retry_after_seconds",
    "seq",
    "wallet_payment_id",
    "status_url",
    "service_url",
    "top_up_id",
    "transaction",
    "tx_hash",
    "user_id",
    "wallet",
    "webhook_id",
    "delivery_id",
    "event_id",
    "failing_since",
    "secret",
    "x",
    "requestId",
    "retryAfterSeconds",
    "userId",
    "createdAt",
    "lastUpdatedAt",
    "transactionId",
    "destinationId",
    "accountId",
    "at",
];
/// Headers that are part of what is reviewed. The others are the same on every answer and have a test of their own.
const HEADERS: [&str; 14] = [
    "allow",
    "cache-control",
    "content-type",
    "deprecation",
    "idempotency-replayed",
    "link",
    "location",
    "payment-receipt",
    "payment-required",
    "payment-response",
    "retry-after",
    "set-cookie",
    "sunset",
    "www-authenticate",
];

/// The name of a member, also where callable functions have it in camel case.
pub(crate) fn snake(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

/// An answer as it is reviewed.
pub(crate) struct RecordedResponse {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl RecordedResponse {
    fn code(&self) -> String {
        let body: Value = serde_json::from_str(&self.body).unwrap_or_default();
        match body["code"].as_str().or(body["error"]["code"].as_str()) {
            Some(code) => format!("{} `{code}`", self.status),
            None => self.status.to_string(),
        }
    }

    /// Status, the headers that matter, and the body, with what is volatile named instead of shown.
    fn text(&self) -> String {
        let mut text = format!("{}\n", self.status);
        for name in HEADERS {
            for (_, value) in self.headers.iter().filter(|(n, _)| n == name) {
                let shown = match name {
                    "payment-required" | "payment-response" => pretty(&decoded(value)),
                    "payment-receipt" => pretty(&decoded_for_urls(value)),
                    "www-authenticate" if value.starts_with("Bearer") => value.clone(),
                    "www-authenticate" => pretty(&mpp_challenge(value)),
                    "set-cookie" => format!("[cookie]{}", &value[value.find(';').unwrap_or(value.len())..]),
                    "retry-after" => "[seconds]".to_owned(),
                    _ => value.clone(),
                };
                text.push_str(&format!("{name}: {shown}\n"));
            }
        }
        let body = match serde_json::from_str(&self.body) {
            Ok(json) => pretty(&json),
            Err(_) => self.body.clone(),
        };
        without_volatile_fields(&format!("{text}\n{body}\n"))
    }
}

fn decoded(value: &str) -> Value {
    use base64::Engine as _;
    let json = base64::engine::general_purpose::STANDARD.decode(value).unwrap();
    serde_json::from_slice(&json).unwrap()
}

fn decoded_for_urls(value: &str) -> Value {
    use base64::Engine as _;
    let json = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(value).unwrap();
    serde_json::from_slice(&json).unwrap()
}

fn mpp_challenge(value: &str) -> Value {
    let [challenge] = &purser::payment::mpp::params::challenges(value).unwrap()[..] else {
        panic!("one challenge: {value}")
    };
    let shown = |(name, value): (&String, &String)| match name.as_str() {
        "request" => (name.clone(), decoded_for_urls(value)),
        "opaque" => {
            let mut opaque = decoded_for_urls(value);
            opaque["request"] = json!("[digest]");
            (name.clone(), opaque)
        }
        _ => (name.clone(), json!(value)),
    };
    json!({ &challenge.scheme: challenge.params.iter().map(shown).collect::<Map<_, _>>() })
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(&masked(value)).unwrap()
}

fn masked(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let shown = |(name, value): (&String, &Value)| {
                let empty = value.is_null() || value.is_object() || *value == "";
                // The seller's address is fixed, but the addresses of a wallet payment are random.
                let of_spend = members.contains_key("walletPaymentId") && ["from", "payTo"].contains(&name.as_str());
                let of_approval = members.contains_key("approval_id") && name == "pay_to";
                let of_wallet = value.is_string() && ["base", "solana"].contains(&name.as_str());
                let hidden =
                    (of_spend || of_approval || of_wallet || VOLATILE.contains(&snake(name).as_str())) && !empty;
                (
                    name.clone(),
                    if hidden {
                        json!(format!("[{name}]"))
                    } else {
                        masked(value)
                    },
                )
            };
            Value::Object(members.iter().map(shown).collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.iter().map(masked).collect()),
        other => other.clone(),
    }
}

/// Host, port, ids, times and the digests in names of built files inside of texts.
fn without_volatile_fields(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("127.0.0.1:") {
        let digits = rest[at + 10..].bytes().take_while(u8::is_ascii_digit).count();
        shown.push_str(&rest[..at]);
        shown.push_str("[host]");
        rest = &rest[at + 10 + digits..];
    }
    shown.push_str(rest);
    // 2026-11-20T21:40:00.000Z
    let is_time = |text: &str| text.ends_with('Z') && text[4..].starts_with('-') && text[10..].starts_with('T');
    let mut at = 0;
    while let Some(found) = shown[at..].find("20") {
        at += found;
        match shown.get(at..at + 24) {
            Some(text) if text.is_ascii() && is_time(text) => shown.replace_range(at..at + 24, "[time]"),
            _ => at += 2,
        }
    }
    // /assets/plain-YO4STIKQ.css
    let mut at = 0;
    while let Some(found) = shown[at..].find("/assets/") {
        at += found + "/assets/".len();
        let name = shown[at..].find(['"', ' ', '\n']).unwrap_or(0);
        if let Some(dash) = shown[at..at + name].find('-') {
            let dot = shown[at + dash..at + name].find('.').unwrap_or(name - dash);
            shown.replace_range(at + dash + 1..at + dash + dot, "[digest]");
        }
    }
    for prefix in [
        "card_", "key_", "pay_", "po_", "dst_", "rcp_", "ba_", "btr_", "brc_", "bapp_", "doc_", "adr_",
    ] {
        let mut at = 0;
        while let Some(found) = shown[at..].find(prefix) {
            let from = at + found + prefix.len();
            let digits = shown[from..].bytes().take_while(u8::is_ascii_hexdigit).count();
            at = from;
            if digits == 32 {
                shown.replace_range(from..from + 32, "[id]");
            }
        }
    }
    shown
}

/// Compares an answer with its reviewed snapshot, whose name says the status.
pub(crate) fn snapshot(name: &str, seen: &RecordedResponse) {
    assert!(name.contains(&format!(".{}", seen.status)), "{name}: {}", seen.text());
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/contract/snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, seen.text()));
}

/// One table of the document.
pub(crate) struct PrecedenceTable {
    name: String,
    rows: Vec<String>,
    at: usize,
}

impl PrecedenceTable {
    /// The table under this heading, and what its snapshots are called.
    pub(crate) fn of(heading: &str, name: &str) -> Self {
        let document = include_str!("../../docs/precedence.md");
        let (_, section) = document
            .split_once(&format!("## {heading}\n"))
            .unwrap_or_else(|| panic!("docs/precedence.md has no `{heading}`"));
        let section = section.split("\n## ").next().unwrap();
        let rows = section.lines().filter(|line| line.starts_with("| ")).skip(2);
        Self {
            name: name.to_owned(),
            rows: rows
                .map(|row| row.split(" |").next().unwrap()[2..].to_owned())
                .collect(),
            at: 0,
        }
    }

    /// The answer must be the one of the next row.
    pub(crate) fn assert_next(&mut self, seen: &RecordedResponse) {
        let row = self.rows.get(self.at).map(String::as_str);
        assert_eq!(
            Some(seen.code().as_str()),
            row,
            "row {} of {}: {}",
            self.at + 1,
            self.name,
            seen.body
        );
        self.at += 1;
        let code = seen.code().replace(' ', "-").replace('`', "");
        snapshot(&format!("{}.{:02}.{code}", self.name, self.at), seen);
    }

    /// Nothing of the table is left.
    pub(crate) fn assert_complete(self) {
        assert_eq!(
            self.rows[self.at..],
            Vec::<String>::new(),
            "{} has rows that were not met",
            self.name
        );
    }
}
