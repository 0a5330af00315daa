//! The balance at the card issuer: `GET /fund-card-balance` (paid), `GET /get-top-up-status`,
//! `GET /list-card-transactions` and `GET /get-card-deposit-address`.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::{HeaderMap, Uri};
use purser_actors::answer::{ExactDecimal, Time};
use purser_actors::engine::Engine;
use purser_actors::entity::Purchase;
use purser_actors::entity::top_up;
use purser_actors::entity::top_up::{CardBalancePurchase, Status, TopUp};
use purser_actors::id::{CardId, Network, TopUpId, Wallet};
use purser_actors::kernel::Entity;
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::Timestamp;

use serde::Serialize;

use super::account::{BearerClaims, refuse_frozen};
use super::app::App;
use super::auth::MaybeBearer;
use super::error::{ApiError, ErrorCode};
use super::outgoing_holds::hold_reason;
use super::query::Query;
use super::route::routes;
use super::{cards, json, schemas};
use crate::checkout::PaidCall;
#[cfg(feature = "documents")]
use crate::checkout::{PendingPayment, TopUpPurchaseResponse};
use crate::provider::CardBalanceReader;

routes! { pub static ROUTES: Arc<App>, openapi;
    GET "/fund-card-balance" => fund_card_balance {
        Paid, refuses [
            ParameterUnrecognized, ParameterMissing, AmountInvalid, AmountOutOfRange, PaymentRequired, PaymentInvalid,
            WrongWallet, AccountFrozen, IssuerNotLinked, SettlementFailed,
        ]
    }
    GET "/get-top-up-status" => get_top_up_status {
        Token, refuses [
            TokenMissing, ParameterUnrecognized, AccountFrozen, ParameterMissing, TopUpNotFound, TopUpAccessDenied,
        ]
    }
    GET "/list-card-transactions" => list_card_transactions {
        Token, refuses [
            TokenMissing, ParameterUnrecognized, AccountFrozen, ParameterInvalid, CardNotFound, TopUpNotFound,
            TopUpAccessDenied,
        ]
    }
    GET "/get-card-deposit-address" => get_card_deposit_address {
        Token, refuses [TokenMissing, ParameterUnrecognized, AccountFrozen, IssuerNotLinked, IssuerUnavailable]
    }
}

type SharedState = State<Arc<App>>;

/// Newest cards of each kind that the list without `card_id` reads.
const MAX_CARDS_READ: usize = 100;
/// Most top-ups are complete after this time.
const USUAL_TIME_MS: u64 = 60_000;
const FUND: &str = "/fund-card-balance";
/// Statuses of charges and of top-ups.
const STATUSES: [&str; 9] = [
    "pending",
    "settled",
    "declined",
    "refunded",
    "paid",
    "bridging",
    "delivered",
    "credited",
    "failed",
];

/// Top up the balance at the card issuer
///
/// Paid. Exactly `amount` arrives at the owner's deposit address on Base, on whichever network the payment was made.
/// The bridge from Solana costs the payer nothing. Needs an account at the card issuer, linked by the account owner.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/fund-card-balance", operation_id = "fundCardBalance", tag = "Card balance",
    params(("amount" = String, Query, description = "US dollars to load, at most 2 decimal places.", example = "5")),
    responses((status = 200, description = "Paid: `auth` (for the call that paid first), `user_id` and the top-up. Or `status: credited`.", body = TopUpPurchaseResponse),
        (status = 202, description = "The payment's outcome is not known yet: follow `status_url`.", body = PendingPayment),
        (status = 400, description = "A parameter is missing, malformed or out of range."),
        (status = 402, description = "A challenge, as a page for browsers; or with `success: false` a settlement that failed.", body = schemas::PaymentRequiredResponse),
        (status = 403, description = "Wrong wallet, frozen account or daily cap. Nothing was charged."),
        (status = 409, description = "The payment was made for another request, or its transfer was decided about without it."),
        (status = 412, description = "No account at the card issuer is linked. Nothing was charged."),
        (status = 429, description = "Too many requests."),
        (status = 503, description = "Too busy, or the network cannot be reached. Nothing was charged."))))]
