//! Pending approvals are stored under the id of their operation, and the totals that operators granted alone under
//! their names.

use purser_actors::approval::{OperatorDailyTotal, PendingApproval};
use purser_actors::id::ApprovalId;
use purser_actors::kernel::table;
use purser_storage::{Store, StoreError};

use super::{VerifyReport, each_row, take};

pub(super) async fn check(store: &dyn Store, report: &mut VerifyReport) -> Result<(), StoreError> {
    let mut found = Vec::new();
    each_row(store, &[table::APPROVAL], |key, row| {
        if let Some((pending, _)) = take::<PendingApproval>(row, &hex::encode(key), report) {
            let id = ApprovalId::for_action(&pending.action, pending.amount);
            if *table::approval(id) != *key {
                found.push((id.to_string(), "it has another id"));
            }
        }
    })
    .await?;
    each_row(store, &[table::OPERATOR_DAILY_TOTAL], |key, row| {
        if let Some((given, _)) = take::<OperatorDailyTotal>(row, &hex::encode(key), report)
            && *table::operator_daily_total(&given.operator) != *key
        {
            found.push((given.operator, "the approval has another name"));
        }
    })
    .await?;
    for (subject, detail) in found {
        report.report("approval.row", subject, detail);
    }
    Ok(())
}
