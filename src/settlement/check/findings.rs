//! What the checks of a start have found, and what of it ends the start.

use super::rejected;
use crate::config::{ConfigError, Misfit};

/// Of one chain, each with its setting.
#[derive(Debug, Default)]
pub struct Findings {
    /// The chain does not fit the settings.
    pub wrong: Vec<ConfigError>,
    /// No endpoint said it.
    pub unread: Vec<ConfigError>,
}

impl Findings {
    /// None of this was read.
    pub fn unread(key: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            wrong: Vec::new(),
            unread: vec![rejected(key, why)],
        }
    }

    /// All of this is wrong.
    pub const fn wrong(wrong: Vec<ConfigError>) -> Self {
        let unread = Vec::new();
        Self { wrong, unread }
    }

    /// Both.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.wrong.extend(other.wrong);
        self.unread.extend(other.unread);
        self
    }

    /// Everything was read and fits.
    pub fn is_empty(&self) -> bool {
        self.wrong.is_empty() && self.unread.is_empty()
    }
}

/// What a start has found.
#[derive(Debug, Default)]
pub struct Found {
    /// Of Base.
    pub base: Findings,
    /// Of Solana.
    pub solana: Findings,
    /// Of the facilitators.
    pub facilitators: Findings,
}

/// The chains that a start begins without.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unread {
    /// Base.
    pub base: bool,
    /// Solana.
    pub solana: bool,
}

impl Found {
    /// Which chains the service starts without. `knows`: an earlier start on this data directory has checked both chains, so one
    /// that does not answer is down and no mistake in the settings.
    ///
    /// # Errors
    /// Everything that was found, if any of it is wrong, or could not be read at a first start.
    pub fn tolerate(self, knows: bool) -> Result<Unread, Misfit> {
        let all = [self.base, self.solana, self.facilitators];
        let is_wrong = all.iter().any(|found| !found.wrong.is_empty());
        let is_unread = all.iter().any(|found| !found.unread.is_empty());
        if is_wrong || (is_unread && !knows) {
            let each = all
                .into_iter()
                .flat_map(|found| found.wrong.into_iter().chain(found.unread));
            return Err(Misfit(each.collect()));
        }
        let [base, solana, _] = all.map(|found| !found.is_empty());
        Ok(Unread { base, solana })
    }
}
