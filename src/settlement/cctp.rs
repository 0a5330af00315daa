//! The bridge over Circle's CCTP v2. The treasury burns on Solana, Iris attests, and a gas key mints on Base.
//!
//! Both transactions go through the settlement ports, which persist them before they are sent, send them again, and
//! prove their outcome. Nothing is stored here.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use purser_actors::money::Usdc;
use purser_actors::port::{
    AttestationStatus, AttestedMessage, Authorization, Bridge, BridgeTransfer, ChainStatus, Decline, Entropy,
    ErrorKind, Finality, MintResult, PortError, PortFuture, Preparation, PreparedTransaction, Settlement, SignedBurn,
    SignedMint, SubmitResult,
};
use purser_chains::cctp::burn::{BurnAmounts, BurnOrder, FeeRate, SentBurn};
use purser_chains::cctp::iris::{self, Iris, IrisError};
use purser_chains::cctp::message::BurnMessage;
use purser_chains::cctp::mint::{read_receive_message, receive_message};
use purser_chains::cctp::{DOMAIN_BASE, Deployment};
use purser_chains::evm::Address;
use purser_chains::rpc::Clock;
use purser_chains::solana::address::parse_base58;
use purser_chains::solana::keypair::Keypair;
use zeroize::Zeroizing;

use super::errors::{error, permanent, temporary};
use super::evm::{BaseSettlement, BridgeMessage, SentMessage};
use super::precheck_counters::UniqueCounter;
use super::solana::{SolanaSettlement, read_burn};

/// Retry interval for the attestation of a burn.
const ATTESTATION_RETRY: Duration = Duration::from_secs(2);
/// Added to Iris's fee rate, in percent: the rate may rise between the burn and its attestation. An unused part arrives
/// as well.
const FEE_BUFFER_PERCENT: u8 = 20;

/// Settings of CCTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CctpSettings {
    /// Circle's contracts on Base.
    pub deployment: Deployment,
    /// [`purser_chains::cctp::THRESHOLD_STANDARD`] or [`purser_chains::cctp::THRESHOLD_FAST`].
    pub min_finality_threshold: u32,
    /// Highest fee, as a share of the burned amount.
    pub max_fee: FeeRate,
}

/// The bridge; see the module.
pub struct CctpBridge {
    settings: CctpSettings,
    solana: Arc<SolanaSettlement>,
    base: Arc<BaseSettlement>,
    iris: Iris,
    entropy: Arc<dyn Entropy>,
    timer: Arc<dyn Clock>,
    /// Iris is not queried before this time, in milliseconds of the timer: exceeding its limit extends the block each
    /// time.
    rate_limited_until_ms: AtomicU64,
    burns: Arc<UniqueCounter>,
}

/// The transaction of a burn in the format of the Solana port.
fn burn_transaction(
    operation: &'static str,
    burn: &SignedBurn,
) -> Result<(Authorization, PreparedTransaction, SentBurn), PortError> {
    let (transfer, sent) = read_burn(&burn.bytes).ok_or_else(|| permanent(operation, "not a burn that can be read"))?;
    let prepared = PreparedTransaction {
        bytes: burn.bytes.clone(),
        transaction: burn.transaction.clone(),
    };
    Ok((Authorization::Solana(transfer), prepared, sent))
}

impl CctpBridge {
    /// Creates a bridge over both ports, which outlive it. `iris` must query the same environment as the contracts in
    /// the settings.
    pub fn new(
        settings: CctpSettings,
        (solana, base): (Arc<SolanaSettlement>, Arc<BaseSettlement>),
        iris: Iris,
        entropy: Arc<dyn Entropy>,
        timer: Arc<dyn Clock>,
    ) -> Self {
        Self {
            settings,
            solana,
            base,
            iris,
            entropy,
            timer,
            rate_limited_until_ms: AtomicU64::new(0),
            burns: Arc::default(),
        }
    }

    /// Number of burns found to be final since the start.
    pub fn burns(&self) -> Arc<UniqueCounter> {
        self.burns.clone()
    }