async fn fund_card_balance(
    State(app): SharedState,
    MaybeBearer(bearer): MaybeBearer,
    uri: Uri,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query = Query::parse(query.as_deref(), &["amount"])?;
    let amount = query.amount(&app.config.products.card_balance)?;
    let call = PaidCall {
        headers: &headers,
        bearer: &bearer,
        target: uri.path_and_query().map_or(FUND, |p| p.as_str()),
        route: FUND,
        purchase: Purchase::CardBalance(CardBalancePurchase { amount }),
        fee_rate: None,
        description: format!("Card balance top-up, {amount} USD"),
        html: false,
    };
    app.checkout.handle(call).await
}

/// Response with one top-up.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct TopUpResponse<'a> {
    /// Details of the top-up.
    top_up: schemas::TopUp<'a>,
    /// Steps that leave no transfer.
    progress: TopUpProgress,
}

/// Steps of a top-up that leave no transfer on a chain.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct TopUpProgress {
    /// How often the first transfer provably could not settle any more and was signed again.
    signed_again: u8,
    /// How often it is signed at most, before the top-up fails and its charge is credited.
    signed_at_most: u8,
    /// Whether the bridge has attested the burn, so that the mint can follow.
    attested: bool,
}

/// Read a top-up
///
/// With each transfer on its chain.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/get-top-up-status", operation_id = "getTopUpStatus", tag = "Card balance", security(("bearer" = [])),
    params(("top_up_id" = String, Query, description = "From `GET /fund-card-balance`.")),
    responses((status = 200, description = "`top_up`, `progress`.", body = TopUpResponse),
        (status = 400, description = "`top_up_id` is missing."), (status = 401, description = "No good token."),
        (status = 403, description = "Another wallet's top-up, or a frozen account."),
        (status = 404, description = "No such top-up."))))]
async fn get_top_up_status(
    State(app): SharedState,
    BearerClaims(claims): BearerClaims,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let query = Query::parse(query.as_deref(), &["top_up_id"])?;
    refuse_frozen(&app.engine, &claims).await?;
    let text = query.required("top_up_id")?;
    let (id, top_up) = load_owned_top_up(&app, &claims.wallet, text).await?;
    let stuck = stuck_among(&app, [&top_up]).await?;
    Ok(json::private_ok(&TopUpResponse {
        top_up: shown(&app.engine, id, &top_up, &stuck).await?,
        progress: TopUpProgress {
            signed_again: top_up.expired_signatures,
            signed_at_most: top_up::MAX_SIGNING_ATTEMPTS,
            attested: match &top_up.status {
                Status::Paid(_) | Status::Failed { .. } => false,
                Status::Bridging(progress) => progress.attested.is_some(),
                Status::Delivered | Status::Credited => top_up.rail == Network::Solana,
            },
        },
    }))
}

/// A top-up with the reason if it is on hold, and whether it is among those that wait for an operator.
async fn shown<'a>(
    engine: &Engine,
    id: TopUpId,
    top_up: &'a TopUp,
    stuck: &BTreeSet<TopUpId>,
) -> Result<schemas::TopUp<'a>, ApiError> {
    Ok(schemas::TopUp {
        top_up: top_up.view(&id),
        held: hold_reason(engine, top_up::Job::SendTopUp(id)).await?,
        needs_operator: stuck.contains(&id),
    })
}

/// Top-ups that wait for an operator, if one of these may be among them. Finding them reads every open job, so it is
/// not done while all of these are complete or as new as most that are in progress.
async fn stuck_among<'a>(app: &App, shown: impl IntoIterator<Item = &'a TopUp>) -> Result<BTreeSet<TopUpId>, ApiError> {
    let now = app.clock.now();
    let may_be_stuck = shown
        .into_iter()
        .any(|top_up| is_under_way(top_up) && top_up.created_at.plus_ms(USUAL_TIME_MS) <= now);
    if !may_be_stuck {
        return Ok(BTreeSet::new());
    }
    app.engine
        .dead_lettered_top_ups()
        .await
        .map_err(|_| ApiError::internal())
}

