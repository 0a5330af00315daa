//! The keys of agent wallets: derived, and used to sign.
//!
//! No key is stored. Both keys are derived from a key of the vault's ring, the owner and a number (`0` is an account's
//! first wallet). The same owner therefore has the same addresses after a restore, even if the wallet was opened after
//! the backup. The store has a record that names the key of the ring and seals number and addresses. The record pins
//! that key on the ring ([`Vault::root`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use purser_actors::entity::agent_wallet::AgentWallet;
use purser_actors::id::{Network, Wallet, WalletPaymentId};
use purser_actors::money::Usdc;
use purser_actors::port::{
    Authorization, Clock, Entropy, ErrorKind, OutgoingTransferRequest, PortError, PortFuture, SealedHttpPart,
    SealedKeys, WalletAddresses, WalletSigner,
};
use sha2::{Digest as _, Sha256};

use super::{KEYS, PAYMENT, PaidHttpRequest, failed, seal};
use crate::payment::solana::parse_own_transfer;
use crate::payment::terms::Token;
use crate::settlement::chain::{Blockhash, ChainParts};
use crate::settlement::outgoing::{no_blockhash, sign_transfer};
use crate::vault::{KeyId, Vault, VaultError};
use crate::wallet::payment::{SignedPayment, SigningContext};
use crate::wallet::{MAX_SIGNED_VALIDITY_S, PaymentRequired, TestWallet};

/// Signs with the keys of agent wallets, which the vault derives.
pub struct SealedWalletSigner {
    vault: Arc<Vault>,
    chains: ChainParts,
    clock: Arc<dyn Clock>,
}

impl SealedWalletSigner {
    pub const fn new(vault: Arc<Vault>, chains: ChainParts, clock: Arc<dyn Clock>) -> Self {
        Self { vault, chains, clock }
    }

    /// The token that wallets pay with. Nothing is signed under another token's domain, because such a signature could
    /// spend that token.
    pub const fn token(&self) -> Token {
        self.chains.names.base.token
    }

    /// The addresses of an owner's wallet, opened or not.
    ///
    /// # Errors
    /// When the vault fails.
    pub fn addresses_of(&self, owner: &Wallet) -> Result<WalletAddresses, PortError> {
        let wallet = derived(&self.vault, self.vault.root_key(), owner, FIRST);
        let wallet = wallet.map_err(|e| failed(ErrorKind::Temporary, "derive keys", e))?;
        Ok(addresses_of(&wallet))
    }

    /// An owner's first wallet: its addresses, and the record of its key derivation.
    ///
    /// # Errors
    /// When the vault fails.
    pub fn create(&self, owner: &Wallet) -> Result<(WalletAddresses, Vec<u8>), PortError> {
        let addresses = self.addresses_of(owner)?;
        let record = self
            .vault
            .root(AgentWallet::keys(owner), &plain_of(FIRST, &addresses))
            .map_err(|e| failed(ErrorKind::Temporary, "derive keys", e))?;
        // Before its owner knows its addresses.
        for network in Network::ALL {
            self.chains.own_wallets.track(&addresses.on(network));
        }
        Ok((addresses, record))
    }

    /// The balance of an address on chain.
    ///
    /// # Errors
    /// When the chain cannot be read.
    pub async fn balance(&self, wallet: &Wallet) -> Result<Usdc, PortError> {
        self.chains.holdings.holds(wallet).await
    }

    fn keys(&self, keys: SealedKeys<'_>) -> Result<TestWallet, PortError> {
        let lost = |error: String| failed(ErrorKind::Temporary, "derive keys", error);
        let opened = self.vault.open_root(AgentWallet::keys(&keys.owner), keys.sealed);
        let (key, plain) = opened.map_err(|e| lost(e.to_string()))?;
        let number = match plain.split_first_chunk::<5>() {
            Some(([KEYS, number @ ..], _)) => u32::from_be_bytes(*number),
            _ => return Err(lost("not what keys are derived from".into())),
        };
        let wallet = derived(&self.vault, key, &keys.owner, number).map_err(|e| lost(e.to_string()))?;
        // Another ring than the one that the wallet was opened with must not sign for another address.
        if *plain != plain_of(number, &addresses_of(&wallet)) {
            return Err(lost("the keys that are derived are another wallet's".into()));
        }
        Ok(wallet)
    }

