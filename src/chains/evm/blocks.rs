//! Follows the blocks of a chain. No I/O: the caller reads blocks, stores changes and calls again.
//!
//! Loop: read the newest header, call [`Follower::next`] and read the block that it names, until it returns `None`.
//! Pass each block to [`Follower::offer`]. Store a returned [`Change`] in one batch, rows and headers, before the next
//! block is offered.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use alloy_primitives::B256;

/// Maximum number of blocks that a reorg may replace.
pub const MAX_REORG: usize = 64;

/// The header fields that link blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Height of the block.
    pub number: u64,
    /// Hash of the block.
    pub hash: B256,
    /// Hash of the parent block.
    pub parent: B256,
    /// Block time in seconds since the Unix epoch.
    pub timestamp: u64,
}

/// A block and the rows read from its logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block<R> {
    pub header: Header,
    /// Rows in the order of the logs.
    pub rows: Vec<R>,
}

/// The block to read next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextBlock {
    /// The canonical block of this height.
    Number(u64),
    /// The block with this hash.
    Hash(B256),
}

/// A change of the chain. Must be stored as one batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change<R> {
    /// A block was added on top.
    Extended(Block<R>),
    /// Blocks were replaced.
    Reorganized {
        /// Replaced headers, newest first; their rows must be removed.
        removed: Vec<Header>,
        /// New blocks, oldest first.
        added: Vec<Block<R>>,
    },
}

/// Why a block is not accepted. The follower's state is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FollowError {
    /// More than 64 blocks would be replaced, or some that this follower has never read.
    #[error("a reorganisation at block {number} is deeper than {MAX_REORG} blocks")]
    TooDeep {
        /// Height of the lowest block read of the new branch.
        number: u64,
    },
    /// A finalized block would be replaced. Either the endpoint is wrong or the chain violated its own finality.
    #[error("a reorganisation would replace blocks from {number} on, which is finalized")]
    Finalized {
        /// Height of the lowest block that would be replaced.
        number: u64,
    },
    /// The heights of a block and its parent are not consecutive.
    #[error("block {number} does not follow its parent's height")]
    Malformed {
        /// Height of the block.
        number: u64,
    },
}

/// When a block counts as final.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finality {
    /// As soon as it is seen.
    Confirmed,
    /// With this number of blocks on top of it.
    Blocks(u64),
    /// The chain's own level `safe`.
    Safe,
    /// The chain's own level `finalized`.
    Finalized,
}

/// The newest headers and the branch that may replace some of them.
#[derive(Clone, Debug)]
pub struct Follower<R> {
    start: u64,
    /// Oldest first, at most `MAX_REORG + 1`.
    recent: VecDeque<Header>,
    /// Newest first, down to a block in `recent`.
    branch: Vec<Block<R>>,
    safe: Option<Header>,
    finalized: Option<Header>,
    cross_checked: Option<u64>,
}

impl<R> Follower<R> {
    /// `start` is the first block to read if nothing was read yet. `recent` are the newest stored headers, oldest
    /// first; at most 65 are needed. Pass stored `safe` and `finalized` levels to [`Follower::observe`] before the
    /// first block.
    ///
    /// # Errors
    /// [`FollowError::Malformed`] if the headers do not form a chain.
    pub fn new(start: u64, recent: Vec<Header>) -> Result<Self, FollowError> {
        for pair in recent.windows(2) {
            let [below, above] = pair else { continue };
            if above.parent != below.hash || Some(above.number) != below.number.checked_add(1) {
                return Err(FollowError::Malformed { number: above.number });
            }
        }
        let mut follower = Self {
            start,
            recent: recent.into(),
            branch: Vec::new(),
            safe: None,
            finalized: None,
            cross_checked: None,
        };
        follower.prune();
        Ok(follower)
    }

    /// The newest block that was read.
    pub fn tip(&self) -> Option<&Header> {
        self.recent.back()
    }

    /// Lowest height whose header is still needed; older ones may be deleted.
    pub fn oldest_needed(&self) -> u64 {
        self.recent.front().map_or(self.start, |header| header.number)
    }

