//! Follows the blocks of a chain. Pure: the caller reads blocks, stores changes and asks again.
//!
//! Loop: read the newest header, call [`Follower::next`] and read what it names, until it is `None`. Each block goes to
//! [`Follower::offer`]; a [`Change`] it returns is stored in one batch, rows and headers, before the next block is offered.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use alloy_primitives::B256;

/// Most blocks that a reorganisation may replace.
pub const MAX_REORG: usize = 64;

/// What links blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Height.
    pub number: u64,
    /// Its own.
    pub hash: B256,
    /// Of the block before.
    pub parent: B256,
    /// Seconds since the epoch.
    pub timestamp: u64,
}

/// A block and what was read from its logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block<R> {
    /// See [`Header`].
    pub header: Header,
    /// In the order of the logs.
    pub rows: Vec<R>,
}

/// Which block to read next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextBlock {
    /// The canonical one of this height.
    Number(u64),
    /// This one.
    Hash(B256),
}

/// What became known. Stored as one batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change<R> {
    /// A block on top.
    Extended(Block<R>),
    /// Blocks were replaced.
    Reorganized {
        /// Newest first; their rows are to be removed.
        removed: Vec<Header>,
        /// Oldest first.
        added: Vec<Block<R>>,
    },
}

/// Why a block is not taken. The follower stays where it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FollowError {
    /// More than 64 blocks would be replaced, or ones that this follower has never read.
    #[error("a reorganisation at block {number} is deeper than {MAX_REORG} blocks")]
    TooDeep {
        /// Of the lowest block read of the new branch.
        number: u64,
    },
    /// A finalized block would be replaced. Either the endpoint is wrong or the chain violated its own finality.
    #[error("a reorganisation would replace blocks from {number} on, which is finalized")]
    Finalized {
        /// Of the lowest block that would be replaced.
        number: u64,
    },
    /// Heights of a block and its parent do not follow each other.
    #[error("block {number} does not follow its parent's height")]
    Malformed {
        /// Of the block.
        number: u64,
    },
}

/// When a block counts as final.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finality {
    /// At first sight.
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
    /// Newest first, towards a block in `recent`.
    branch: Vec<Block<R>>,
    safe: Option<Header>,
    finalized: Option<Header>,
    cross_checked: Option<u64>,
}

impl<R> Follower<R> {
    /// `start` is the first block to read if nothing was read yet. `recent` are the newest stored headers, oldest first; more
    /// than 65 are not needed. Stored levels `safe` and `finalized` go to [`Follower::observe`] before the first block.
    ///
    /// # Errors
    /// [`FollowError::Malformed`] if the headers are no chain.
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

    /// The newest block read.
    pub fn tip(&self) -> Option<&Header> {
        self.recent.back()
    }

    /// Lowest height whose header is still needed; older ones may be deleted.
    pub fn oldest_needed(&self) -> u64 {
        self.recent.front().map_or(self.start, |header| header.number)
    }

    /// What to read, given the endpoint's newest header. `None`: nothing is missing. A head below the tip is an endpoint that
    /// is behind; a branch counts once it is as high as ours.
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

    /// Takes a block that [`Follower::next`] has named. `None`: known already, or part of a branch that is not complete.
    ///
    /// # Errors
    /// See [`FollowError`]. The branch is given up.
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

    /// Gives up a branch that no endpoint knows any more.
    pub fn abandon_branch(&mut self) {
        self.branch.clear();
    }

    /// The endpoint's block for `safe` and `finalized`. Neither goes back, and a block on another branch than ours is
    /// ignored.
    pub fn observe(&mut self, safe: Option<Header>, finalized: Option<Header>) {
        let newer = |old: Option<Header>, new: Option<Header>| match (old, new) {
            (Some(old), Some(new)) if new.number > old.number && self.is_consistent(&new) => Some(new),
            (None, Some(new)) if self.is_consistent(&new) => Some(new),
            _ => old,
        };
        (self.safe, self.finalized) = (newer(self.safe, safe), newer(self.finalized, finalized));
    }

    /// Requires that two endpoints show the same of every block above this height: until [`Follower::cross_check`] has been
    /// called for it, a block is not final.
    pub const fn require_cross_check(&mut self, height: u64) {
        self.cross_checked = Some(height);
    }

    /// Two endpoints have shown the same block of this height, and it is the one that is stored. Only the next height is taken.
    pub fn cross_check(&mut self, number: u64) {
        let tip = self.tip().map_or(0, |tip| tip.number);
        if let Some(height) = self.cross_checked
            && height.checked_add(1) == Some(number)
            && number <= tip
        {
            self.cross_checked = Some(number);
        }
    }

    /// Takes what two endpoints show of a known block: one that was read from one endpoint may have another time beside the same hash.
    pub fn correct(&mut self, header: Header) {
        let levels = self.safe.iter_mut().chain(&mut self.finalized);
        for known in self.recent.iter_mut().chain(levels) {
            if (known.hash, known.number, known.parent) == (header.hash, header.number, header.parent) {
                known.timestamp = header.timestamp;
            }
        }
    }

    /// The height up to which two endpoints have shown the same; `None` where that is not required.
    pub const fn cross_checked(&self) -> Option<u64> {
        self.cross_checked
    }

    /// The newest block that is final. `None` if none is known, for [`Finality::Blocks`] of more than 64, and while what is
    /// cross-checked is more than 64 blocks behind.
    pub fn final_header(&self, finality: Finality) -> Option<Header> {
        let level = self.level(finality)?;
        match self.cross_checked {
            Some(checked) if checked < level.number => self.at(checked).copied(),
            _ => Some(level),
        }
    }

    /// The same by the chain's level alone, whether or not the block was cross-checked.
    pub fn level(&self, finality: Finality) -> Option<Header> {
        match finality {
            Finality::Confirmed => self.tip().copied(),
            Finality::Blocks(depth) => {
                let depth = usize::try_from(depth).ok()?;
                let index = self.recent.len().checked_sub(depth)?.checked_sub(1)?;
                self.recent.get(index).copied()
            }
            // What is finalized is safe.
            Finality::Safe => self.safe.or(self.finalized),
            Finality::Finalized => self.finalized,
        }
    }

    /// Whether a block of this height is final. Its rows are still stored: it is on the chain.
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
            // Another branch than the one that was being read.
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

    /// Whether a level of the chain may be this one's: its block is that of this height, or too old to be held against one.
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
