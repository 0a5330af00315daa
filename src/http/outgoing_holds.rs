//! Money that does not leave now: what is not taken on, and what waits at the gate.

use http::StatusCode;
use purser_actors::engine::{Engine, ReservationError};
use purser_actors::kernel::JsonObject;
use purser_actors::kernel::job::Job;

use super::error::ApiError;

/// Adds why it waits, if it does: `held_frozen`, `held_restored` or `held_unfinal`.
///
/// # Errors
/// 500 when storage fails.
pub(super) async fn with_hold_reason(engine: &Engine, work: &Job, view: JsonObject) -> Result<JsonObject, ApiError> {
    let held = engine.gate_hold(work).await.map_err(|_| ApiError::internal())?;
    Ok(match held {
        Some(held) => view.text("held", held.name()),
        None => view,
    })
}

/// After a restore, while the balances may still lack what has left already. Nothing is remembered of it.
///
/// # Errors
/// 503 `withdrawals_paused`.
pub(super) fn require_withdrawals_active(engine: &Engine) -> Result<(), ApiError> {
    if !engine.are_withdrawals_paused() {
        return Ok(());
    }
    let error = "Nothing leaves a balance until the books have been checked after a restore.";
    Err(ApiError::unavailable("withdrawals_paused", error, 60).hint("Nothing was held or sent. Ask again later."))
}

/// The refusal of a transfer that its chain or its receiver could not take. Nothing was held, and nothing is remembered.
pub(super) fn transfer_error(why: ReservationError, param: &'static str) -> ApiError {
    match why {
        ReservationError::CannotReceive => {
            let error = "This owner on Solana has no token account for USDC.";
            ApiError::new(StatusCode::CONFLICT, "token_account_missing", error)
                .param(param)
                .hint("Open one, or have the address receive USDC once, and ask again; or name an address on Base. Nothing was held.")
        }
        ReservationError::InsufficientTreasury(network) => ApiError::unavailable(
            "insufficient_liquidity",
            format!("There is too little USDC on {} for this now.", network.name()),
            60,
        )
        .hint("Ask again later, for less, or for the other network. Nothing was held."),
        ReservationError::Unavailable => {
            let error = "The chain cannot be read now. Nothing was held.";
            ApiError::unavailable("chain_unavailable", error, 2)
        }
    }
}
