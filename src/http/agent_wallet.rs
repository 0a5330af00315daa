//! The callable functions of the managed wallet: made once an account, read, limited by a person, spent from by agents.

mod address_book;
mod call_target;
mod pay;
mod payments;
mod seller_error;
mod transfer;
mod wallet;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::post;
use http::StatusCode;
use purser_actors::agent_wallet::{AgentWallet, Rejection, WalletCaps};
use purser_actors::id::{Network, Wallet};
use purser_actors::port::{Clock, Entropy};
use serde::Deserialize;
use utoipa::{OpenApi, ToSchema};

use super::callable::CallableState;
use super::error::ApiError;
use super::rate_limit::{RateLimitKey, RateLimiter};
use super::readable::is_readable;
use super::withdrawals::address;
use crate::agent_wallet::offer_selection::OwnAddresses;
use crate::agent_wallet::paid_http_client::AgentWalletClient;
use crate::agent_wallet::signer::SealedWalletSigner;
use crate::vault::Vault;

/// What these functions need.
pub struct AgentWalletState {
    /// Reads calls, and the engine.
    pub callables: CallableState,
    /// Makes keys and reads balances.
    pub wallets: Arc<SealedWalletSigner>,
    /// Makes the calls that are paid for.
    pub paid_http_client: Arc<AgentWalletClient>,
    /// Opens what servers answered.
    pub vault: Arc<Vault>,
    /// Which day it is.
    pub clock: Arc<dyn Clock>,
    /// Ids.
    pub entropy: Arc<dyn Entropy>,
    /// Of a new wallet.
    pub limits: WalletCaps,
    /// How often an account may spend.
    pub rate_limiter: RateLimiter,
    /// Our own addresses, which nothing is transferred to and no other server is paid at.
    pub own_addresses: OwnAddresses,
    /// Our own origin: what begins with it is a route.
    pub public_url: String,
    /// How long a call waits for its spend before it answers that it is on its way.
    pub response_timeout: Duration,
}

type SharedState = axum::extract::State<Arc<AgentWalletState>>;

/// The operations of this room.
#[derive(OpenApi)]
#[openapi(paths(
    wallet::create_agent_wallet,
    wallet::get_agent_wallet,
    wallet::get_agent_spend_limit,
    pay::agent_x402_pay,
    transfer::agent_wallet_transfer,
    address_book::list_address_book,
    address_book::save_address_book_entry,
    address_book::delete_address_book_entry
))]
pub struct ApiDoc;

/// The routes.
pub fn router(room: Arc<AgentWalletState>) -> Router {
    Router::new()
        .route("/createAgentWallet", post(wallet::create_agent_wallet))
        .route("/getAgentWallet", post(wallet::get_agent_wallet))
        .route("/getAgentSpendLimit", post(wallet::get_agent_spend_limit))
        .route("/agentX402Pay", post(pay::agent_x402_pay))
        .route("/agentWalletTransfer", post(transfer::agent_wallet_transfer))
        .route("/listAddressBook", post(address_book::list_address_book))
        .route("/saveAddressBookEntry", post(address_book::save_address_book_entry))
        .route("/deleteAddressBookEntry", post(address_book::delete_address_book_entry))
        .with_state(room)
}

/// What functions take that take nothing.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct EmptyRequest {}

impl AgentWalletState {
    /// The caller's wallet.
    ///
    /// # Errors
    /// 404 `agent_wallet_not_found`.
    async fn load_owned(&self, owner: &Wallet) -> Result<AgentWallet, ApiError> {
        let read = self.callables.engine.agent_wallet(owner).await;
        read.map_err(|_| ApiError::internal())?.ok_or_else(unknown)
    }
}

impl AgentWalletState {
    /// Counts a call that spends, once it is known to be a new one.
    ///
    /// # Errors
    /// 429 `rate_limited`.
    fn count(&self, owner: Wallet) -> Result<(), ApiError> {
        let budget = self.rate_limiter.count(RateLimitKey::Wallet(owner), self.clock.now());
        match budget.allowed {
            true => Ok(()),
            false => Err(ApiError::rate_limited(u64::from(budget.reset_seconds))),
        }
    }
}

fn unknown() -> ApiError {
    ApiError::not_found("agent_wallet_not_found", "This account has no managed wallet.")
        .hint("Make it with createAgentWallet.")
}

/// The wallet's refusal. What a person's limits forbid is `policy_filtered`, as what the agent's own pins do.
pub(super) fn payment_error(rejection: &Rejection) -> ApiError {
    match rejection {
        Rejection::NotFound => unknown(),
        Rejection::PerCallCap { cap } => {
            let error = format!("One call may spend {} US dollars.", cap.decimal());
            policy_filtered(error).hint("The account's owner sets the cap on the account page.")
        }
        Rejection::DailyCap { cap, left } => {
            let (cap, left) = (cap.decimal(), left.decimal());
            let error = format!("A day may spend {cap} US dollars (UTC), and {left} are left.");
            policy_filtered(error).hint("The account's owner sets the cap on the account page.")
        }
        Rejection::Insufficient { available } => {
            let error = format!("Only {} USDC is available on that network.", available.decimal());
            ApiError::new(StatusCode::CONFLICT, "insufficient_balance", error)
                .hint("Send USDC to the wallet's address, for example with POST /withdraw.")
        }
        Rejection::TooManyPending => ApiError::unavailable(
            "wallet_payment_limit_reached",
            "Too many of its spends are on their way.",
            1,
        ),
        Rejection::AddressNotFound => ApiError::not_found("address_not_found", "No such address is kept."),
        Rejection::AddressBookFull => ApiError::new(
            StatusCode::CONFLICT,
            "address_limit_reached",
            "The address book is full.",
        ),
    }
}

/// 403: nothing was signed.
fn policy_filtered(error: impl Into<std::borrow::Cow<'static, str>>) -> ApiError {
    ApiError::forbidden("policy_filtered", error)
}

/// `base`, `solana` or a CAIP-2 name.
fn network(name: &'static str, text: &str) -> Result<Network, ApiError> {
    let known = |network: &Network| text == network.name() || text == network.caip2();
    Network::ALL.into_iter().find(known).ok_or_else(|| {
        let error = format!(
            "`{name}` must be one of: base, solana, {}, {}.",
            Network::Base.caip2(),
            Network::Solana.caip2()
        );
        ApiError::parameter("parameter_invalid", name, error)
    })
}

/// Readable text of at most so many characters.
pub(super) fn text(name: &'static str, text: &str, most: usize) -> Result<String, ApiError> {
    let text = text.trim();
    if !is_readable(text, most) {
        let error = format!("`{name}` must be readable text of 1 to {most} characters.");
        return Err(ApiError::parameter("parameter_invalid", name, error));
    }
    Ok(text.to_owned())
}

/// Characters of a note.
const MAX_NOTE_LEN: usize = 200;

fn note(note: Option<&str>) -> Result<Option<String>, ApiError> {
    note.map(|note| text("note", note, MAX_NOTE_LEN)).transpose()
}
