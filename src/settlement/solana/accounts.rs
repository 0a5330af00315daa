//! Service-side queries in addition to the engine's port: recent blockhashes, balances and chain time.

use purser_actors::port::{PortError, Timestamp};
use purser_chains::solana::node::Blockhash;

use super::SolanaSettlement;
use crate::errors::temporary;

impl SolanaSettlement {
    /// The newest blockhash that was read, and its age in milliseconds. Does not query the chain.
    pub fn recent_blockhash(&self) -> Option<(Blockhash, u64)> {
        let (blockhash, read_ms) = self.tip.lock().newest()?;
        Some((blockhash, self.timer.now_ms().saturating_sub(read_ms)))
    }

    /// The clock's time, once the chain is being read: no validity on Solana depends on the clock.
    ///
    /// # Errors
    /// `Temporary` before the first block was read.
    pub fn chain_time(&self) -> Result<Timestamp, PortError> {
        let read = self.recent_blockhash().map(|_| self.clock.now());
        read.ok_or_else(|| temporary("chain time", "no block of the chain was read yet"))
    }
}