    /// How long Iris must not be queried.
    fn rate_limit_left_ms(&self) -> u64 {
        let until = self.rate_limited_until_ms.load(Ordering::Acquire);
        until.saturating_sub(self.timer.now_ms())
    }

    /// Interprets a response of Iris. After a 429, no further request is sent for the time that it specifies.
    fn map_iris_response<T>(&self, operation: &'static str, answer: Result<T, IrisError>) -> Result<T, PortError> {
        answer.map_err(|failure| {
            if let IrisError::RateLimited { retry_after } = failure {
                let ms = u64::try_from(retry_after.as_millis()).unwrap_or(u64::MAX);
                let until = self.timer.now_ms().saturating_add(ms);
                self.rate_limited_until_ms.fetch_max(until, Ordering::AcqRel);
                tracing::warn!(seconds = retry_after.as_secs(), "iris: rate limited");
            }
            let kind = match failure.is_temporary() {
                true => ErrorKind::Temporary,
                false => ErrorKind::Permanent,
            };
            error(kind, operation, failure)
        })
    }

    /// Fails while Iris must not be queried.
    fn check_rate_limit(&self, operation: &'static str) -> Result<(), PortError> {
        match self.rate_limit_left_ms() {
            0 => Ok(()),
            ms => Err(temporary(operation, format!("iris: rate limited for another {ms} ms"))),
        }
    }

    /// Amount and fee limit of a burn from which at least this much arrives, at the current fee.
    async fn amounts(&self, arrives: Usdc) -> Result<BurnAmounts, PortError> {
        const SIGN: &str = "sign burn";
        self.check_rate_limit(SIGN)?;
        let fees = self.map_iris_response(SIGN, self.iris.fees().await)?;
        let threshold = self.settings.min_finality_threshold;
        let fee = fees.iter().find(|fee| fee.finality_threshold == threshold);
        let rate = fee.map(|fee| fee.rate);
        let rate = rate.ok_or_else(|| temporary(SIGN, format!("iris has no fee for finality {threshold}")))?;
        if rate > self.settings.max_fee {
            return Err(temporary(SIGN, "the bridge's fee is above chains.bridge.max_fee_bps"));
        }
        let rate = rate.with_buffer(FEE_BUFFER_PERCENT).min(self.settings.max_fee);
        let amounts = BurnAmounts::for_arrival(arrives.atomic(), rate);
        amounts.ok_or_else(|| permanent(SIGN, "no amount can be burned for it"))
    }

    async fn sign(&self, bridge_transfer: &BridgeTransfer) -> Result<SignedBurn, PortError> {
        const SIGN: &str = "sign burn";
        // Only burn if the mint can be sent.
        self.base.gate().if_open(SIGN)?;
        let BurnAmounts { amount, max_fee } = self.amounts(bridge_transfer.delivered_amount).await?;
        let order = BurnOrder {
            owner: self.solana.treasury(),
            mint: self.solana.mint(),
            recipient: bridge_transfer.to,
            amount,
            max_fee,
            min_finality_threshold: self.settings.min_finality_threshold,
        };
        let mut seed = Zeroizing::new([0; 32]);
        let (low, high) = seed.split_at_mut(16);
        low.copy_from_slice(&self.entropy.random().to_be_bytes());
        high.copy_from_slice(&self.entropy.random().to_be_bytes());
        let event = Keypair::from_seed(&seed);
        match self.solana.prepare_burn(&order, &event).await? {
            Preparation::Ready(PreparedTransaction { bytes, transaction }) => Ok(SignedBurn {
                bytes,
                transaction,
                event_key: event.address(),
                burned: Usdc::from_atomic(amount),
            }),
            // It may be signed again once the treasury's balance covers it.
            Preparation::Declined(decline) => Err(temporary(SIGN, format!("{}: {}", decline.reason, decline.message))),
        }
    }

