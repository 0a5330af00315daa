//! Request metrics of the front: count, status class and duration. A request costs one lookup and two additions on
//! cells of its thread.

use std::collections::HashMap;

use http::StatusCode;
use purser_storage::stats::{Histogram, HistogramSnapshot, PerThread};

/// All routes, including the operator's. Other paths are counted as [`OTHER`].
pub const ROUTES: &[&str] = &[
    "/",
    "/skill.md",
    "/llms.txt",
    "/asyncapi.json",
    "/.well-known/x402",
    "/.well-known/api-catalog",
    "/.well-known/jwks.json",
    "/account",
    "/account/api-keys/revoke",
    "/account/caps",
    "/account/identity",
    "/account/link",
    "/account/spending",
    "/account/unlink",
    "/admin/approvals",
    "/admin/approvals/approve",
    "/admin/approvals/reject",
    "/admin/audit",
    "/admin/card-withdrawals",
    "/admin/card-withdrawals/claim",
    "/admin/card-withdrawals/fulfil",
    "/admin/card-withdrawals/reject",
    "/admin/card-withdrawals/release",
    "/admin/chains/accept",
    "/admin/customers",
    "/admin/untracked-transfers/attribute",
    "/admin/events",
    "/admin/freeze",
    "/admin/incoming-transfers",
    "/admin/incoming-transfers/credit",
    "/admin/incoming-transfers/operator-funds",
    "/admin/incoming-transfers/return",
    "/admin/intl-cards",
    "/admin/intl-cards/report",
    "/admin/intl-orders",
    "/admin/intl-orders/claim",
    "/admin/intl-orders/fulfil",
    "/admin/intl-orders/reject",
    "/admin/intl-orders/release",
    "/admin/late-returns",
    "/admin/lines",
    "/admin/lines/close",
    "/admin/lines/open",
    "/admin/openapi.json",
    "/admin/reconciliation",
    "/admin/reconciliation/run",
    "/admin/refunds",
    "/admin/refunds/approve",
    "/admin/refunds/reject",
    "/admin/jobs/retry",
    "/admin/dead-letters",
    "/admin/jobs/credit",
    "/admin/jobs/keep",
    "/admin/jobs/resolve",
    "/admin/suspended/confirm",
    "/admin/system",
    "/admin/tokens",
    "/admin/tokens/revoke",
    "/admin/unfreeze",
    "/admin/webhooks",
    "/admin/webhooks/deliveries",
    "/admin/webhooks/redeliver",
    "/agentAuth",
    "/agentWalletTransfer",
    "/agentX402Pay",
    "/announceAgentConnection",
    "/auth",
    "/bank-recipients",
    "/cancel-intl-order",
    "/claim",
    "/createAgentApiKey",
    "/createAgentWallet",
    "/createBankingProfile",
    "/close-card",
    "/create-reloadable-card",
    "/deleteAddressBookEntry",
    "/delete-webhook",
    "/events",
    "/fund-card-balance",
    "/get-account-balance",
    "/get-account-statement",
    "/get-auth-link",
    "/get-card",
    "/get-card-data",
    "/get-kyc-link",
    "/get-kyc-status",
    "/get-card-deposit-address",
    "/get-payment",
    "/get-payment-status",
    "/get-pricing",
    "/get-push-to-card",
    "/get-supported-countries",
    "/get-withdrawal-status",
    "/get-webhook",
    "/getAgentSpendLimit",
    "/getAgentWallet",
    "/getBankingProfileStatus",
    "/healthz",
    "/identity-callback",
    "/bank-callback",
    "/card-callback",
    "/payout-callback",
    "/list-card-transactions",
    "/list-payments",
    "/listAddressBook",
    "/listAgentApiKeys",
    "/login",
    "/metrics",
    "/copy",
    "/openapi.json",
    "/order-gift-card",
    "/order-intl-card",
    "/pause-card",
    "/payment-recipients",
    "/readyz",
    "/redeem",
    "/redeliver-webhook",
    "/refresh",
    "/refresh-card-data",
    "/register-webhook",
    "/resume-card",
    "/revokeAgentApiKey",
    "/sandbox",
    "/sandbox/accounts",
    "/sandbox/balances",
    "/sandbox/bank-recipients",
    "/sandbox/base",
    "/sandbox/bridge",
    "/sandbox/card-balances",
    "/sandbox/card-program",
    "/sandbox/catalogs",
    "/sandbox/chain",
    "/sandbox/charge",
    "/sandbox/charge-outcome",
    "/sandbox/faucet",
    "/sandbox/freeze",
    "/sandbox/gift-cards",
    "/sandbox/identity",
    "/sandbox/identity-check",
    "/sandbox/identity-result",
    "/sandbox/issuer",
    "/sandbox/link",
    "/sandbox/magic",
    "/sandbox/merchants",
    "/sandbox/openapi.json",
    "/sandbox/payouts",
    "/sandbox/rates",
    "/sandbox/chain-rpc",
    "/sandbox/solana",
    "/sandbox/time",
    "/sandbox/transfers",
    "/saveAddressBookEntry",
    "/search-gift-cards",
    "/search-merchants",
    "/send-bank-payment",
    "/send-payment",
    "/signup",
    "/signup-status",
    "/stream",
    "/version",
    "/webhook-deliveries",
    "/withdraw",
    "/withdraw-card-balance",
    "/getBankingApplication",
    "/updateBankingApplicationDetails",
    "/uploadBankingDocument",
    "/submitBankingApplication",
    "/createBankingAccount",
    "/listBankingAccounts",
    "/createBankingRecipient",
    "/addBankingDestination",
    "/listBankingRecipients",
    "/updateBankingDestination",
    "/deleteBankingRecipient",
    "/createBankingTransfer",
    "/sendBankingPayout",
    "/getBankingTransaction",
    "/listBankingTransactions",
    "/sandbox/bank",
    "/sandbox/bank-deposits",
];

