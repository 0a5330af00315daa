//! Shortens a failing plan: removes steps and faults while the same rule is still violated.

use crate::fault_plan::FaultPlan;
use crate::plan::Plan;
use crate::run::run;

/// The shortest plan that was found to break the same rule.
pub(crate) fn shrink(plan: &Plan, rule: &str) -> Plan {
    let fails = |plan: &Plan| run(plan, false).violation.is_some_and(|o| o.rule == rule);
    let mut best = plan.clone();
    let mut size = best.steps.len().div_ceil(2).max(1);
    loop {
        let mut at = 0;
        let mut shorter = false;
        while at < best.steps.len() {
            let mut trial = best.clone();
            trial.steps.drain(at..(at + size).min(best.steps.len()));
            if fails(&trial) {
                best = trial;
                shorter = true;
            } else {
                at += size;
            }
        }
        if size > 1 {
            size = size.div_ceil(2);
        } else if !shorter {
            break;
        }
    }
    for payment in plan.fault_plans.keys() {
        let part: [fn(&mut FaultPlan); 7] = [
            |f| f.prepare.clear(),
            |f| f.submit.clear(),
            |f| f.lookup.clear(),
            |f| f.issue.clear(),
            |f| f.send.clear(),
            |f| f.payout_course = Default::default(),
            |f| f.legs.clear(),
        ];
        for clear in part {
            let mut trial = best.clone();
            if let Some(fault_plan) = trial.fault_plans.get_mut(payment) {
                clear(fault_plan);
            }
            if trial.fault_plans != best.fault_plans && fails(&trial) {
                best = trial;
            }
        }
    }
    best
}
