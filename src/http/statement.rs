//! `GET /get-account-statement`: the changes of the balance, or of the agents' wallet; and `GET
//! /account/statement-sums`: what came in and went out in a part of it, for the account page.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::response::Response;
use purser_actors::answer::ExactDecimal;
use purser_actors::entity::account::{StatementLine, StatementLineView};
use purser_actors::entity::agent_wallet::WalletStatementLine;
use purser_actors::id::{ApiKeyId, Network, StatementLineId, Wallet, WalletPaymentId};
use purser_actors::kernel::{Entity as _, JsonObject};
use purser_actors::money::Usdc;
use purser_actors::port::Timestamp;
use serde::Serialize;

use super::account::{BearerClaims, refuse_frozen};
use super::app::App;
use super::auth::AuthClaims;
use super::callable::require_sign_in;
use super::error::{ApiError, ErrorCode};
use super::json;
use super::list_order::{ORDERS, list_start};
use super::page_session::PageSession;
use super::query::Query;
use super::route::routes;
#[cfg(feature = "documents")]
use super::schemas;
use super::schemas::PayingKey;
use super::withdrawals::time_param;

routes! { pub(super) static ROUTES: Arc<App>, openapi;
    GET "/get-account-statement" => get_account_statement {
        Token, refuses [TokenMissing, ParameterUnrecognized, AccountFrozen, ParameterInvalid, SignInRequired]
    }
    GET "/account/statement-sums" => get_statement_sums { Owner }
}

/// What a statement is of. The first is the default.
pub(super) const STATEMENTS: [&str; 2] = ["balance", AGENT_WALLET];
const AGENT_WALLET: &str = "agent_wallet";

/// Whether the statement of the agents' wallet is asked for. It shows what each agent paid, so agents don't see it.
fn is_of_wallet(query: &Query, claims: &AuthClaims) -> Result<bool, ApiError> {
    let is_of_wallet = query.choice("of", &STATEMENTS)? == AGENT_WALLET;
    if is_of_wallet {
        require_sign_in(claims)?;
    }
    Ok(is_of_wallet)
}

/// A line of a statement.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct StatementEntry<'a> {
    #[serde(flatten)]
    line: StatementLineView<'a>,
    /// Only of the agents' wallet: the payment of a line `debited`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "documents", schema(value_type = Option<schemas::WalletPaymentResource>))]
    wallet_payment: Option<JsonObject>,
    /// Only of the agents' wallet: the API key of the agent that paid, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    api_key: Option<PayingKey>,
}

impl<'a> StatementEntry<'a> {
    /// A line of the statement of the balance.
    fn of_balance(id: &'a StatementLineId, line: &'a StatementLine) -> Self {
        Self {
            line: line.view(id),
            wallet_payment: None,
            api_key: None,
        }
    }
}

/// A page of a statement.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct StatementResponse<'a> {
    /// Entries, oldest first unless `order=desc`.
    entries: Vec<StatementEntry<'a>>,
    /// Whether more lines follow.
    has_more: bool,
}

/// What a page of a statement has.
struct StatementPage {
    newest_first: bool,
    from: Option<Timestamp>,
    until: Option<Timestamp>,
    limit: usize,
    cursor: Option<StatementLineId>,
}

impl StatementPage {
    fn from_query(query: &Query) -> Result<Self, ApiError> {
        let newest_first = query.choice("order", &ORDERS)? == "desc";
        let (from, until) = (time_param(query, "from")?, time_param(query, "until")?);
        let limit = usize::try_from(query.number("limit", 20, 1, 100)?).unwrap_or(20);
        let cursor = query.get("starting_after").map(str::parse).transpose().map_err(|_| {
            ApiError::parameter(
                ErrorCode::ParameterInvalid,
                "starting_after",
                "`starting_after` is not an `entry_id`.",
            )
        })?;
        Ok(Self {
            newest_first,
            from,
            until,
            limit,
            cursor,
        })
    }

    /// Without a cursor the page begins at that end of the period which comes first.
    const fn begins_at(&self) -> Option<Timestamp> {
        match (self.cursor, self.newest_first) {
            (Some(_), _) => None,
            (None, false) => self.from,
            (None, true) => self.until,
        }
    }

    /// Whether it begins a list that has the newest lines.
    fn reaches(&self, now: Timestamp) -> bool {
        self.cursor.is_none() && is_later(self.until, now)
    }

    /// Cuts the lines at the end of the period, and says whether more follow.
    fn cut<L>(&self, (lines, more): &mut (Vec<L>, bool), at: impl Fn(&L) -> Timestamp) {
        let is_inside = |line: &L| {
            let at = at(line);
            self.from.is_none_or(|from| at >= from) && self.until.is_none_or(|until| at < until)
        };
        // The first line beyond the period ends the list.
        *more &= lines.last().is_none_or(is_inside);
        lines.retain(is_inside);
    }
}

