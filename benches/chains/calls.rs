//! Calls of Base's nodes that a settled payment costs, at different loads, with blocks every two seconds and three endpoints.

use std::sync::Arc;
use std::time::Duration;

use super::base::{Base, Port};
use super::methods::{self, Methods};
use crate::{Fault, Plan};

/// Payments a second.
const LOADS: [u32; 5] = [0, 1, 20, 100, 500];

/// Measures and prints.
pub(super) async fn run(plan: Plan) -> Result<(), Fault> {
    let base = Base::start().await?;
    base.fund_payers().await?;
    let port = Arc::new(Port::open(&base, "calls", 3).await?);
    base.mine_as_base().await;
    println!("\nCalls of Base's nodes, a block every two seconds, three endpoints");
    println!(
        "  {:>14}{:>14}{:>16}{:>22}",
        "payments/s", "calls/s", "calls/payment", "without those at rest"
    );
    let (mut at_rest, mut methods_at_rest, mut rest_seconds) = (0.0, Methods::default(), 1.0);
    for load in LOADS {
        let count = load as usize * plan.paced_seconds;
        let payments = base.sign(port.port.treasury(), count)?;
        port.transport.take_counts();
        let before = port.calls();
        let begun = tokio::time::Instant::now();
        let mut paid = Vec::new();
        for (n, payment) in payments.into_iter().enumerate() {
            tokio::time::sleep_until(begun + Duration::from_secs(1) * u32::try_from(n)? / load).await;
            let port = port.clone();
            paid.push(tokio::spawn(async move { port.pay(&payment).await }));
        }
        tokio::time::sleep_until(begun + Duration::from_secs(plan.paced_seconds as u64)).await;
        for paid in paid {
            paid.await??;
        }
        // What is read of the last blocks belongs to their payments.
        tokio::time::sleep(Duration::from_secs(4)).await;
        let (calls, seconds) = ((port.calls() - before) as f64, begun.elapsed().as_secs_f64());
        let methods = port.transport.take_counts();
        if load == 0 {
            (at_rest, methods_at_rest, rest_seconds) = (calls / seconds, methods, seconds);
            println!("  {load:>14}{at_rest:>14.1}");
            continue;
        }
        let own = (calls - at_rest * seconds) / count as f64;
        let all = own + at_rest / f64::from(load);
        println!("  {load:>14}{:>14.1}{all:>16.3}{own:>22.3}", all * f64::from(load));
        methods::print(&methods, &methods_at_rest, (seconds, rest_seconds), count);
    }
    port.port.close().await;
    Ok(())
}