    /// The blockhash for a payment on this network; `None` on Base.
    fn blockhash(&self, network: Network) -> Result<Option<Blockhash>, PortError> {
        if network == Network::Base {
            return Ok(None);
        }
        let newest = self.chains.blockhashes.newest().filter(Blockhash::is_fresh);
        newest.map(Some).ok_or_else(|| no_blockhash("sign call"))
    }

    fn pay(&self, keys: SealedKeys<'_>, call: SealedHttpPart<'_>) -> Result<(Authorization, Vec<u8>), PortError> {
        let no = |error: String| failed(ErrorKind::Permanent, "sign call", error);
        let request = PaidHttpRequest::open(&self.vault, call.payment, call.sealed).map_err(|e| no(e.to_string()))?;
        let (header, index) = request.terms.ok_or_else(|| no("a call without terms".into()))?;
        let required = PaymentRequired::from_header(header.as_bytes()).map_err(|e| no(e.to_string()))?;
        let offer = required.offers().nth(index).ok_or_else(|| no("no such offer".into()))?;
        if !offer.is_signed_as(&self.token()) {
            return Err(no("a signature for another token".into()));
        }
        let offer = offer.within(MAX_SIGNED_VALIDITY_S);
        let wallet = self.keys(keys)?;
        let once = PaymentIdEntropy(call.payment, AtomicU64::new(0));
        // From our own node, not the server's: its expiry must be known.
        let blockhash = self.blockhash(offer.network)?;
        let at = SigningContext {
            now: self.clock.now(),
            // A restored store may sign for this wallet payment again: on Base the same nonce is accepted once.
            entropy: &once,
            blockhash: blockhash.map(|recent| recent.hash),
        };
        let (payment, signed) = wallet
            .pay_signed(&required, &offer, &at)
            .map_err(|e| no(e.to_string()))?;
        let authorization = match signed {
            SignedPayment::Evm(authorization) => Authorization::Evm(authorization),
            SignedPayment::Solana(wire) => {
                let mut transfer =
                    parse_own_transfer(&wire).ok_or_else(|| no("a transaction that is no transfer".into()))?;
                transfer.not_before_slot = blockhash.map_or(0, |recent| recent.not_before_slot);
                Authorization::Solana(transfer)
            }
        };
        let payment = seal(&self.vault, call.payment.0, PAYMENT, payment.as_bytes());
        Ok((authorization, payment.map_err(|e| no(e.to_string()))?))
    }
}

/// The number of an account's first wallet.
const FIRST: u32 = 0;

/// The wallet of an owner and a number, by a key of the ring.
fn derived(vault: &Vault, key: KeyId, owner: &Wallet, number: u32) -> Result<TestWallet, VaultError> {
    let (owner, number) = (owner.key(), number.to_be_bytes());
    let of = |chain: &[u8]| vault.derive(key, &[b"purser managed wallet 1", chain, &number, &owner]);
    // One 256-bit number in 2^128 is not a valid key on Base; then this owner has no wallet.
    TestWallet::from_bytes(&*of(b" base ")?, &*of(b" solana ")?).map_err(|_| VaultError::Sealed("derivation"))
}

fn addresses_of(wallet: &TestWallet) -> WalletAddresses {
    WalletAddresses {
        base: wallet.evm_address(),
        solana: wallet.solana_address(),
    }
}

/// Sealed content of a wallet's record: the number, and the addresses to compare with.
fn plain_of(number: u32, addresses: &WalletAddresses) -> Vec<u8> {
    [&[KEYS][..], &number.to_be_bytes(), &addresses.base, &addresses.solana].concat()
}

/// Bits derived from a wallet payment's id, which is random: the same for the same payment.
struct PaymentIdEntropy(WalletPaymentId, AtomicU64);

impl Entropy for PaymentIdEntropy {
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

impl WalletSigner for SealedWalletSigner {
    fn addresses(&self, owner: &Wallet) -> Option<WalletAddresses> {
        self.addresses_of(owner).ok()
    }

    fn sign_transfer<'a>(
        &'a self,
        keys: SealedKeys<'a>,
        transfer: &'a OutgoingTransferRequest,
    ) -> PortFuture<'a, Authorization> {
        Box::pin(async move { sign_transfer(&self.keys(keys)?, transfer, &(&self.chains).into()) })
    }

    fn sign_call<'a>(
        &'a self,
        keys: SealedKeys<'a>,
        call: SealedHttpPart<'a>,
    ) -> PortFuture<'a, (Authorization, Vec<u8>)> {
        Box::pin(async move { self.pay(keys, call) })
    }
}
