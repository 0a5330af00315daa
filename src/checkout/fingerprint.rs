//! The fingerprint of a paid request. A payment claimed for one request is refused for another, so it must stay the same
//! across upgrades.

use purser_actors::entity::Purchase;
use sha2::{Digest, Sha256};

/// The exact request, in canonical form: the notation and order of parameters do not matter, the purchase does.
pub(super) fn request_fingerprint(route: &str, purchase: &Purchase) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(route);
    hash.update([0]);
    hash.update(purchase.fingerprint_bytes());
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeSet;

    use purser_actors::currency::Currency;
    use purser_actors::entity::card::CardPurchase;
    use purser_actors::entity::gift_card::GiftCardPurchase;
    use purser_actors::entity::intl_order::IntlCardPurchase;
    use purser_actors::entity::payout::{AppPaymentPurchase, BankPaymentPurchase, PushToCardPurchase};
    use purser_actors::entity::top_up::CardBalancePurchase;
    use purser_actors::id::BankDestinationId;
    use purser_actors::money::Cents;
    use purser_actors::port::payouts::{AppPayee, Platform};
    use purser_actors::product::ProductLine;

    use super::*;

    /// A request, and its fingerprint in the first version.
    struct Sample {
        route: &'static str,
        purchase: Purchase,
        fingerprint: &'static str,
    }

    fn sample(route: &'static str, purchase: Purchase, fingerprint: &'static str) -> Sample {
        Sample {
            route,
            purchase,
            fingerprint,
        }
    }

    fn payee(texts: [&str; 4]) -> Box<AppPayee> {
        let [recipient, first_name, last_name, email] = texts.map(str::to_owned);
        Box::new(AppPayee {
            recipient,
            first_name,
            last_name,
            email,
        })
    }

    fn samples() -> Vec<Sample> {
        let amount = Cents::new;
        vec![
            sample(
                "/get-card",
                Purchase::UsaCard(CardPurchase { amount: amount(525) }),
                "7821ae755f394ff784a9cd2790f54a36c32f90978f73b1255597d024fee7e4ca",
            ),
            sample(
                "/order-intl-card",
                Purchase::IntlCard(IntlCardPurchase {
                    amount: amount(50_000),
                    label: None,
                }),
                "4d0c4f9e8cb8ddea5b571f6a787dcb60ff66dfede1985f55d67971f4d6efedf0",
            ),
            sample(
                "/order-intl-card",
                Purchase::IntlCard(IntlCardPurchase {
                    amount: amount(50_000),
                    label: Some("Trip".into()),
                }),
                "ea22d8e063926d5850e58c1fb792793c085c9e138f308c4f36d3f9e1aa04bdd9",
            ),
            sample(
                "/order-gift-card",
                Purchase::GiftCard(GiftCardPurchase {
                    amount: amount(2_500),
                    currency: "EUR".parse().unwrap(),
                    product: "gift_example".into(),
                    country: "DE".parse().unwrap(),
                }),
                "e8fd90996567677af61b369b903971d4f120c469b6decfe4545eba057d46c078",
            ),
            sample(
                "/get-push-to-card",
                Purchase::PushToCard(PushToCardPurchase {
                    amount: amount(1_000),
                    currency: Currency::USD,
                    message: None,
                }),
                "7253cc40244743888925beb1a8a87b5a7a18796fc994d84e845638f9d6eed550",
            ),
            sample(
                "/send-bank-payment",
                Purchase::BankPayment(BankPaymentPurchase {
                    amount: amount(100_000),
                    destination: BankDestinationId(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef),
                }),
                "55dfe0f6c2fc144c0d2b00b65d2eee6bf6c8807952e01e011b33638d86623ac3",
            ),
            sample(
                "/send-payment",
                Purchase::AppPayment(AppPaymentPurchase {
                    amount: amount(700),
                    platform: Some(Platform::Venmo),
                    payee: payee(["+15551234567", "Ada", "Lovelace", "ada@example.com"]),
                }),
                "a8a8ba74747e9dc0074d889093069269bf754483e1ee312adec409d88865b1da",
            ),
            sample(
                "/send-payment",
                Purchase::AppPayment(AppPaymentPurchase {
                    amount: amount(700),
                    platform: None,
                    payee: payee(["rcp_1", "", "", ""]),
                }),
                "6d50c788ca4b9a51b6772e838465cf329638657668eee24406b715ec2dcbcad2",
            ),
            sample(
                "/fund-card-balance",
                Purchase::CardBalance(CardBalancePurchase { amount: amount(2_000) }),
                "f0cba7ea0d2df3f67056e757013c471681a53699b1402cc582747ef74110269d",
            ),
        ]
    }

    // Checks: the fingerprints of requests that were possible in the first version never change.
    #[test]
    fn request_fingerprints_never_change() {
        let (samples, mut lines) = (samples(), BTreeSet::new());
        for Sample {
            route,
            purchase,
            fingerprint,
        } in samples
        {
            lines.insert(purchase.line());
            assert_eq!(
                hex::encode(request_fingerprint(route, &purchase)),
                fingerprint,
                "{purchase:?}: a payment that was claimed before this change gets a 409 when it is sent again. Change \
                 PurchaseTerms::fingerprint_bytes so that a new field is only in the bytes of requests that have it, not this \
                 text"
            );
        }
        let all: BTreeSet<ProductLine> = ProductLine::ALL.into_iter().collect();
        assert_eq!(lines, all, "add a request of the new line with its fingerprint");
    }
}
