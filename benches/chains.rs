//! Real money: how fast payments settle on chains of this machine, beside what the same chains take without the service, and how many
//! calls of their nodes a payment costs.

#[path = "../src/chains/tests/base/anvil.rs"]
#[expect(
    clippy::unwrap_used,
    clippy::expect_used,
    dead_code,
    unreachable_pub,
    reason = "of the tests"
)]
mod anvil;
mod base;
mod calls;
mod methods;
mod paid;
mod port;
mod solana;

use crate::{Fault, Plan};

/// Measures and prints; `only` names some of the parts.
pub(crate) fn run(plan: Plan, only: &[&str]) -> Result<(), Fault> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let wanted = |part: &str| only.is_empty() || only.contains(&part);
    if wanted("base") {
        runtime.block_on(base::run(plan))?;
    }
    if wanted("calls") {
        runtime.block_on(calls::run(plan))?;
    }
    if wanted("solana-calls") {
        runtime.block_on(solana::run_calls(plan))?;
    }
    if wanted("solana") {
        runtime.block_on(solana::run(plan))?;
    }
    if wanted("paid") {
        paid::run(plan)?;
    }
    Ok(())
}
