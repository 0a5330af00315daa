//! Reservations of treasury funds, per chain, for transfers that have not left yet. Funds on one chain pay nothing on
//! the other. Each reservation is therefore compared with its own chain's treasury before anything is held or charged
//! for it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::OutgoingTransferGuard;
use crate::engine::Engine;
use crate::engine::jobs::with_timeout_ms;
use crate::engine::registries::Registries;
use crate::entity::{top_up, withdrawal};
use crate::id::{Network, Wallet, WithdrawalId};
use crate::jobs::OutgoingPurpose;
use crate::kernel::registry::LoadError;
use crate::money::Usdc;

/// Number of checks while the funds are too low: a transfer that has just left may still count as reserved.
const MAX_CHECKS: u32 = 5;
/// Number of checks while an earlier reservation is only requested: it is committed or dropped in a moment.
const MAX_CHECKS_WHEN_REQUESTED: u32 = 30;
/// Pause between two checks, in milliseconds.
const CHECK_INTERVAL_MS: u64 = 100;

#[derive(Clone, Copy, Debug)]
struct ReservedTransfer {
    network: Network,
    amount: Usdc,
    purpose: OutgoingPurpose,
}

/// Reservations in the order in which they were made. Each needs funds in addition to those before it.
#[derive(Default)]
pub(super) struct TreasuryReservations {
    last_number: u64,
    open: BTreeMap<u64, ReservedTransfer>,
}

impl TreasuryReservations {
    /// Adds a reservation and returns its position; an existing one keeps its position.
    fn add(&mut self, promised: ReservedTransfer) -> u64 {
        let known = self.open.iter().find(|(_, other)| other.purpose == promised.purpose);
        if let Some((place, _)) = known {
            return *place;
        }
        self.last_number += 1;
        self.open.insert(self.last_number, promised);
        self.last_number
    }
}

/// A reservation of treasury funds for a withdrawal that is about to be requested. Dropping it without
/// [`TreasuryReservation::commit`] releases it.
pub struct TreasuryReservation {
    guard: Arc<OutgoingTransferGuard>,
    number: Option<u64>,
}

impl TreasuryReservation {
    /// The withdrawal exists: the reservation stays until the transfer has left or failed.
    pub fn commit(mut self) {
        self.number = None;
    }
}

impl Drop for TreasuryReservation {
    fn drop(&mut self) {
        if let Some(place) = self.number {
            self.guard.reservations.lock().open.remove(&place);
        }
    }
}

/// Why nothing was reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReservationError {
    /// The address can't receive USDC: a Solana owner without a token account.
    CannotReceive,
    /// The treasury of this chain has less than its reservations.
    InsufficientTreasury(Network),
    /// The chain did not answer.
    Unavailable,
}

impl OutgoingTransferGuard {
    /// Reserves an amount that must leave a chain's treasury, until it has left.
    pub(in crate::engine) fn reserve(&self, network: Network, amount: Usdc, what: OutgoingPurpose) -> u64 {
        let promised = ReservedTransfer {
            network,
            amount,
            purpose: what,
        };
        self.reservations.lock().add(promised)
    }

    /// The treasury no longer has the funds, though a reorg may still return them. The next attempt to send then
    /// reserves them again.
    pub(in crate::engine) fn release_sent(&self, what: OutgoingPurpose) {
        self.reservations
            .lock()
            .open
            .retain(|_, promised| promised.purpose != what);
    }

    fn reservations_before(&self, network: Network, place: u64) -> Vec<(u64, ReservedTransfer)> {
        let promises = self.reservations.lock();
        let before = promises
            .open
            .range(..place)
            .filter(|(_, promised)| promised.network == network);
        before.map(|(place, promised)| (*place, *promised)).collect()
    }
}

/// State of a reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReservationState {
    /// Money still has to leave for it.
    Due,
    /// It is only requested, or can't be read: it may become due.
    MaybeDue,
    /// Nothing leaves for it any more.
    NotDue,
}

/// Whether money still has to leave for it.
async fn reservation_state(families: &Registries, what: OutgoingPurpose) -> Result<ReservationState, LoadError> {
    let of = |open: Option<bool>| match open {
        None => ReservationState::MaybeDue,
        Some(true) => ReservationState::Due,
        Some(false) => ReservationState::NotDue,
    };
    Ok(match what {
        OutgoingPurpose::Withdrawal(id) => {
            let read = families.withdrawals.read(&id).await?;
            of(
                read.map(|(asked, _)| {
                    matches!(asked.status, withdrawal::Status::Pending | withdrawal::Status::Sent(_))
                }),
            )
        }
        OutgoingPurpose::TopUp(id) => {
            let read = families.top_ups.read(&id).await?;
            of(read.map(|(top_up, _)| matches!(top_up.status, top_up::Status::Paid(_))))
        }
        // These do not leave our treasury.
        OutgoingPurpose::WalletPayment(_) | OutgoingPurpose::Payout(_) | OutgoingPurpose::BankTransfer(_) => {
            ReservationState::NotDue
        }
    })
}

