//! Accounts that burns leave on the chain, by the burn's signature.

use purser_actors::port::Timestamp;
use purser_chains::solana::{Pubkey, Signature};
use purser_storage::codec::Stored;
use purser_storage::{RowKey, Write};

use super::{RowError, Rows, key, put};

const EVENT: u8 = b'e';

/// The account of one burn's message.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(in crate::solana) struct EventRow {
    pub(in crate::solana) account: Pubkey,
    pub(in crate::solana) rent_payer: Pubkey,
    /// Rent of the account in lamports.
    pub(in crate::solana) lamports: u64,
    /// When the burn was signed.
    pub(in crate::solana) at: Timestamp,
}

impl Stored for EventRow {
    const SCHEMA: u16 = 525;
}

pub(in crate::solana) fn event(burn: &Signature, row: &EventRow) -> Write {
    put(key(EVENT, &[burn]), row)
}

impl Rows {
    /// Accounts of all prepared burns, with any outcome.
    pub(in crate::solana) async fn events(&self) -> Result<Vec<(Signature, EventRow)>, RowError> {
        let all = self.all(EVENT, None).await?;
        let of = |(key, row): (RowKey, EventRow)| Some((Signature::try_from(&*key).ok()?, row));
        Ok(all.into_iter().filter_map(of).collect())
    }
}
