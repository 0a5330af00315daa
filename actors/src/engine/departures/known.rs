//! What our rows say has left the treasury, or may have.

use std::collections::HashMap;

use purser_storage::{Store, StoreError};

use super::each;
use crate::id::{DepartureId, TopUpId, WithdrawalId};
use crate::kernel::{Kind, table};
use crate::money::Usdc;
use crate::port::{Booked, Departure, Timestamp};
use crate::reconcile::{Listed, Money, Standing};
use crate::top_up::{self, First, LegName, TopUp};
use crate::withdrawal::{self, Withdrawal};

/// A transfer out, and what it is for.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Left {
    pub(in crate::engine) subject: String,
    pub(in crate::engine) listed: Listed,
}

/// All of them, by transaction and by what else a chain shows of them.
#[derive(Default)]
pub(in crate::engine) struct Known {
    transactions: HashMap<String, Left>,
    marks: HashMap<[u8; 32], Left>,
    /// What was given to the bridge, by its burn.
    crossings: HashMap<String, Left>,
}

fn left(subject: impl ToString, standing: Standing, amount: Usdc, at: Timestamp) -> Left {
    Left {
        subject: subject.to_string(),
        listed: Listed {
            standing,
            money: Money::Usdc(amount),
            at,
        },
    }
}

/// What left for a withdrawal.
pub(in crate::engine) fn withdrawn(id: WithdrawalId, withdrawal: &Withdrawal) -> Option<(String, Left)> {
    let withdrawal::Status::Complete { transaction } = &withdrawal.status else {
        return None;
    };
    let left = left(id, Standing::Done, withdrawal.amount, withdrawal.updated_at);
    Some((transaction.clone(), left))
}

/// What left for a top-up: its burn, or the transfer on Base. The mint is not ours.
pub(in crate::engine) fn topped_up(id: TopUpId, top_up: &TopUp) -> Option<(String, Left)> {
    let leg = top_up.legs.iter().find(|leg| leg.leg != LegName::Mint)?;
    let left = left(id, Standing::Done, top_up.spent, leg.at);
    Some((leg.transaction.clone(), left))
}

/// What crosses the bridge for a top-up, by its burn: it is there from the burn on, and gone when it is minted.
pub(in crate::engine) fn crossed(id: TopUpId, top_up: &TopUp) -> Option<(String, Left)> {
    use top_up::Status;
    let burned = || top_up.transaction(LegName::Burn).map(str::to_owned);
    let (transaction, standing) = match &top_up.status {
        Status::Paid(Some(first)) => match &**first {
            First::Burn(burn) => (burn.transaction.clone(), Standing::UnderWay),
            First::Transfer(_) => return None,
        },
        Status::Paid(None) => return None,
        Status::Bridging(_) => (burned()?, Standing::Held),
        Status::Delivered | Status::Credited => (burned()?, Standing::Done),
        Status::Failed { .. } => (burned()?, Standing::Refused),
    };
    Some((transaction, left(id, standing, top_up.arrives(), top_up.updated_at)))
}

/// What an operator has booked.
pub(in crate::engine) fn booked(booked: &Booked) -> (String, Left) {
    let departure = &booked.departure;
    let id = DepartureId::of(departure.to.network(), &departure.transaction);
    let left = left(id, Standing::Done, departure.amount, departure.at);
    (departure.transaction.clone(), left)
}

impl Known {
    pub(in crate::engine) async fn read(store: &dyn Store) -> Result<Self, StoreError> {
        let mut known = Self::default();
        let prefix = [table::ENTITY, Kind::Withdrawal as u8];
        each(store, &prefix, |id, withdrawal: Withdrawal| {
            let id = WithdrawalId(id);
            known.transactions.extend(withdrawn(id, &withdrawal));
            if let withdrawal::Status::Sent(out) = &withdrawal.status {
                let sent = left(id, Standing::UnderWay, withdrawal.amount, withdrawal.updated_at);
                known.marks.insert(out.authorization.mark(), sent);
            }
        })
        .await?;
        each(store, &[table::ENTITY, Kind::TopUp as u8], |id, top_up: TopUp| {
            let id = TopUpId(id);
            known.transactions.extend(topped_up(id, &top_up));
            known.crossings.extend(crossed(id, &top_up));
            if let top_up::Status::Paid(Some(first)) = &top_up.status {
                let sent = |amount| left(id, Standing::UnderWay, amount, top_up.updated_at);
                match &**first {
                    First::Burn(burn) => {
                        let burned = sent(burn.burned);
                        known.transactions.insert(burn.transaction.clone(), burned);
                    }
                    First::Transfer(out) => {
                        let mark = out.authorization.mark();
                        known.marks.insert(mark, sent(out.authorization.value()));
                    }
                }
            }
        })
        .await?;
        each(store, &[table::DEPARTURE], |_, row: Booked| {
            known.transactions.extend([booked(&row)]);
        })
        .await?;
        Ok(known)
    }

    /// What this transfer is for.
    pub(in crate::engine) fn of(&self, transaction: &str, mark: &[u8; 32]) -> Option<&Left> {
        self.transactions.get(transaction).or_else(|| self.marks.get(mark))
    }

    /// What was given to the bridge by this burn.
    pub(in crate::engine) fn crossing(&self, transaction: &str) -> Option<&Left> {
        self.crossings.get(transaction)
    }

    pub(super) fn explains(&self, departure: &Departure) -> bool {
        self.of(&departure.transaction, &departure.mark).is_some()
    }
}
