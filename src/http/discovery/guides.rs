//! Documents for agents and their developers: `/llms.txt`, `/skill.md`, and their sample calls.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use super::super::openapi::ApiDocuments;

/// Suffix of ids in examples. No real id has it.
const SAMPLE_ID: &str = "_0123456789abcdef0123456789abcdef";

/// Instructions beside the list of samples.
pub(super) const INSTRUCTIONS: &str = "Replace the parameters with your own. The destination_id of the example is made up and only \
    shows the price: GET /bank-recipients lists yours. GET /skill.md says how to buy.";

/// One operation of an OpenAPI document.
struct OperationSummary<'a> {
    method: String,
    path: &'a str,
    about: &'a Value,
    /// The document that it is in.
    document: &'a Value,
}

fn operations(openapi: &Value) -> impl Iterator<Item = OperationSummary<'_>> {
    let paths = openapi["paths"].as_object().into_iter().flatten();
    paths.flat_map(move |(path, methods)| {
        let methods = methods.as_object().into_iter().flatten();
        methods.map(move |(method, about)| OperationSummary {
            method: method.to_uppercase(),
            path,
            about,
            document: openapi,
        })
    })
}

impl OperationSummary<'_> {
    fn is_paid(&self) -> bool {
        self.about.get("x-payment-info").is_some()
    }

    /// Excludes provider callbacks, which reject agents, and pages, which need a browser and its session.
    fn is_for_agents(&self) -> bool {
        !self.path.ends_with("-callback") && !self.is_page()
    }

    fn is_page(&self) -> bool {
        self.about["tags"][0] == "Account pages"
    }

    /// Names of the query and body parameters. Optional ones end with `?`.
    fn takes(&self) -> Vec<String> {
        let parameters = self.about["parameters"].as_array().into_iter().flatten();
        let query = parameters
            .filter(|p| p["in"] == "query")
            .filter_map(|p| named(p["name"].as_str()?, p["required"] == true));
        let schema = &self.about["requestBody"]["content"]["application/json"]["schema"];
        query.chain(members(self.document, schema)).collect()
    }

    fn text(&self, name: &str) -> &str {
        self.about[name].as_str().unwrap_or_default().trim()
    }

    /// The path with example values of required parameters: a call that answers with its price.
    fn sample(&self) -> String {
        let parameters = self.about["parameters"].as_array().into_iter().flatten();
        let query: Vec<String> = parameters
            .filter(|p| p["in"] == "query")
            .filter_map(|p| Some((p["name"].as_str()?, p["example"].as_str()?)))
            .map(|(name, example)| format!("{name}={}", escaped(example)))
            .collect();
        format!("{}?{}", self.path, query.join("&"))
    }

    /// Which sample values the caller has to replace.
    fn sample_note(&self) -> &'static str {
        if self.sample().contains(SAMPLE_ID) {
            " (this `destination_id` is made up and only shows the price: take one of yours from `GET /bank-recipients`)"
        } else {
            ""
        }
    }

    /// The price from the price list, for example `5 to 1000, fee 4.8 %`.
    fn price(&self) -> String {
        let info = &self.about["x-payment-info"];
        let of = |name: &str| info[name].as_str().unwrap_or("?").to_owned();
        format!("costs {} to {} USDC", of("minPrice"), of("maxPrice"))
    }
}

fn named(name: &str, required: bool) -> Option<String> {
    Some(format!("`{name}`{}", if required { "" } else { "?" }))
}

/// Members of a body, or of `data` for a callable function.
fn members(openapi: &Value, schema: &Value) -> Vec<String> {
    let schema = match schema["$ref"].as_str() {
        Some(reference) => openapi
            .pointer(reference.trim_start_matches('#'))
            .unwrap_or(&Value::Null),
        None => schema,
    };
    let properties = schema["properties"].as_object();
    if let Some(data) = properties
        .and_then(|all| all.get("data"))
        .filter(|data| data.is_object())
    {
        return members(openapi, data);
    }
    let required = schema["required"].as_array();
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|one| one == name));
    let names = properties.into_iter().flatten().map(|(name, _)| name.as_str());
    names.filter_map(|name| named(name, is_required(name))).collect()
}

