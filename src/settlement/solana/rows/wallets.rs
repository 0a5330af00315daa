//! Outgoing transfers of managed wallets in the order of reading, and the read position of each wallet.

use purser_chains::solana::{Pubkey, Signature};
use purser_storage::codec::{self, Stored};
use purser_storage::{Condition, Write};

use super::{MovementRow, RowError, Rows, key, put};

/// Read position of a wallet, by address; without an address, the number of rows of [`WALLET_TRANSFER`].
const WALLET: u8 = b'r';
/// Outgoing transfers of managed wallets, by number from 1.
const WALLET_TRANSFER: u8 = b'v';

/// A final outgoing transfer of a managed wallet.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(in crate::solana) struct WalletTransfer {
    pub(in crate::solana) wallet: Pubkey,
    pub(in crate::solana) movement: MovementRow,
}

impl Stored for WalletTransfer {
    const SCHEMA: u16 = 528;
}

/// Read position of a wallet: its newest final transaction, which may have no transfer.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
struct WalletCursor(Signature);

impl Stored for WalletCursor {
    const SCHEMA: u16 = 529;
}

/// Number of rows.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
struct Count(u64);

impl Stored for Count {
    const SCHEMA: u16 = 530;
}

impl Rows {
    /// The newest final transaction that was read of a wallet.
    pub(in crate::solana) async fn wallet_cursor(&self, wallet: &Pubkey) -> Result<Option<Signature>, RowError> {
        let read: Option<WalletCursor> = self.one(&key(WALLET, &[wallet])).await?;
        Ok(read.map(|read| read.0))
    }

    /// Adds outgoing transfers of a wallet, together with its new read position. Only one caller at a time.
    pub(in crate::solana) async fn add_wallet_transfers(
        &self,
        wallet: &Pubkey,
        moved: Vec<MovementRow>,
        read_to: Signature,
    ) -> Result<(), RowError> {
        let at = key(WALLET, &[]);
        let revision = self.0.read(&at).await?.map_or(0, |row| row.revision);
        let mut count = self.count_wallet_transfers().await?;
        let mut writes = vec![put(key(WALLET, &[wallet]), &WalletCursor(read_to))];
        for moved in moved {
            count += 1;
            let left = WalletTransfer {
                wallet: *wallet,
                movement: moved,
            };
            writes.push(put(key(WALLET_TRANSFER, &[&count.to_be_bytes()]), &left));
        }
        writes.push(Write::Put {
            key: at.clone(),
            revision: revision + 1,
            value: codec::encode(&Count(count)),
        });
        self.commit(vec![Condition::Revision(at, revision)], writes).await
    }

    /// Number of outgoing transfers of managed wallets.
    pub(in crate::solana) async fn count_wallet_transfers(&self) -> Result<u64, RowError> {
        let count: Option<Count> = self.one(&key(WALLET, &[])).await?;
        Ok(count.map_or(0, |count| count.0))
    }

    /// Outgoing transfers of managed wallets after a number, at most `limit`, with their numbers.
    pub(in crate::solana) async fn wallet_transfers(
        &self,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(u64, WalletTransfer)>, RowError> {
        let (prefix, after) = (key(WALLET_TRANSFER, &[]), key(WALLET_TRANSFER, &[&after.to_be_bytes()]));
        let page = self.0.scan(&prefix, Some(&after), limit).await?;
        let mut left = Vec::with_capacity(page.len());
        for (key, row) in page {
            if let Ok(number) = key[prefix.len()..].try_into() {
                left.push((u64::from_be_bytes(number), codec::decode(&row.value)?));
            }
        }
        Ok(left)
    }
}