/// Whether a period has not ended.
fn is_later(until: Option<Timestamp>, now: Timestamp) -> bool {
    until.is_none_or(|until| until > now)
}

/// Read the account statement
///
/// Every credit, hold, payout and release, with its cause and the balance after it, oldest first, or newest first with
/// `order=desc`. `from` and `until` limit the time of the entries. `of=agent_wallet` is the statement of the managed
/// wallet, for its owner: what agents paid, by which key, and USDC that the wallet received, `credited` when a payment
/// begins, or when this or the sums are read up to now, and the chain has it. Its `cause` is the wallet payment, or the
/// address that received. `reversed` is what the chain no longer has without a payment known here: a restore has lost
/// it, or the chain dropped what it had shown. A hold of the managed wallet has no entry of its own.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/get-account-statement", operation_id = "getAccountStatement", tag = "Account", security(("bearer" = [])),
    params(("of" = inline(Option<schemas::StatementName>), Query, description = "`balance`, the default, or `agent_wallet`."),
        ("order" = inline(Option<schemas::ListOrder>), Query, description = "`asc`, the default, or `desc`."),
        ("from" = Option<String>, Query, description = "Only entries at or after this time (RFC 3339 in UTC)."),
        ("until" = Option<String>, Query, description = "Only entries before this time (RFC 3339 in UTC)."),
        ("limit" = Option<u32>, Query, description = "1 to 100, 20 by default."),
        ("starting_after" = Option<String>, Query, description = "The last `entry_id` of the page before.")),
    responses((status = 200, description = "`entries`, `has_more`.", body = StatementResponse),
        (status = 400, description = "A malformed parameter."), (status = 401, description = "No good token."),
        (status = 403, description = "Frozen, or a payment's or an API key's token for the agents' wallet."))))]
async fn get_account_statement(
    State(app): State<Arc<App>>,
    BearerClaims(claims): BearerClaims,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let allowed = ["of", "order", "from", "until", "limit", "starting_after"];
    let query = Query::parse(query.as_deref(), &allowed)?;
    refuse_frozen(&app.engine, &claims).await?;
    let of_wallet = is_of_wallet(&query, &claims)?;
    let page = StatementPage::from_query(&query)?;
    let (engine, owner) = (&app.engine, &claims.wallet);
    let failed = |_| ApiError::internal();
    if of_wallet {
        if page.reaches(app.clock.now()) {
            app.observe_wallet(owner).await?;
        }
        let begin = match page.begins_at() {
            Some(time) => Some(engine.wallet_statement_position(owner, time).await.map_err(failed)?),
            None => page.cursor,
        };
        let start = list_start(page.newest_first, begin);
        let mut found = engine
            .wallet_statement(owner, start, page.limit)
            .await
            .map_err(failed)?;
        page.cut(&mut found, |(_, row)| row.line.at);
        let entries = app.wallet_entries(owner, &found.0).await?;
        let has_more = found.1;
        return Ok(json::private_ok(&StatementResponse { entries, has_more }));
    }
    let begin = match page.begins_at() {
        Some(time) => Some(engine.statement_position(owner, time).await.map_err(failed)?),
        None => page.cursor,
    };
    let start = list_start(page.newest_first, begin);
    let mut found = engine.statement(owner, start, page.limit).await.map_err(failed)?;
    page.cut(&mut found, |(_, line)| line.at);
    let entries = found
        .0
        .iter()
        .map(|(id, line)| StatementEntry::of_balance(id, line))
        .collect();
    let has_more = found.1;
    Ok(json::private_ok(&StatementResponse { entries, has_more }))
}

impl App {
    /// Adds the lines for what the agents' wallet has received to its statement. One on a chain that can't be read now
    /// is added by a later read.
    async fn observe_wallet(&self, owner: &Wallet) -> Result<(), ApiError> {
        let read = self.engine.agent_wallet(owner).await;
        let Some(wallet) = read.map_err(|_| ApiError::internal())? else {
            return Ok(());
        };
        let [base, solana] = Network::ALL.map(|network| wallet.addresses.on(network));
        let (base, solana) = tokio::join!(self.wallets.balance(&base), self.wallets.balance(&solana));
        let balances = Network::ALL.into_iter().zip([base, solana]);
        let balances: Vec<_> = balances
            .filter_map(|(network, balance)| Some((network, balance.ok()?)))
            .collect();
        if let Err(error) = self.engine.observe_wallet_balances(&wallet, balances).await {
            tracing::warn!(%owner, ?error, "what a managed wallet has received could not be added to its statement");
        }
        Ok(())
    }

