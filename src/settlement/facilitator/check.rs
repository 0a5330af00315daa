//! Check of the facilitators at start. One that responds but does not support our payments ends the start, with the
//! name of its setting. One that does not respond is only logged.

use futures_util::future::join_all;

use super::client::{Client, Supported};
use super::settings::FacilitatorSettings;
use super::wire::Chain;
use purser_config::ConfigError;

/// Checks the facilitators of one network.
pub struct FacilitatorCheck {
    chain: Chain,
    settings: Vec<FacilitatorSettings>,
}

impl FacilitatorCheck {
    /// Creates the check for facilitators in the order of the settings.
    pub const fn new(chain: Chain, settings: Vec<FacilitatorSettings>) -> Self {
        Self { chain, settings }
    }

    async fn one(&self, position: usize, settings: &FacilitatorSettings) -> Option<ConfigError> {
        let key = format!("{}.facilitators[{position}]", self.chain.section());
        let reject = |reason: String| ConfigError::Rejected {
            key: key.clone().into(),
            reason,
        };
        let client = match Client::new(settings.clone(), self.chain) {
            Ok(client) => client,
            Err(error) => return Some(reject(error)),
        };
        match client.supported().await {
            Supported::Yes(_) => None,
            Supported::No(why) => Some(reject(format!("{} {why}", client.name()))),
            Supported::Unreachable(why) => {
                let facilitator = client.name();
                tracing::warn!(
                    setting = key,
                    facilitator,
                    why,
                    "a facilitator does not answer; it is used once it does"
                );
                None
            }
        }
    }

    /// The facilitators that do not fit.
    pub(crate) async fn mismatches(&self) -> Vec<ConfigError> {
        let each = self.settings.iter().enumerate();
        let found = join_all(each.map(|(position, settings)| self.one(position, settings))).await;
        found.into_iter().flatten().collect()
    }
}