/// Label of unknown paths.
pub const OTHER: &str = "other";

/// Status classes. A 402 is a price, not an error, so it is counted apart from the other 4xx.
pub const CLASSES: [&str; 6] = ["1xx", "2xx", "3xx", "402", "4xx", "5xx"];

/// Upper bounds of the duration buckets, in microseconds.
const TIMES_US: &[u64] = &[
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 5_000_000, 30_000_000,
];

/// Requests by route and status class.
pub struct RequestMetrics {
    routes: HashMap<&'static str, usize>,
    cells: PerThread<Box<[Histogram]>>,
}

impl Default for RequestMetrics {
    fn default() -> Self {
        let cells = (ROUTES.len() + 1) * CLASSES.len();
        Self {
            routes: ROUTES.iter().copied().zip(0..).collect(),
            cells: PerThread::new(|| (0..cells).map(|_| Histogram::new(TIMES_US)).collect()),
        }
    }
}

impl RequestMetrics {
    /// Index of a path, to keep while the request is answered.
    pub(super) fn route(&self, path: &str) -> usize {
        self.routes.get(path).copied().unwrap_or(ROUTES.len())
    }

    pub(super) fn record(&self, route: usize, status: StatusCode, took_us: u64) {
        let class = match status.as_u16() {
            402 => 3,
            100..200 => 0,
            200..300 => 1,
            300..400 => 2,
            400..500 => 4,
            _ => 5,
        };
        if let Some(cell) = self.cells.mine().get(route * CLASSES.len() + class) {
            cell.record(took_us);
        }
    }

    /// Route, status class and durations in microseconds of every combination with at least one request.
    pub fn read(&self) -> Vec<(&'static str, &'static str, HistogramSnapshot)> {
        let mut found = Vec::new();
        for (r, route) in ROUTES.iter().copied().chain([OTHER]).enumerate() {
            for (c, class) in CLASSES.into_iter().enumerate() {
                let mut sum = Histogram::new(TIMES_US).snapshot();
                let cells = self.cells.all().filter_map(|cells| cells.get(r * CLASSES.len() + c));
                cells.for_each(|cell| sum.add(&cell.snapshot()));
                if sum.count() > 0 {
                    found.push((route, class, sum));
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Checks: a request is counted once, under its route and class, on any thread; an unknown path creates no label.
    #[test]
    fn request_is_counted_once_under_its_route() {
        let meter = RequestMetrics::default();
        let card = meter.route("/get-card");
        std::thread::scope(|threads| {
            for _ in 0..10 {
                threads.spawn(|| meter.record(card, StatusCode::PAYMENT_REQUIRED, 300));
            }
        });
        meter.record(card, StatusCode::OK, 7);
        meter.record(meter.route("/get-card/x"), StatusCode::NOT_FOUND, 1);
        meter.record(meter.route("/wp-admin"), StatusCode::NOT_FOUND, 1);
        let read: Vec<_> = meter
            .read()
            .into_iter()
            .map(|(r, c, d)| (r, c, d.count(), d.sum))
            .collect();
        assert_eq!(
            read,
            [
                ("/get-card", "2xx", 1, 7),
                ("/get-card", "402", 10, 3_000),
                (OTHER, "4xx", 2, 2)
            ]
        );
    }
}