    async fn send(&self, burn: &SignedBurn) -> Result<SubmitResult, PortError> {
        let (authorization, prepared, _) = burn_transaction("burn", burn)?;
        match self.solana.submit(&authorization, &prepared).await {
            // Only a final burn counts: a reorg could still remove this one, and it would be sent again.
            Ok(SubmitResult::Settled {
                finality: Finality::Confirmed,
                ..
            }) => Err(error(ErrorKind::Unknown, "burn", "the burn is seen and not final yet")),
            // It has expired. Another one may be signed.
            Err(expired) if expired.kind == ErrorKind::Permanent => Ok(SubmitResult::Declined(Decline {
                reason: "burn_expired".into(),
                message: expired.message.as_str().into(),
            })),
            answer => {
                if let Ok(SubmitResult::Settled { .. }) = answer {
                    self.burns.record(&burn.transaction);
                }
                answer
            }
        }
    }

    async fn burn_status(&self, burn: &SignedBurn) -> Result<ChainStatus, PortError> {
        let (authorization, prepared, _) = burn_transaction("find burn", burn)?;
        let found = self.solana.lookup(&authorization, Some(&prepared)).await?;
        Ok(match found {
            ChainStatus::Confirmed {
                finality: Finality::Confirmed,
                ..
            } => ChainStatus::Pending,
            found => {
                if let ChainStatus::Confirmed { .. } = found {
                    self.burns.record(&burn.transaction);
                }
                found
            }
        })
    }

    async fn attested(&self, burn: &SignedBurn) -> Result<AttestationStatus, PortError> {
        const ATTESTATION: &str = "attestation";
        let id =
            parse_base58(&burn.transaction).ok_or_else(|| permanent(ATTESTATION, "not a transaction of Solana"))?;
        let pending = |wait: Duration| AttestationStatus::Pending {
            retry_after_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1),
        };
        let quiet_ms = self.rate_limit_left_ms();
        if quiet_ms > 0 {
            return Ok(pending(Duration::from_millis(quiet_ms)));
        }
        let listed = match self.iris.messages(&id).await {
            Err(IrisError::RateLimited { retry_after }) => {
                let limited = IrisError::RateLimited { retry_after };
                drop(self.map_iris_response::<()>(ATTESTATION, Err(limited)));
                return Ok(pending(retry_after));
            }
            answer => self.map_iris_response(ATTESTATION, answer)?,
        };
        let found = iris::attestation_where(listed, |message| self.check(burn, message));
        // Such a message must not be minted: an operator must look at it.
        match found.map_err(|wrong| permanent(ATTESTATION, wrong))? {
            iris::Attestation::Pending { delay_reason } => {
                if let Some(reason) = delay_reason {
                    tracing::warn!(burn = burn.transaction, reason, "iris: the attestation is delayed");
                }
                Ok(pending(ATTESTATION_RETRY))
            }
            iris::Attestation::Expired { nonce } => Ok(AttestationStatus::Expired { nonce }),
            iris::Attestation::Complete { message, .. } if self.is_expired(&message) => {
                Ok(AttestationStatus::Expired { nonce: message.nonce })
            }
            iris::Attestation::Complete {
                message,
                bytes,
                attestation,
            } => Ok(AttestationStatus::Complete(AttestedMessage {
                nonce: message.nonce,
                message: bytes,
                attestation,
                to: message
                    .evm_recipient()
                    .ok_or_else(|| permanent(ATTESTATION, "the attested receiver is no address on Base"))?,
                is_usdc: message.burn_token == self.solana.mint(),
                delivered_amount: Usdc::from_atomic(message.arrives()),
            })),
        }
    }

    /// Whether a message belongs to this burn. It must match the order; a burn that an operator named must be the
    /// treasury's and of the same amount.
    fn check(
        &self,
        burn: &SignedBurn,
        message: &BurnMessage,
    ) -> Result<(), purser_chains::cctp::message::MessageError> {
        let deployment = &self.settings.deployment;
        match read_burn(&burn.bytes) {
            Some((_, sent)) => message.check_is_of(&sent.order, deployment),
            None => {
                let burned = (&self.solana.treasury(), &self.solana.mint(), burn.burned.atomic());
                message.check_burned(burned, deployment)
            }
        }
    }

    /// Whether the message would have expired in the next block.
    fn is_expired(&self, message: &BurnMessage) -> bool {
        let next = self.base.height().map(|height| height.saturating_add(1));
        next.is_some_and(|next| message.is_expired_at(next))
    }

    /// The call of a mint, after checking that our transmitter accepts the message.
    fn mint_call(&self, attested: &AttestedMessage) -> Result<SignedMint, PortError> {
        const SIGN: &str = "sign mint";
        self.parse_message(SIGN, &attested.message)?;
        Ok(SignedMint {
            bytes: receive_message(&attested.message, &attested.attestation),
            transaction: String::new(),
        })
    }

    fn parse_message(&self, operation: &'static str, bytes: &[u8]) -> Result<BurnMessage, PortError> {
        let message = BurnMessage::parse(bytes).map_err(|e| permanent(operation, e))?;
        let recipient = purser_chains::cctp::message::evm_word(&self.settings.deployment.token_messenger);
        match message.destination_domain == DOMAIN_BASE && message.recipient == recipient {
            true => Ok(message),
            false => Err(permanent(operation, "the message is not for Base's TokenMessenger")),
        }
    }

    async fn minted(&self, mint: &SignedMint) -> Result<MintResult, PortError> {
        const MINT: &str = "mint";
        let read = read_receive_message(&mint.bytes);
        let (message, _) = read.ok_or_else(|| permanent(MINT, "not a mint that can be read"))?;
        let message = self.parse_message(MINT, &message)?;
        let message = BridgeMessage {
            contract: Address::new(self.settings.deployment.message_transmitter),
            nonce: message.nonce.into(),
            call: mint.bytes.clone(),
            amount: Usdc::from_atomic(message.arrives()),
        };
        Ok(match self.base.send_message(&message).await? {
            SentMessage::Received { transaction } => MintResult::Minted { transaction },
            SentMessage::AlreadyReceived => MintResult::NonceUsed,
            SentMessage::Declined(decline) => MintResult::Declined(decline),
        })
    }

    async fn mint_status(&self, attested: &AttestedMessage) -> Result<ChainStatus, PortError> {
        let contract = Address::new(self.settings.deployment.message_transmitter);
        let nonce = attested.nonce.into();
        let taken = self
            .base
            .find_message(contract, nonce, attested.delivered_amount)
            .await?;
        Ok(match taken {
            // A reorg could still revert it.
            Some(taken) if taken.finality == Finality::Final => ChainStatus::Confirmed {
                transaction: taken.transaction,
                finality: Finality::Final,
            },
            // A message can be attested again without limit: no mint is ever impossible.
            Some(_) | None => ChainStatus::Pending,
        })
    }
}

