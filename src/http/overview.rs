//! `GET /account`: what the account page shows of an account, and the parts of it that the owner's acts return.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use purser_actors::answer::{ExactDecimal, Time};
use purser_actors::entity::account::{Account, AccountView, BalanceLimits};
use purser_actors::entity::agent_wallet::{AgentWallet, AgentWalletView};
use purser_actors::entity::api_key::{ApiKey, ApiKeyView};
use purser_actors::entity::identity_verification::{IdentityVerification, IdentityView, Status as IdentityStatus};
use purser_actors::entity::issuer_link::IssuerLinkView;
use purser_actors::entity::recovery::{Recovery, RecoveryView};
use purser_actors::id::{ApiKeyId, Wallet};
use purser_actors::kernel::{Entity as _, JsonObject};
use purser_actors::money::Cents;
use purser_actors::port::Timestamp;
use purser_actors::product::{DailyCap, ProductLine};
use serde::Serialize;

use super::account::refuse_frozen;
use super::app::App;
use super::auth::AuthClaims;
use super::error::ApiError;
use super::json;
use super::page_session::PageSession;
use super::passkeys::confirmation;
use super::route::routes;
#[cfg(feature = "documents")]
use super::schemas;
use super::sessions::SessionItem;
use crate::config::Mode;
use crate::stream;

/// Maximum cards in the account overview. The stream reports new ones.
const MAX_CARDS_SHOWN: usize = 50;

/// The daily caps that an owner can tighten, by the names of the parts of `POST /account/caps`.
pub(super) const BUDGETS: [(ProductLine, &str); 6] = [
    (ProductLine::UsaCard, "usa_prepaid_card"),
    (ProductLine::GiftCard, "gift_card"),
    (ProductLine::PushToCard, "push_to_card"),
    (ProductLine::BankPayment, "bank_payment"),
    (ProductLine::AppPayment, "app_payment"),
    (ProductLine::CardBalance, "card_balance"),
];

routes! { pub(super) static ROUTES: Arc<App>, openapi;
    GET "/account" => get_account { Owner, refuses [OriginNotAllowed, TokenMissing, AccountFrozen] }
}

/// What the session of a page may do.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
enum PageRights {
    /// Everything that the wallet may do: the wallet signed in.
    Act,
    /// Reading: a payment or an API key opened the session.
    Look,
}

/// Which money the service moves.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
enum ServiceMode {
    /// Test money only.
    Sandbox,
    /// Real money.
    Production,
}

/// Numbers of purchases and US dollars, without fees.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct CapNumbers {
    /// Purchases; null without a cap.
    count: Option<u32>,
    /// US dollars; null without a cap.
    usd: Option<ExactDecimal>,
}

/// A daily cap of the owner with the service's, which also applies. A day begins at midnight UTC.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub(super) struct CapOverview {
    /// Name of the cap: its parts in `POST /account/caps` are this name with `_count` and `_usd`.
    name: &'static str,
    /// What it is about, for people.
    title: &'static str,
    /// The owner's cap.
    own: CapNumbers,
    /// The service's cap.
    service: CapNumbers,
    /// Used up today.
    used: CapNumbers,
}

/// The identity check of the owner.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub(super) struct IdentityOverview<'a> {
    #[serde(flatten)]
    check: IdentityView<'a>,
    /// Where the owner answers the provider's questions, while a check waits for that and the session may act.
    check_url: Option<&'a str>,
}

/// An API key of the account.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub(super) struct ApiKeyOverview<'a> {
    #[serde(flatten)]
    key: ApiKeyView<'a>,
    /// Beginning of the key.
    prefix: String,
    /// Last four characters of the key.
    last4: String,
    /// US dollars that its sessions spent or reserved today (UTC).
    spent_today_usd: ExactDecimal,
}

/// The managed wallet.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub(super) struct AgentWalletOverview {
    #[serde(flatten)]
    wallet: AgentWalletView,
    /// US dollars spent or reserved today (UTC).
    used_today_usd: ExactDecimal,
    /// Merchants with a limit of their own, then others that were paid today.
    merchants_today: Vec<MerchantOverview>,
}

/// A merchant of the managed wallet.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct MerchantOverview {
    /// Host in lower case, without a port; `route` is this service.
    host: String,
    /// Limit that applies per day (UTC) in US dollars; null without one.
    #[cfg_attr(feature = "documents", schema(required))]
    per_day_usd: Option<ExactDecimal>,
    /// US dollars spent or reserved there today (UTC).
    used_today_usd: ExactDecimal,
}

/// Limits on what agents take out of the balances of the account: withdrawals, and payouts and transfers to banks.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub(super) struct BalanceLimitsOverview {
    /// Limit per withdrawal, payout or transfer in US dollars; null without one.
    #[cfg_attr(feature = "documents", schema(required))]
    pub(super) per_call_usd: Option<ExactDecimal>,
    /// Limit per day (UTC) of all agents together in US dollars; null without one.
    #[cfg_attr(feature = "documents", schema(required))]
    pub(super) per_day_usd: Option<ExactDecimal>,
    /// Whether what is over a limit waits for the owner's approval.
    pub(super) approvals: bool,
    /// US dollars that agents took today (UTC).
    pub(super) taken_today_usd: ExactDecimal,
}

