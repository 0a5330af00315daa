//! Output of `purser pay`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::terminal;

/// Merges the card's current status into the result of the purchase, which has the status at that time.
pub(super) fn current_status(bought: &mut Value, card: Value) {
    let Some(fields) = bought.as_object_mut() else {
        return;
    };
    let status = card["status"].clone();
    if let Some(listed) = fields.get_mut("card").and_then(Value::as_object_mut) {
        listed.insert("status".to_owned(), status.clone());
    }
    fields.insert("status".to_owned(), status);
    fields.insert("card_data".to_owned(), card);
}

/// Shows the last four digits of the number and no CVV, unless `show` is set.
pub(super) fn masked(mut card: Value, show: bool) -> Value {
    if show {
        return card;
    }
    for secret in ["redemption_url", "redemption_code", "pin_code"] {
        if let Some(shown) = card.get_mut(secret).filter(|value| !value.is_null()) {
            *shown = json!("***");
        }
    }
    let Some(details) = card.get_mut("card_details").and_then(Value::as_object_mut) else {
        return card;
    };
    if let Some(number) = details.get_mut("card_number") {
        let digits: Vec<char> = number
            .as_str()
            .unwrap_or_default()
            .chars()
            .filter(char::is_ascii_digit)
            .collect();
        let last: String = digits.iter().skip(digits.len().saturating_sub(4)).collect();
        *number = json!(format!("**** **** **** {last}"));
    }
    if let Some(cvv) = details.get_mut("cvv") {
        *cvv = json!("***");
    }
    card
}

/// Lines for a person: `name: value`, each value once, without empty ones. Members of the product lose the prefix of
/// their object's name, unless two values differ. `--json` prints everything as received.
pub(super) fn lines(body: &Value) -> Vec<String> {
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    let mut lines = Vec::new();
    for (path, value) in terminal::fields(body) {
        if value == "null" {
            continue;
        }
        let inside = path.split_once('.').filter(|(object, _)| body[object].is_object());
        let name = inside.map_or(path.as_str(), |(_, name)| name).to_owned();
        // `state` repeats `status`.
        let same = |name: &str| seen.get(name) == Some(&value);
        if same(&name) || (name == "state" && same("status")) {
            continue;
        }
        let name = if seen.contains_key(&name) { path } else { name };
        lines.push(format!("{name}: {value}"));
        seen.insert(name, value);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_is_printed_once() {
        // Checks: equal values of the response and the card are one line, null is no line, and different values keep
        // their full names.
        let card = json!({"card_id": "card_1", "status": "ready", "state": "ready", "usd_amount": 5, "failure_reason": null,
            "card_details": {"last4": "7899"}});
        let body = json!({"card_id": "card_1", "status": "ready", "payment_id": "pay_1", "card_data": card,
            "card": {"card_id": "card_1", "status": "ready", "usd_amount": 6}});
        let lines = lines(&body);
        for line in [
            "card_id: card_1",
            "status: ready",
            "payment_id: pay_1",
            "card_details.last4: 7899",
        ] {
            assert_eq!(lines.iter().filter(|one| *one == line).count(), 1, "{lines:?}");
        }
        assert!(lines.iter().any(|line| line == "usd_amount: 6"), "{lines:?}");
        assert!(lines.iter().any(|line| line == "card_data.usd_amount: 5"), "{lines:?}");
        assert_eq!(lines.len(), 6, "{lines:?}");
    }

    #[test]
    fn a_card_is_masked_unless_shown() {
        // Checks: without --show neither the CVV nor more than four digits of the number are printed, in any form.
        let details = json!({"card_number": "4000 0012 3456 7899", "cvv": "123", "exp_year": 2030});
        let card = json!({"status": "ready", "card_details": details});
        assert_eq!(masked(card.clone(), true), card);
        let hidden = masked(card, false);
        assert_eq!(hidden["card_details"]["card_number"], "**** **** **** 7899");
        assert_eq!(
            (&hidden["card_details"]["cvv"], &hidden["card_details"]["exp_year"]),
            (&json!("***"), &json!(2030))
        );
        let odd = masked(
            json!({"card_details": {"card_number": 4000001234567899u64, "cvv": 123}}),
            false,
        );
        assert!(!odd.to_string().contains("123"), "{odd}");
        assert_eq!(masked(json!({"status": "failed"}), false), json!({"status": "failed"}));
    }
}
