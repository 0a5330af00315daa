//! Bridge messages on Base: sent by a gas key, and found by the nonce that the transmitter has used.

use std::sync::Arc;
use std::time::Duration;

use purser_actors::money::Usdc;
use purser_actors::port::{Decline, Finality, PortError};
use purser_chains::cctp::mint::{RECEIVED, is_used, used_nonces};
use purser_chains::evm::node::{BlockTag, CallRequest, LogFilter};
use purser_chains::evm::usdc::Log;
use purser_chains::evm::{Address, B256};

use super::BaseSettlement;
use super::core::{Core, Outcome};
use super::cross_check;
use super::job::{Job, Mint};
use super::rows::Key;
use crate::errors::{temporary, unknown};

/// Number of blocks searched at once.
const WINDOW: u64 = 5_000;
/// Maximum number of such windows: about two weeks on Base.
const WINDOWS: usize = 120;

/// A message for the transmitter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BridgeMessage {
    /// Address of MessageTransmitterV2.
    pub contract: Address,
    /// Nonce of the message.
    pub nonce: B256,
    /// Calldata of `receiveMessage`.
    pub call: Vec<u8>,
    /// The minted amount, which decides the required finality depth.
    pub amount: Usdc,
}

/// The transaction in which the transmitter received a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedMessage {
    pub transaction: String,
    /// Whether its block is at the depth required for the amount.
    pub finality: Finality,
}

/// The outcome of a message that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SentMessage {
    /// The transmitter received it, and this is final.
    Received {
        /// Hash of the transaction.
        transaction: String,
    },
    /// It had been received before: nothing was sent.
    AlreadyReceived,
    /// The transmitter does not accept it in the current state, or has not received it.
    Declined(Decline),
}

impl BaseSettlement {
    /// Sends a message with one of the gas keys, unless it is in flight, and waits until its receipt is final. The
    /// transaction is persisted before it is sent. It is sent again until its outcome is final, even if this future is
    /// dropped.
    ///
    /// # Errors
    /// `Temporary` before anything was sent, otherwise `Unknown`.
    pub async fn send_message(&self, message: &BridgeMessage) -> Result<SentMessage, PortError> {
        let key = message.key();
        // Subscribe before the chain is read, so that no outcome is missed.
        let outcome = self.core.subscribe_outcome(key);
        let answer = self.send_and_wait(message, outcome).await;
        self.core.unsubscribe_outcome(&key);
        answer
    }

    async fn send_and_wait(
        &self,
        message: &BridgeMessage,
        outcome: tokio::sync::oneshot::Receiver<Outcome>,
    ) -> Result<SentMessage, PortError> {
        const SEND: &str = "mint";
        if self.core.is_received(&message.key(), SEND).await? {
            return Ok(SentMessage::AlreadyReceived);
        }
        let job = Job::Mint(Mint {
            contract: message.contract.into_array(),
            nonce: message.nonce.0,
            call: message.call.clone(),
        });
        self.assign_to_gas_key(Arc::new(job)).await?;
        let outcome = outcome.await.map_err(|_| unknown(SEND, "the port is closed"))?;
        loop {
            let found = self.find_message(message.contract, message.nonce, message.amount).await;
            match (found, &outcome) {
                (Ok(Some(taken)), _) if taken.finality == Finality::Final => {
                    let ReceivedMessage { transaction, .. } = taken;
                    return Ok(SentMessage::Received { transaction });
                }
                (Ok(None), Outcome::Declined(decline)) => return Ok(SentMessage::Declined(decline.clone())),
                // Not deep enough, not readable now, or removed by a reorg: it is sent again.
                _ => {}
            }
            let pause = Duration::from_millis(self.core.settings.poll_ms.max(1));
            self.core.clock.sleep(pause).await;
        }
    }

