//! Resolves the target of a paid call from the agent's request.

use purser_actors::entity::spend_approval::RoutePurchase;
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::error::{ApiError, ErrorCode};
use crate::agent_wallet::CallTarget;
use crate::http::app::App;

/// Bytes of a target, with its query.
const MAX_TARGET_LEN: usize = 2_048;

impl App {
    /// Resolves `route` or `url`, with `params` as its query. A URL of our own origin is a route.
    ///
    /// # Errors
    /// 400 if neither or both are given, or if the target is malformed. The address filter checks the URL when it is
    /// called.
    pub(super) fn target(
        &self,
        route: Option<&str>,
        url: Option<&str>,
        params: Option<&RawValue>,
    ) -> Result<CallTarget, ApiError> {
        let invalid =
            |name: &'static str, error: &'static str| ApiError::parameter(ErrorCode::ParameterInvalid, name, error);
        let query = params.map(query).transpose()?.unwrap_or_default();
        let own = url.and_then(|url| url.strip_prefix(&self.public_url));
        let own = own.filter(|rest| rest.starts_with(['/', '?']));
        let target = match (route, url, own) {
            (Some(_), Some(_), _) => return Err(invalid("url", "Give `route` or `url`, not both.")),
            (None, None, _) => {
                let error = "`route` of this service or `url` says what to call.";
                return Err(ApiError::parameter(ErrorCode::ParameterMissing, "url", error));
            }
            (Some(route), None, _) | (None, Some(_), Some(route)) => CallTarget::Route(joined(route, &query)),
            (None, Some(url), None) => CallTarget::Url(joined(url, &query)),
        };
        let (name, text) = match &target {
            CallTarget::Route(route) => ("route", route),
            CallTarget::Url(url) => ("url", url),
        };
        if text.len() > MAX_TARGET_LEN || !text.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(invalid(name, "It must be at most 2,048 printable ASCII characters."));
        }
        if let CallTarget::Route(route) = &target
            && (!route.starts_with('/') || route.starts_with("//"))
        {
            return Err(invalid("route", "A route begins with one slash, as in `/get-card`."));
        }
        Ok(target)
    }
}

impl CallTarget {
    /// What a call of our own route buys, for the owner who is asked about it: nothing that is secret, and nothing that
    /// is longer than a line.
    pub(super) fn purchase(&self) -> Option<RoutePurchase> {
        /// Characters of a path.
        const MAX_PATH_LEN: usize = 64;
        let Self::Route(target) = self else { return None };
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let value = |name: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
        };
        let is_number = |text: &&str| text.len() <= 20 && text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let is_currency = |text: &&str| text.len() == 3 && text.bytes().all(|b| b.is_ascii_alphabetic());
        let is_id = |text: &&str| {
            let is_plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
            !text.is_empty() && text.len() <= MAX_PATH_LEN && text.bytes().all(is_plain)
        };
        let mut route: String = path.chars().take(MAX_PATH_LEN).collect();
        let mut mark = '?';
        for name in RoutePurchase::NAMED {
            if let Some(id) = value(name).filter(is_id) {
                route.push(mark);
                for part in [name, "=", id] {
                    route.push_str(part);
                }
                mark = '&';
            }
        }
        Some(RoutePurchase {
            route,
            amount: value("amount").filter(is_number).map(str::to_owned),
            currency: value("currency").filter(is_currency).map(str::to_ascii_uppercase),
        })
    }
}

fn joined(target: &str, query: &str) -> String {
    let target = target.split('#').next().unwrap_or_default();
    if query.is_empty() {
        return target.to_owned();
    }
    let mark = if target.contains('?') { '&' } else { '?' };
    format!("{target}{mark}{query}")
}

/// Encodes an object of texts, numbers and flags as a query, in order. Null members are left out.
fn query(params: &RawValue) -> Result<String, ApiError> {
    let error = "`params` must be an object of texts, numbers and flags.";
    let invalid = || ApiError::parameter(ErrorCode::ParameterInvalid, "params", error);
    let members: Vec<(String, Box<RawValue>)> = serde_json::from_str::<QueryMembers>(params.get())
        .map_err(|_| invalid())?
        .0;
    let mut pairs = Vec::with_capacity(members.len());
    for (name, raw) in members {
        let value = match serde_json::from_str(raw.get()).map_err(|_| invalid())? {
            Value::Null => continue,
            Value::String(text) => text,
            // The exact digits of the caller.
            Value::Number(_) | Value::Bool(_) => raw.get().to_owned(),
            Value::Array(_) | Value::Object(_) => return Err(invalid()),
        };
        pairs.push(format!("{}={}", encoded(&name), encoded(&value)));
    }
    Ok(pairs.join("&"))
}

/// Percent-encodes all characters except the unreserved ones of RFC 3986.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// Members of an object in order. Numbers keep their digits.
struct QueryMembers(Vec<(String, Box<RawValue>)>);

impl<'de> serde::Deserialize<'de> for QueryMembers {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct QueryVisitor;
        impl<'de> serde::de::Visitor<'de> for QueryVisitor {
            type Value = QueryMembers;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<QueryMembers, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(QueryMembers(members))
            }
        }
        deserializer.deserialize_map(QueryVisitor)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn query_text(params: &str) -> Result<String, ApiError> {
        query(serde_json::from_str(params).unwrap())
    }

    // Checks: the owner is asked about the product or payee by its id, and about nothing else of the query.
    #[test]
    fn a_purchase_names_what_is_bought() {
        let bought = |target: &str| CallTarget::Route(target.to_owned()).purchase().unwrap();
        let gift = bought("/order-gift-card?country=FR&amount=10&product_id=gift_marche_lumiere_fr&note=secret");
        assert_eq!(
            gift.route,
            "/order-gift-card?product_id=gift_marche_lumiere_fr&country=FR"
        );
        assert_eq!((gift.path(), gift.amount.as_deref()), ("/order-gift-card", Some("10")));
        assert_eq!(gift.named("product_id"), Some("gift_marche_lumiere_fr"));
        assert_eq!((gift.named("country"), gift.named("recipient_id")), (Some("FR"), None));
        let card = bought("/get-card?amount=5&product_id=%3Cscript%3E&country=");
        assert_eq!(
            (card.route.as_str(), card.path(), card.named("product_id")),
            ("/get-card", "/get-card", None)
        );
    }

    // Checks: parameters become a query with exact digits, in order, and no value can inject another parameter.
    #[test]
    fn parameters_are_encoded_as_a_query() {
        let params = r#"{"amount": 5.10, "name": "a&b=c d/é", "flag": true, "none": null}"#;
        assert_eq!(
            query_text(params).unwrap(),
            "amount=5.10&name=a%26b%3Dc%20d%2F%C3%A9&flag=true"
        );
        assert_eq!(query_text("{}").unwrap(), "");
        for bad in [r#"{"a": []}"#, r#"{"a": {}}"#, "[]", "5"] {
            assert_eq!(query_text(bad).unwrap_err().code, ErrorCode::ParameterInvalid, "{bad}");
        }
        assert_eq!(joined("/x?a=1#f", "b=2"), "/x?a=1&b=2");
        assert_eq!(joined("https://shop.example.com/", ""), "https://shop.example.com/");
    }
}
