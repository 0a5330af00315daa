//! Results of the checks at start, and which of them prevent the start.

use super::rejected;
use purser_config::{ConfigError, InvalidSetting};

/// Findings for one chain, each with its setting.
#[derive(Debug, Default)]
pub struct Findings {
    /// The chain does not match the settings.
    pub mismatches: Vec<ConfigError>,
    /// No endpoint responded.
    pub unreachable: Vec<ConfigError>,
}

impl Findings {
    /// A finding that could not be read.
    pub fn from_unreachable(key: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            mismatches: Vec::new(),
            unreachable: vec![rejected(key, why)],
        }
    }

    /// Findings that are all mismatches.
    pub const fn from_mismatches(mismatches: Vec<ConfigError>) -> Self {
        let unreachable = Vec::new();
        Self {
            mismatches,
            unreachable,
        }
    }

    /// Combines two findings.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.mismatches.extend(other.mismatches);
        self.unreachable.extend(other.unreachable);
        self
    }

    /// Whether everything was read and matches.
    pub fn is_empty(&self) -> bool {
        self.mismatches.is_empty() && self.unreachable.is_empty()
    }
}

/// All findings of a start.
#[derive(Debug, Default)]
pub struct StartupFindings {
    /// Findings for Base.
    pub base: Findings,
    /// Findings for Solana.
    pub solana: Findings,
    /// Findings for the facilitators.
    pub facilitators: Findings,
}

/// The chains without which the service starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnreachableChains {
    /// Whether Base did not respond.
    pub base: bool,
    /// Whether Solana did not respond.
    pub solana: bool,
}

impl StartupFindings {
    /// The chains without which the service starts. `knows`: an earlier start on this data directory has verified both
    /// chains. A chain that does not respond is then down, and the settings are not wrong.
    ///
    /// # Errors
    /// All findings, if there is a mismatch, or if a chain could not be read at a first start.
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
