//! Proofs that a payment can never settle: from rows of final blocks, or from two endpoints past the relevant block.

use purser_actors::port::{Authorization, ChainStatus, PortError};
use purser_chains::evm::blocks::NextBlock;
use purser_chains::evm::expiry::{ExpiryProof, MIN_ENDPOINTS, expiry_proof};
use purser_chains::evm::node::LogFilter;
use purser_chains::evm::node::NodeError;
use purser_chains::evm::usdc::{self, MovementKind, TOPICS};
use purser_chains::evm::{Address, B256, U256};

use super::BaseSettlement;
use super::core::Core;
use super::paying::{PaymentStatus, payment};
use super::rows::{Key, Payment};
use crate::errors::temporary;

/// Minimum interval between proof requests of one payment, in milliseconds.
const PROOF_INTERVAL_MS: u64 = 10_000;
/// Number of blocks searched at once.
const WINDOW: u64 = 5_000;
/// Maximum number of such windows: about two weeks on Base.
const WINDOWS: usize = 120;

impl BaseSettlement {
    pub(super) async fn lookup_payment(&self, authorization: &Authorization) -> Result<ChainStatus, PortError> {
        let payment = payment("lookup", authorization)?;
        match self.core.payment_status("lookup", &payment).await? {
            PaymentStatus::Confirmed { transaction, finality } => {
                return Ok(ChainStatus::Confirmed { transaction, finality });
            }
            PaymentStatus::Used { is_final: true } => return Ok(ChainStatus::Impossible),
            PaymentStatus::Used { is_final: false } => return Ok(ChainStatus::Pending),
            PaymentStatus::NotFound => {}
        }
        self.core.watched.insert(payment.key(), payment.valid_before);
        if !self.core.may_prove(&payment) {
            return Ok(ChainStatus::Pending);
        }
        let never = self.core.can_never_settle(&payment).await;
        // Blocks that were read meanwhile decide.
        match (never, self.core.payment_status("lookup", &payment).await?) {
            (_, PaymentStatus::Confirmed { transaction, finality }) => {
                Ok(ChainStatus::Confirmed { transaction, finality })
            }
            (Ok(true), PaymentStatus::NotFound) | (_, PaymentStatus::Used { is_final: true }) => {
                Ok(ChainStatus::Impossible)
            }
            (Ok(_), _) => Ok(ChainStatus::Pending),
            (Err(error), _) => Err(temporary("lookup", error)),
        }
    }
}

impl Core {
    /// Whether a proof may be requested. The authorization has expired in a block on which proofs rest, the newest
    /// block was read, and there was no recent request.
    fn may_prove(&self, payment: &Payment) -> bool {
        let final_header = self.view().final_header(self.settings.proof);
        let ran_out = final_header.is_some_and(|header| header.timestamp >= payment.valid_before);
        if !ran_out || !self.is_up_to_date() {
            return false;
        }
        let now_ms = self.clock.now_ms();
        let mut asked = self.proofs.entry(payment.key()).or_insert(0);
        let due = *asked == 0 || now_ms >= asked.saturating_add(PROOF_INTERVAL_MS);
        if due {
            *asked = now_ms.max(1);
        }
        due
    }

    /// Whether two endpoints show that the payment never settles. No block that was read contains it.
    async fn can_never_settle(&self, payment: &Payment) -> Result<bool, NodeError> {
        let Some(tag) = self.proof_tag() else { return Ok(false) };
        let Key { from, nonce } = payment.key();
        let token = self.token.address();
        let answers = self.node.authorization_states(token, from, nonce, tag).await;
        let answers: Vec<_> = answers.into_iter().flatten().collect();
        match expiry_proof(U256::from(payment.valid_before), &answers) {
            ExpiryProof::Expired => Ok(true),
            ExpiryProof::Unproven => {
                if self.node.pool().len() < MIN_ENDPOINTS {
                    let what = "that payments never land is not proven: they stay unknown";
                    self.alarm_once(what, "two endpoints must show it");
                }
                Ok(false)
            }
            ExpiryProof::Used => {
                let height = answers.iter().map(|answer| answer.header.number).max().unwrap_or(0);
                let read = self.view().tip().is_some_and(|tip| tip.number >= height);
                match read {
                    true => self.is_used_otherwise(payment, height).await,
                    false => Ok(false),
                }
            }
        }
    }

    /// Whether two endpoints list the same block in which this authorization was cancelled or used for another
    /// transfer. That was before the payment was known here: no row has it.
    async fn is_used_otherwise(&self, payment: &Payment, height: u64) -> Result<bool, NodeError> {
        let Key { from, nonce } = payment.key();
        let mut blocks = Vec::new();
        for endpoint in 0..self.node.pool().len() {
            match self.block_of_use(endpoint, from, nonce, height).await {
                Ok(Some(block)) => blocks.push(block),
                Ok(None) => {}
                Err(error) => tracing::warn!(endpoint, %error, "the use of an authorization could not be looked for"),
            }
        }
        let agree = |block: &B256| blocks.iter().filter(|other| *other == block).count() >= MIN_ENDPOINTS;
        let Some(block) = blocks.iter().find(|block| agree(block)) else {
            let what = format!("the authorization {nonce} of {from} is used, and by what is not known");
            self.alarm_once(&what, "two endpoints must show it");
            return Ok(false);
        };
        let filter = LogFilter {
            address: self.token.address(),
            topics: vec![TOPICS.to_vec()],
        };
        let Some(found) = self.node.block(NextBlock::Hash(*block), &[filter]).await? else {
            return Ok(false);
        };
        let method = "eth_getLogs";
        let movements =
            usdc::movements(self.token.address(), &found.logs).map_err(|_| NodeError::Malformed { method })?;
        let of_it = movements.iter().find_map(|movement| match movement.kind {
            MovementKind::Transfer {
                from: payer,
                to,
                value,
                authorization: Some(used),
            } if payer == from && used == nonce => Some(Some((to, value))),
            MovementKind::Canceled {
                authorizer,
                nonce: used,
            } if authorizer == from && used == nonce => Some(None),
            _ => None,
        });
        match of_it {
            Some(None) => Ok(true),
            Some(Some((to, value))) => {
                let ours = to == Address::from(payment.to) && value == U256::from(payment.value.atomic());
                if ours {
                    let what = format!("the authorization {nonce} of {from} has paid us in block {block}");
                    self.alarm_once(
                        &what,
                        "no row has it: the block was read before `start_block` or incompletely",
                    );
                }
                Ok(!ours)
            }
            None => Ok(false),
        }
    }

    async fn block_of_use(
        &self,
        endpoint: usize,
        from: Address,
        nonce: B256,
        height: u64,
    ) -> Result<Option<B256>, NodeError> {
        let of = (self.token.address(), from, nonce);
        let mut to = height;
        for _ in 0..WINDOWS {
            let window = (to.saturating_sub(WINDOW - 1), to);
            if let Some(block) = self.node.block_of_use(endpoint, of, window).await? {
                return Ok(Some(block));
            }
            match window.0.checked_sub(1) {
                Some(below) => to = below,
                None => break,
            }
        }
        Ok(None)
    }
}
