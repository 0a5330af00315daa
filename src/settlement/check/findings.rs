//! What the checks of a start have found, and what of it ends the start.

use super::rejected;
use crate::config::{ConfigError, InvalidSetting};

/// Of one chain, each with its setting.
#[derive(Debug, Default)]
pub struct Findings {
    /// The chain does not fit the settings.
    pub mismatches: Vec<ConfigError>,
    /// No endpoint said it.
    pub unreachable: Vec<ConfigError>,
}

impl Findings {
    /// None of this was read.
    pub fn from_unreachable(key: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            mismatches: Vec::new(),
            unreachable: vec![rejected(key, why)],
        }
    }

    /// All of this is wrong.
    pub const fn from_mismatches(mismatches: Vec<ConfigError>) -> Self {
        let unreachable = Vec::new();
        Self {
            mismatches,
            unreachable,
        }
    }

    /// Both.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.mismatches.extend(other.mismatches);
        self.unreachable.extend(other.unreachable);
        self
    }

    /// Everything was read and fits.
    pub fn is_empty(&self) -> bool {
        self.mismatches.is_empty() && self.unreachable.is_empty()
    }
}

/// What a start has found.
#[derive(Debug, Default)]
pub struct StartupFindings {
    /// Of Base.
    pub base: Findings,
    /// Of Solana.
    pub solana: Findings,
    /// Of the facilitators.
    pub facilitators: Findings,
}

/// The chains that a start begins without.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnreachableChains {
    /// Base.
    pub base: bool,
    /// Solana.
    pub solana: bool,
}

impl StartupFindings {
    /// Which chains the service starts without. `knows`: an earlier start on this data directory has checked both chains, so one
    /// that does not answer is down and no mistake in the settings.
    ///
    /// # Errors
    /// Everything that was found, if any of it is wrong, or could not be read at a first start.
    pub fn tolerate(self, knows: bool) -> Result<UnreachableChains, InvalidSetting> {
        let all = [self.base, self.solana, self.facilitators];
        let is_wrong = all.iter().any(|found| !found.mismatches.is_empty());
        let is_unread = all.iter().any(|found| !found.unreachable.is_empty());
        if is_wrong || (is_unread && !knows) {
            let each = all
                .into_iter()
                .flat_map(|found| found.mismatches.into_iter().chain(found.unreachable));
            return Err(InvalidSetting(each.collect()));
        }
        let [base, solana, _] = all.map(|found| !found.is_empty());
        Ok(UnreachableChains { base, solana })
    }
}
