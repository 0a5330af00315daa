//! Callable functions of the managed agent wallet. An account has one wallet. Its owner sets the limits and its agents
//! spend from it.

mod address_book;
mod call_target;
mod pay;
pub(super) mod payments;
mod seller_error;
mod transfer;
mod wallet;

use std::sync::Arc;
use std::time::Duration;

use purser_actors::entity::agent_wallet::{AgentWallet, Rejection, refusal_of};
use purser_actors::entity::spend_approval::{ExceededLimit, SpendAgent, SpendLimit};
use purser_actors::id::{Network, Wallet};
use purser_actors::money::Cents;
use serde::Deserialize;

use super::app::App;
use super::auth::{AuthClaims, TokenError};
use super::error::{ApiError, ErrorCode};
use super::rate_limit::RateLimitKey;
use super::readable::is_readable;
use super::route::routes;
use super::withdrawals::address;

type SharedState = axum::extract::State<Arc<App>>;

routes! { pub static ROUTES: Arc<App>, openapi;
    POST "/createAgentWallet" => wallet::create_agent_wallet {
        Callable, keyed(), refuses [
            TokenMissing, IdempotencyKeyInvalid, ParameterUnrecognized, UserIdMismatch, AccountFrozen, SignInRequired,
            IdempotencyKeyReused,
        ]
    }
    POST "/getAgentWallet" => wallet::get_agent_wallet {
        Callable, unkeyed("reads"), refuses [
            TokenMissing, ParameterUnrecognized, UserIdMismatch, AccountFrozen, AgentWalletNotFound,
            WalletPaymentNotFound,
        ]
    }
    POST "/getAgentSpendLimit" => wallet::get_agent_spend_limit {
        Callable, unkeyed("reads"), refuses [
            TokenMissing, ParameterUnrecognized, UserIdMismatch, AccountFrozen, AgentWalletNotFound,
        ]
    }
    POST "/agentX402Pay" => pay::agent_x402_pay {
        Callable, keyed(), confirmed(), refuses [
            TokenMissing, IdempotencyKeyInvalid, ParameterUnrecognized, ParameterMissing, ParameterInvalid,
            AmountInvalid, UserIdMismatch, AccountFrozen, SignInRequired, IdempotencyKeyReused, AgentWalletNotFound,
            PolicyFiltered, InsufficientBalance, HttpError,
        ]
    }
    POST "/agentWalletTransfer" => transfer::agent_wallet_transfer {
        Callable, keyed(), confirmed(), refuses [
            TokenMissing, IdempotencyKeyInvalid, ParameterUnrecognized, ParameterMissing, AmountInvalid,
            ParameterInvalid, UserIdMismatch, AccountFrozen, SignInRequired, IdempotencyKeyReused, AgentWalletNotFound,
            AddressNotFound, TokenAccountMissing, PolicyFiltered, InsufficientBalance,
        ]
    }
    POST "/listAddressBook" => address_book::list_address_book {
        Callable, unkeyed("reads"), refuses [
            TokenMissing, ParameterUnrecognized, UserIdMismatch, AccountFrozen, AgentWalletNotFound,
        ]
    }
    POST "/saveAddressBookEntry" => address_book::save_address_book_entry {
        Callable, keyed(), confirmed(), refuses [
            TokenMissing, IdempotencyKeyInvalid, ParameterUnrecognized, ParameterMissing, ParameterInvalid,
            UserIdMismatch, AccountFrozen, SignInRequired, IdempotencyKeyReused, AgentWalletNotFound, AddressNotFound,
            AddressLimitReached,
        ]
    }
    POST "/deleteAddressBookEntry" => address_book::delete_address_book_entry {
        Callable, keyed(), refuses [
            TokenMissing, IdempotencyKeyInvalid, ParameterUnrecognized, ParameterMissing, UserIdMismatch,
            AccountFrozen, SignInRequired, IdempotencyKeyReused, AgentWalletNotFound, AddressNotFound,
        ]
    }
}

/// Request without members.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct EmptyRequest {}

impl App {
    /// Loads the caller's wallet.
    ///
    /// # Errors
    /// 404 `agent_wallet_not_found`.
    async fn load_owned_wallet(&self, owner: &Wallet) -> Result<AgentWallet, ApiError> {
        let read = self.engine.agent_wallet(owner).await;
        read.map_err(|_| ApiError::internal())?.ok_or_else(unknown)
    }

    /// How long a call waits for its payment before it answers `pending`. The time before and after the wait counts
    /// too.
    fn wallet_response_timeout(&self) -> Duration {
        let rest = self.config.outbound.response_timeout_ms.saturating_add(5_000);
        Duration::from_millis(self.config.server.request_timeout_ms.saturating_sub(rest))
    }

    /// Counts a new payment call against the rate limit.
    ///
    /// # Errors
    /// 429 `rate_limited`.
    fn count_wallet_call(&self, owner: Wallet) -> Result<(), ApiError> {
        let budget = self
            .wallet_rate_limiter
            .count(RateLimitKey::Wallet(owner), self.clock.now());
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
        Rejection::AgentsStopped => ApiError::agents_stopped(),
        Rejection::AccessEnded => TokenError::Revoked.into(),
        Rejection::PerCallCap { cap } => {
            let error = format!("One call may spend {} US dollars.", cap.decimal());
            policy_filtered(error).hint("The account's owner sets the cap on the account page.")
        }
        Rejection::DailyCap { cap, left } => {
            let (cap, left) = (cap.decimal(), left.decimal());
            let error = format!("A day may spend {cap} US dollars (UTC), and {left} are left.");
            policy_filtered(error).hint("The account's owner sets the cap on the account page.")
        }
        Rejection::KeyPerCallCap { cap } => {
            let error = format!("One call of this API key may spend {} US dollars.", cap.decimal());
            policy_filtered(error).hint("The account's owner sets the limit of the key on the account page.")
        }
        Rejection::KeyDailyCap { cap, left } => {
            let (cap, left) = (cap.decimal(), left.decimal());
            let error = format!("A day of this API key may spend {cap} US dollars (UTC), and {left} are left.");
            policy_filtered(error).hint("The account's owner sets the limit of the key on the account page.")
        }
        Rejection::OverLimit(over) => over_limit(over),
        // The engine asks the owner instead, so that no key records it.
        Rejection::ApprovalRequired => {
            ApiError::unavailable(ErrorCode::ServiceUnavailable, "The owner could not be asked now.", 1)
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

/// 403 for the limits per merchant, and for what agents take from a balance.
fn over_limit(over: &ExceededLimit) -> ApiError {
    let (cap, left) = (over.cap.decimal(), over.left.decimal());
    let error = match over.limit {
        SpendLimit::MerchantPerDay if over.cap == Cents::ZERO => "This merchant may not be paid.".to_owned(),
        SpendLimit::MerchantPerDay => {
            format!("A day may spend {cap} US dollars at this merchant (UTC), and {left} are left.")
        }
        SpendLimit::BalancePerCall => format!("An agent may take {cap} US dollars at once."),
        SpendLimit::BalancePerDay => {
            format!("Agents may take {cap} US dollars in a day (UTC), and {left} are left.")
        }
        SpendLimit::PerCall | SpendLimit::PerDay | SpendLimit::KeyPerCall | SpendLimit::KeyPerDay => {
            return payment_error(&refusal_of(over));
        }
    };
    policy_filtered(error).hint("The account's owner sets the limit on the account page.")
}

/// The agent behind a token.
fn agent(claims: &AuthClaims) -> SpendAgent {
    SpendAgent {
        session: Some(claims.session),
        key: claims.amr.key(),
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