    /// The transaction in which the transmitter received the message with this nonce, whichever key sent it; `None` if
    /// it has not.
    ///
    /// # Errors
    /// `Temporary` when it cannot be read.
    pub async fn find_message(
        &self,
        contract: Address,
        nonce: B256,
        amount: Usdc,
    ) -> Result<Option<ReceivedMessage>, PortError> {
        const FIND: &str = "find mint";
        let key = Key { from: contract, nonce };
        if !self.core.is_received(&key, FIND).await? {
            return Ok(None);
        }
        let log = self
            .core
            .find_received_log(&key)
            .await
            .map_err(|error| temporary(FIND, error))?;
        // An endpoint may lag behind the one that shows the nonce as used.
        let log = log.ok_or_else(|| temporary(FIND, "no endpoint lists the transaction of a used nonce"))?;
        let view = self.core.view();
        let canonical = view.is_canonical(log.block_number, log.block_hash);
        let canonical = canonical.unwrap_or(log.block_number < view.oldest_needed());
        let deep = view.is_final(log.block_number, self.core.settings.finality_of(amount));
        let is_final = canonical && deep && self.core.is_in_two_endpoints(&key, &log).await;
        Ok(Some(ReceivedMessage {
            transaction: log.transaction.to_string(),
            finality: match is_final {
                true => Finality::Final,
                false => Finality::Confirmed,
            },
        }))
    }

    /// Whether each of these addresses has code.
    ///
    /// # Errors
    /// `Temporary` when no endpoint responds.
    pub async fn have_code(&self, addresses: &[Address]) -> Result<Vec<bool>, PortError> {
        let code = self.core.node.have_code(addresses).await;
        code.map_err(|error| temporary("have code", error))
    }
}

impl BridgeMessage {
    const fn key(&self) -> Key {
        Key {
            from: self.contract,
            nonce: self.nonce,
        }
    }
}

impl Core {
    /// Whether the transmitter has used a nonce, at the newest block of one endpoint.
    async fn is_received(&self, key: &Key, operation: &'static str) -> Result<bool, PortError> {
        let request = CallRequest {
            from: self.settings.treasury.address(),
            to: key.from,
            data: used_nonces(&key.nonce.0).into(),
            gas: 100_000,
        };
        let returned = self.node.call(&request, BlockTag::Latest).await;
        let returned = returned.map_err(|error| temporary(operation, error))?;
        is_used(&returned).ok_or_else(|| temporary(operation, "the transmitter does not say whether a nonce was used"))
    }

    /// The transmitter's log of a received message, searched backwards from the newest block.
    async fn find_received_log(&self, key: &Key) -> Result<Option<Log>, String> {
        let to_text = |error: purser_chains::evm::node::NodeError| error.to_string();
        let head = self.node.header(BlockTag::Latest).await.map_err(to_text)?;
        let mut to = head.ok_or("no endpoint has a block")?.number;
        let filter = received_filter(key);
        for _ in 0..WINDOWS {
            let from = to.saturating_sub(WINDOW - 1);
            let found = self.node.logs(&filter, (from, to)).await.map_err(to_text)?;
            if let Some(log) = found.into_iter().next_back() {
                return Ok(Some(log));
            }
            match from.checked_sub(1) {
                Some(below) => to = below,
                None => break,
            }
        }
        Ok(None)
    }

    /// Whether two endpoints have this log in its block. The follower only cross-checks the token's logs. A single
    /// configured endpoint is trusted.
    async fn is_in_two_endpoints(&self, key: &Key, log: &Log) -> bool {
        if self.node.pool().len() < cross_check::MIN_ENDPOINTS {
            return true;
        }
        let block = self.node.block_by_two(log.block_hash, &[received_filter(key)]).await;
        block.is_ok_and(|block| block.logs.contains(log))
    }
}

/// The transmitter's logs of messages with this nonce.
fn received_filter(key: &Key) -> LogFilter {
    LogFilter {
        address: key.from,
        topics: vec![vec![RECEIVED], Vec::new(), vec![key.nonce]],
    }
}
