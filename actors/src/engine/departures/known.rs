//! What our rows say has left the treasury, or may have.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use purser_storage::{Store, StoreError};

use super::rows::{each, each_row};
use crate::id::{DepartureId, TopUpId, Wallet, WithdrawalId};
use crate::kernel::{Kind, table};
use crate::money::Usdc;
use crate::port::{Booked, Departure, Timestamp, TransferName};
use crate::reconcile::{Listed, Money, Standing};
use crate::top_up::{self, First, LegName, TopUp};
use crate::withdrawal::{self, Withdrawal};

/// What a transfer out is for.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Left {
    pub(in crate::engine) subject: String,
    pub(in crate::engine) listed: Listed,
}

/// A transfer out by our rows.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Row {
    /// The name that it has in our rows; empty while only its mark is known.
    pub(in crate::engine) name: String,
    pub(in crate::engine) left: Left,
    /// Its place in the transaction, if our rows know that.
    index: Option<u32>,
    pub(in crate::engine) mark: Option<[u8; 32]>,
    /// Who receives it, where our rows say so as the chain does.
    to: Option<Wallet>,
    amount: Usdc,
}

impl Row {
    fn new(name: &str, left: Left, (to, amount): (Option<Wallet>, Usdc)) -> Self {
        Self {
            name: name.to_owned(),
            left,
            index: TransferName::parse(name).and_then(|name| name.index),
            mark: None,
            to,
            amount,
        }
    }

    /// Named by the transaction of this transfer, at this place in it or without one.
    fn names(&self, one: &Departure, index: Option<u32>) -> bool {
        self.index == index && TransferName::transaction_of(&self.name) == one.transaction
    }
}

