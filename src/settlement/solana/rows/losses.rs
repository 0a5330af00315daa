//! Fees lost to failed payments, by transaction signature.

use purser_actors::port::Timestamp;
use purser_chains::solana::{Pubkey, Signature};
use purser_storage::codec::Stored;
use purser_storage::{Batch, CommitError, Write};

use super::{RowError, Rows, key, put};

const LOST: u8 = b'l';

/// The fee lost to one failed payment.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(in crate::solana) struct LostFee {
    pub(in crate::solana) payer: Pubkey,
    pub(in crate::solana) lamports: u64,
    pub(in crate::solana) at: Timestamp,
}

impl Stored for LostFee {
    const SCHEMA: u16 = 531;
}

impl Rows {
    /// Does not wait for durability.
    pub(in crate::solana) fn record_loss(&self, id: &Signature, lost: &LostFee) {
        let batch = Batch {
            writes: vec![put(key(LOST, &[id]), lost)],
            ..Batch::default()
        };
        let on_commit = |result: Result<_, CommitError>| {
            if let Err(error) = result {
                tracing::error!(%error, "what a payer has cost could not be written: a restart forgets it");
            }
        };
        self.0.commit(batch, Box::new(on_commit));
    }

    /// Losses since this time, oldest first; earlier ones are deleted.
    pub(in crate::solana) async fn losses(&self, since: Timestamp) -> Result<Vec<LostFee>, RowError> {
        let (mut all, mut old) = (Vec::new(), Vec::new());
        for (id, lost) in self.all::<LostFee>(LOST, None).await? {
            match lost.at >= since {
                true => all.push(lost),
                false => old.push(Write::Delete { key: key(LOST, &[&id]) }),
            }
        }
        if !old.is_empty() {
            self.commit(Vec::new(), old).await?;
        }
        all.sort_by_key(|lost| lost.at);
        Ok(all)
    }
}