/// Account data for the account page.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct AccountOverview<'a> {
    #[serde(flatten)]
    account: AccountView,
    /// `act` or `look`: what this session may do.
    rights: PageRights,
    /// `sandbox` or `production`.
    mode: ServiceMode,
    /// The service's time (RFC 3339). In the sandbox it can be ahead of the machine's.
    now: Time,
    /// Sequence number of the last event that is included.
    seq: u64,
    /// Cards of all kinds, newest first, at most 50.
    #[cfg_attr(feature = "documents", schema(value_type = Vec<schemas::CardListItem>))]
    cards: Vec<JsonObject>,
    /// Daily caps by product.
    caps: Vec<CapOverview>,
    /// The identity check; null before the first.
    identity: Option<IdentityOverview<'a>>,
    /// The link to the card issuer; null before the first request.
    issuer_link: Option<IssuerLinkView<'a>>,
    /// The managed wallet, if an agent made one.
    agent_wallet: Option<AgentWalletOverview>,
    /// Limits on what agents take out of the balances.
    agents_on_balance: BalanceLimitsOverview,
    /// Active API keys, oldest first.
    api_keys: Vec<ApiKeyOverview<'a>>,
    /// Sessions of programs that announced an agent or have an API key, newest first.
    connected_agents: Vec<SessionItem<'a>>,
    /// Number of active passkeys. `GET /account/passkeys` lists them.
    passkeys: usize,
    /// Until when this session may do what needs a confirmation (RFC 3339).
    #[cfg_attr(feature = "documents", schema(required))]
    confirmed_until: Option<Time>,
    /// The recovery that the wallet asked for, while it is in progress. A passkey cancels it
    /// (`POST /account/recovery/cancel`).
    recovery: Option<RecoveryView>,
    /// Where programs call the service. Pages of a loopback address are at `localhost`.
    service_url: &'a str,
}

/// Read the account overview
///
/// Authenticated by the session cookie only.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/account", operation_id = "getAccountOverview", tag = "Account pages",
    responses((status = 200, description = "The balance, the newest cards of all kinds, what the owner has set, and the cursor for `/stream`.", body = AccountOverview),
        (status = 401, description = "No session."), (status = 403, description = "Another page's request, or frozen."))))]
async fn get_account(State(app): State<Arc<App>>, PageSession(claims): PageSession) -> Result<Response, ApiError> {
    let frozen = refuse_frozen(&app.engine, &claims).await;
    frozen.map_err(|error| error.naming_frozen(|| claims.wallet.user_id()))?;
    let (engine, wallet) = (&app.engine, claims.wallet);
    // Read before the state: an event in between arrives on the stream again, rather than never.
    let seq = stream::newest(&*app.store, &wallet.key()).await;
    let seq = seq.map_err(|_| ApiError::internal())?;
    let account = app.account_of_session(&claims).await?;
    let cards = engine.newest_cards(&wallet, MAX_CARDS_SHOWN).await;
    let identity = engine.identity(&wallet).await.map_err(|_| ApiError::internal())?;
    let link = engine.issuer_link(&wallet).await.map_err(|_| ApiError::internal())?;
    let keys = engine.api_keys_of(&wallet).await.map_err(|_| ApiError::internal())?;
    let passkeys = engine.passkeys_of(&wallet).await.map_err(|_| ApiError::internal())?;
    let recovery = app.recovery_of(&wallet).await?;
    let mut api_keys = Vec::with_capacity(keys.len());
    // An agent sees its own key.
    let shown = keys
        .iter()
        .filter(|(id, _)| claims.amr.is_owner() || claims.amr.key() == Some(*id));
    for (id, key) in shown {
        api_keys.push(app.key_overview(*id, key).await?);
    }
    let sessions = app.open_sessions(&claims).await?;
    Ok(json::private_ok(&AccountOverview {
        account: account.view(&wallet),
        rights: if claims.is_signed_in() {
            PageRights::Act
        } else {
            PageRights::Look
        },
        mode: match app.config.mode {
            Mode::Sandbox => ServiceMode::Sandbox,
            Mode::Production => ServiceMode::Production,
        },
        now: app.clock.now().into(),
        seq,
        cards: cards.map_err(|_| ApiError::internal())?,
        caps: app.caps_of(&account),
        identity: identity
            .as_ref()
            .map(|identity| IdentityOverview::of(identity, &claims)),
        issuer_link: link.as_ref().map(|link| link.view(&wallet)),
        agent_wallet: app.wallet_of(&claims).await?,
        agents_on_balance: app.balance_limits_of(&wallet, account.balance_limits).await?,
        api_keys,
        connected_agents: sessions
            .iter()
            .filter(|(_, session)| session.created_by.is_none())
            .filter(|(_, session)| session.agent.is_some() || session.amr.key().is_some())
            .map(|(id, session)| app.session_item(*id, session))
            .collect(),
        passkeys: passkeys.len(),
        confirmed_until: confirmation::until(&app, &claims).await?,
        recovery: recovery
            .filter(Recovery::is_open)
            .map(|recovery| recovery.view(&wallet)),
        service_url: &app.public_url,
    }))
}

