//! Outgoing funds that are on hold or can't be accepted now.

use purser_actors::engine::{Engine, GateHold, ReservationError};
use purser_actors::kernel::JsonObject;
use purser_actors::kernel::job::AnyJob;

use super::error::{ApiError, ErrorCode};

/// Why the gate holds a job, if it does.
///
/// # Errors
/// 500 when storage fails.
pub(super) async fn hold_reason(engine: &Engine, job: impl Into<AnyJob>) -> Result<Option<GateHold>, ApiError> {
    engine.gate_hold(&job.into()).await.map_err(|_| ApiError::internal())
}

/// Adds the hold reason, if any: `held_frozen`, `held_restored` or `held_unfinal`.
///
/// # Errors
/// 500 when storage fails.
pub(super) async fn with_hold_reason(engine: &Engine, job: AnyJob, view: JsonObject) -> Result<JsonObject, ApiError> {
    Ok(match hold_reason(engine, job).await? {
        Some(held) => view.text("held", held.name()),
        None => view,
    })
}

/// Rejects withdrawals after a restore while balances may still include funds that have already left. The error is not
/// recorded.
///
/// # Errors
/// 503 `withdrawals_paused`.
pub(super) fn require_withdrawals_active(engine: &Engine) -> Result<(), ApiError> {
    if !engine.are_withdrawals_paused() {
        return Ok(());
    }
    let error = "Nothing leaves a balance until the books have been checked after a restore.";
    Err(ApiError::unavailable(ErrorCode::WithdrawalsPaused, error, 60)
        .hint("Nothing was held or sent. Ask again later."))
}

/// Error for a transfer that its chain or receiver can't accept. Nothing was held, and the error is not recorded.
pub(super) fn transfer_error(why: ReservationError, param: &'static str) -> ApiError {
    match why {
        ReservationError::CannotReceive => {
            let error = "This owner on Solana has no token account for USDC.";
            ApiError::new(ErrorCode::TokenAccountMissing, error)
                .param(param)
                .hint("Open one, or have the address receive USDC once, and ask again; or name an address on Base. Nothing was held.")
        }
        ReservationError::InsufficientTreasury(network) => ApiError::unavailable(
            ErrorCode::InsufficientLiquidity,
            format!("There is too little USDC on {} for this now.", network.name()),
            60,
        )
        .hint("Ask again later, for less, or for the other network. Nothing was held."),
        ReservationError::Unavailable => {
            let error = "The chain cannot be read now. Nothing was held.";
            ApiError::unavailable(ErrorCode::ChainUnavailable, error, 2)
        }
    }
}
