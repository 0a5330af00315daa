//! The last hour of paid calls, the health of providers and chains, and the totals of the ledger.

use std::sync::Arc;

use purser_actors::answer::rfc3339;
use purser_actors::money::Usdc;
#[cfg(feature = "documents")]
use purser_actors::operator::Permission;
use serde::Serialize;

use super::AdminState;
#[cfg(feature = "documents")]
use super::api_doc::{Operation, OperationDoc, of};
use super::extractors::AuthorizedRead;
use crate::http::error::ApiError;
use crate::http::json::Private;
use crate::http::query::Query;
use crate::http::route::routes;
use crate::http::schemas::ExactDecimal;
use crate::metrics::ledger_totals::LedgerTotals;
use crate::metrics::series::{Health, Point};

routes! { pub(super) static ROUTES: Arc<AdminState>, undocumented;
    GET "/admin/series" => get_series {
        Operator, operation(||
            OperationDoc::get(
                Operation { id: "getSeries", tag: "System" },
                Permission::Read,
                "Read paid calls and their durations of the last hour, the health of providers and chains, and the totals of the ledger",
                of::<SeriesResponse>,
            )
        )
    }
}

/// Seconds in which providers and chains are judged.
const WINDOW_SECONDS: u64 = 900;
/// A provider is slow if half of its calls take longer than this. One of the bounds by which durations are counted.
const SLOW_MS: u64 = 5_000;
/// Calls from which on a provider is judged by its failures and durations.
const ENOUGH_CALLS: u64 = 3;

/// The last hour. It begins with the start of the service.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct SeriesResponse {
    /// Time of the response (RFC 3339).
    now: String,
    /// Paid calls by the minute, oldest first. The oldest part and the newest, which may still go on, may be shorter.
    paid_calls: Vec<PaidCallsPoint>,
    /// Seconds of `providers`.
    window_seconds: u64,
    /// Providers, then chains.
    providers: Vec<ProviderHealth>,
    money: LedgerSums,
}

/// Paid calls of a part of the hour.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct PaidCallsPoint {
    /// End of the part (RFC 3339).
    at: String,
    /// Duration of the part, in seconds.
    seconds: u64,
    /// Calls of paid routes that succeeded. Challenges are not counted.
    calls: u64,
    /// The same per second, as a decimal with one place.
    per_second: String,
    /// Calls of paid routes that ended with a 5xx.
    failures: u64,
    /// Half of the calls took at most this, in microseconds; null without a call, and above 30 seconds.
    #[cfg_attr(feature = "documents", schema(required))]
    half_within_us: Option<u64>,
    /// 99 of 100 calls took at most this, in microseconds.
    #[cfg_attr(feature = "documents", schema(required))]
    p99_within_us: Option<u64>,
}

/// Calls to a provider or a chain in the last 15 minutes.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct ProviderHealth {
    /// Name of the provider or the network.
    name: &'static str,
    /// Whether it is a chain.
    chain: bool,
    /// `idle` without a call, `failing` if at least three calls and half of all failed, `errors` if any failed, `slow` if
    /// at least three calls and half of all took longer than 5 seconds, else `ok`.
    state: ProviderState,
    /// Ended calls. For a provider: attempts of the jobs that call it.
    calls: u64,
    /// Calls that ended with an error. A decline is an answer, not an error.
    failures: u64,
    /// Half of the calls took at most this, in milliseconds; null without a call, and above a minute.
    #[cfg_attr(feature = "documents", schema(required))]
    half_within_ms: Option<u64>,
    /// 99 of 100 calls took at most this, in milliseconds; null without a call, and above a minute.
    #[cfg_attr(feature = "documents", schema(required))]
    p99_within_ms: Option<u64>,
}

/// State of a provider or a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
enum ProviderState {
    Ok,
    Slow,
    Errors,
    Failing,
    Idle,
}

/// Balances of the ledger. Their two sums are not what is held and owed: costs and losses are debits, fees are credits.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct LedgerSums {
    /// Whether the whole ledger is added up. A long ledger takes several requests after a start.
    complete: bool,
    /// Ledger transactions added up.
    transactions: u64,
    /// Time of the newest of them (RFC 3339).
    #[cfg_attr(feature = "documents", schema(required))]
    last_transaction_at: Option<String>,
    /// Accounts with a balance.
    accounts: Vec<LedgerSum>,
    /// Sum of the debit balances.
    debits: ExactDecimal,
    /// Sum of the credit balances. Equal to `debits`, because every transaction is balanced.
    credits: ExactDecimal,
}