impl Engine {
    /// Reserves treasury funds for a withdrawal, before its amount is held.
    ///
    /// # Errors
    /// [`ReservationError`].
    pub async fn reserve_treasury(
        &self,
        id: WithdrawalId,
        to: &Wallet,
        amount: Usdc,
    ) -> Result<TreasuryReservation, ReservationError> {
        self.check_can_receive(to).await?;
        let network = to.network();
        let outgoing_guard = self.0.outgoing_guard.clone();
        let place = outgoing_guard.reserve(network, amount, OutgoingPurpose::Withdrawal(id));
        let place = Some(place);
        let promise = TreasuryReservation {
            guard: outgoing_guard,
            number: place,
        };
        self.check_fits(network, amount, promise.number.unwrap_or_default())
            .await?;
        Ok(promise)
    }

    /// Whether an address can receive USDC, from us or from an agent wallet.
    ///
    /// # Errors
    /// [`ReservationError::CannotReceive`], and [`ReservationError::Unavailable`] when the chain does not answer.
    pub async fn check_can_receive(&self, to: &Wallet) -> Result<(), ReservationError> {
        let asked = self.0.ports.settlement.can_receive(to);
        match with_timeout_ms(self.settle_timeout(), asked, "can receive").await {
            Ok(true) => Ok(()),
            Ok(false) => Err(ReservationError::CannotReceive),
            Err(error) => {
                tracing::warn!(%to, %error, "it cannot be said whether an address can be sent USDC");
                Err(ReservationError::Unavailable)
            }
        }
    }

    /// Whether a chain's treasury covers its reservations, so that a payment on this chain can be forwarded.
    pub(in crate::engine) async fn check_treasury(&self, network: Network) -> Result<(), ReservationError> {
        self.check_fits(network, Usdc::ZERO, u64::MAX).await
    }

    /// Whether this amount can leave in addition to the reservations before this position.
    async fn check_fits(&self, network: Network, amount: Usdc, place: u64) -> Result<(), ReservationError> {
        for look in 1.. {
            // Reservations are read before the treasury balance. A transfer that leaves in between counts twice, and is
            // never missed.
            let (due, perhaps) = self.due_before(network, place).await;
            let asked = self.0.ports.settlement.final_treasury_balance(network);
            let holds = with_timeout_ms(self.settle_timeout(), asked, "treasury holds")
                .await
                .map_err(|error| {
                    tracing::warn!(network = network.name(), %error, "the treasury could not be read");
                    ReservationError::Unavailable
                })?;
            if due.checked_add(amount).is_ok_and(|all| all <= holds) {
                return Ok(());
            }
            if look >= if perhaps { MAX_CHECKS_WHEN_REQUESTED } else { MAX_CHECKS } {
                tracing::warn!(
                    network = network.name(), due = %due.decimal(), holds = %holds.decimal(), asked = %amount.decimal(),
                    "the treasury has too little on this chain for what is asked"
                );
                break;
            }
            tokio::time::sleep(Duration::from_millis(CHECK_INTERVAL_MS)).await;
        }
        Err(ReservationError::InsufficientTreasury(network))
    }

    /// Amount due before this position, and whether part of it only may become due.
    async fn due_before(&self, network: Network, place: u64) -> (Usdc, bool) {
        let (mut all, mut perhaps) = (Usdc::ZERO, false);
        for (place, promised) in self.0.outgoing_guard.reservations_before(network, place) {
            let due = reservation_state(&self.0.registries, promised.purpose)
                .await
                .unwrap_or(ReservationState::MaybeDue);
            if due == ReservationState::NotDue {
                self.0.outgoing_guard.reservations.lock().open.remove(&place);
                continue;
            }
            perhaps |= due == ReservationState::MaybeDue;
            // More than all USDC is more than any treasury has.
            all = all.checked_add(promised.amount).unwrap_or(Usdc::from_atomic(u64::MAX));
        }
        (all, perhaps)
    }

    fn settle_timeout(&self) -> Duration {
        Duration::from_millis(self.0.settings.settle_timeout_ms)
    }

    /// Restores a reservation of an earlier process. One that can't be loaded does not prevent the start; its
    /// supervisor reports it.
    pub(in crate::engine) async fn restore_reservation(&self, what: OutgoingPurpose) {
        let families = &self.0.registries;
        let noted = match what {
            OutgoingPurpose::Withdrawal(id) => {
                let read = families.withdrawals.read(&id).await.ok().flatten();
                read.map(|(asked, _)| (asked.to.network(), asked.amount))
            }
            OutgoingPurpose::TopUp(id) => {
                let read = families.top_ups.read(&id).await.ok().flatten();
                read.map(|(top_up, _)| (top_up.rail, top_up.delivered_amount()))
            }
            OutgoingPurpose::WalletPayment(_) | OutgoingPurpose::Payout(_) | OutgoingPurpose::BankTransfer(_) => None,
        };
        if let Some((network, amount)) = noted {
            self.0.outgoing_guard.reserve(network, amount, what);
        }
    }
}
