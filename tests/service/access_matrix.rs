//! Every call that takes the id of an account's resource, and its response to each caller. Two accounts own the same
//! kinds of resources, and each requests those of the other.

use purser::http::callable::FUNCTION_NAMES;
use serde_json::json;

use super::agent::{Agent, required};
use super::full_account::FullAccount;
use super::http::{Response, ServiceClient, send};
use super::replay::transfer_count;

/// A status and its error code; the code is empty for a success.
pub(crate) type StatusAndCode = (u16, &'static str);

/// A call that takes the id of an account's resource.
pub(crate) struct MatrixCall {
    pub(crate) method: &'static str,
    pub(crate) route: &'static str,
    /// The parameter or body member that holds the id.
    pub(crate) by: &'static str,
    /// The kind of resource the id names, a key of [`FullAccount::ids`].
    pub(crate) of: &'static str,
    with: &'static [(&'static str, &'static str)],
    /// True for a paid route.
    pub(crate) is_paid: bool,
    /// Response to the owner at the end of the test.
    pub(crate) owner_status: u16,
    /// Response to another wallet.
    pub(crate) other_wallet: StatusAndCode,
    /// Response for an id that does not exist.
    pub(crate) unknown_id: StatusAndCode,
    /// Response without a token.
    pub(crate) without_token: StatusAndCode,
}

const NO_TOKEN: StatusAndCode = (401, "token_missing");
const OK: StatusAndCode = (200, "");
const TOP_UP: (StatusAndCode, StatusAndCode) = ((403, "top_up_access_denied"), (404, "top_up_not_found"));
const WITHDRAWAL: (StatusAndCode, StatusAndCode) = ((403, "withdrawal_access_denied"), (404, "withdrawal_not_found"));
const WEBHOOK: (StatusAndCode, StatusAndCode) = ((403, "webhook_access_denied"), (404, "webhook_not_found"));
const DELIVERY: (StatusAndCode, StatusAndCode) = ((403, "delivery_access_denied"), (404, "delivery_not_found"));
const PAYOUT: (StatusAndCode, StatusAndCode) = ((403, "payout_access_denied"), (404, "payout_not_found"));
const RECIPIENT: (StatusAndCode, StatusAndCode) = ((403, "recipient_access_denied"), (404, "recipient_not_found"));
const DESTINATION: (StatusAndCode, StatusAndCode) = ((404, "destination_not_found"), (404, "destination_not_found"));
const ADDRESS: (StatusAndCode, StatusAndCode) = ((404, "address_not_found"), (404, "address_not_found"));
const BANK_ACCOUNT: (StatusAndCode, StatusAndCode) =
    ((403, "bank_account_access_denied"), (404, "bank_account_not_found"));
const TRANSACTION: (StatusAndCode, StatusAndCode) = ((404, "transaction_not_found"), (404, "transaction_not_found"));
const BANK_RECIPIENT: (StatusAndCode, StatusAndCode) = ((404, "recipient_not_found"), (404, "recipient_not_found"));
const API_KEY: (StatusAndCode, StatusAndCode) = ((403, "api_key_access_denied"), (404, "api_key_not_found"));
const CARD: (StatusAndCode, StatusAndCode) = ((403, "card_access_denied"), (404, "card_not_found"));

/// A route that shows one resource to its owner.
const fn reads(
    route: &'static str,
    by: &'static str,
    of: &'static str,
    (another, unknown): (StatusAndCode, StatusAndCode),
) -> MatrixCall {
    MatrixCall {
        method: "GET",
        route,
        by,
        of,
        with: &[],
        is_paid: false,
        owner_status: 200,
        other_wallet: another,
        unknown_id: unknown,
        without_token: NO_TOKEN,
    }
}

/// A call with a body: a callable function, or a route that changes state.
const fn calls(
    route: &'static str,
    by: &'static str,
    of: &'static str,
    with: &'static [(&'static str, &'static str)],
    refused: (StatusAndCode, StatusAndCode),
) -> MatrixCall {
    MatrixCall {
        method: "POST",
        with,
        ..reads(route, by, of, refused)
    }
}

/// A cursor of the caller's own list.
const fn lists(
    route: &'static str,
    of: &'static str,
    with: &'static [(&'static str, &'static str)],
    refused: (StatusAndCode, StatusAndCode),
) -> MatrixCall {
    MatrixCall {
        with,
        ..reads(route, "starting_after", of, refused)
    }
}

/// A paid route that takes the id of one of the payer's resources. Every caller gets the price.
const fn buys(
    route: &'static str,
    by: &'static str,
    of: &'static str,
    with: &'static [(&'static str, &'static str)],
    refused: StatusAndCode,
) -> MatrixCall {
    MatrixCall {
        with,
        is_paid: true,
        without_token: (402, "payment_required"),
        ..reads(route, by, of, (refused, refused))
    }
}

/// The matrix. `every_route_that_takes_an_id_is_in_the_matrix` checks that it is complete.
pub(crate) const MATRIX: &[MatrixCall] = &[
    reads("/get-card-data", "card_id", "card", CARD),
    reads("/get-card-data", "card_id", "gift_card", CARD),
    reads("/get-card-data", "card_id", "intl_order", CARD),
    lists("/get-card-data", "card", &[], CARD),
    lists("/get-card-data", "gift_card", &[("card_type", "Gift%20Card")], CARD),
    lists(
        "/get-card-data",
        "intl_order",
        &[("card_type", "Non-Reloadable%20International")],
        CARD,
    ),
    reads("/get-card-data", "card_id", "reloadable", CARD),
    lists("/get-card-data", "reloadable", &[("card_type", "Reloadable")], CARD),
    MatrixCall {
        without_token: OK,
        ..reads(
            "/get-payment",
            "payment_id",
            "payment",
            ((403, "payment_access_denied"), (404, "payment_not_found")),
        )
    },
    reads("/get-withdrawal-status", "withdrawal_id", "withdrawal", WITHDRAWAL),
    lists("/get-withdrawal-status", "withdrawal", &[], WITHDRAWAL),
    reads("/get-withdrawal-status", "withdrawal_id", "card_withdrawal", WITHDRAWAL),
    lists("/get-withdrawal-status", "card_withdrawal", &[], WITHDRAWAL),
    reads("/list-card-transactions", "card_id", "card", CARD),
    reads("/list-card-transactions", "card_id", "reloadable", CARD),
    lists("/list-card-transactions", "top_up", &[], TOP_UP),
    reads("/get-top-up-status", "top_up_id", "top_up", TOP_UP),
    lists(
        "/list-payments",
        "payment",
        &[],
        ((403, "payment_access_denied"), (404, "payment_not_found")),
    ),
    MatrixCall {
        method: "POST",
        owner_status: 202,
        ..reads("/pause-card", "card_id", "reloadable", CARD)
    },
    MatrixCall {
        method: "POST",
        owner_status: 202,
        ..reads("/resume-card", "card_id", "reloadable_paused", CARD)
    },
    MatrixCall {
        method: "POST",
        owner_status: 202,
        ..reads("/close-card", "card_id", "reloadable_open", CARD)
    },
    MatrixCall {
        method: "POST",
        ..reads("/refresh-card-data", "card_id", "card", CARD)
    },
    MatrixCall {
        method: "POST",
        ..reads("/cancel-intl-order", "card_id", "intl_order", CARD)
    },
    reads("/get-webhook", "webhook_id", "webhook", WEBHOOK),
    reads("/webhook-deliveries", "webhook_id", "webhook", WEBHOOK),
    reads("/webhook-deliveries", "delivery_id", "delivery", DELIVERY),
    lists("/webhook-deliveries", "delivery", &[], DELIVERY),
    MatrixCall {
        owner_status: 202,
        ..calls(
            "/redeliver-webhook",
            "webhook_id",
            "webhook",
            &[("since", "2026-11-20T00:00:00Z")],
            WEBHOOK,
        )
    },
    MatrixCall {
        owner_status: 202,
        ..calls("/redeliver-webhook", "delivery_id", "delivery", &[], DELIVERY)
    },
    calls("/delete-webhook", "webhook_id", "webhook_gone", &[], WEBHOOK),
    reads("/get-payment-status", "payout_id", "payout", PAYOUT),
    reads("/get-payment-status", "payout_id", "push", PAYOUT),
    lists("/get-payment-status", "payout", &[], PAYOUT),
    lists("/payment-recipients", "recipient", &[], RECIPIENT),
    lists("/bank-recipients", "destination", &[], DESTINATION),
    buys(
        "/send-bank-payment",
        "destination_id",
        "destination",
        &[("amount", "50")],
        DESTINATION.0,
    ),
    buys(
        "/send-payment",
        "recipient_id",
        "recipient",
        &[("amount", "5"), ("platform", "paypal")],
        (404, "recipient_not_found"),
    ),
    MatrixCall {
        method: "POST",
        ..reads(
            "/getAgentWallet",
            "walletPaymentId",
            "spend",
            ((403, "wallet_payment_access_denied"), (404, "wallet_payment_not_found")),
        )
    },
    MatrixCall {
        method: "POST",
        with: &[("amountUsdc", "0.25")],
        ..reads("/agentWalletTransfer", "addressBookEntryId", "address", ADDRESS)
    },
    MatrixCall {
        method: "POST",
        with: &[
            ("name", "Someone"),
            ("address", "0x2222222222222222222222222222222222222222"),
        ],
        ..reads("/saveAddressBookEntry", "entryId", "address", ADDRESS)
    },
    MatrixCall {
        method: "POST",
        ..reads("/deleteAddressBookEntry", "entryId", "address", ADDRESS)
    },
    MatrixCall {
        method: "POST",
        with: &[("platform", "paypal"), ("display_name", "Someone")],
        ..reads("/payment-recipients", "recipient_id", "recipient", RECIPIENT)
    },
    MatrixCall {
        method: "DELETE",
        with: &[("platform", "paypal")],
        ..reads("/payment-recipients", "recipient_id", "recipient", RECIPIENT)
    },
    calls(
        "/listBankingAccounts",
        "startingAfter",
        "bank_account",
        &[],
        BANK_ACCOUNT,
    ),
    calls(
        "/getBankingTransaction",
        "transactionId",
        "bank_transfer",
        &[],
        TRANSACTION,
    ),
    calls(
        "/listBankingTransactions",
        "startingAfter",
        "bank_transfer",
        &[],
        TRANSACTION,
    ),
    calls(
        "/listBankingRecipients",
        "startingAfter",
        "bank_destination",
        &[],
        DESTINATION,
    ),
    calls("/revokeAgentApiKey", "apiKeyId", "api_key", &[], API_KEY),
    MatrixCall {
        owner_status: 409,
        ..calls(
            "/createBankingTransfer",
            "accountId",
            "bank_account",
            &[("amount", "9000")],
            BANK_ACCOUNT,
        )
    },
    MatrixCall {
        owner_status: 409,
        ..calls(
            "/sendBankingPayout",
            "destinationId",
            "bank_destination",
            &[("amount", "9000")],
            DESTINATION,
        )
    },
    calls(
        "/updateBankingDestination",
        "destinationId",
        "bank_destination",
        &[("nickname", "Someone")],
        DESTINATION,
    ),
    calls(
        "/addBankingDestination",
        "recipientId",
        "bank_recipient",
        &[(
            "destination",
            r#"{"type": "fiat_iban", "bankName": "Bank", "iban": "DE89370400440532013000"}"#,
        )],
        BANK_RECIPIENT,
    ),
    calls(
        "/deleteBankingRecipient",
        "recipientId",
        "bank_recipient",
        &[],
        BANK_RECIPIENT,
    ),
];

impl MatrixCall {
    /// The request with this id, without a token.
    pub(crate) fn request(&self, site: &ServiceClient<'_>, id: &str) -> reqwest::RequestBuilder {
        if self.method == "POST" {
            let mut body = json!({ (self.by): id });
            for (name, value) in self.with {
                body[*name] = serde_json::from_str(value)
                    .ok()
                    .filter(serde_json::Value::is_object)
                    .unwrap_or_else(|| (*value).into());
            }
            if FUNCTION_NAMES.contains(&self.route) {
                body = json!({ "data": body });
            }
            return site.request(self.method, self.route).body(body.to_string());
        }
        site.request(self.method, &self.target(id))
    }

    /// Whether the operation belongs to this row and always needs the id.
    pub(crate) fn requires_id(&self, method: &str, route: &str) -> bool {
        (self.method, self.route) == (method, route) && (self.method != "GET" || self.without_token == OK)
    }

    fn target(&self, id: &str) -> String {
        let rest: String = self
            .with
            .iter()
            .map(|(name, value)| format!("&{name}={value}"))
            .collect();
        format!("{}?{}={id}{rest}", self.route, self.by)
    }

    /// Sends the request as this account, which also pays for it. Without an account there is no token or payment.
    pub(crate) async fn of(&self, site: &ServiceClient<'_>, who: Option<&FullAccount>, id: &str) -> Response {
        let request = self.request(site, id);
        let Some(who) = who else {
            return send(request).await.unwrap();
        };
        if !self.is_paid {
            return send(request.bearer_auth(&who.token)).await.unwrap();
        }
        let challenge = send(request).await.unwrap();
        assert_eq!(challenge.status, 402, "{}: {}", self.route, challenge.text);
        let payment = who.agent.sign(&required(&challenge));
        let answer = Agent::pay(site, &self.target(id), &payment).await;
        assert_eq!(
            transfer_count(site, &payment).await == 0,
            answer.status != 200,
            "{}",
            answer.text
        );
        answer
    }
}