/// Balance of a ledger account, or of all accounts of customers.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct LedgerSum {
    /// Name of the ledger account: `treasury_base`, `customers`, `provider_card_issuer` …
    account: String,
    /// Side of the balance. Treasuries, costs and losses usually have a debit balance; customers and fees a credit balance.
    side: LedgerSide,
    /// Balance in USDC.
    amount: ExactDecimal,
}

/// Side of a balance.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
enum LedgerSide {
    Debit,
    Credit,
}

async fn get_series(AuthorizedRead { admin, query }: AuthorizedRead) -> Result<Private<SeriesResponse>, ApiError> {
    Query::parse(query.as_deref(), &[])?;
    let totals = admin.totals.read().await.map_err(|error| {
        tracing::error!(%error, "the ledger could not be added up");
        ApiError::internal()
    })?;
    Ok(Private(SeriesResponse {
        now: rfc3339(admin.clock.now()),
        paid_calls: admin.series.points().iter().map(point).collect(),
        window_seconds: WINDOW_SECONDS,
        providers: admin.series.health().iter().map(health).collect(),
        money: sums(&totals),
    }))
}

fn point(point: &Point) -> PaidCallsPoint {
    let tenths = (point.calls * 10_000).checked_div(point.ms).unwrap_or(0);
    PaidCallsPoint {
        at: rfc3339(point.at),
        seconds: point.ms / 1_000,
        calls: point.calls,
        per_second: format!("{}.{}", tenths / 10, tenths % 10),
        failures: point.failures,
        half_within_us: point.p50_us,
        p99_within_us: point.p99_us,
    }
}

fn health(health: &Health) -> ProviderHealth {
    let state = match (health.calls, health.failures) {
        (0, 0) => ProviderState::Idle,
        (calls, failures) if calls >= ENOUGH_CALLS && failures * 2 >= calls => ProviderState::Failing,
        (_, 1..) => ProviderState::Errors,
        (calls, 0) if calls >= ENOUGH_CALLS && health.p50_ms.is_none_or(|half| half > SLOW_MS) => ProviderState::Slow,
        _ => ProviderState::Ok,
    };
    ProviderHealth {
        name: health.name,
        chain: health.is_chain,
        state,
        calls: health.calls,
        failures: health.failures,
        half_within_ms: health.p50_ms,
        p99_within_ms: health.p99_ms,
    }
}

fn sums(totals: &LedgerTotals) -> LedgerSums {
    let usdc = |atomic: u128| Usdc::from_atomic(u64::try_from(atomic).unwrap_or(u64::MAX));
    let total = |side: LedgerSide| {
        let accounts = totals.atomic.values().filter(|atomic| side_of(**atomic) == side);
        usdc(accounts.map(|atomic| atomic.unsigned_abs()).sum())
    };
    let accounts = totals.atomic.iter().filter(|(_, atomic)| **atomic != 0);
    LedgerSums {
        complete: totals.complete,
        transactions: totals.transactions,
        last_transaction_at: totals.last_at.map(rfc3339),
        accounts: accounts
            .map(|(account, atomic)| LedgerSum {
                account: account.name(),
                side: side_of(*atomic),
                amount: usdc(atomic.unsigned_abs()).into(),
            })
            .collect(),
        debits: total(LedgerSide::Debit).into(),
        credits: total(LedgerSide::Credit).into(),
    }
}

const fn side_of(atomic: i128) -> LedgerSide {
    if atomic >= 0 {
        LedgerSide::Debit
    } else {
        LedgerSide::Credit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(calls: u64, failures: u64, p50_ms: Option<u64>) -> ProviderState {
        let judged = Health {
            name: "bank",
            is_chain: false,
            calls,
            failures,
            p50_ms,
            p99_ms: None,
        };
        health(&judged).state
    }

    // Checks: a provider whose calls take long is slow, from three calls on; failures count more than durations.
    #[test]
    fn slow_provider_is_neither_good_nor_failing() {
        assert_eq!(state(0, 0, None), ProviderState::Idle);
        assert_eq!(state(3, 0, Some(SLOW_MS)), ProviderState::Ok);
        assert_eq!(state(2, 0, Some(10_000)), ProviderState::Ok);
        assert_eq!(state(3, 0, Some(10_000)), ProviderState::Slow);
        assert_eq!(
            state(3, 0, None),
            ProviderState::Slow,
            "half took longer than the last bound"
        );
        assert_eq!(state(3, 1, Some(10_000)), ProviderState::Errors);
        assert_eq!(state(4, 2, Some(10_000)), ProviderState::Failing);
    }
}
