//! Folds the journal's events by independent rules and compares the result with the snapshots.

mod payments;
mod status_only;

use std::collections::BTreeMap;

use purser_actors::entity::{account, session, withdrawal};
use purser_actors::kernel::EntityKind;
use purser_actors::kernel::event_record::EventRecord;
use purser_storage::codec::{self, DecodeError};
use purser_storage::{Seq, Store, StoreError};

use super::cap_counts::CapCounts;
use super::money_history::MoneyHistory;
use super::{
    StoreContents, VerifyReport, agent_wallets, api_keys, banking, discrepancies, identity, incoming, late_returns,
    lines, passkeys, payees, products, recoveries, refunds, reloadable_cards, spend_approvals, webhooks,
};

/// The folded events of one entity.
#[derive(Default)]
struct EntityEvents {
    first: u64,
    revision: u64,
    status: String,
    balance: u128,
    credits: u128,
    held: u128,
    transaction: Option<String>,
    product: Option<String>,
    generation: u32,
}

pub(super) async fn check(
    store: &dyn Store,
    contents: &StoreContents,
    report: &mut VerifyReport,
) -> Result<MoneyHistory, StoreError> {
    const PAGE: usize = 2_000;
    let mut history = MoneyHistory {
        complete: true,
        ..MoneyHistory::default()
    };
    let mut trails: BTreeMap<(u8, Vec<u8>), EntityEvents> = BTreeMap::new();
    let mut cap_counts = CapCounts::default();
    let mut after: Seq = 0;
    loop {
        let page = match store.events(after, PAGE, None).await {
            Err(StoreError::Expired { oldest }) if after == 0 => {
                // Events dropped by retention are covered by a verified export; the fold starts with the retained ones.
                history.complete = false;
                after = oldest.saturating_sub(1);
                continue;
            }
            other => other?,
        };
        let Some(last) = page.last() else { break };
        after = last.seq;
        for event in &page {
            report.events += 1;
            match EventRecord::read(&event.subject, &event.payload) {
                Err(error) => report.report("journal.corrupt", event.seq, error.to_string()),
                Ok(record) => {
                    fold_event(&record, &mut trails, &mut history, report);
                    if let Err(error) = cap_counts.count(&record) {
                        report.report("journal.event_mismatch", hex::encode(&record.id), error.to_string());
                    }
                }
            }
        }
    }
    compare(&trails, contents, &history, report);
    cap_counts.compare(contents, report);
    Ok(history)
}

fn fold_event(
    record: &EventRecord,
    trails: &mut BTreeMap<(u8, Vec<u8>), EntityEvents>,
    history: &mut MoneyHistory,
    report: &mut VerifyReport,
) {
    let trail = trails.entry((record.kind, record.id.clone())).or_default();
    if trail.first == 0 {
        trail.first = record.revision;
    } else if record.revision != trail.revision + 1 {
        let detail = format!("revision {} follows {}", record.revision, trail.revision);
        report.report("journal.revision_gap", hex::encode(&record.id), detail);
    }
    trail.revision = record.revision;
    let read = match record.kind {
        k if k == EntityKind::Account as u8 => account_event(record, trail, history),
        k if k == EntityKind::Payment as u8 => payments::follow(record, trail),
        k if k == EntityKind::Session as u8 => session_event(record, trail),
        k if k == EntityKind::Withdrawal as u8 => withdrawal_event(record, trail),
        kind => {
            let result = payees::fold(kind, &record.event, &trail.status);
            let result = result.or_else(|| products::fold(kind, &record.event));
            let result = result.or_else(|| identity::fold(kind, &record.event));
            let result = result.or_else(|| banking::fold(kind, &record.event));
            let result = result.or_else(|| reloadable_cards::fold(kind, &record.event));
            let result = result.or_else(|| late_returns::fold(kind, &record.event));
            let result = result.or_else(|| discrepancies::fold(kind, &record.event));
            let result = result.or_else(|| refunds::fold(kind, &record.event));
            let result = result.or_else(|| incoming::fold(kind, &record.event));
            let result = result.or_else(|| lines::fold(kind, &record.event));
            let result = result.or_else(|| agent_wallets::fold(kind, &record.event));
            let result = result.or_else(|| spend_approvals::fold(kind, &record.event));
            let result = result.or_else(|| api_keys::fold(kind, &record.event));
            let result = result.or_else(|| passkeys::fold(kind, &record.event));
            let result = result.or_else(|| recoveries::fold(kind, &record.event));
            let result = result.or_else(|| webhooks::fold(kind, &record.event));
            result.transpose().map(|result| match result {
                Some(Some(status)) => trail.status = status.into(),
                Some(None) => record_event(trail, record),
                None => {}
            })
        }
    };
    if let Err(error) = read {
        report.report("journal.event_mismatch", hex::encode(&record.id), error.to_string());
    }
    if trail.status != record.status {
        let detail = format!("the fold says {}, the record {}", trail.status, record.status);
        report.report("journal.status_mismatch", hex::encode(&record.id), detail);
    }
}

