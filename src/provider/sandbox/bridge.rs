//! The sandbox's bridge. Burns and mints are transfers on the sandbox's own chains, to and from the bridge's address,
//! so bridge transfers are visible there. Observations of the attesters are in the bridge's own file, synced before
//! each response.
//!
//! Messages have the real layout and are signed. A mint checks the signature, and the nonce makes it happen once.

mod base;
pub mod faults;
mod message;
mod reconciliation;
mod records;
mod solana;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use parking_lot::Mutex;
use purser_actors::money::Usdc;
use purser_actors::port::{
    AttestationStatus, AttestedMessage, BoxFuture, Bridge, BridgeTransfer, ChainStatus, Clock, Decline, ErrorKind,
    MintResult, PortError, SignedBurn, SignedMint, SubmitResult, Timestamp,
};

use self::faults::{BridgeFault, BridgeFaultRule, BridgeFaults, BridgeLeg, magic_amounts};
use self::records::{BridgeRecord, BridgeRecordKind, BridgeRecords, SignedBurnRecord};
use crate::sandbox::archive::{Archive, ArchiveState as _};
use crate::sandbox::chains::remote::ChainRpc;
use crate::sandbox::keys::bridge_wallet;
use crate::sandbox::record_log::{DurablePromise, LogError};
use crate::wallet::TestWallet;

const KIND: [u8; 8] = *b"SBXBRI02";

/// A simulated bridge.
pub struct SandboxBridge {
    chains: Arc<dyn ChainRpc>,
    wallet: TestWallet,
    clock: Arc<dyn Clock>,
    attest_after_ms: u64,
    records: Mutex<BridgeRecords>,
    archive: Archive,
    faults: BridgeFaults,
    /// Whether the bridge's token account exists on Solana.
    is_open: AtomicBool,
}

/// Summary of the bridge.
#[derive(Clone, Debug)]
pub struct SandboxBridgeSummary {
    /// Burns that the attesters have observed.
    pub burns: u64,
    /// Faults that wait for a call.
    pub rules: Vec<BridgeFaultRule>,
    /// Calls that met a fault since the start.
    pub faults_injected: u64,
}

impl SandboxBridge {
    /// Opens or creates `bridge.messages` in the directory, which must exist. An attestation takes `attest_after_ms`.
    ///
    /// # Errors
    /// When the disk fails, another process has the file, or it is corrupt before its tail.
    pub fn open(
        directory: &Path,
        chains: Arc<dyn ChainRpc>,
        clock: Arc<dyn Clock>,
        attest_after_ms: u64,
    ) -> Result<Self, LogError> {
        let mut book = BridgeRecords::default();
        let archive = Archive::open(&directory.join("bridge.messages"), KIND, &mut book)?;
        Ok(Self {
            chains,
            // The sentences of the sandbox's keys are constants that yield valid keys.
            wallet: bridge_wallet().map_err(|_| LogError::Stopped)?,
            clock,
            attest_after_ms,
            records: Mutex::new(book),
            archive,
            faults: BridgeFaults::default(),
            is_open: AtomicBool::new(false),
        })
    }

    pub fn add_fault(&self, rule: BridgeFaultRule) {
        self.faults.add(rule);
    }

    pub fn clear_faults(&self) {
        self.faults.clear();
    }

    pub fn state(&self) -> SandboxBridgeSummary {
        SandboxBridgeSummary {
            burns: self.records.lock().burns,
            rules: self.faults.rules(),
            faults_injected: self.faults.injected(),
        }
    }

    /// Decides on the next record of a burn by its known records and persists it. The result may be reported once it is
    /// durable.
    async fn record<R>(
        &self,
        transaction: &str,
        decide: impl FnOnce(&[BridgeRecord], Timestamp) -> (Option<BridgeRecordKind>, R) + Send,
    ) -> Result<R, PortError> {
        let (result, durable) = {
            let mut book = self.records.lock();
            book.now = book.now.max(self.clock.now());
            let now = book.now;
            let known = book.of(transaction);
            let (what, result) = decide(&known, now);
            let noted = what.map(|what| BridgeRecord {
                transaction: transaction.to_owned(),
                at: now,
                kind: what,
            });
            let durable = match noted {
                None => self.archive.barrier(),
                Some(noted) => self.persist(&mut book, &noted),
            };
            (result, durable)
        };
        durable
            .wait()
            .await
            .map_err(|e| failed(ErrorKind::Unknown, e.to_string()))?;
        Ok(result)
    }

    fn persist(&self, book: &mut BridgeRecords, noted: &BridgeRecord) -> DurablePromise {
        if self.archive.has_failed() || book.apply(noted).is_err() {
            return DurablePromise::broken();
        }
        // Encoding plain data into memory cannot fail.
        let record = bincode::encode_to_vec(noted, bincode::config::standard()).unwrap_or_default();
        self.archive.append(book, record)
    }

