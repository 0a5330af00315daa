//! Facilitators at start: one that answers and does not support what is needed ends the start, by the name of its setting; one
//! that does not answer is only logged.

use futures_util::future::join_all;
use purser_actors::port::BoxFuture;

use super::client::{Client, Supported};
use super::settings::FacilitatorSettings;
use super::wire::Chain;
use crate::config::ConfigError;
use crate::settlement::check::{ChainCheck, Findings};

/// Checks the facilitators of one network.
pub struct FacilitatorCheck {
    chain: Chain,
    settings: Vec<FacilitatorSettings>,
}

impl FacilitatorCheck {
    /// In the order of the settings.
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
}

impl ChainCheck for FacilitatorCheck {
    fn check(&self) -> BoxFuture<'_, Findings> {
        Box::pin(async move {
            let each = self.settings.iter().enumerate();
            let found = join_all(each.map(|(position, settings)| self.one(position, settings))).await;
            Findings::from_mismatches(found.into_iter().flatten().collect())
        })
    }
}