fn account_event(
    record: &EventRecord,
    trail: &mut EntityEvents,
    history: &mut MoneyHistory,
) -> Result<(), DecodeError> {
    match codec::decode(&record.event)? {
        account::Event::Opened(_) | account::Event::Unfrozen => trail.status = "active".into(),
        account::Event::Frozen(_) => trail.status = "frozen".into(),
        account::Event::Credited { amount, cause } => {
            trail.balance += u128::from(amount.atomic());
            trail.credits += u128::from(amount.atomic());
            let cause = products::cause_name(&cause);
            history.credits.entry(cause).or_default().push(amount.atomic());
            record_event(trail, record);
        }
        account::Event::Held(amount, _) | account::Event::HeldUntilFinal(amount, _) => {
            trail.held += u128::from(amount.atomic());
            record_event(trail, record);
        }
        account::Event::Withdrawn(amount, _) | account::Event::Reversed(amount, _) => {
            trail.balance = trail.balance.saturating_sub(u128::from(amount.atomic()));
            trail.held = trail.held.saturating_sub(u128::from(amount.atomic()));
            record_event(trail, record);
        }
        account::Event::TransferAttributed(amount, _) => {
            trail.balance = trail.balance.saturating_sub(u128::from(amount.atomic()));
            record_event(trail, record);
        }
        account::Event::Released(amount, _) | account::Event::Finalized(amount, _) => {
            trail.held = trail.held.saturating_sub(u128::from(amount.atomic()));
            record_event(trail, record);
        }
        account::Event::Debited(amount, paid_for) => {
            trail.balance = trail.balance.saturating_sub(u128::from(amount.atomic()));
            history
                .paid_out
                .insert(products::paid_for_name(&paid_for), amount.atomic());
            record_event(trail, record);
        }
        account::Event::CapReserved(_)
        | account::Event::CapReleased(_)
        | account::Event::CapsChanged(_)
        | account::Event::BalanceLimitsChanged(_)
        | account::Event::AgentsStopped(_)
        | account::Event::AgentsResumed => record_event(trail, record),
    }
    Ok(())
}

/// Where retention has dropped the beginning, the status is taken from the first retained record.
fn record_event(trail: &mut EntityEvents, record: &EventRecord) {
    if trail.status.is_empty() {
        trail.status.clone_from(&record.status);
    }
}

fn session_event(record: &EventRecord, trail: &mut EntityEvents) -> Result<(), DecodeError> {
    match codec::decode(&record.event)? {
        session::Event::Opened { .. } => trail.status = "active".into(),
        session::Event::Refreshed { .. } => {
            trail.generation += 1;
            record_event(trail, record);
        }
        session::Event::Revoked(_) => trail.status = "revoked".into(),
        session::Event::AgentAnnounced(_) | session::Event::Confirmed(_) => record_event(trail, record),
    }
    Ok(())
}

fn withdrawal_event(record: &EventRecord, trail: &mut EntityEvents) -> Result<(), DecodeError> {
    let status = match codec::decode(&record.event)? {
        withdrawal::Event::Requested { .. } => "pending",
        withdrawal::Event::Signed(..) => "sent",
        withdrawal::Event::Confirmed(transaction, _) => {
            trail.transaction = Some(transaction);
            "complete"
        }
        withdrawal::Event::Failed(..) => "failed",
    };
    trail.status = status.into();
    Ok(())
}

fn compare(
    trails: &BTreeMap<(u8, Vec<u8>), EntityEvents>,
    contents: &StoreContents,
    history: &MoneyHistory,
    report: &mut VerifyReport,
) {
    let mut seen = Snapshots {
        entity_events: trails,
        complete: history.complete,
        report,
    };
    seen.accounts(contents);
    seen.payments(contents);
    seen.sold(contents);
    seen.sessions(contents);
    seen.identity(contents);
    seen.banking(contents);
    seen.withdrawals(contents);
    seen.late_returns(contents);
    seen.discrepancies(contents);
    seen.refunds(contents);
    seen.incoming(contents);
    seen.reloadable_cards(contents);
    seen.payees(contents);
    let known = contents.accounts.len() + contents.payments.len() + contents.sold.len() + contents.sessions.len();
    let known = known + contents.identity.len() + contents.banking.len() + contents.withdrawals.len();
    let known = known + contents.payees.len() + contents.reloadable_cards.len() + contents.late_returns.len();
    let known = known + contents.discrepancies.all.len() + contents.refunds.all.len() + contents.incoming.all.len();
    if trails.len() > known {
        report.report(
            "snapshot.missing",
            "journal",
            format!("{} entities have events, {known} a snapshot", trails.len()),
        );
    }
}

