//! Payments through a settlement port, measured alike on both chains.

use std::time::Instant;

use futures_util::{StreamExt as _, stream};
use purser_actors::port::{Authorization, Preparation, Settlement, SubmitResult};

use crate::report::{self, Row, Sample};
use crate::{Fault, host_info};

/// What each payment moves, in millionths of a USDC.
pub(super) const VALUE: u64 = 10_000;

/// What the engine does with a payment, until it is on the chain; in microseconds.
pub(super) async fn pay(port: &impl Settlement, payment: &Authorization) -> Result<u32, Fault> {
    let begun = Instant::now();
    if let Some(decline) = port.precheck(payment).await {
        return Err(format!("a payment was declined: {decline:?}").into());
    }
    let prepared = match port.prepare(payment).await? {
        Preparation::Ready(prepared) => prepared,
        Preparation::Declined(decline) => return Err(format!("a payment was declined: {decline:?}").into()),
    };
    match port.submit(payment, &prepared).await? {
        SubmitResult::Settled { .. } => Ok(u32::try_from(begun.elapsed().as_micros())?),
        SubmitResult::Declined(decline) => Err(format!("a payment was declined: {decline:?}").into()),
    }
}

/// Settles these payments, of which this number is inside the port at once.
pub(super) async fn settle(
    port: &impl Settlement,
    payments: &[Authorization],
    at_once: usize,
) -> Result<Sample, Fault> {
    let begun = Instant::now();
    let cpu = host_info::cpu_us(std::process::id());
    let settled = stream::iter(payments).map(|payment| pay(port, payment));
    let settled: Vec<Result<u32, Fault>> = settled.buffer_unordered(at_once).collect().await;
    let seconds = begun.elapsed().as_secs_f64();
    let cpu = host_info::cpu_us(std::process::id()) - cpu;
    let latencies = settled.into_iter().collect::<Result<Vec<u32>, _>>()?;
    Ok(Sample {
        cpu: cpu as f64 / payments.len() as f64,
        ..Sample::of(latencies, seconds, seconds)
    })
}

/// Every payment has moved its value, once.
pub(super) fn moved(before: u64, after: u64, payments: usize) -> Result<(), Fault> {
    let expected = VALUE * payments as u64;
    match after - before == expected {
        true => Ok(()),
        false => Err(format!("{} moved instead of {expected}", after - before).into()),
    }
}

/// Samples of what the chain takes without a port, and of the port with one endpoint and with several.
pub(super) struct Rounds {
    names: [&'static str; 3],
    rows: [Row; 3],
    /// Calls a payment, of the port's two samples.
    calls: [Vec<f64>; 2],
}

impl Rounds {
    pub(super) fn new(names: [&'static str; 3]) -> Self {
        Self {
            names,
            rows: names.map(Row::new),
            calls: [Vec::new(), Vec::new()],
        }
    }

    /// One round; the port's samples with their calls a payment.
    pub(super) fn add_round(&mut self, raw: Sample, one: (Sample, f64), several: (Sample, f64)) {
        let samples = [raw, one.0, several.0];
        self.rows
            .iter_mut()
            .zip(samples)
            .for_each(|(row, sample)| row.samples.push(sample));
        self.calls[0].push(one.1);
        self.calls[1].push(several.1);
    }

    pub(super) fn print(&self, title: &str, calls: &str) {
        let [raw, one, several] = self.names;
        report::print(title, &self.rows, &[(one, &[raw]), (several, &[raw])]);
        report::print_spread(&self.rows, &[(one, raw), (several, raw)]);
        let [of_one, of_several] = [0, 1].map(|n| report::median(self.calls[n].iter().copied()));
        println!("  {calls}: {of_one:.3} with one endpoint, {of_several:.3} with several");
    }
}