impl MerchantOverview {
    fn all(wallet: &AgentWallet, now: Timestamp) -> Vec<Self> {
        let caps = &wallet.merchant_caps;
        let capped = caps.hosts.iter().map(|cap| cap.host.as_str());
        let is_listed = |host: &str| caps.hosts.iter().any(|cap| cap.host == host);
        let paid = wallet
            .merchants_on(now)
            .map(|(host, _)| host)
            .filter(|host| !is_listed(host));
        let all = capped.chain(paid);
        all.map(|host| Self {
            host: host.to_owned(),
            per_day_usd: caps.cap_of(host).map(ExactDecimal::from),
            used_today_usd: wallet.used_at(host, now).into(),
        })
        .collect()
    }
}

impl<'a> IdentityOverview<'a> {
    pub(super) fn of(identity: &'a IdentityVerification, claims: &AuthClaims) -> Self {
        let check_url = match &identity.status {
            IdentityStatus::InReview {
                started: Some(begun), ..
            } if claims.is_signed_in() => Some(begun.url.as_str()),
            _ => None,
        };
        Self {
            check: identity.view(&claims.wallet),
            check_url,
        }
    }
}

impl App {
    /// An API key as its owner sees it.
    ///
    /// # Errors
    /// 500 when storage fails.
    pub(super) async fn key_overview<'a>(&self, id: ApiKeyId, key: &'a ApiKey) -> Result<ApiKeyOverview<'a>, ApiError> {
        let spent = self.engine.api_key_spent_today(id).await;
        let (prefix, last4) = self.api_keys.hints(id);
        Ok(ApiKeyOverview {
            key: key.view(&id),
            prefix,
            last4,
            spent_today_usd: spent.map_err(|_| ApiError::internal())?.into(),
        })
    }

    /// The account of a session. A session is opened by an account, so it exists.
    ///
    /// # Errors
    /// 500 when storage fails.
    pub(super) async fn account_of_session(&self, claims: &AuthClaims) -> Result<Account, ApiError> {
        let account = self.engine.account(&claims.wallet).await;
        let account = account.map_err(|_| ApiError::internal())?;
        account.ok_or_else(ApiError::internal)
    }

    /// The caps of an account by product.
    pub(super) fn caps_of(&self, account: &Account) -> Vec<CapOverview> {
        let now = self.clock.now();
        let service = self.config.caps.daily_caps();
        let numbers = |count, sum: Option<Cents>| CapNumbers {
            count,
            usd: sum.map(ExactDecimal::from),
        };
        let of = |(line, name): (ProductLine, &'static str)| {
            let own = account.owner_caps.for_line(line);
            let (count, sum) = account.used_today(line, now);
            CapOverview {
                name,
                title: line.title(),
                own: numbers(own.count, own.sum),
                service: match service.for_line(line) {
                    Some(DailyCap { count, sum }) => numbers(
                        (count != u32::MAX).then_some(count),
                        (sum.get() != u64::MAX).then_some(sum),
                    ),
                    None => numbers(None, None),
                },
                used: numbers(Some(count), Some(sum)),
            }
        };
        BUDGETS.into_iter().map(of).collect()
    }

    /// The managed wallet of the caller's account, if it has one.
    ///
    /// # Errors
    /// 500 when storage fails.
    pub(super) async fn wallet_of(&self, claims: &AuthClaims) -> Result<Option<AgentWalletOverview>, ApiError> {
        let read = self
            .engine
            .agent_wallet(&claims.wallet)
            .await
            .map_err(|_| ApiError::internal())?;
        let now = self.clock.now();
        Ok(read.map(|wallet| AgentWalletOverview {
            used_today_usd: wallet.used_on(now).into(),
            merchants_today: MerchantOverview::all(&wallet, now),
            wallet: wallet.seen_by(claims.amr),
        }))
    }

    /// The limits on what agents take out of the balances, with what they took today.
    ///
    /// # Errors
    /// 500 when storage fails.
    pub(super) async fn balance_limits_of(
        &self,
        owner: &Wallet,
        limits: BalanceLimits,
    ) -> Result<BalanceLimitsOverview, ApiError> {
        let taken = self.engine.taken_by_agents_today(owner).await;
        let taken = taken.map_err(|_| ApiError::internal())?;
        Ok(BalanceLimitsOverview::new(limits, taken.into()))
    }
}
