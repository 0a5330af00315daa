//! Shards of entities.

/// Shard of an entity, 0 to 4095: the first 12 bits of its id. A wallet's is that of its digest. Ids that are minted for
/// an account are in the account's shard, so a fleet of nodes can divide accounts among them without changing an id.
///
/// Ids that are derived from what others name (deposits, bank transfers that came in, orders at providers) and ids of
/// the service itself (approvals, discrepancies) have the shard that their digest gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShardId(u16);

impl ShardId {
    /// Bits of an id that hold its shard.
    const BITS: u32 = 12;
    /// Remaining bits of an id.
    const REST: u32 = u128::BITS - Self::BITS;

    /// Shard of an id.
    pub const fn of_id(id: u128) -> Self {
        Self((id >> Self::REST) as u16)
    }

    /// Shard of the entity with this key: 16 bytes are an id, anything else is a wallet.
    pub(crate) fn of_key(key: &[u8]) -> Self {
        match <[u8; 16]>::try_from(key) {
            Ok(id) => Self::of_id(u128::from_be_bytes(id)),
            Err(_) => super::Wallet::from_key(key).map_or(Self(0), |wallet| wallet.shard()),
        }
    }

    /// An id in this shard. The first 12 of the random bits are replaced.
    pub const fn assign(self, random: u128) -> u128 {
        ((self.0 as u128) << Self::REST) | (random & (u128::MAX >> Self::BITS))
    }
}

#[cfg(test)]
mod tests {
    use super::ShardId;
    use crate::id::{CardId, Wallet};
    use crate::kernel::EntityId as _;

    // Checks: an id keeps its shard and 116 of its bits, in text and in its row's key; a wallet's shard follows from its
    // address alone.
    #[test]
    fn minted_ids_are_in_their_shard() {
        for wallet in [Wallet::Evm([7; 20]), Wallet::Solana([9; 32])] {
            let shard = wallet.shard();
            assert_eq!(shard, ShardId::of_key(&wallet.key()));
            for random in [0, 1, u128::MAX, 0x0123_4567_89ab_cdef_0123_4567_89ab_cdef] {
                let id = CardId::mint(shard, random);
                assert_eq!(ShardId::of_id(id.0), shard);
                assert_eq!(ShardId::of_key(&id.key()), shard);
                assert_eq!(id.0 << 12, random << 12);
            }
        }
        assert_ne!(Wallet::Evm([7; 20]).shard(), Wallet::Evm([8; 20]).shard());
    }
}