/// Percent-encodes a query value, except unreserved characters (RFC 3986, section 2.3).
fn escaped(value: &str) -> String {
    value.bytes().fold(String::new(), |mut text, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(text, "%{byte:02X}");
        }
        text
    })
}

/// Each paid operation as a URL that answers 402.
pub(super) fn samples(openapi: &Value, url: &str) -> Vec<String> {
    let paid = operations(openapi).filter(OperationSummary::is_paid);
    paid.map(|operation| format!("{url}{}", operation.sample())).collect()
}

const INTRODUCTION: &str = "\
> Prepaid cards, gift cards, payouts, bank payments and balance top-ups for software agents. Each call is paid separately, in \
USDC on Base or Solana, by x402 v2 or MPP: no account, no API key. The payer's wallet is the identity.

- A paid route without a payment answers 402 with its price (`PAYMENT-REQUIRED`, `WWW-Authenticate: Payment`); the same call \
with a signed payment buys once, however often it is sent.
- The 200 of a purchase contains `auth.id_token`, for `Authorization: Bearer`: it reads the account, and shows, changes and loads \
what that payment bought. Whatever else changes something (identity, links, the managed wallet, API keys, money to other \
addresses, earlier purchases) needs the token of `GET /auth`, which signs in with the wallet. `POST /auth` renews either.
- Amounts are decimal numbers. Errors are `{error, code, …}`; branch on `code`. `terminal: true` says that the same request \
can never succeed.
- Money that cannot be used for what was paid becomes the wallet's balance: `GET /get-account-balance`, `POST /withdraw`.
";

/// Order of the sections. Other tags come last.
const PARTS: [&str; 3] = ["Paid", "Identity", "Account"];

/// `/llms.txt` (llmstxt.org): one line per operation.
pub(super) fn llms(documents: &ApiDocuments, url: &str) -> String {
    let mut text = format!("# Purser\n\n{INTRODUCTION}\n");
    let mut parts: BTreeMap<(usize, &str), Vec<String>> = BTreeMap::new();
    let all = || documents.all().into_iter().flat_map(operations);
    for operation in all().filter(OperationSummary::is_for_agents) {
        let tag = if operation.is_paid() {
            "Paid"
        } else {
            operation.about["tags"][0].as_str().unwrap_or("Other")
        };
        let rank = PARTS.iter().position(|part| *part == tag).unwrap_or(PARTS.len());
        parts.entry((rank, tag)).or_default().push(line(&operation, url));
    }
    for ((_, tag), lines) in parts {
        // Writing to a String cannot fail.
        let _ = write!(text, "## {tag}\n\n{}\n\n", lines.join("\n"));
    }
    let mut pages: Vec<&str> = all().filter(OperationSummary::is_page).map(|page| page.path).collect();
    pages.dedup();
    let _ = write!(
        text,
        "## Pages for people\n\nA browser opens these, by links that the answers above give; an agent calls none of them: {}.\n\n",
        pages.join(", ")
    );
    let _ = write!(
        text,
        "## Documents\n\n\
        - [OpenAPI 3.1]({url}/openapi.json): every route with its parameters, answers and errors\n\
        - [AsyncAPI 3.0]({url}/asyncapi.json): the event stream and the types of events\n\
        - [Skill]({url}/skill.md): how to buy, step by step\n\
        - [Prices]({url}/get-pricing), [countries]({url}/get-supported-countries), [version]({url}/version)\n"
    );
    text
}

fn line(operation: &OperationSummary<'_>, url: &str) -> String {
    let (method, path) = (&operation.method, operation.path);
    let mut line = format!("- `{method} {path}`: {}", operation.text("summary"));
    if operation.is_paid() {
        let _ = write!(line, "; {}; `{url}{}`", operation.price(), operation.sample());
        line.push_str(operation.sample_note());
    }
    let takes = operation.takes();
    if !takes.is_empty() {
        let _ = write!(line, "; takes {}", takes.join(", "));
    }
    if operation.about["deprecated"] == true {
        line.push_str(" (deprecated)");
    }
    line
}