    /// The block to read, given the endpoint's newest header. `None`: nothing is missing. A head below the tip means
    /// that the endpoint lags. A branch only replaces ours once it is as high.
    pub fn next(&self, head: &Header) -> Option<NextBlock> {
        if let Some(lowest) = self.branch.last() {
            return Some(NextBlock::Hash(lowest.header.parent));
        }
        let Some(tip) = self.tip() else {
            return (head.number >= self.start).then_some(NextBlock::Number(self.start));
        };
        match head.number.checked_sub(tip.number)? {
            0 => (head.hash != tip.hash).then_some(NextBlock::Hash(head.hash)),
            1 => Some(NextBlock::Hash(head.hash)),
            _ => Some(NextBlock::Number(tip.number + 1)),
        }
    }

    /// Adds a block that [`Follower::next`] has named. `None`: it is already known, or belongs to an incomplete branch.
    ///
    /// # Errors
    /// See [`FollowError`]. The branch is discarded.
    pub fn offer(&mut self, block: Block<R>) -> Result<Option<Change<R>>, FollowError>
    where
        R: Clone,
    {
        let header = block.header;
        let Some(tip) = self.tip().copied() else {
            self.push(header);
            return Ok(Some(Change::Extended(block)));
        };
        if self.position(header.hash).is_some() {
            self.branch.clear();
            return Ok(None);
        }
        if self.branch.is_empty() {
            if header.number < tip.number {
                return Ok(None);
            }
            if header.parent == tip.hash {
                follows(&tip, &header)?;
                self.push(header);
                return Ok(Some(Change::Extended(block)));
            }
        }
        self.extend_branch(block)
    }

    /// Discards a branch that no endpoint has any more.
    pub fn abandon_branch(&mut self) {
        self.branch.clear();
    }

    /// Records the endpoint's `safe` and `finalized` blocks. Neither moves backwards, and a block on another branch
    /// than ours is ignored.
    pub fn observe(&mut self, safe: Option<Header>, finalized: Option<Header>) {
        let newer = |old: Option<Header>, new: Option<Header>| match (old, new) {
            (Some(old), Some(new)) if new.number > old.number && self.is_consistent(&new) => Some(new),
            (None, Some(new)) if self.is_consistent(&new) => Some(new),
            _ => old,
        };
        (self.safe, self.finalized) = (newer(self.safe, safe), newer(self.finalized, finalized));
    }

    /// Requires that two endpoints agree on every block above this height. Such a block is not final until
    /// [`Follower::cross_check`] has been called for it.
    pub const fn require_cross_check(&mut self, height: u64) {
        self.cross_checked = Some(height);
    }

    /// Records that two endpoints agree on the block of this height, and that it is the stored one. Only the next
    /// height is accepted.
    pub fn cross_check(&mut self, number: u64) {
        let tip = self.tip().map_or(0, |tip| tip.number);
        if let Some(height) = self.cross_checked
            && height.checked_add(1) == Some(number)
            && number <= tip
        {
            self.cross_checked = Some(number);
        }
    }

    /// Replaces the header of a known block by the one that two endpoints show. A header from one endpoint may have a
    /// different time with the same hash.
    pub fn correct(&mut self, header: Header) {
        let levels = self.safe.iter_mut().chain(&mut self.finalized);
        for known in self.recent.iter_mut().chain(levels) {
            if (known.hash, known.number, known.parent) == (header.hash, header.number, header.parent) {
                known.timestamp = header.timestamp;
            }
        }
    }

    /// The height up to which two endpoints agree; `None` if that is not required.
    pub const fn cross_checked(&self) -> Option<u64> {
        self.cross_checked
    }

    /// The newest final block. `None` if none is known, for [`Finality::Blocks`] of more than 64, and while the
    /// cross-check lags by more than 64 blocks.
    pub fn final_header(&self, finality: Finality) -> Option<Header> {
        let level = self.level(finality)?;
        match self.cross_checked {
            Some(checked) if checked < level.number => self.at(checked).copied(),
            _ => Some(level),
        }
    }

    /// The same from the chain's level alone, whether or not the block was cross-checked.
    pub fn level(&self, finality: Finality) -> Option<Header> {
        match finality {
            Finality::Confirmed => self.tip().copied(),
            Finality::Blocks(depth) => {
                let depth = usize::try_from(depth).ok()?;
                let index = self.recent.len().checked_sub(depth)?.checked_sub(1)?;
                self.recent.get(index).copied()
            }
            // A finalized block is also safe.
            Finality::Safe => self.safe.or(self.finalized),
            Finality::Finalized => self.finalized,
        }
    }