const fn is_under_way(top_up: &TopUp) -> bool {
    !matches!(top_up.status, Status::Credited | Status::Failed { .. })
}

/// Transactions of cards and of the card balance.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct CardTransactionsResponse<'a> {
    /// Card transactions, newest first, including declined ones. Without `card_id`, those of the newest 100 cards of
    /// each kind.
    transactions: Vec<CardCharge>,
    /// Top-ups, newest first.
    top_ups: Vec<schemas::TopUp<'a>>,
    /// Status changes of the cards, newest first.
    card_events: Vec<CardHistoryEntry>,
    /// Whether more top-ups follow.
    has_more: bool,
    /// Explanation for people.
    note: &'static str,
}

/// A charge of a card, approved or declined.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct CardCharge {
    #[serde(flatten)]
    transaction: cards::CardTransaction,
    /// Card that was charged.
    card_id: CardId,
}

/// A status change of a card.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct CardHistoryEntry {
    /// Id of the card.
    card_id: CardId,
    /// `ready` or `open`, `paused`, `resumed`, `closed`, `expired` or `failed`.
    #[cfg_attr(feature = "documents", schema(value_type = schemas::CardStatusChange))]
    event: &'static str,
    /// Time of the change (RFC 3339).
    at: Time,
}

/// List card transactions and top-ups
///
/// Charges of every kind of card including declined ones, status changes of the cards, and top-ups with every leg on
/// its chain: each newest first. `status` filters charges and top-ups. Each card has its newest 20 charges.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/list-card-transactions", operation_id = "listCardTransactions", tag = "Card balance", security(("bearer" = [])),
    params(("card_id" = Option<String>, Query, description = "Only what happened to this card, of whatever kind."),
        ("status" = Option<String>, Query, description = "Only charges and top-ups in this state: `pending`, `settled`, `declined` or `refunded` of charges; `paid`, `bridging`, `delivered`, `credited` or `failed` of top-ups."),
        ("limit" = Option<u32>, Query, description = "1 to 100, 20 by default; of each list."),
        ("starting_after" = Option<String>, Query, description = "The last `top_up_id` of the page before.")),
    responses((status = 200, description = "`transactions`, `top_ups`, `card_events`, `note`.", body = CardTransactionsResponse),
        (status = 400, description = "A malformed parameter."), (status = 401, description = "No good token."),
        (status = 403, description = "Another wallet's card or top-up, or a frozen account."),
        (status = 404, description = "No such card or top-up."))))]
async fn list_card_transactions(
    State(app): SharedState,
    BearerClaims(claims): BearerClaims,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let query = Query::parse(query.as_deref(), &["card_id", "status", "limit", "starting_after"])?;
    refuse_frozen(&app.engine, &claims).await?;
    let limit = usize::try_from(query.number("limit", 20, 1, 100)?).unwrap_or(20);
    let status = match query.get("status") {
        None => "",
        Some(_) => query.choice("status", &STATUSES)?,
    };
    let card = match query.get("card_id") {
        None => None,
        Some(text) => Some(cards::load_owned_card(&app.engine, &claims, text).await?),
    };
    let after = match query.get("starting_after") {
        None => None,
        Some(text) => Some(load_owned_top_up(&app, &claims.wallet, text).await?.0),
    };
    let found = match card {
        Some(_) => (Vec::new(), false),
        None => filter_by_status(&app.engine, &claims.wallet, after, (status, limit)).await?,
    };
    let linked = app.engine.deposit_address(&claims.wallet).await;
    let note = match linked.map_err(|_| ApiError::internal())? {
        Some(_) => "Top-ups usually reach the balance within a minute.",
        None => {
            "No account at the card issuer is linked. The account owner links one on the page behind GET /get-auth-link."
        }
    };
    let cards = match card {
        Some(one) => vec![one],
        None => cards::AnyCard::newest(&app.engine, &claims.wallet, MAX_CARDS_READ).await?,
    };
    let stuck = stuck_among(&app, found.0.iter().map(|(_, top_up)| top_up)).await?;
    let mut loaded = Vec::with_capacity(found.0.len());
    for (id, top_up) in &found.0 {
        loaded.push(shown(&app.engine, *id, top_up, &stuck).await?);
    }
    Ok(json::private_ok(&CardTransactionsResponse {
        transactions: charges(&cards, (status, limit)),
        top_ups: loaded,
        card_events: card_events(&cards, limit),
        has_more: found.1,
        note,
    }))
}

