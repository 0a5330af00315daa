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
use crate::kernel::job::Leaves;
use crate::kernel::registry::LoadError;
use crate::money::Usdc;
use crate::{top_up, withdrawal};

/// How often it is looked again where there is too little: what has just left may still stand as promised.
const LOOKS: u32 = 5;
/// The same while a promise before it is only being asked for: it is kept or dropped in a moment.
const LOOKS_AT_ASKED: u32 = 30;
/// Pause between two looks, in milliseconds.
const LOOK_EVERY_MS: u64 = 100;

#[derive(Clone, Copy, Debug)]
struct Promised {
    network: Network,
    amount: Usdc,
    what: Leaves,
}

/// By the order in which they were made: each has to be met beside those before it.
#[derive(Default)]
pub(super) struct Promises {
    made: u64,
    open: BTreeMap<u64, Promised>,
}

impl Promises {
    /// Its place, old or new.
    fn note(&mut self, promised: Promised) -> u64 {
        let known = self.open.iter().find(|(_, other)| other.what == promised.what);
        if let Some((place, _)) = known {
            return *place;
        }
        self.made += 1;
        self.open.insert(self.made, promised);
        self.made
    }
}

/// Room on a chain for what is about to be asked of an account. Dropped without [`Promise::keep`] it is free again.
pub struct Promise {
    departures: Arc<OutgoingTransferGuard>,
    place: Option<u64>,
}

impl Promise {
    /// The withdrawal is there: the room is taken until it has left or has failed.
    pub fn keep(mut self) {
        self.place = None;
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            self.departures.promises.lock().open.remove(&place);
        }
    }
}

/// Why nothing was promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotPromised {
    /// The address cannot be sent USDC: an owner on Solana without a token account.
    NoAccount,
    /// The treasury of this chain has less than what is promised there.
    Short(Network),
    /// The chain does not say.
    Unavailable,
}

impl OutgoingTransferGuard {
    /// What has to leave the treasury of a chain, from now on until it has.
    pub(in crate::engine) fn promised(&self, network: Network, amount: Usdc, what: Leaves) -> u64 {
        let promised = Promised { network, amount, what };
        self.promises.lock().note(promised)
    }

    /// The chain's treasury is without it already, though a reorganisation may still put it back: then it is promised again by
    /// the next try to send it.
    pub(in crate::engine) fn is_seen_to_leave(&self, what: Leaves) {
        self.promises.lock().open.retain(|_, promised| promised.what != what);
    }

    fn before(&self, network: Network, place: u64) -> Vec<(u64, Promised)> {
        let promises = self.promises.lock();
        let before = promises
            .open
            .range(..place)
            .filter(|(_, promised)| promised.network == network);
        before.map(|(place, promised)| (*place, *promised)).collect()
    }
}

/// What a promise is to its chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    /// Money still has to leave for it.
    Yes,
    /// It is being asked for, or cannot be read: it may come to be due.
    Perhaps,
    /// Nothing leaves for it any more.
    No,
}

/// Whether money still has to leave for it.
async fn due(families: &Registries, what: Leaves) -> Result<Due, LoadError> {
    let of = |open: Option<bool>| match open {
        None => Due::Perhaps,
        Some(true) => Due::Yes,
        Some(false) => Due::No,
    };
    Ok(match what {
        Leaves::Withdrawal(id) => {
            let read = families.withdrawals.read(&id).await?;
            of(
                read.map(|(asked, _)| {
                    matches!(asked.status, withdrawal::Status::Pending | withdrawal::Status::Sent(_))
                }),
            )
        }
        Leaves::TopUp(id) => {
            let read = families.top_ups.read(&id).await?;
            of(read.map(|(top_up, _)| matches!(top_up.status, top_up::Status::Paid(_))))
        }
        // These do not leave our treasury.
        Leaves::Spend(_) | Leaves::Payout(_) | Leaves::BankTransfer(_) => Due::No,
    })
}

