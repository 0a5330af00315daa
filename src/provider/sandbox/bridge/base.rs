//! Into Base: the mint.

use purser_actors::id::Wallet;
use purser_actors::money::Usdc;
use purser_actors::port::{
    Attested, Authorization, ErrorKind, Lookup, Minting, PortError, Preparation, SignedMint, Submitted,
};

use super::book::{Noted, What};
use super::fault::{BridgeFault, BridgeLeg};
use super::message::{Message, attest};
use super::{SandboxBridge, before, failed, has, refusal};

/// What the bridge has minted for itself when it runs low, in atomic USDC: a million.
const RESERVE: Usdc = Usdc::from_atomic(1_000_000_000_000);

impl SandboxBridge {
    pub(super) async fn minted(&self, mint: &SignedMint) -> Result<Minting, PortError> {
        let refused = || failed(ErrorKind::Permanent, "not a message that the attesters signed");
        let (bytes, word) = mint.bytes.split_last_chunk::<65>().ok_or_else(refused)?;
        let message = Message::read(bytes).ok_or_else(refused)?;
        if attest(&self.wallet, bytes) != *word {
            return Err(refused());
        }
        let transaction = self.book.lock().with_nonce(&message.nonce).ok_or_else(refused)?;
        let known = self.known(&transaction).await?;
        let authorization = Authorization::Evm(message.mint(&self.wallet));
        let fault = self.fault(BridgeLeg::Mint, &known);
        before(fault).await?;
        match fault {
            Some(BridgeFault::Stall) => return Err(failed(ErrorKind::Unknown, "nothing is heard of the mint")),
            Some(BridgeFault::Refuse) => {
                self.note(&transaction, |_, _| (Some(What::Refused), ())).await?;
                return Ok(Minting::Declined(refusal("insufficient_gas")));
            }
            Some(BridgeFault::Fail) => {
                let unsent = |known: &[Noted], _| ((!has(known, &What::MintSent)).then_some(What::Blocked), ());
                self.note(&transaction, unsent).await?;
            }
            _ => {}
        }
        let send = |known: &[Noted], _| {
            let (blocked, sent) = (has(known, &What::Blocked), has(known, &What::MintSent));
            ((!blocked && !sent).then_some(What::MintSent), !blocked)
        };
        if !self.note(&transaction, send).await? {
            return Ok(Minting::Declined(refusal("recipient_denied")));
        }
        let submitted = self.mint_on_base(&authorization).await?;
        if !matches!(submitted, Minting::Declined(_)) {
            self.note_minted(&transaction).await?;
        }
        match (fault, submitted) {
            (Some(BridgeFault::LoseAnswer), _) => Err(failed(ErrorKind::Unknown, "no answer in time")),
            (_, minting) => Ok(minting),
        }
    }

    async fn mint_on_base(&self, authorization: &Authorization) -> Result<Minting, PortError> {
        if let Lookup::Landed { .. } = self.chains.lookup(authorization, None).await? {
            return Ok(Minting::NonceUsed);
        }
        let own = Wallet::Evm(self.wallet.evm_address());
        if self.chains.balance(&own).await? < authorization.value() {
            self.chains.fund(own, RESERVE.max(authorization.value())).await?;
        }
        let prepared = match self.chains.prepare(authorization).await? {
            Preparation::Ready(prepared) => prepared,
            Preparation::Declined(decline) => return Ok(Minting::Declined(decline)),
        };
        Ok(match self.chains.submit(authorization, &prepared).await? {
            Submitted::Settled { transaction, .. } => Minting::Minted { transaction },
            Submitted::Declined(decline) => Minting::Declined(decline),
        })
    }

    async fn note_minted(&self, transaction: &str) -> Result<(), PortError> {
        let once = |known: &[Noted], _| ((!has(known, &What::Minted)).then_some(What::Minted), ());
        self.note(transaction, once).await
    }

    pub(super) async fn found_mint(&self, attested: &Attested) -> Result<Lookup, PortError> {
        let refused = || failed(ErrorKind::Temporary, "not a message of this bridge");
        let message = Message::read(&attested.message).ok_or_else(refused)?;
        let transaction = self.book.lock().with_nonce(&message.nonce).ok_or_else(refused)?;
        let known = self.known(&transaction).await?;
        if has(&known, &What::Blocked) {
            return Ok(Lookup::Impossible);
        }
        let authorization = Authorization::Evm(message.mint(&self.wallet));
        Ok(match self.chains.lookup(&authorization, None).await? {
            Lookup::Landed {
                transaction: minted_as,
                finality,
            } => {
                self.note_minted(&transaction).await?;
                Lookup::Landed {
                    transaction: minted_as,
                    finality,
                }
            }
            // The bridge itself says what can never be minted; a message's word does not lapse on the chain.
            Lookup::Impossible => Lookup::Pending,
            found => found,
        })
    }
}