    /// Lines of the agents' wallet with their payments and the keys that paid.
    async fn wallet_entries<'a>(
        &self,
        owner: &Wallet,
        lines: &'a [(StatementLineId, WalletStatementLine)],
    ) -> Result<Vec<StatementEntry<'a>>, ApiError> {
        let mut keys: BTreeMap<ApiKeyId, PayingKey> = BTreeMap::new();
        let mut entries = Vec::with_capacity(lines.len());
        for (id, row) in lines {
            let wallet_payment = match row.line.cause.parse::<WalletPaymentId>() {
                Ok(payment) => {
                    let read = self.engine.wallet_payment(&payment).await;
                    let read = read.map_err(|_| ApiError::internal())?;
                    read.filter(|paid| paid.owner == *owner)
                        .map(|paid| JsonObject::of(&paid.view(&payment)))
                }
                Err(_) => None,
            };
            if let Some(id) = row.key
                && !keys.contains_key(&id)
                && let Some(key) = self.engine.api_key(&id).await.map_err(|_| ApiError::internal())?
            {
                let (api_key_id, name) = (id, key.name);
                keys.insert(id, PayingKey { api_key_id, name });
            }
            entries.push(StatementEntry {
                line: row.line.view(id),
                wallet_payment,
                api_key: row.key.and_then(|id| keys.get(&id).cloned()),
            });
        }
        Ok(entries)
    }
}

/// Sums of a part of the statement, in US dollars.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct StatementSumsResponse {
    /// Balance before the first line.
    opening: ExactDecimal,
    /// Sum of the credits.
    credited: ExactDecimal,
    /// Sum of what left the balance: withdrawals, purchases, and credits that were reversed.
    debited: ExactDecimal,
    /// Balance after the last line.
    balance: ExactDecimal,
    /// Part of that balance that can be spent. Of the agents' wallet only for a period that reaches to now.
    #[serde(skip_serializing_if = "Option::is_none")]
    available: Option<ExactDecimal>,
    /// Part of that balance that is on hold. Of the agents' wallet only for a period that reaches to now.
    #[serde(skip_serializing_if = "Option::is_none")]
    held: Option<ExactDecimal>,
}

/// Read the sums of a part of the statement
///
/// `of`, `from` and `until` choose the entries, as in `GET /get-account-statement`. Authenticated by the session cookie
/// only.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/account/statement-sums", operation_id = "getStatementSums", tag = "Account pages",
    params(("of" = inline(Option<schemas::StatementName>), Query, description = "`balance`, the default, or `agent_wallet`."),
        ("from" = Option<String>, Query, description = "Only entries at or after this time (RFC 3339 in UTC)."),
        ("until" = Option<String>, Query, description = "Only entries before this time (RFC 3339 in UTC).")),
    responses((status = 200, description = "Balances at both ends of the period, and what came in and went out.", body = StatementSumsResponse),
        (status = 400, description = "A malformed parameter."), (status = 401, description = "No session."),
        (status = 403, description = "Another page's request, frozen, or the agents' wallet in a session of an agent."))))]
async fn get_statement_sums(
    State(app): State<Arc<App>>,
    PageSession(claims): PageSession,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let query = Query::parse(query.as_deref(), &["of", "from", "until"])?;
    refuse_frozen(&app.engine, &claims).await?;
    let of_wallet = is_of_wallet(&query, &claims)?;
    let (from, until) = (time_param(&query, "from")?, time_param(&query, "until")?);
    let (engine, owner) = (&app.engine, &claims.wallet);
    let reaches_now = is_later(until, app.clock.now());
    if of_wallet && reaches_now {
        app.observe_wallet(owner).await?;
    }
    let sums = match of_wallet {
        true => engine.wallet_statement_sums(owner, from, until).await,
        false => engine.statement_sums(owner, from, until).await,
    };
    let sums = sums.map_err(|_| ApiError::internal())?;
    // A hold of the agents' wallet has no line, so only the wallet itself knows what is held, and only now.
    let held = match (of_wallet, reaches_now) {
        (false, _) => Some(sums.held),
        (true, true) => {
            let wallet = engine.agent_wallet(owner).await.map_err(|_| ApiError::internal())?;
            Some(wallet.map_or(Usdc::ZERO, |wallet| wallet.held_in_all()))
        }
        (true, false) => None,
    };
    let available = held.map(|held| sums.closing.checked_sub(held).unwrap_or(Usdc::ZERO));
    Ok(json::private_ok(&StatementSumsResponse {
        opening: sums.opening.into(),
        credited: sums.credited.into(),
        debited: sums.debited.into(),
        balance: sums.closing.into(),
        available: available.map(ExactDecimal::from),
        held: held.map(ExactDecimal::from),
    }))
}