struct Snapshots<'a> {
    entity_events: &'a BTreeMap<(u8, Vec<u8>), EntityEvents>,
    complete: bool,
    report: &'a mut VerifyReport,
}

impl Snapshots<'_> {
    fn accounts(&mut self, contents: &StoreContents) {
        for (wallet, (account, revision)) in &contents.accounts {
            let status = if account.frozen.is_some() { "frozen" } else { "active" };
            let (balance, held) = (account.balance.atomic(), account.held.atomic());
            let money = format!("{balance}/{held}/{}", account.total_deposits.atomic());
            let folded = |t: &EntityEvents| format!("{}/{}/{}", t.balance, t.held, t.credits);
            self.compare_entity(
                EntityKind::Account as u8,
                &wallet.key(),
                &wallet.address(),
                *revision,
                status,
                &money,
                folded,
            );
        }
    }

    fn payments(&mut self, contents: &StoreContents) {
        for (id, (payment, revision)) in &contents.payments {
            let product = super::outcomes::bought(&payment.status).map(ToString::to_string);
            let end = format!("{:?}/{product:?}", payment.transaction());
            let folded = |t: &EntityEvents| format!("{:?}/{:?}", t.transaction.as_deref(), t.product);
            let status = super::outcomes::name_of(&payment.status);
            self.compare_entity(
                EntityKind::Payment as u8,
                &id.0.to_be_bytes(),
                &id.to_string(),
                *revision,
                status,
                &end,
                folded,
            );
        }
    }

    fn sold(&mut self, contents: &StoreContents) {
        for ((kind, id), sold) in &contents.sold {
            let (key, subject) = (id.to_be_bytes(), sold.product.to_string());
            self.compare_entity(*kind, &key, &subject, sold.revision, sold.status, "", |_| String::new());
        }
    }

    fn sessions(&mut self, contents: &StoreContents) {
        for (id, (session, revision)) in &contents.sessions {
            let status = if session.revoked.is_some() { "revoked" } else { "active" };
            let generation = session.generation.to_string();
            let folded = |t: &EntityEvents| t.generation.to_string();
            self.compare_entity(
                EntityKind::Session as u8,
                &id.0.to_be_bytes(),
                &id.to_string(),
                *revision,
                status,
                &generation,
                folded,
            );
        }
    }

    fn identity(&mut self, contents: &StoreContents) {
        let people = &contents.identity;
        for (wallet, (identity, revision)) in &people.identities {
            let (kind, status) = (EntityKind::Identity as u8, identity::identity_status(identity));
            let (key, subject) = (wallet.key(), wallet.address());
            self.compare_entity(kind, &key, &subject, *revision, status, "", |_| String::new());
        }
        for (wallet, (link, revision)) in &people.links {
            let (kind, status) = (EntityKind::IssuerLink as u8, identity::link_status(link));
            let (key, subject) = (wallet.key(), wallet.address());
            self.compare_entity(kind, &key, &subject, *revision, status, "", |_| String::new());
        }
    }

    fn withdrawals(&mut self, contents: &StoreContents) {
        for (id, (withdrawal, revision)) in &contents.withdrawals {
            let end = format!("{:?}", withdrawal.transaction());
            let folded = |t: &EntityEvents| format!("{:?}", t.transaction.as_deref());
            let status = super::withdrawals::name_of(&withdrawal.status);
            let (key, name) = (id.0.to_be_bytes(), id.to_string());
            self.compare_entity(
                EntityKind::Withdrawal as u8,
                &key,
                &name,
                *revision,
                status,
                &end,
                folded,
            );
        }
    }

    /// Compares one snapshot with its events: revision, status, and everything else that the fold knows. Sums are only
    /// known if the events are complete.
    #[allow(
        clippy::too_many_arguments,
        reason = "one row of a table: the snapshot's side and the fold's side"
    )]
    fn compare_entity(
        &mut self,
        kind: u8,
        key: &[u8],
        subject: &str,
        revision: u64,
        status: &str,
        rest: &str,
        folded: impl Fn(&EntityEvents) -> String,
    ) {
        let Some(trail) = self.entity_events.get(&(kind, key.to_vec())) else {
            if self.complete {
                self.report
                    .report("snapshot.history_missing", subject, "no event tells of it");
            }
            return;
        };
        if trail.revision != revision {
            let detail = format!("snapshot at revision {revision}, events up to {}", trail.revision);
            self.report.report("snapshot.revision_mismatch", subject, detail);
        }
        if trail.status != status {
            self.report.report(
                "snapshot.status_mismatch",
                subject,
                format!("snapshot says {status}, events say {}", trail.status),
            );
        }
        let fold = folded(trail);
        if trail.first == 1 && fold != rest {
            self.report.report(
                "snapshot.content_mismatch",
                subject,
                format!("snapshot says {rest}, events say {fold}"),
            );
        }
    }
}
