//! Payments whose outcome is not known.

use super::{NotResolved, Outcome, Resolution};
use crate::engine::Engine;
use crate::engine::stuck::Says;
use crate::engine::work::within;
use crate::id::PaymentId;
use crate::payment::Payment;
use crate::port::{Authorization, Finality, Lookup, Movement, TransferName};
use crate::reconcile::Standing;

/// How long after a signature's own end it is taken for dead where the chain does not answer, in milliseconds: no chain's
/// clock is as far behind.
const DEAD_MS: u64 = 3_600_000;

impl Engine {
    /// A payment whose outcome is not known. What is on a chain is there for everybody to see: nobody's word stands for it. That
    /// it never landed is believed once the signature is dead, though the chain does not answer.
    pub(super) async fn landed_or_never(
        &self,
        id: PaymentId,
        resolution: &Resolution,
        says: &Says,
    ) -> Result<Lookup, NotResolved> {
        let payment = self.doubted(id).await?.ok_or(NotResolved::NotStuck)?;
        match resolution.outcome {
            Outcome::Done => {
                let transaction = TransferName::transaction_of(&resolution.reference).to_owned();
                self.shows(&payment, &transaction).await?;
                // The list does not say how deep it is.
                let finality = Finality::Seen;
                self.0.departures.settles(finality);
                Ok(Lookup::Landed { transaction, finality })
            }
            Outcome::NotDone if *says == Says::Stands(Standing::Refused) || self.is_dead(&payment) => {
                Ok(Lookup::Impossible)
            }
            Outcome::NotDone => Err(NotResolved::Early),
        }
    }

    /// Whether the chain's list has this payment as that transaction: by its mark, which only a payer's own payments have apart,
    /// and so by payer and price too.
    async fn shows(&self, payment: &Payment, transaction: &str) -> Result<(), NotResolved> {
        let authorization = &payment.claim.authorization;
        let treasury = self.0.lists.treasury.as_ref().ok_or(NotResolved::Unavailable)?;
        let moved = treasury.in_transaction(authorization.network(), transaction);
        let is_this = |moved: &Movement| {
            (moved.incoming, moved.mark, moved.other, moved.amount)
                == (true, authorization.mark(), payment.payer(), payment.price())
        };
        match within(self.patience(), moved, "in transaction").await {
            Ok(moved) if moved.iter().any(is_this) => Ok(()),
            Ok(_) => Err(NotResolved::Contradicted(Standing::NotAsked)),
            Err(error) => {
                tracing::warn!(transaction, %error, "it cannot be said what the chain shows of a transfer");
                Err(NotResolved::Unavailable)
            }
        }
    }

    /// Whether its signature can no longer be used, by its own terms and a wide margin.
    fn is_dead(&self, payment: &Payment) -> bool {
        let end_ms = match &payment.claim.authorization {
            Authorization::Evm(signed) => signed.valid_before.saturating_mul(1_000),
            // A blockhash is recent for minutes.
            Authorization::Solana(_) => payment.claim.at.0,
        };
        end_ms.saturating_add(DEAD_MS) < self.0.clock.now().0
    }
}
