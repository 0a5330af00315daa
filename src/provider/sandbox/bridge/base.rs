//! The Base side: the mint.

use purser_actors::id::Wallet;
use purser_actors::money::Usdc;
use purser_actors::port::{
    AttestedMessage, Authorization, ChainStatus, ErrorKind, MintResult, PortError, Preparation, SignedMint,
    SubmitResult,
};

use super::faults::BridgeLeg;
use super::message::{Message, attest};
use super::records::{BridgeRecord, BridgeRecordKind};
use super::{SandboxBridge, decline, failed, has};
use purser_sandbox::faults::Fault;

/// Amount that the bridge mints for itself when its balance is low: a million USDC, in atomic units.
const RESERVE: Usdc = Usdc::from_atomic(1_000_000_000_000);

impl SandboxBridge {
    pub(super) async fn minted(&self, mint: &SignedMint) -> Result<MintResult, PortError> {
        let refused = || failed(ErrorKind::Permanent, "not a message that the attesters signed");
        let (bytes, word) = mint.bytes.split_last_chunk::<65>().ok_or_else(refused)?;
        let message = Message::read(bytes).ok_or_else(refused)?;
        if attest(&self.wallet, bytes) != *word {
            return Err(refused());
        }
        let transaction = self.records.lock().with_nonce(&message.nonce).ok_or_else(refused)?;
        let known = self.records_of(&transaction).await?;
        let authorization = Authorization::Evm(message.mint(&self.wallet));
        let fault = self.fault(BridgeLeg::Mint, &known);
        self.before(fault).await?;
        match fault {
            Some(Fault::Stall) => return Err(failed(ErrorKind::Unknown, "nothing is heard of the mint")),
            Some(Fault::RetryableDecline) => {
                self.record(&transaction, |_, _| (Some(BridgeRecordKind::MintDeclined), ()))
                    .await?;
                return Ok(MintResult::Declined(decline("insufficient_gas")));
            }
            Some(Fault::Decline) => {
                let unsent = |known: &[BridgeRecord], _| {
                    (
                        (!has(known, &BridgeRecordKind::MintSent)).then_some(BridgeRecordKind::Blocked),
                        (),
                    )
                };
                self.record(&transaction, unsent).await?;
            }
            _ => {}
        }
        let send = |known: &[BridgeRecord], _| {
            let (blocked, sent) = (
                has(known, &BridgeRecordKind::Blocked),
                has(known, &BridgeRecordKind::MintSent),
            );
            ((!blocked && !sent).then_some(BridgeRecordKind::MintSent), !blocked)
        };
        if !self.record(&transaction, send).await? {
            return Ok(MintResult::Declined(decline("recipient_denied")));
        }
        let submitted = self.mint_on_base(&authorization).await?;
        if !matches!(submitted, MintResult::Declined(_)) {
            self.record_minted(&transaction).await?;
        }
        match (fault, submitted) {
            (Some(Fault::LoseResponse), _) => Err(failed(ErrorKind::Unknown, "no answer in time")),
            (_, minting) => Ok(minting),
        }
    }

    async fn mint_on_base(&self, authorization: &Authorization) -> Result<MintResult, PortError> {
        if let ChainStatus::Confirmed { .. } = self.chains.lookup(authorization, None).await? {
            return Ok(MintResult::NonceUsed);
        }
        let own = Wallet::Evm(self.wallet.evm_address());
        if self.chains.balance(&own).await? < authorization.value() {
            self.chains.fund(own, RESERVE.max(authorization.value())).await?;
        }
        let prepared = match self.chains.prepare(authorization).await? {
            Preparation::Ready(prepared) => prepared,
            Preparation::Declined(decline) => return Ok(MintResult::Declined(decline)),
        };
        Ok(match self.chains.submit(authorization, &prepared).await? {
            SubmitResult::Settled { transaction, .. } => MintResult::Minted { transaction },
            SubmitResult::Declined(decline) => MintResult::Declined(decline),
        })
    }

    async fn record_minted(&self, transaction: &str) -> Result<(), PortError> {
        let once = |known: &[BridgeRecord], _| {
            (
                (!has(known, &BridgeRecordKind::Minted)).then_some(BridgeRecordKind::Minted),
                (),
            )
        };
        self.record(transaction, once).await
    }

    pub(super) async fn lookup_mint(&self, attested: &AttestedMessage) -> Result<ChainStatus, PortError> {
        let refused = || failed(ErrorKind::Temporary, "not a message of this bridge");
        let message = Message::read(&attested.message).ok_or_else(refused)?;
        let transaction = self.records.lock().with_nonce(&message.nonce).ok_or_else(refused)?;
        let known = self.records_of(&transaction).await?;
        if has(&known, &BridgeRecordKind::Blocked) {
            return Ok(ChainStatus::Impossible);
        }
        let authorization = Authorization::Evm(message.mint(&self.wallet));
        Ok(match self.chains.lookup(&authorization, None).await? {
            ChainStatus::Confirmed {
                transaction: minted_as,
                finality,
            } => {
                self.record_minted(&transaction).await?;
                ChainStatus::Confirmed {
                    transaction: minted_as,
                    finality,
                }
            }
            // Only the bridge decides that a mint is impossible; an attestation does not expire on the chain.
            ChainStatus::Impossible => ChainStatus::Pending,
            found => found,
        })
    }
}