/// All of them, by transaction and by what else a chain shows of them.
#[derive(Default)]
pub(in crate::engine) struct Known {
    transactions: HashMap<String, Vec<Row>>,
    marks: HashMap<[u8; 32], Row>,
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
pub(in crate::engine) fn withdrawn(id: WithdrawalId, withdrawal: &Withdrawal) -> Option<Row> {
    let transaction = withdrawal.transaction()?;
    let left = left(id, Standing::Done, withdrawal.amount, withdrawal.updated_at);
    let row = Row::new(transaction, left, (Some(withdrawal.to), withdrawal.amount));
    let mark = withdrawal.mark();
    Some(Row { mark, ..row })
}

/// What left for a top-up: its burn, or the transfer on Base. The mint is not ours.
pub(in crate::engine) fn topped_up(id: TopUpId, top_up: &TopUp) -> Option<Row> {
    let leg = top_up.departed()?;
    let left = left(id, Standing::Done, top_up.spent, leg.at);
    let to = (leg.leg != LegName::Burn).then_some(Wallet::Evm(top_up.address));
    let (row, mark) = (Row::new(&leg.transaction, left, (to, top_up.spent)), leg.leg.mark());
    Some(Row { mark, ..row })
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
pub(in crate::engine) fn booked(booked: &Booked) -> Row {
    let departure = &booked.departure;
    let left = left(departure.id(), Standing::Done, departure.amount, departure.at);
    let row = Row::new(&departure.key(), left, (Some(departure.to), departure.amount));
    let index = Some(departure.index);
    Row { index, ..row }
}

impl Known {
    pub(in crate::engine) async fn read(store: &dyn Store) -> Result<Self, StoreError> {
        let mut known = Self::default();
        let prefix = [table::ENTITY, Kind::Withdrawal as u8];
        each(store, &prefix, |id, withdrawal: Withdrawal| {
            let id = WithdrawalId(id);
            known.add(withdrawn(id, &withdrawal));
            if let withdrawal::Status::Sent(out) = &withdrawal.status {
                let sent = left(id, Standing::UnderWay, withdrawal.amount, withdrawal.updated_at);
                let row = Row::new("", sent, (Some(withdrawal.to), withdrawal.amount));
                known.add_signed(out.authorization.mark(), row);
            }
        })
        .await?;
        each(store, &[table::ENTITY, Kind::TopUp as u8], |id, top_up: TopUp| {
            let id = TopUpId(id);
            known.add(topped_up(id, &top_up));
            known.crossings.extend(crossed(id, &top_up));
            if let top_up::Status::Paid(Some(first)) = &top_up.status {
                let sent = |amount| left(id, Standing::UnderWay, amount, top_up.updated_at);
                match &**first {
                    First::Burn(burn) => {
                        let burned = Row::new(&burn.transaction, sent(burn.burned), (None, burn.burned));
                        known.add(Some(burned));
                    }
                    First::Transfer(out) => {
                        let amount = out.authorization.value();
                        let row = Row::new("", sent(amount), (Some(Wallet::Evm(top_up.address)), amount));
                        known.add_signed(out.authorization.mark(), row);
                    }
                }
            }
        })
        .await?;
        each_row(store, &[table::DEPARTURE], |_, bytes| {
            known.add(Some(booked(&Booked::read(bytes)?)));
            Ok(())
        })
        .await?;
        Ok(known)
    }

    fn add(&mut self, row: Option<Row>) {
        let Some(row) = row else { return };
        let transaction = TransferName::transaction_of(&row.name).to_owned();
        // A reorganisation may have brought it back in another transaction.
        self.marks.extend(row.mark.map(|mark| (mark, row.clone())));
        self.transactions.entry(transaction).or_default().push(row);
    }

    fn add_signed(&mut self, mark: [u8; 32], row: Row) {
        let mark = Some(mark);
        self.marks.extend(mark.map(|known| (known, Row { mark, ..row })));
    }

    /// What each of these is for: all that left in one transaction. A row explains one transfer: the one of its name, else one that
    /// was signed as it, else one of its amount and receiver; and whatever the transaction moved, if it moved money once.
    pub(in crate::engine) fn explain(&self, transfers: &[Departure]) -> Vec<Option<&Row>> {
        type Fits = fn(&Row, &Departure, bool) -> bool;
        const BY: [Fits; 4] = [
            |row, one, _| row.names(one, Some(one.index)),
            |row, one, _| row.mark == Some(one.mark) && row.amount == one.amount,
            |row, one, _| row.names(one, None) && row.amount == one.amount && row.to.is_none_or(|to| to == one.to),
            |row, one, sole| sole && (row.mark == Some(one.mark) || row.names(one, None)),
        ];
        let mut found = vec![None; transfers.len()];
        let Some(first) = transfers.first() else { return found };
        let mut rows: Vec<&Row> = self
            .transactions
            .get(&first.transaction)
            .into_iter()
            .flatten()
            .collect();
        let marks: BTreeSet<[u8; 32]> = transfers.iter().map(|one| one.mark).collect();
        let signed = marks.iter().filter_map(|mark| self.marks.get(mark));
        let signed: Vec<&Row> = signed
            .filter(|row| rows.iter().all(|named| named.mark != row.mark))
            .collect();
        rows.extend(signed);
        let sole = transfers.len() == 1;
        for fits in BY {
            for (one, place) in transfers.iter().zip(&mut found) {
                if place.is_none()
                    && let Some(at) = rows.iter().position(|row| fits(row, one, sole))
                {
                    *place = Some(rows.remove(at));
                }
            }
        }
        found
    }

    /// The row of this subject, by the transaction in this name.
    pub(in crate::engine) fn named(&self, name: &str, subject: &str) -> Option<&Row> {
        let rows = self.transactions.get(TransferName::transaction_of(name))?;
        rows.iter().find(|row| row.left.subject == subject)
    }

    /// Leaves those that no row explains, of whatever transactions; those of one transaction must all be among them.
    pub(in crate::engine) fn unexplained(&self, transfers: Vec<Departure>) -> Vec<Departure> {
        let named = |one: &Departure| (one.to.network().name(), one.transaction.clone());
        let mut by_transaction: BTreeMap<_, Vec<Departure>> = BTreeMap::new();
        for one in &transfers {
            by_transaction.entry(named(one)).or_default().push(one.clone());
        }
        let mut open: BTreeSet<DepartureId> = BTreeSet::new();
        for all in by_transaction.values() {
            let explained = self.explain(all).into_iter();
            let nobodys = all.iter().zip(explained).filter(|(_, row)| row.is_none());
            open.extend(nobodys.map(|(one, _)| one.id()));
        }
        transfers.into_iter().filter(|one| open.contains(&one.id())).collect()
    }

    /// What was given to the bridge by this burn.
    pub(in crate::engine) fn crossing(&self, transaction: &str) -> Option<&Left> {
        self.crossings.get(transaction)
    }
}
