//! Callable functions of the managed agent wallet. An account has one wallet. Its owner sets the limits and its agents
//! spend from it.

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
use purser_actors::agent_wallet::{AgentWallet, Rejection, WalletCaps};
use purser_actors::id::{Network, Wallet};
use purser_actors::port::{Clock, Entropy};
use serde::Deserialize;
use utoipa::{OpenApi, ToSchema};

use super::callable::CallableState;
use super::error::{ApiError, ErrorCode};
use super::rate_limit::{RateLimitKey, RateLimiter};
use super::readable::is_readable;
use super::withdrawals::address;
use crate::agent_wallet::offer_selection::OwnAddresses;
use crate::agent_wallet::paid_http_client::AgentWalletClient;
use crate::agent_wallet::signer::SealedWalletSigner;
use crate::vault::Vault;

pub struct AgentWalletState {
    pub callables: CallableState,
    /// Creates wallets, signs and reads balances.
    pub wallets: Arc<SealedWalletSigner>,
    /// Makes the paid calls.
    pub paid_http_client: Arc<AgentWalletClient>,
    /// Decrypts stored server responses.
    pub vault: Arc<Vault>,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    /// Default caps of a new wallet.
    pub limits: WalletCaps,
    /// Limits the payments of an account per window.
    pub rate_limiter: RateLimiter,
    /// Addresses of the service. Transfers to them and payments to them by other servers are rejected.
    pub own_addresses: OwnAddresses,
    /// Public origin of the service. URLs that start with it are routes.
    pub public_url: String,
    /// How long a call waits for its payment before it answers `pending`.
    pub response_timeout: Duration,
}

type SharedState = axum::extract::State<Arc<AgentWalletState>>;

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

pub fn router(state: Arc<AgentWalletState>) -> Router {
    Router::new()
        .route("/createAgentWallet", post(wallet::create_agent_wallet))
        .route("/getAgentWallet", post(wallet::get_agent_wallet))
        .route("/getAgentSpendLimit", post(wallet::get_agent_spend_limit))
        .route("/agentX402Pay", post(pay::agent_x402_pay))
        .route("/agentWalletTransfer", post(transfer::agent_wallet_transfer))
        .route("/listAddressBook", post(address_book::list_address_book))
        .route("/saveAddressBookEntry", post(address_book::save_address_book_entry))
        .route("/deleteAddressBookEntry", post(address_book::delete_address_book_entry))
        .with_state(state)
}

/// Request without members.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct EmptyRequest {}

impl AgentWalletState {
    /// Loads the caller's wallet.
    ///
    /// # Errors
    /// 404 `agent_wallet_not_found`.
    async fn load_owned(&self, owner: &Wallet) -> Result<AgentWallet, ApiError> {
        let read = self.callables.engine.agent_wallet(owner).await;
        read.map_err(|_| ApiError::internal())?.ok_or_else(unknown)
    }
}

impl AgentWalletState {
    /// Counts a new payment call against the rate limit.
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
    ApiError::new(ErrorCode::AgentWalletNotFound, "This account has no managed wallet.")
        .hint("Make it with createAgentWallet.")
}

/// Maps a rejection of the wallet to an error. The owner's limits and the agent's pins are both `policy_filtered`.
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
            ApiError::new(ErrorCode::InsufficientBalance, error)
                .hint("Send USDC to the wallet's address, for example with POST /withdraw.")
        }
        Rejection::TooManyPending => ApiError::unavailable(
            ErrorCode::WalletPaymentLimitReached,
            "Too many of its spends are on their way.",
            1,
        ),
        Rejection::AddressNotFound => ApiError::new(ErrorCode::AddressNotFound, "No such address is kept."),
        Rejection::AddressBookFull => ApiError::new(ErrorCode::AddressLimitReached, "The address book is full."),
    }
}

/// 403 `policy_filtered`: nothing was signed.
fn policy_filtered(error: impl Into<std::borrow::Cow<'static, str>>) -> ApiError {
    ApiError::new(ErrorCode::PolicyFiltered, error)
}

/// Parses `base`, `solana` or a CAIP-2 name.
fn network(name: &'static str, text: &str) -> Result<Network, ApiError> {
    let known = |network: &Network| text == network.name() || text == network.caip2();
    Network::ALL.into_iter().find(known).ok_or_else(|| {
        let error = format!(
            "`{name}` must be one of: base, solana, {}, {}.",
            Network::Base.caip2(),
            Network::Solana.caip2()
        );
        ApiError::parameter(ErrorCode::ParameterInvalid, name, error)
    })
}

/// Checks that the text is readable and has at most `most` characters.
pub(super) fn text(name: &'static str, text: &str, most: usize) -> Result<String, ApiError> {
    let text = text.trim();
    if !is_readable(text, most) {
        let error = format!("`{name}` must be readable text of 1 to {most} characters.");
        return Err(ApiError::parameter(ErrorCode::ParameterInvalid, name, error));
    }
    Ok(text.to_owned())
}

/// Limit in characters.
const MAX_NOTE_LEN: usize = 200;

fn note(note: Option<&str>) -> Result<Option<String>, ApiError> {
    note.map(|note| text("note", note, MAX_NOTE_LEN)).transpose()
}