impl Engine {
    /// Takes room on its chain for a withdrawal, before its amount is held.
    ///
    /// # Errors
    /// [`NotPromised`].
    pub async fn promise(&self, id: WithdrawalId, to: &Wallet, amount: Usdc) -> Result<Promise, NotPromised> {
        self.receives(to).await?;
        let network = to.network();
        let departures = self.0.departures.clone();
        let place = departures.promised(network, amount, Leaves::Withdrawal(id));
        let place = Some(place);
        let promise = Promise { departures, place };
        self.fits(network, amount, promise.place.unwrap_or_default()).await?;
        Ok(promise)
    }

    /// Whether an address can be sent USDC, by us or out of a managed wallet.
    ///
    /// # Errors
    /// [`NotPromised::NoAccount`], and [`NotPromised::Unavailable`] when the chain does not say.
    pub async fn receives(&self, to: &Wallet) -> Result<(), NotPromised> {
        let asked = self.0.ports.settlement.can_receive(to);
        match with_timeout_ms(self.settles_in(), asked, "can receive").await {
            Ok(true) => Ok(()),
            Ok(false) => Err(NotPromised::NoAccount),
            Err(error) => {
                tracing::warn!(%to, %error, "it cannot be said whether an address can be sent USDC");
                Err(NotPromised::Unavailable)
            }
        }
    }

    /// Whether the treasury of a chain has what is promised there: then what a payment on this chain brings can be forwarded.
    pub(in crate::engine) async fn keeps_promises(&self, network: Network) -> Result<(), NotPromised> {
        self.fits(network, Usdc::ZERO, u64::MAX).await
    }

    /// Whether so much more can leave beside what was promised before this place.
    async fn fits(&self, network: Network, amount: Usdc, place: u64) -> Result<(), NotPromised> {
        for look in 1.. {
            // What is due is read before what is there: whatever leaves in between counts twice, and never not at all.
            let (due, perhaps) = self.due_before(network, place).await;
            let asked = self.0.ports.settlement.treasury_holds(network);
            let holds = with_timeout_ms(self.settles_in(), asked, "treasury holds")
                .await
                .map_err(|error| {
                    tracing::warn!(network = network.name(), %error, "the treasury could not be read");
                    NotPromised::Unavailable
                })?;
            if due.checked_add(amount).is_ok_and(|all| all <= holds) {
                return Ok(());
            }
            if look >= if perhaps { LOOKS_AT_ASKED } else { LOOKS } {
                tracing::warn!(
                    network = network.name(), due = %due.decimal(), holds = %holds.decimal(), asked = %amount.decimal(),
                    "the treasury has too little on this chain for what is asked"
                );
                break;
            }
            tokio::time::sleep(Duration::from_millis(LOOK_EVERY_MS)).await;
        }
        Err(NotPromised::Short(network))
    }

    /// How much is due before this place, and whether some of it only may be.
    async fn due_before(&self, network: Network, place: u64) -> (Usdc, bool) {
        let (mut all, mut perhaps) = (Usdc::ZERO, false);
        for (place, promised) in self.0.departures.before(network, place) {
            let due = due(&self.0.families, promised.what).await.unwrap_or(Due::Perhaps);
            if due == Due::No {
                self.0.departures.promises.lock().open.remove(&place);
                continue;
            }
            perhaps |= due == Due::Perhaps;
            // More than all USDC is more than any treasury has.
            all = all.checked_add(promised.amount).unwrap_or(Usdc::from_atomic(u64::MAX));
        }
        (all, perhaps)
    }

    fn settles_in(&self) -> Duration {
        Duration::from_millis(self.0.settings.settle_timeout_ms)
    }

    /// What an earlier process has promised. What cannot be loaded keeps no other from starting: its supervisor names it.
    pub(in crate::engine) async fn note_promise(&self, what: Leaves) {
        let families = &self.0.families;
        let noted = match what {
            Leaves::Withdrawal(id) => {
                let read = families.withdrawals.read(&id).await.ok().flatten();
                read.map(|(asked, _)| (asked.to.network(), asked.amount))
            }
            Leaves::TopUp(id) => {
                let read = families.top_ups.read(&id).await.ok().flatten();
                read.map(|(top_up, _)| (top_up.rail, top_up.delivered_amount()))
            }
            Leaves::Spend(_) | Leaves::Payout(_) | Leaves::BankTransfer(_) => None,
        };
        if let Some((network, amount)) = noted {
            self.0.departures.promised(network, amount, what);
        }
    }
}
