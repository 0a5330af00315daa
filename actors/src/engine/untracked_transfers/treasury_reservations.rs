//! What is promised out of our treasury on each chain and has not left yet. Money on one chain pays nothing on the other, so each
//! promise is held against what its own chain's treasury has, before anything is held or charged for it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::OutgoingTransferGuard;
use crate::engine::Engine;
use crate::engine::jobs::with_timeout_ms;
use crate::engine::registries::Registries;
use crate::id::{Network, Wallet, WithdrawalId};
use crate::kernel::job::OutgoingPurpose;
use crate::kernel::registry::LoadError;
use crate::money::Usdc;
use crate::{top_up, withdrawal};

/// How often it is looked again where there is too little: what has just left may still stand as promised.
const MAX_CHECKS: u32 = 5;
/// The same while a promise before it is only being asked for: it is kept or dropped in a moment.
const MAX_CHECKS_WHEN_REQUESTED: u32 = 30;
/// Pause between two looks, in milliseconds.
const CHECK_INTERVAL_MS: u64 = 100;

#[derive(Clone, Copy, Debug)]
struct ReservedTransfer {
    network: Network,
    amount: Usdc,
    purpose: OutgoingPurpose,
}

/// By the order in which they were made: each has to be met beside those before it.
#[derive(Default)]
pub(super) struct TreasuryReservations {
    last_number: u64,
    open: BTreeMap<u64, ReservedTransfer>,
}

impl TreasuryReservations {
    /// Its place, old or new.
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

/// Room on a chain for what is about to be asked of an account. Dropped without [`Promise::keep`] it is free again.
pub struct TreasuryReservation {
    guard: Arc<OutgoingTransferGuard>,
    number: Option<u64>,
}

impl TreasuryReservation {
    /// The withdrawal is there: the room is taken until it has left or has failed.
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

/// Why nothing was promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReservationError {
    /// The address cannot be sent USDC: an owner on Solana without a token account.
    CannotReceive,
    /// The treasury of this chain has less than what is promised there.
    InsufficientTreasury(Network),
    /// The chain does not say.
    Unavailable,
}

impl OutgoingTransferGuard {
    /// What has to leave the treasury of a chain, from now on until it has.
    pub(in crate::engine) fn reserve(&self, network: Network, amount: Usdc, what: OutgoingPurpose) -> u64 {
        let promised = ReservedTransfer {
            network,
            amount,
            purpose: what,
        };
        self.reservations.lock().add(promised)
    }

    /// The chain's treasury is without it already, though a reorganisation may still put it back: then it is promised again by
    /// the next try to send it.
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

/// What a promise is to its chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReservationState {
    /// Money still has to leave for it.
    Due,
    /// It is being asked for, or cannot be read: it may come to be due.
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
    /// Takes room on its chain for a withdrawal, before its amount is held.
    ///
    /// # Errors
    /// [`NotPromised`].
    pub async fn reserve_treasury(
        &self,
        id: WithdrawalId,
        to: &Wallet,
        amount: Usdc,
    ) -> Result<TreasuryReservation, ReservationError> {
        self.check_can_receive(to).await?;
        let network = to.network();
        let departures = self.0.outgoing_guard.clone();
        let place = departures.reserve(network, amount, OutgoingPurpose::Withdrawal(id));
        let place = Some(place);
        let promise = TreasuryReservation {
            guard: departures,
            number: place,
        };
        self.check_fits(network, amount, promise.number.unwrap_or_default())
            .await?;
        Ok(promise)
    }

    /// Whether an address can be sent USDC, by us or out of a managed wallet.
    ///
    /// # Errors
    /// [`NotPromised::NoAccount`], and [`NotPromised::Unavailable`] when the chain does not say.
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

    /// Whether the treasury of a chain has what is promised there: then what a payment on this chain brings can be forwarded.
    pub(in crate::engine) async fn check_treasury(&self, network: Network) -> Result<(), ReservationError> {
        self.check_fits(network, Usdc::ZERO, u64::MAX).await
    }

    /// Whether so much more can leave beside what was promised before this place.
    async fn check_fits(&self, network: Network, amount: Usdc, place: u64) -> Result<(), ReservationError> {
        for look in 1.. {
            // What is due is read before what is there: whatever leaves in between counts twice, and never not at all.
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

    /// How much is due before this place, and whether some of it only may be.
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

    /// What an earlier process has promised. What cannot be loaded keeps no other from starting: its supervisor names it.
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
