//! The keys of managed wallets: made, sealed, and used to sign, on the sandbox's chains.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use purser_actors::agent_wallet::{Addresses, AgentWallet};
use purser_actors::id::{SpendId, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::{
    Authorization, BoxFuture, Clock, Custody, Entropy, ErrorKind, PortError, SealedKeys, SealedPart, Transfer,
};
use sha2::{Digest as _, Sha256};

use super::{KEYS, PAYMENT, PaidRequest, failed, open, seal};
use crate::settlement::sandbox::SandboxSettlement;
use crate::vault::Vault;
use crate::wallet::payment::{Circumstances, SignedPayment};
use crate::wallet::{PaymentRequired, TestWallet};

/// No payment is signed for longer, in seconds, however patient the server: for as long its amount may stay reserved.
pub const LONGEST_VALIDITY_S: u32 = 900;

/// Managed wallets whose keys the vault seals.
pub struct VaultedWallets {
    vault: Arc<Vault>,
    settlement: Arc<SandboxSettlement>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
}

impl VaultedWallets {
    /// With the vault that seals their keys, on these chains.
    pub const fn new(
        vault: Arc<Vault>,
        settlement: Arc<SandboxSettlement>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        Self {
            vault,
            settlement,
            clock,
            entropy,
        }
    }

    /// New keys for an owner: where they are, and sealed.
    ///
    /// # Errors
    /// When the vault fails.
    pub fn create(&self, owner: &Wallet) -> Result<(Addresses, Vec<u8>), PortError> {
        let no = |error: String| failed(ErrorKind::Temporary, "create keys", error);
        let wallet = TestWallet::create(&*self.entropy).map_err(|e| no(e.to_string()))?;
        let id = AgentWallet::keys(owner).0;
        let sealed = seal(&self.vault, id, KEYS, &*wallet.expose_keys()).map_err(|e| no(e.to_string()))?;
        let addresses = Addresses {
            base: wallet.evm_address(),
            solana: wallet.solana_address(),
        };
        Ok((addresses, sealed))
    }

    /// What the chain shows that an address holds.
    ///
    /// # Errors
    /// When the chain cannot be read.
    pub async fn balance(&self, wallet: &Wallet) -> Result<Usdc, PortError> {
        let read = self.settlement.balance(wallet).await;
        read.map_err(|e| failed(ErrorKind::Temporary, "balance", e))
    }

    fn keys(&self, keys: SealedKeys<'_>) -> Result<TestWallet, PortError> {
        let lost = |error: String| failed(ErrorKind::Temporary, "open keys", error);
        let id = AgentWallet::keys(&keys.owner).0;
        let plain = open(&self.vault, id, KEYS, keys.sealed).map_err(|e| lost(e.to_string()))?;
        let (Some(evm), Some(solana)) = (plain.first_chunk::<32>(), plain.last_chunk::<32>()) else {
            return Err(lost("not two keys".into()));
        };
        TestWallet::from_bytes(evm, solana).map_err(|e| lost(e.to_string()))
    }

    fn pay(&self, keys: SealedKeys<'_>, call: SealedPart<'_>) -> Result<(Authorization, Vec<u8>), PortError> {
        let no = |error: String| failed(ErrorKind::Permanent, "sign call", error);
        let request = PaidRequest::open(&self.vault, call.spend, call.sealed).map_err(|e| no(e.to_string()))?;
        let (header, index) = request.terms.ok_or_else(|| no("a call without terms".into()))?;
        let required = PaymentRequired::from_header(header.as_bytes()).map_err(|e| no(e.to_string()))?;
        let offer = required.offers().nth(index).ok_or_else(|| no("no such offer".into()))?;
        let offer = offer.within(LONGEST_VALIDITY_S);
        let wallet = self.keys(keys)?;
        let recent = self.settlement.recent_blockhash();
        let mut blockhash = [0; 32];
        if bs58::decode(&recent.blockhash).onto(&mut blockhash) != Ok(32) {
            return Err(failed(ErrorKind::Temporary, "sign call", "no recent block hash"));
        }
        let once = OfSpend(call.spend, AtomicU64::new(0));
        let at = Circumstances {
            now: self.clock.now(),
            // A store that was restored may sign for this spend again: on Base the same nonce is taken once.
            entropy: &once,
            // Our own node's, not the server's: how long it can land must be known.
            blockhash: Some(blockhash),
        };
        let (payment, signed) = wallet
            .pay_signed(&required, &offer, &at)
            .map_err(|e| no(e.to_string()))?;
        let authorization = match signed {
            SignedPayment::Evm(authorization) => Authorization::Evm(authorization),
            SignedPayment::Solana(wire) => SandboxSettlement::read_signed(&wire)
                .map(Authorization::Solana)
                .ok_or_else(|| no("a transaction that is no transfer".into()))?,
        };
        let payment = seal(&self.vault, call.spend.0, PAYMENT, payment.as_bytes());
        Ok((authorization, payment.map_err(|e| no(e.to_string()))?))
    }
}

/// Bits that follow from a spend's id, which is random: the same for the same spend.
struct OfSpend(SpendId, AtomicU64);

impl Entropy for OfSpend {
    fn random(&self) -> u128 {
        let Self(spend, taken) = self;
        let mut hash = Sha256::new();
        hash.update(b"paid call");
        hash.update(spend.0.to_be_bytes());
        hash.update(taken.fetch_add(1, Ordering::Relaxed).to_be_bytes());
        let hash = hash.finalize();
        hash.first_chunk()
            .map_or(0, |half: &[u8; 16]| u128::from_be_bytes(*half))
    }
}

impl Custody for VaultedWallets {
    fn sign_transfer<'a>(
        &'a self,
        keys: SealedKeys<'a>,
        transfer: &'a Transfer,
    ) -> BoxFuture<'a, Result<Authorization, PortError>> {
        Box::pin(async move { self.settlement.sign_with(&self.keys(keys)?, transfer) })
    }

    fn sign_call<'a>(
        &'a self,
        keys: SealedKeys<'a>,
        call: SealedPart<'a>,
    ) -> BoxFuture<'a, Result<(Authorization, Vec<u8>), PortError>> {
        Box::pin(async move { self.pay(keys, call) })
    }
}
