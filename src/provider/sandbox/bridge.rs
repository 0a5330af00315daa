//! The sandbox's bridge. Burns and mints are transfers on the sandbox's own chains, to and from the bridge's address,
//! so bridge transfers are visible there. Observations of the attesters are stored, synced before
//! each response.
//!
//! Messages have the real layout and are signed. A mint checks the signature, and the nonce makes it happen once.

mod base;
pub mod faults;
mod message;
mod reconciliation;
mod records;
mod solana;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use purser_actors::money::Usdc;
use purser_actors::port::{
    AttestationStatus, AttestedMessage, Bridge, BridgeTransfer, ChainStatus, Clock, Decline, ErrorKind, MintResult,
    PortError, PortFuture, SignedBurn, SignedMint, SubmitResult, Timestamp,
};

use self::faults::{BridgeLeg, magic_amounts};
use self::records::{BridgeRecord, BridgeRecordKind, BridgeRecords, SignedBurnRecord};
use purser_protocol::wallet::TestWallet;
use purser_sandbox::chains::remote::ChainRpc;
use purser_sandbox::clock::advance;
use purser_sandbox::faults::{self as fault_layer, Fault, FaultTexts, Faults};
use purser_sandbox::keys::bridge_wallet;
use purser_sandbox::records::{RecordBook as _, Records};
use purser_sandbox::store::{SandboxStore, SandboxStoreError, Table};

const TEXTS: FaultTexts = FaultTexts {
    unreachable: "the sandbox bridge is unreachable",
    malformed: "the answer is not a bridge's answer",
};

/// A simulated bridge.
pub struct SandboxBridge {
    chains: Arc<dyn ChainRpc>,
    wallet: TestWallet,
    clock: Arc<dyn Clock>,
    attest_after_ms: u64,
    records: Records<BridgeRecords>,
    pub faults: Faults<BridgeLeg>,
    /// Whether the bridge's token account exists on Solana.
    is_open: AtomicBool,
}

impl SandboxBridge {
    /// Opens its tables of the store. An attestation takes `attest_after_ms`.
    ///
    /// # Errors
    /// When its rows cannot be read.
    pub fn open(
        store: &SandboxStore,
        chains: Arc<dyn ChainRpc>,
        clock: Arc<dyn Clock>,
        attest_after_ms: u64,
    ) -> Result<Self, SandboxStoreError> {
        Ok(Self {
            chains,
            // The sentences of the sandbox's keys are constants that yield valid keys.
            wallet: bridge_wallet().map_err(|_| SandboxStoreError::Stopped)?,
            clock,
            attest_after_ms,
            records: Records::open(store, Table::Bridge)?,
            faults: Faults::new(TEXTS, 0),
            is_open: AtomicBool::new(false),
        })
    }

    /// Burns that the attesters have observed.
    pub fn burns(&self) -> u64 {
        self.records.lock().totals.burns
    }

    /// Decides on the next record of a burn by its known records and stores it. The result may be reported once it is
    /// durable.
    async fn record<R>(
        &self,
        transaction: &str,
        decide: impl FnOnce(&[BridgeRecord], Timestamp) -> (Option<BridgeRecordKind>, R) + Send,
    ) -> Result<R, PortError> {
        let result = self.records.run(|book| {
            let at = advance(&mut book.totals.now, &*self.clock);
            let (kind, result) = decide(&book.of(transaction), at);
            if let Some(kind) = kind {
                let transaction = transaction.to_owned();
                book.append(&[BridgeRecord { transaction, at, kind }]);
            }
            result
        });
        result.or(ErrorKind::Unknown, "bridge").await
    }

    /// The fault that a call meets: from the sandbox controls, or from its amount. A fault of an amount applies once
    /// unless it is permanent.
    fn fault(&self, leg: BridgeLeg, known: &[BridgeRecord]) -> Option<Fault> {
        let waiting = self.faults.take(|of, _| of == Some(leg));
        if waiting.is_some() {
            return waiting;
        }
        let signed = signed_of(known)?;
        let arrives = Usdc::from_atomic(signed.burned.saturating_sub(signed.fee));
        let (_, _, fault, _) = magic_amounts()
            .into_iter()
            .find(|(cents, at, ..)| *at == leg && Usdc::from_cents(*cents) == Ok(arrives))?;
        let met = match (leg, fault) {
            (BridgeLeg::Burn, Fault::LoseResponse) => has(known, &BridgeRecordKind::Sent),
            (BridgeLeg::Burn, Fault::Expire) => self.records.lock().rounds(signed.key) > 1,
            (BridgeLeg::Attestation, Fault::Expire) => has(known, &BridgeRecordKind::AttestationExpired),
            (BridgeLeg::Attestation, Fault::Slow { .. }) => has(known, &BridgeRecordKind::BurnObserved),
            (BridgeLeg::Mint, Fault::RetryableDecline) => has(known, &BridgeRecordKind::MintDeclined),
            _ => false,
        };
        (!met).then_some(fault)
    }

    /// The effect of a fault before the bridge has read the request. A leg that stalls says so itself.
    async fn before(&self, fault: Option<Fault>) -> Result<(), PortError> {
        match fault {
            Some(Fault::Stall) => Ok(()),
            fault => self.faults.start("bridge", fault).await,
        }
    }

    /// All records of a burn, after they are durable.
    async fn records_of(&self, transaction: &str) -> Result<Vec<BridgeRecord>, PortError> {
        self.record(transaction, |known, _| (None, known.to_vec())).await
    }
}

impl Bridge for SandboxBridge {
    fn sign_burn<'a>(&'a self, transfer: &'a BridgeTransfer) -> PortFuture<'a, SignedBurn> {
        Box::pin(self.sign_burn(transfer))
    }

    fn burn<'a>(&'a self, burn: &'a SignedBurn) -> PortFuture<'a, SubmitResult> {
        Box::pin(self.submit_burn(burn))
    }

    fn find_burn<'a>(&'a self, burn: &'a SignedBurn) -> PortFuture<'a, ChainStatus> {
        Box::pin(self.lookup_burn(burn))
    }

    fn attestation<'a>(&'a self, burn: &'a SignedBurn) -> PortFuture<'a, AttestationStatus> {
        Box::pin(self.attestation(burn))
    }

    fn reattest<'a>(&'a self, nonce: &'a [u8; 32]) -> PortFuture<'a, ()> {
        Box::pin(async move {
            let burned = self.records.lock().with_nonce(nonce);
            let transaction = burned.ok_or_else(|| failed(ErrorKind::Temporary, "no such message"))?;
            self.record(&transaction, |_, _| (Some(BridgeRecordKind::Reattested), ()))
                .await
        })
    }

    fn sign_mint<'a>(&'a self, attested: &'a AttestedMessage) -> PortFuture<'a, SignedMint> {
        Box::pin(async move {
            Ok(SignedMint {
                bytes: [&attested.message[..], &attested.attestation].concat(),
                // The Base transaction is set by the caller.
                transaction: String::new(),
            })
        })
    }

    fn mint<'a>(&'a self, mint: &'a SignedMint) -> PortFuture<'a, MintResult> {
        Box::pin(self.minted(mint))
    }

    fn find_mint<'a>(&'a self, attested: &'a AttestedMessage) -> PortFuture<'a, ChainStatus> {
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

fn decline(reason: &str) -> Decline {
    Decline {
        reason: reason.into(),
        message: "the sandbox was set to decline it".into(),
    }
}

fn failed(kind: ErrorKind, message: impl Into<String>) -> PortError {
    fault_layer::failed(kind, "bridge", message)
}
