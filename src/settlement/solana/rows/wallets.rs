//! What left managed wallets, in the order in which it was read, and how far each wallet was read.

use purser_chains::solana::{Pubkey, Signature};
use purser_storage::codec::{self, Stored};
use purser_storage::{Condition, Write};

use super::{Moved, RowError, Rows, key, put};

/// How far a wallet was read, by its address; without one the number of rows of [`LEFT`].
const WALLET: u8 = b'r';
/// Transfers out of managed wallets, by number from 1.
const LEFT: u8 = b'v';

/// A final transfer out of a managed wallet.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(in crate::settlement::solana) struct LeftWallet {
    pub(in crate::settlement::solana) wallet: Pubkey,
    pub(in crate::settlement::solana) moved: Moved,
}

impl Stored for LeftWallet {
    const SCHEMA: u16 = 528;
}

/// How far a wallet was read: its newest final transaction, which may have moved nothing.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
struct ReadTo(Signature);

impl Stored for ReadTo {
    const SCHEMA: u16 = 529;
}

/// How many rows there are.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
struct Count(u64);

impl Stored for Count {
    const SCHEMA: u16 = 530;
}

impl Rows {
    /// The newest final transaction of a wallet that was read.
    pub(in crate::settlement::solana) async fn read_to(&self, wallet: &Pubkey) -> Result<Option<Signature>, RowError> {
        let read: Option<ReadTo> = self.one(&key(WALLET, &[wallet])).await?;
        Ok(read.map(|read| read.0))
    }

    /// Adds what left a wallet, together with how far it is read by now. One caller at a time.
    pub(in crate::settlement::solana) async fn add_left(
        &self,
        wallet: &Pubkey,
        moved: Vec<Moved>,
        read_to: Signature,
    ) -> Result<(), RowError> {
        let at = key(WALLET, &[]);
        let revision = self.0.read(&at).await?.map_or(0, |row| row.revision);
        let mut count = self.count_left().await?;
        let mut writes = vec![put(key(WALLET, &[wallet]), &ReadTo(read_to))];
        for moved in moved {
            count += 1;
            let left = LeftWallet { wallet: *wallet, moved };
            writes.push(put(key(LEFT, &[&count.to_be_bytes()]), &left));
        }
        writes.push(Write::Put {
            key: at.clone(),
            revision: revision + 1,
            value: codec::encode(&Count(count)),
        });
        self.commit(vec![Condition::Revision(at, revision)], writes).await
    }

    /// How many transfers out of managed wallets there are.
    pub(in crate::settlement::solana) async fn count_left(&self) -> Result<u64, RowError> {
        let count: Option<Count> = self.one(&key(WALLET, &[])).await?;
        Ok(count.map_or(0, |count| count.0))
    }

    /// What left managed wallets behind a number, at most `limit`, with their numbers.
    pub(in crate::settlement::solana) async fn left_wallets(
        &self,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(u64, LeftWallet)>, RowError> {
        let (prefix, after) = (key(LEFT, &[]), key(LEFT, &[&after.to_be_bytes()]));
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
