//! The true state of the bridge and the issuer, whatever their responses were.

use std::collections::{BTreeMap, BTreeSet};

use purser::verify::ChainTransfer;
use purser_actors::id::{TopUpId, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::{BridgeTransfer, CardDeposit, SignedMint};
use sha2::{Digest, Sha256};

use crate::fault_plan::Leg;

/// How long a signed burn can execute.
const BURN_VALIDITY_MS: u64 = 20_000;
/// From the landing to the attesters' word.
pub(super) const ATTESTED_AFTER_MS: u64 = 700;

/// One that was signed, whatever has become of it.
pub(crate) struct Burn {
    pub(crate) top_up: TopUpId,
    pub(super) payment: u32,
    pub(crate) to: [u8; 20],
    pub(crate) arrives: u64,
    pub(crate) burned: u64,
    pub(super) until_ms: u64,
    pub(super) sent: bool,
    /// It never lands any more.
    pub(super) expired: bool,
    pub(super) executes_at: Option<u64>,
    /// The newest word on it: which one, and until when it is good.
    pub(super) attestation: Option<(u32, u64)>,
    /// When it was minted, or will be, and by whom.
    pub(super) mint: Option<(u64, &'static str)>,
    /// It never is.
    pub(crate) blocked: bool,
}

impl Burn {
    pub(super) fn signed(bridge_transfer: &BridgeTransfer, payment: u32, burned: u64, now_ms: u64) -> Self {
        Self {
            top_up: TopUpId(bridge_transfer.key),
            payment,
            to: bridge_transfer.to,
            arrives: bridge_transfer.delivered_amount.atomic(),
            burned,
            until_ms: now_ms + BURN_VALIDITY_MS,
            sent: false,
            expired: false,
            executes_at: None,
            attestation: None,
            mint: None,
            blocked: false,
        }
    }

    /// A burn of another party, executed and attested.
    pub(super) fn mismatched(payment: u32, (to, arrives): ([u8; 20], u64), now_ms: u64) -> Self {
        let bridge_transfer = BridgeTransfer {
            key: 0,
            to,
            delivered_amount: Usdc::from_atomic(arrives),
        };
        Self {
            executes_at: Some(now_ms),
            attestation: Some((1, u64::MAX)),
            ..Self::signed(&bridge_transfer, payment, arrives, now_ms)
        }
    }

    /// Whether it has landed, is about to, or still could.
    pub(super) fn may_execute(&self, now_ms: u64) -> bool {
        self.executes_at.is_some() || self.sent && !self.expired && now_ms < self.until_ms
    }

    pub(crate) fn has_executed(&self, now_ms: u64) -> bool {
        self.executes_at.is_some_and(|at| at <= now_ms)
    }

    pub(crate) fn minted_by(&self) -> &'static str {
        self.mint.map_or("", |(_, by)| by)
    }

    /// How it shows in the list of what left our treasury, once it has.
    fn outgoing_transfer(&self, name: &str, now_ms: u64) -> Option<ChainTransfer> {
        let at_ms = self.executes_at.filter(|at| *at <= now_ms && self.top_up.0 != 0)?;
        Some(ChainTransfer {
            transaction: name.to_owned(),
            index: 0,
            from: Wallet::Solana([9; 32]),
            to: Wallet::Evm(self.to),
            atomic: self.burned,
            at_ms,
            mark: None,
        })
    }

    pub(crate) fn is_minted(&self, now_ms: u64) -> bool {
        self.mint.is_some_and(|(at, _)| at <= now_ms)
    }

    /// Executes it after this delay, if it is still valid by then; never twice.
    pub(super) fn schedule_execution(&mut self, at_ms: u64) {
        if !self.expired && at_ms < self.until_ms && self.executes_at.is_none() {
            self.executes_at = Some(at_ms);
        }
    }

    pub(super) fn mint(&mut self, at_ms: u64, by: &'static str) {
        if !self.blocked && self.mint.is_none() {
            self.mint = Some((at_ms, by));
        }
    }

    /// How long a word on it is good.
    pub(super) fn attestation_ttl_ms(&self) -> u64 {
        [6_000, 60_000, 1 << 40][self.payment as usize % 3]
    }
}

#[derive(Default)]
pub(crate) struct BridgeTransfers {
    /// Burns by their transaction.
    pub(crate) burns: BTreeMap<String, Burn>,
    /// Deposits that the issuer counts, by transaction.
    pub(crate) counted: BTreeMap<String, CardDeposit>,
    /// Top-ups whose delivery was not counted when it was asked after.
    pub(crate) uncounted: BTreeSet<TopUpId>,
    /// Top-ups whose burn was answered with an attestation of something else.
    pub(crate) misattested: BTreeSet<TopUpId>,
    pub(super) calls: BTreeMap<(u32, Leg), usize>,
}

pub(crate) fn mint_name(burn: &str, by: &str) -> String {
    format!("0x{by}{burn}")
}

pub(super) fn nonce(burn: &str) -> [u8; 32] {
    Sha256::digest(burn).into()
}

impl BridgeTransfers {
    /// What was burned out of our treasury.
    pub(crate) fn outgoing_transfers(&self, now_ms: u64) -> impl Iterator<Item = ChainTransfer> {
        let burns = self.burns.iter();
        burns.filter_map(move |(name, burn)| burn.outgoing_transfer(name, now_ms))
    }

    pub(super) fn with_nonce(&mut self, nonce_bytes: &[u8]) -> Option<(String, &mut Burn)> {
        let found = self.burns.iter_mut().find(|(name, _)| nonce(name) == nonce_bytes);
        found.map(|(name, burn)| (name.clone(), burn))
    }

    /// The burn that a mint is of, with the number of the word on it.
    pub(super) fn of_mint(&mut self, mint: &SignedMint) -> Option<(String, &mut Burn, u32)> {
        let (nonce_bytes, word) = mint.bytes.split_at_checked(32)?;
        let word = u32::from_be_bytes(word.try_into().ok()?);
        self.with_nonce(nonce_bytes).map(|(name, burn)| (name, burn, word))
    }
}
