//! Resolves payments with an unknown outcome.

use super::{JobOutcome, JobResolution, ResolveError};
use crate::engine::Engine;
use crate::engine::dead_letters::ProviderReport;
use crate::engine::jobs::with_timeout_ms;
use crate::entity::payment::{self, Payment};
use crate::id::{PaymentId, TransferName};
use crate::kernel::job::AnyJob;
use crate::port::{Authorization, ChainMovement, ChainStatus, Finality};
use crate::reconciliation::EntryStatus;

/// Margin after the end of a signature's validity, in milliseconds, after which it counts as expired even if the chain
/// does not answer. No chain's clock lags that much.
const EXPIRY_MARGIN_MS: u64 = 3_600_000;

/// The payment that a job reads the chain for. Its outcome may be resolved before the job is dead-lettered.
pub(in crate::engine) fn watched_payment(job: &AnyJob) -> Option<PaymentId> {
    match job.typed()? {
        payment::Job::WatchPayment(id) => Some(id),
        _ => None,
    }
}

impl Engine {
    /// The chain's status of a payment with an unknown outcome. A chain is public, so no statement replaces it. That
    /// the payment never settled is accepted once its signature has expired, even if the chain does not answer.
    pub(super) async fn final_chain_status(
        &self,
        id: PaymentId,
        resolution: &JobResolution,
        says: &ProviderReport,
    ) -> Result<ChainStatus, ResolveError> {
        let payment = self
            .resolve_unknown_payment(id)
            .await?
            .ok_or(ResolveError::NotDeadLettered)?;
        match resolution.outcome {
            JobOutcome::Completed => {
                let transaction = TransferName::transaction_of(&resolution.reference).to_owned();
                self.chain_status(&payment, &transaction).await?;
                // The list does not report the depth.
                let finality = Finality::Confirmed;
                self.0.outgoing_guard.note_finality(finality);
                Ok(ChainStatus::Confirmed { transaction, finality })
            }
            JobOutcome::NotCompleted
                if *says == ProviderReport::Status(EntryStatus::Declined) || self.is_expired(&payment) =>
            {
                Ok(ChainStatus::Impossible)
            }
            JobOutcome::NotCompleted => Err(ResolveError::MayStillSettle),
        }
    }

    /// Whether the chain's list has this payment in that transaction. It is matched by its fingerprint, which only one
    /// payer's payment has, so payer and price match too.
    async fn chain_status(&self, payment: &Payment, transaction: &str) -> Result<(), ResolveError> {
        let authorization = &payment.claim.authorization;
        let treasury = self.0.lists.treasury.as_ref().ok_or(ResolveError::Unavailable)?;
        let moved = treasury.in_transaction(authorization.network(), transaction);
        let is_this = |moved: &ChainMovement| {
            (moved.incoming, moved.fingerprint, moved.counterparty, moved.amount)
                == (true, authorization.fingerprint(), payment.payer(), payment.price())
        };
        match with_timeout_ms(self.query_timeout(), moved, "in transaction").await {
            Ok(moved) if moved.iter().any(is_this) => Ok(()),
            Ok(_) => Err(ResolveError::Contradicted(EntryStatus::NotSubmitted)),
            Err(error) => {
                tracing::warn!(transaction, %error, "it cannot be said what the chain shows of a transfer");
                Err(ResolveError::Unavailable)
            }
        }
    }

    /// Whether its signature can no longer be used, by its own terms and a wide margin.
    fn is_expired(&self, payment: &Payment) -> bool {
        let end_ms = match &payment.claim.authorization {
            Authorization::Evm(signed) => signed.valid_before.saturating_mul(1_000),
            // A blockhash is valid for minutes.
            Authorization::Solana(_) => payment.claim.at.0,
        };
        end_ms.saturating_add(EXPIRY_MARGIN_MS) < self.0.clock.now().0
    }
}
