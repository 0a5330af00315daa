//! Medians, ratios, and the table they are printed in.

use serde::{Deserialize, Serialize};

/// What one round of one row came to.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Sample {
    /// Acknowledged within the round.
    pub(crate) count: u64,
    /// The whole time that counts, in seconds.
    pub(crate) seconds: f64,
    /// The time without what was waited for at the end (lag, pushes), in seconds.
    pub(crate) running: f64,
    /// Of one call, in microseconds.
    pub(crate) p50: f64,
    /// Of one call, in microseconds.
    pub(crate) p99: f64,
    /// Processor time of the server for one call, in microseconds; 0 where it is not known.
    pub(crate) cpu: f64,
}

impl Sample {
    /// From the durations of all calls, in microseconds.
    pub(crate) fn of(mut latencies: Vec<u32>, seconds: f64, running: f64) -> Self {
        latencies.sort_unstable();
        let at = |share: f64| {
            let place = (latencies.len() as f64 * share) as usize;
            latencies
                .get(place.min(latencies.len().saturating_sub(1)))
                .map_or(0.0, |us| f64::from(*us))
        };
        Self {
            count: latencies.len() as u64,
            seconds,
            running,
            p50: at(0.50),
            p99: at(0.99),
            cpu: 0.0,
        }
    }

    /// Acknowledged in a second.
    pub(crate) fn rate(&self) -> f64 {
        self.count as f64 / self.seconds
    }
}

/// The median of something.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// All rounds of one row.
#[derive(Default)]
pub(crate) struct Row {
    /// What was measured.
    pub(crate) name: String,
    /// In the order of the rounds.
    pub(crate) samples: Vec<Sample>,
}

impl Row {
    /// Without rounds yet.
    pub(crate) fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            samples: Vec::new(),
        }
    }

    /// Median over the rounds.
    pub(crate) fn median(&self, of: impl Fn(&Sample) -> f64) -> f64 {
        median(self.samples.iter().map(of))
    }

    /// Median of the ratios of single rounds: rounds that run one after the other have similar machine conditions.
    pub(crate) fn ratio(&self, ceiling: &Self, of: impl Fn(&Sample) -> f64) -> f64 {
        median(
            self.samples
                .iter()
                .zip(&ceiling.samples)
                .map(|(own, top)| of(own) / of(top)),
        )
    }
}

/// Prints rows, each with its ratios to the ceilings that are named for it.
pub(crate) fn print(title: &str, rows: &[Row], ceilings: &[(&str, &[&str])]) {
    println!("\n{title}");
    let (name, rate, running) = ("row", "per second", "undrained");
    println!(
        "  {name:<34}{rate:>12}{running:>12}{:>10}{:>10}{:>9}  ratios",
        "p50 us", "p99 us", "cpu us"
    );
    for row in rows {
        let mut ratios = String::new();
        for (own, tops) in ceilings {
            for top in tops.iter().filter(|_| *own == row.name) {
                if let Some(ceiling) = rows.iter().find(|r| r.name == *top) {
                    let by_rate = row.ratio(ceiling, Sample::rate);
                    let by_p99 = row.ratio(ceiling, |s| s.p99);
                    ratios.push_str(&format!("  {by_rate:.2} of {top}"));
                    // A ceiling may have no calls to time.
                    if ceiling.median(|s| s.p99) > 0.0 {
                        ratios.push_str(&format!(" (p99 {by_p99:.1}x)"));
                    }
                }
            }
        }
        println!(
            "  {:<34}{:>12.0}{:>12.0}{:>10.0}{:>10.0}{:>9.1}{ratios}",
            row.name,
            row.median(Sample::rate),
            row.median(|s| s.count as f64 / s.running),
            row.median(|s| s.p50),
            row.median(|s| s.p99),
            row.median(|s| s.cpu),
        );
    }
}

/// Prints how far the ratios of single rounds lie apart.
pub(crate) fn print_spread(rows: &[Row], ratios: &[(&str, &str)]) {
    for (own, top) in ratios {
        let row = |name: &str| rows.iter().find(|row| row.name == name);
        let (Some(own_row), Some(top_row)) = (row(own), row(top)) else {
            continue;
        };
        let pairs = own_row.samples.iter().zip(&top_row.samples);
        let mut values: Vec<f64> = pairs.map(|(own, top)| own.rate() / top.rate()).collect();
        values.sort_by(f64::total_cmp);
        let ends = (values.first().copied(), values.last().copied());
        let (least, most) = (ends.0.unwrap_or(f64::NAN), ends.1.unwrap_or(f64::NAN));
        println!(
            "  {own} / {top}: {:.2} (rounds {least:.2} to {most:.2})",
            median(values.into_iter())
        );
    }
}