    /// Whether a block of this height is final. The caller must know that its rows are still stored, so that it is on
    /// the chain.
    pub fn is_final(&self, number: u64, finality: Finality) -> bool {
        let Some(tip) = self.tip() else { return false };
        if self.cross_checked.is_some_and(|checked| number > checked) {
            return false;
        }
        match finality {
            Finality::Blocks(depth) => number.checked_add(depth).is_some_and(|needed| needed <= tip.number),
            other => self.level(other).is_some_and(|header| number <= header.number),
        }
    }

    /// Whether the block with this height and hash is on the chain; `None` outside the newest 65 blocks.
    pub fn is_canonical(&self, number: u64, hash: B256) -> Option<bool> {
        self.at(number).map(|header| header.hash == hash)
    }

    fn extend_branch(&mut self, block: Block<R>) -> Result<Option<Change<R>>, FollowError>
    where
        R: Clone,
    {
        let header = block.header;
        let above = self.branch.last().map(|above| above.header);
        if above.is_some_and(|above| above.parent != header.hash) {
            // The endpoint has switched to another branch.
            self.branch.clear();
            return Ok(None);
        }
        if let Some(above) = above
            && let Err(error) = follows(&header, &above)
        {
            self.branch.clear();
            return Err(error);
        }
        self.branch.push(block);
        if let Some(ancestor) = self.position(header.parent) {
            return self.switch(ancestor).map(Some);
        }
        let lowest = self.recent.front().map_or(0, |oldest| oldest.number);
        if header.number <= lowest + 1 || self.branch.len() > MAX_REORG {
            self.branch.clear();
            return Err(FollowError::TooDeep { number: header.number });
        }
        Ok(None)
    }

    fn switch(&mut self, ancestor: usize) -> Result<Change<R>, FollowError> {
        let added: Vec<Block<R>> = self.branch.drain(..).rev().collect();
        let (Some(first), Some(below)) = (added.first(), self.recent.get(ancestor)) else {
            return Err(FollowError::Malformed { number: 0 });
        };
        follows(below, &first.header)?;
        let number = first.header.number;
        if self.finalized.is_some_and(|finalized| finalized.number >= number) {
            return Err(FollowError::Finalized { number });
        }
        if self.recent.len() - ancestor - 1 > MAX_REORG {
            return Err(FollowError::TooDeep { number });
        }
        let removed: Vec<Header> = self.recent.drain(ancestor + 1..).rev().collect();
        // `safe` may move with the chain.
        self.safe = self.safe.filter(|safe| safe.number < number);
        let below = number.saturating_sub(1);
        self.cross_checked = self.cross_checked.map(|checked| checked.min(below));
        for block in &added {
            self.push(block.header);
        }
        Ok(Change::Reorganized { removed, added })
    }

    fn push(&mut self, header: Header) {
        self.recent.push_back(header);
        self.prune();
    }

    fn prune(&mut self) {
        while self.recent.len() > MAX_REORG + 1 {
            self.recent.pop_front();
        }
    }

    fn position(&self, hash: B256) -> Option<usize> {
        self.recent.iter().rposition(|header| header.hash == hash)
    }

    fn at(&self, number: u64) -> Option<&Header> {
        let oldest = self.recent.front()?.number;
        self.recent.get(usize::try_from(number.checked_sub(oldest)?).ok()?)
    }

    /// Whether a level of the chain is consistent with this one: its block has the same hash at that height, or is too
    /// old to compare.
    pub fn is_consistent(&self, header: &Header) -> bool {
        let tip = self.tip().map_or(0, |tip| tip.number);
        match self.at(header.number) {
            Some(own) => own.hash == header.hash,
            None => header.number < tip,
        }
    }
}

fn follows(below: &Header, above: &Header) -> Result<(), FollowError> {
    if below.number.checked_add(1) == Some(above.number) {
        return Ok(());
    }
    Err(FollowError::Malformed { number: above.number })
}