impl Bridge for CctpBridge {
    fn sign_burn<'a>(&'a self, bridge_transfer: &'a BridgeTransfer) -> PortFuture<'a, SignedBurn> {
        Box::pin(self.sign(bridge_transfer))
    }

    fn burn<'a>(&'a self, burn: &'a SignedBurn) -> PortFuture<'a, SubmitResult> {
        Box::pin(self.send(burn))
    }

    fn find_burn<'a>(&'a self, burn: &'a SignedBurn) -> PortFuture<'a, ChainStatus> {
        Box::pin(self.burn_status(burn))
    }

    fn attestation<'a>(&'a self, burn: &'a SignedBurn) -> PortFuture<'a, AttestationStatus> {
        Box::pin(self.attested(burn))
    }

    fn reattest<'a>(&'a self, nonce: &'a [u8; 32]) -> PortFuture<'a, ()> {
        const AGAIN: &str = "attest again";
        Box::pin(async move {
            self.check_rate_limit(AGAIN)?;
            self.map_iris_response(AGAIN, self.iris.reattest(nonce).await)
        })
    }

    fn sign_mint<'a>(&'a self, attested: &'a AttestedMessage) -> PortFuture<'a, SignedMint> {
        Box::pin(std::future::ready(self.mint_call(attested)))
    }

    fn mint<'a>(&'a self, mint: &'a SignedMint) -> PortFuture<'a, MintResult> {
        Box::pin(self.minted(mint))
    }

    fn find_mint<'a>(&'a self, attested: &'a AttestedMessage) -> PortFuture<'a, ChainStatus> {
        Box::pin(self.mint_status(attested))
    }
}