    /// The fault that a call meets: from the sandbox controls, or from its amount. A fault of an amount applies once
    /// unless it is permanent.
    fn fault(&self, leg: BridgeLeg, known: &[BridgeRecord]) -> Option<BridgeFault> {
        if let Some(fault) = self.faults.take(leg) {
            return Some(fault);
        }
        let signed = signed_of(known)?;
        let arrives = Usdc::from_atomic(signed.burned.saturating_sub(signed.fee));
        let (_, _, fault, _) = magic_amounts()
            .into_iter()
            .find(|(cents, at, ..)| *at == leg && Usdc::from_cents(*cents) == Ok(arrives))?;
        let met = match (leg, fault) {
            (BridgeLeg::Burn, BridgeFault::LoseResponse) => has(known, &BridgeRecordKind::Sent),
            (BridgeLeg::Burn, BridgeFault::Expire) => self.records.lock().rounds(signed.key) > 1,
            (BridgeLeg::Attestation, BridgeFault::Expire) => has(known, &BridgeRecordKind::AttestationExpired),
            (BridgeLeg::Attestation, BridgeFault::Slow { .. }) => has(known, &BridgeRecordKind::BurnObserved),
            (BridgeLeg::Mint, BridgeFault::RetryableDecline) => has(known, &BridgeRecordKind::MintDeclined),
            _ => false,
        };
        (!met).then_some(fault)
    }

    /// All records of a burn, after they are durable.
    async fn records_of(&self, transaction: &str) -> Result<Vec<BridgeRecord>, PortError> {
        self.record(transaction, |known, _| (None, known.to_vec())).await
    }
}

impl Bridge for SandboxBridge {
    fn sign_burn<'a>(&'a self, transfer: &'a BridgeTransfer) -> BoxFuture<'a, Result<SignedBurn, PortError>> {
        Box::pin(self.sign_burn(transfer))
    }

    fn burn<'a>(&'a self, burn: &'a SignedBurn) -> BoxFuture<'a, Result<SubmitResult, PortError>> {
        Box::pin(self.submit_burn(burn))
    }

    fn find_burn<'a>(&'a self, burn: &'a SignedBurn) -> BoxFuture<'a, Result<ChainStatus, PortError>> {
        Box::pin(self.lookup_burn(burn))
    }

    fn attestation<'a>(&'a self, burn: &'a SignedBurn) -> BoxFuture<'a, Result<AttestationStatus, PortError>> {
        Box::pin(self.attestation(burn))
    }

    fn reattest<'a>(&'a self, nonce: &'a [u8; 32]) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move {
            let burned = self.records.lock().with_nonce(nonce);
            let transaction = burned.ok_or_else(|| failed(ErrorKind::Temporary, "no such message"))?;
            self.record(&transaction, |_, _| (Some(BridgeRecordKind::Reattested), ()))
                .await
        })
    }

    fn sign_mint<'a>(&'a self, attested: &'a AttestedMessage) -> BoxFuture<'a, Result<SignedMint, PortError>> {
        Box::pin(async move {
            Ok(SignedMint {
                bytes: [&attested.message[..], &attested.attestation].concat(),
                // The Base transaction is set by the caller.
                transaction: String::new(),
            })
        })
    }

    fn mint<'a>(&'a self, mint: &'a SignedMint) -> BoxFuture<'a, Result<MintResult, PortError>> {
        Box::pin(self.minted(mint))
    }

    fn find_mint<'a>(&'a self, attested: &'a AttestedMessage) -> BoxFuture<'a, Result<ChainStatus, PortError>> {
        Box::pin(self.lookup_mint(attested))
    }
}

fn has(known: &[BridgeRecord], what: &BridgeRecordKind) -> bool {
    known.iter().any(|noted| noted.kind == *what)
}

fn signed_of(known: &[BridgeRecord]) -> Option<SignedBurnRecord> {
    known.iter().find_map(|noted| match noted.kind {
        BridgeRecordKind::Signed(signed) => Some(signed),
        _ => None,
    })
}

/// The effect of a fault before the bridge has read the request.
async fn before(fault: Option<BridgeFault>) -> Result<(), PortError> {
    match fault {
        Some(BridgeFault::Unreachable) => Err(failed(ErrorKind::Temporary, "the sandbox bridge is unreachable")),
        Some(BridgeFault::RateLimited) => Err(failed(ErrorKind::Temporary, "too many requests")),
        // A malformed response reveals nothing about the outcome.
        Some(BridgeFault::MalformedResponse) => Err(failed(ErrorKind::Unknown, "the answer is not a bridge's answer")),
        Some(BridgeFault::Slow { ms }) => {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            Ok(())
        }
        _ => Ok(()),
    }
}

fn decline(reason: &str) -> Decline {
    Decline {
        reason: reason.into(),
        message: "the sandbox was set to decline it".into(),
    }
}

fn failed(kind: ErrorKind, message: impl Into<String>) -> PortError {
    PortError {
        kind,
        operation: "bridge",
        message: message.into(),
    }
}