type CardIndex = [(CardId, cards::AnyCard)];

fn charges(cards: &CardIndex, (status, limit): (&str, usize)) -> Vec<CardCharge> {
    let spent = cards
        .iter()
        .flat_map(|(id, card)| card.transactions().iter().map(move |one| (id, one)));
    let mut spent: Vec<_> = spent
        .filter(|(_, one)| status.is_empty() || one.status.name() == status)
        .collect();
    spent.sort_by(|(_, a), (_, b)| (b.at, &b.id).cmp(&(a.at, &a.id)));
    let shown = spent.into_iter().take(limit).map(|(id, one)| CardCharge {
        transaction: one.into(),
        card_id: *id,
    });
    shown.collect()
}

fn card_events(cards: &CardIndex, limit: usize) -> Vec<CardHistoryEntry> {
    let happened = cards
        .iter()
        .flat_map(|(id, card)| card.history().into_iter().map(move |(event, at)| (at, id, event)));
    let mut happened: Vec<_> = happened.collect();
    // Entries of the same millisecond keep their order.
    happened.reverse();
    happened.sort_by_key(|(at, ..)| std::cmp::Reverse(*at));
    let view = |(at, id, event): (Timestamp, &CardId, &'static str)| CardHistoryEntry {
        card_id: *id,
        event,
        at: at.into(),
    };
    happened.into_iter().take(limit).map(view).collect()
}

/// Top-ups with a status, or all, and whether there are more.
async fn filter_by_status(
    engine: &Engine,
    wallet: &Wallet,
    mut after: Option<TopUpId>,
    (status, limit): (&str, usize),
) -> Result<(Vec<(TopUpId, TopUp)>, bool), ApiError> {
    let mut found = Vec::new();
    loop {
        let page = engine.top_ups_of(wallet, after, limit).await;
        let (page, more) = page.map_err(|_| ApiError::internal())?;
        after = page.last().map(|(id, _)| *id).or(after);
        let fits = |top_up: &TopUp| status.is_empty() || top_up.status() == status;
        found.extend(page.into_iter().filter(|(_, top_up)| fits(top_up)));
        if found.len() > limit || !more {
            let more = found.len() > limit || more;
            found.truncate(limit);
            return Ok((found, more));
        }
        if found.len() == limit && status.is_empty() {
            return Ok((found, more));
        }
    }
}

/// Deposit address of a card balance.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct DepositAddress {
    /// The owner's deposit address.
    address: String,
    /// `base` is the network of the address.
    network: schemas::DepositNetwork,
    /// Balance in US dollars.
    balance: ExactDecimal,
}

/// Read the deposit address of the card balance
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/get-card-deposit-address", operation_id = "getCardDepositAddress", tag = "Card balance", security(("bearer" = [])),
    responses((status = 200, description = "The holder's own deposit address on Base, and what the balance is now.", body = DepositAddress),
        (status = 401, description = "No good token."), (status = 403, description = "Frozen."),
        (status = 412, description = "No account at the card issuer is linked."),
        (status = 503, description = "The card issuer does not answer."))))]
async fn get_card_deposit_address(
    State(app): SharedState,
    BearerClaims(claims): BearerClaims,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    Query::parse(query.as_deref(), &[])?;
    refuse_frozen(&app.engine, &claims).await?;
    let address = linked(&app.engine, &claims.wallet).await?;
    let balance = app
        .providers
        .balances
        .balance(&address)
        .await
        .map_err(|_| issuer_unavailable())?;
    Ok(json::private_ok(&DepositAddress {
        address: Wallet::Evm(address).address(),
        network: schemas::DepositNetwork::Base,
        balance: balance.into(),
    }))
}

