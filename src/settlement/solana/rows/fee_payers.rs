//! Fee payers of facilitators, whose transactions can be payments to us.

use purser_chains::solana::Pubkey;
use purser_storage::codec::Stored;

use super::{RowError, Rows, key, put};

const FEE_PAYER: u8 = b'n';

/// A fee payer that a facilitator's payment has named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
struct FacilitatorFeePayer(Pubkey);

impl Stored for FacilitatorFeePayer {
    const SCHEMA: u16 = 533;
}

impl Rows {
    /// All stored fee payers.
    pub(in crate::solana) async fn fee_payers(&self) -> Result<Vec<Pubkey>, RowError> {
        let all = self.all::<FacilitatorFeePayer>(FEE_PAYER, None).await?;
        Ok(all.into_iter().map(|(_, row)| row.0).collect())
    }

    /// Stores a fee payer; it is durable when this returns.
    pub(in crate::solana) async fn persist_fee_payer(&self, fee_payer: &Pubkey) -> Result<(), RowError> {
        let row = put(key(FEE_PAYER, &[fee_payer]), &FacilitatorFeePayer(*fee_payer));
        self.commit(Vec::new(), vec![row]).await
    }
}