/// `/skill.md`: a skill file, with name and description as front matter.
pub(super) fn skill(openapi: &Value, url: &str) -> String {
    let bought: Vec<String> = operations(openapi)
        .filter(OperationSummary::is_paid)
        .map(|operation| {
            format!(
                "| {} | `GET {url}{}`{} | {} |",
                operation.text("summary"),
                operation.sample(),
                operation.sample_note(),
                operation.price()
            )
        })
        .collect();
    format!(
        "---\n\
        name: purser\n\
        description: Buy prepaid cards, gift cards, payouts, bank payments and top-ups at {url} with USDC from a wallet, by x402 or MPP.\n\
        ---\n\n\
        # Buying at {url}\n\n\
        {INTRODUCTION}\n\
        ## What is sold\n\n\
        | What | Example | Price |\n| --- | --- | --- |\n{}\n\n\
        Replace the parameters of an example with your own; `GET {url}/openapi.json` describes each of them, and \
        `GET {url}/get-pricing` gives ranges and fees.\n\n\
        ## How to buy\n\n\
        1. Call the route with its parameters. 400 and 503 (`product_unavailable`: not sold now): read `code` and `hint`; nothing was \
        charged.\n\
        2. 402: check the price against what you may spend, sign exactly one of the offers, send the same request with it.\n\
        3. 200: keep `payment_id`, `auth.id_token` and `auth.refresh_token`. 402 with `success: false`: the transfer did not \
        settle, read `errorReason`. 403, 404, 409 and 412 (`identity_verification_required`, `issuer_not_linked`): nothing was charged. They come \
        after signing, since only the payment says whose account it is. 503 `product_unavailable`: nothing was charged. Any other 503, or no answer: send the \
        same signed payment again, never a new one. Tokens (`auth`) come once, in the 200 to the call that had the payment settled. \
        If that call got a 202 or its answer was lost, no later answer has them: sign in with `GET {url}/auth`. To be safe against \
        paying twice after a loss, put an id of your own \
        (16 to 128 letters, digits, - and _) into `extensions[\"payment-identifier\"].info.id` of the payment from the start: \
        for 24 hours a new payment with that id is answered with the first one's purchase and not charged.\n\
        4. Wait for the product: a payment that is `fulfilled` may have bought a card that is not ready, or that failed and was \
        credited. `product_status` in `GET {url}/get-payment` says which; `GET {url}/stream` pushes every change, \
        `GET {url}/events?after=` has them in pages; or ask the product's own route every few seconds.\n\
        5. 429: wait `retry_after_seconds`, then once more.\n\n\
        ## What only the owner does\n\n\
        Identity, links to the card issuer and spending limits are changed by a person. Sign in with `GET {url}/auth` first: a link \
        that is created with a purchase's token opens a page that changes nothing. Then give them the `auth_url` of `GET {url}/get-auth-link`. Never ask \
        them for a key.\n",
        bought.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    // Checks: a sample has the parameters with an example, escaped, and only paid operations are listed.
    #[test]
    fn samples_are_urls_of_paid_operations_only() {
        let parameter = |name: &str, required: bool, example: Option<&str>| json!({"name": name, "in": "query", "required": required, "example": example});
        let openapi = json!({"paths": {
            "/send": {"get": {"x-payment-info": {}, "parameters": [
                parameter("to", true, Some("@ada & co")), parameter("kind", false, Some("x")), parameter("note", false, None),
                parameter("amount", true, Some("5")),
            ]}},
            "/free": {"get": {"summary": "Free"}},
        }});
        assert_eq!(
            samples(&openapi, "https://pay.example"),
            ["https://pay.example/send?to=%40ada%20%26%20co&kind=x&amount=5"]
        );
    }
}