/// The deposit address, or 412.
pub(super) async fn linked(engine: &Engine, wallet: &Wallet) -> Result<[u8; 20], ApiError> {
    let address = engine.deposit_address(wallet).await.map_err(|_| ApiError::internal())?;
    address.ok_or_else(|| {
        let error = "No account at the card issuer is linked.";
        ApiError::new(ErrorCode::IssuerNotLinked, error)
            .hint("GET /get-auth-link gives a link for the owner, who links the account on the page behind it.")
    })
}

/// Newest top-ups searched for pending ones. An older one is not pending any more.
const MAX_TOP_UPS_READ: usize = 100;

/// US dollars of the owner's paid top-ups that are not on the balance at the card issuer yet.
///
/// # Errors
/// 500 when storage fails.
pub(super) async fn pending(engine: &Engine, owner: &Wallet) -> Result<Cents, ApiError> {
    let newest = engine.top_ups_of(owner, None, MAX_TOP_UPS_READ).await;
    let (newest, _) = newest.map_err(|_| ApiError::internal())?;
    let pending = newest.iter().filter(|(_, top_up)| is_under_way(top_up));
    Ok(Cents::new(
        pending
            .map(|(_, top_up)| top_up.amount.get())
            .fold(0, u64::saturating_add),
    ))
}

/// The amount on its way to the balance, before the issuer is asked to take `amount` from it. If a top-up is on its way
/// and the balance does not cover the amount yet, the request is rejected here. That error is not recorded, so the same
/// request succeeds once the top-up has arrived.
///
/// # Errors
/// 409 `insufficient_card_balance`; 500 when storage fails.
pub(super) async fn await_pending(
    engine: &Engine,
    balances: &dyn CardBalanceReader,
    (owner, address): (&Wallet, &[u8; 20]),
    (param, amount): (&'static str, Cents),
) -> Result<Cents, ApiError> {
    let pending = pending(engine, owner).await?;
    if pending == Cents::ZERO {
        return Ok(pending);
    }
    // If the issuer does not answer here, it decides when the card itself is requested.
    match balances.balance(address).await {
        Ok(balance) if Usdc::from_cents(amount).is_ok_and(|amount| balance < amount) => {
            Err(insufficient(param, pending))
        }
        _ => Ok(pending),
    }
}

/// 409: the balance at the card issuer is smaller than the requested amount. While a top-up is on its way, the message
/// does not ask for another one.
pub(super) fn insufficient(param: &'static str, pending: Cents) -> ApiError {
    let error = "The balance at the card issuer is smaller than this amount. Nothing was taken.";
    let error = ApiError::new(ErrorCode::InsufficientCardBalance, error).param(param);
    if pending == Cents::ZERO {
        return error.hint("GET /get-card-deposit-address shows the balance, GET /fund-card-balance loads it.");
    }
    let hint = format!(
        "A top-up of {pending} USD is on its way: do not pay again. Ask again once it is `credited` under \
         `top_ups` in GET /list-card-transactions, usually within a minute."
    );
    error.hint(hint).retry_after(PENDING_RETRY_S)
}

/// Seconds after which a top-up may have arrived.
const PENDING_RETRY_S: u64 = 5;

fn issuer_unavailable() -> ApiError {
    ApiError::unavailable(ErrorCode::IssuerUnavailable, "The card issuer does not answer.", 2)
}

async fn load_owned_top_up(app: &App, wallet: &Wallet, text: &str) -> Result<(TopUpId, TopUp), ApiError> {
    let unknown = || ApiError::new(ErrorCode::TopUpNotFound, "There is no such top-up.");
    let id: TopUpId = text.parse().map_err(|_| unknown())?;
    let known = app.engine.top_up(&id).await.map_err(|_| ApiError::internal())?;
    let known = known.ok_or_else(unknown)?;
    if known.owner != *wallet {
        let error = "This top-up belongs to another wallet.";
        return Err(ApiError::new(ErrorCode::TopUpAccessDenied, error));
    }
    Ok((id, known))
}
