//! Every sealed record belongs to an entity that needs one, every such entity has its record, and everything scheduled
//! has its job.

use std::collections::BTreeSet;

use purser_actors::entity::agent_wallet::AgentWallet;
use purser_actors::entity::bank_destination;
use purser_actors::id::{BankDestinationId, CardId};
use purser_actors::kernel::job::AnyJob;

use super::products::RowExpectation;
use super::{StoreContents, VerifyReport, reloadable_cards};

pub(super) fn check(contents: &StoreContents, report: &mut VerifyReport) {
    let under_way: BTreeSet<&AnyJob> = contents.jobs.iter().map(|e| &e.job).collect();
    let mut owners = BTreeSet::new();
    for ((_, id), sold) in &contents.sold {
        owners.insert(*id);
        for (rule, has, there) in [
            (
                "product.vault_mismatch",
                &sold.expected_rows.number,
                contents.sealed.contains(id),
            ),
            (
                "product.cvv_mismatch",
                &sold.expected_rows.cvv,
                contents.cvvs.contains(id),
            ),
        ] {
            let expected = match has {
                RowExpectation::Never => false,
                RowExpectation::Always => true,
                RowExpectation::Until(work) => under_way.contains(work),
            };
            if expected != there {
                let detail = format!("{}, and its sealed record is there: {there}", sold.status);
                report.report(rule, sold.product, detail);
            }
        }
        for timer in &sold.expected_rows.timers {
            if !under_way.contains(timer) {
                let detail = format!("{}, and no timer for {}", sold.status, timer.name());
                report.report("product.timer_missing", sold.product, detail);
            }
        }
    }
    for ((_, id), saved) in &contents.payees {
        owners.insert(*id);
        // A removed destination's number stays while a payout could need it.
        let shredding = AnyJob::from(bank_destination::Job::ShredAccountNumber(BankDestinationId(*id)));
        let kept = under_way.contains(&shredding);
        let sealed = saved.sealed || kept;
        if sealed != contents.sealed.contains(id) {
            let detail = format!("{}, and its sealed record is there: {}", saved.status, !sealed);
            report.report("destination.vault_mismatch", &saved.name, detail);
        }
    }
    for (id, (card, _)) in &contents.reloadable_cards.cards {
        owners.insert(id.0);
        let there = contents.sealed.contains(&id.0);
        if reloadable_cards::has_number(card) != there {
            let detail = format!(
                "{}, and its sealed record is there: {there}",
                reloadable_cards::card_status(card)
            );
            report.report("reloadable_card.vault_mismatch", id, detail);
        }
    }
    owners.extend(
        contents
            .agent_wallets
            .wallets
            .keys()
            .map(|owner| AgentWallet::keys(owner).0),
    );
    for kept in contents.banking.values() {
        for id in &kept.sealed {
            owners.insert(*id);
            if !contents.sealed.contains(id) {
                report.report("banking.vault_missing", &kept.name, "a sealed record of it is missing");
            }
        }
    }
    for (rule, ids) in [("vault.orphaned", &contents.sealed), ("cvv.orphaned", &contents.cvvs)] {
        for id in ids.difference(&owners) {
            report.report(rule, CardId(*id), "a sealed record of nothing that there is");
        }
    }
}
