//! The gate's rows: one for each frozen account and each with stopped agents, and no other, and those of payments that are not final. Each agent
//! wallet transfer that a restored store has recognised is the one by which its wallet payment settled.

use std::collections::{BTreeMap, BTreeSet};

use purser_actors::id::{OutgoingTransferId, PaymentId, Wallet, WalletPaymentId};
use purser_actors::kernel::table;
use purser_storage::{Store, StoreError};

use super::ledger::LedgerTotals;
use super::{StoreContents, VerifyReport, each_row, finality};

pub(super) async fn check(
    store: &dyn Store,
    contents: &StoreContents,
    books: &LedgerTotals,
    report: &mut VerifyReport,
) -> Result<(), StoreError> {
    let (mut frozen, mut recognised, mut unfinal) = (BTreeSet::new(), BTreeMap::new(), BTreeSet::new());
    let (accounts, payments) = (table::all_frozen(), table::pending_finality(PaymentId::NONE));
    let (stops, mut stopped) = (table::all_agents_stopped(), BTreeSet::new());
    each_row(store, &[table::GATE], |key, row| {
        if let Some(wallet) = key.strip_prefix(&*accounts).and_then(Wallet::from_key) {
            frozen.insert(wallet);
        } else if let Some(wallet) = key.strip_prefix(&*stops).and_then(Wallet::from_key) {
            stopped.insert(wallet);
        } else if let Some(id) = key.strip_prefix(&payments[..2]).and_then(|id| id.try_into().ok()) {
            unfinal.insert(PaymentId(u128::from_be_bytes(id)));
        } else if let (Some(id), Ok(spend)) = (key.last_chunk(), <[u8; 16]>::try_from(&*row.value)) {
            recognised.insert(u128::from_be_bytes(*id), WalletPaymentId(u128::from_be_bytes(spend)));
        } else {
            report.report("gate.unknown", hex::encode(key), "a row without an owner");
        }
    })
    .await?;
    for (wallet, (account, _)) in &contents.accounts {
        if account.frozen.is_some() != frozen.remove(wallet) {
            let detail = "account and gate do not agree whether it is frozen";
            report.report("gate.frozen", wallet.address(), detail);
        }
        let is_stopped = account.agent_stop.is_some_and(|stop| stop.is_active);
        if is_stopped != stopped.remove(wallet) {
            let detail = "account and gate do not agree whether its agents are stopped";
            report.report("gate.agents_stopped", wallet.address(), detail);
        }
    }
    for wallet in stopped {
        report.report(
            "gate.agents_stopped",
            wallet.address(),
            "stopped at the gate, and there is no account",
        );
    }
    for wallet in frozen {
        report.report(
            "gate.frozen",
            wallet.address(),
            "frozen at the gate, and there is no account",
        );
    }
    for (id, spend) in recognised {
        let settled = contents.agent_wallets.payment(spend);
        let by =
            settled.and_then(|spend| Some(OutgoingTransferId::for_name(spend.from.network(), spend.transaction()?)));
        if by != Some(OutgoingTransferId(id)) {
            report.report(
                "gate.recognised",
                spend,
                "its transfer is not the one that was recognised",
            );
        }
    }
    finality::check(&unfinal, contents, books, report);
    Ok(())
}
