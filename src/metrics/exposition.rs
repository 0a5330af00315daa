//! Prometheus's text format, version 0.0.4, written without floating point because all our values are whole numbers.

use std::fmt::Write as _;

use purser_storage::stats::HistogramSnapshot;

use super::table::{Metric, Unit};

/// The `Content-Type` of a page.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

impl Unit {
    fn text(self, value: u64) -> String {
        let digits = match self {
            Self::One => return value.to_string(),
            Self::Millis => 3,
            Self::Micros => 6,
        };
        let one = 10_u64.pow(digits);
        let (whole, part) = (value / one, value % one);
        let text = format!("{whole}.{part:0width$}", width = digits as usize);
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

#[derive(Default)]
pub(super) struct Exposition {
    text: String,
}

/// The samples of one metric.
pub(super) struct Samples<'a> {
    exposition: &'a mut Exposition,
    metric: &'a Metric,
}

impl Exposition {
    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// Starts a metric.
    pub(super) fn metric<'a>(&'a mut self, metric: &'a Metric) -> Samples<'a> {
        let Metric {
            name, kind, meaning, ..
        } = metric;
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "# HELP {name} {meaning}\n# TYPE {name} {}", kind.name());
        Samples {
            exposition: self,
            metric,
        }
    }
}

impl Samples<'_> {
    /// The only sample of a metric without labels.
    pub(super) fn is(self, value: u64) {
        self.with(&[], value);
    }

    /// A sample with these values of the labels, in their order.
    pub(super) fn with(self, labels: &[&str], value: u64) -> Self {
        let text = self.unit_text(value);
        self.line("", labels, None, &text)
    }

    /// One sample per value of the only label.
    pub(super) fn each<'v>(self, values: impl IntoIterator<Item = (&'v str, u64)>) {
        let mut samples = self;
        for (label, n) in values {
            samples = samples.with(&[label], n);
        }
    }

    /// The samples of one histogram.
    pub(super) fn histogram_samples(self, labels: &[&str], spread: &HistogramSnapshot) -> Self {
        let (mut samples, mut below) = (self, 0);
        for (count, bound) in spread.counts.iter().zip(spread.bounds) {
            below += count;
            let bound = samples.unit_text(*bound);
            samples = samples.line("_bucket", labels, Some(&bound), &below.to_string());
        }
        let (count, sum) = (spread.count().to_string(), samples.unit_text(spread.sum));
        samples
            .line("_bucket", labels, Some("+Inf"), &count)
            .line("_sum", labels, None, &sum)
            .line("_count", labels, None, &count)
    }

    fn unit_text(&self, value: u64) -> String {
        self.metric.kind.unit().text(value)
    }

    fn line(self, suffix: &str, labels: &[&str], bound: Option<&str>, value: &str) -> Self {
        let text = &mut self.exposition.text;
        text.push_str(self.metric.name);
        text.push_str(suffix);
        let labels = self.metric.labels.iter().copied().zip(labels.iter().copied());
        let mut open = '{';
        for (label, value) in labels.chain(bound.map(|bound| ("le", bound))) {
            let value = value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
            let _ = write!(text, "{open}{label}=\"{value}\"");
            open = ',';
        }
        if open == ',' {
            text.push('}');
        }
        let _ = writeln!(text, " {value}");
        self
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::MetricKind;
    use super::*;

    // Checks: seconds are exact, without a float and without trailing zeros.
    #[test]
    fn units_are_exact() {
        let cases = [
            (Unit::One, 1_500, "1500"),
            (Unit::Millis, 1_500, "1.5"),
            (Unit::Millis, 2_000, "2"),
            (Unit::Micros, 250, "0.00025"),
            (Unit::Micros, 30_000_000, "30"),
            (Unit::Micros, 0, "0"),
            (Unit::Micros, u64::MAX, "18446744073709.551615"),
        ];
        for (unit, value, text) in cases {
            assert_eq!(unit.text(value), text);
        }
    }

    // Checks: the lines have the right format: help and type once, cumulative buckets, escaped labels.
    #[test]
    fn a_page_is_the_text_format() {
        let mut page = Exposition::default();
        let metric = |name, kind, labels, meaning| Metric {
            name,
            kind,
            labels,
            meaning,
        };
        let open = metric("open", MetricKind::Gauge(Unit::One), &[], "Things open.");
        page.metric(&open).is(3);
        let asked = metric(
            "asked_total",
            MetricKind::Counter(Unit::One),
            &["what"],
            "Things asked.",
        );
        page.metric(&asked).each([("a\"b\\\n", 1), ("c", 2)]);
        let spread = HistogramSnapshot {
            bounds: &[1_000, 2_000],
            counts: vec![1, 0, 2],
            sum: 9_500,
        };
        let took = metric("took_seconds", MetricKind::Histogram(Unit::Millis), &["k"], "Time.");
        let _ = page.metric(&took).histogram_samples(&["v"], &spread);
        let expected = r#"# HELP open Things open.
# TYPE open gauge
open 3
# HELP asked_total Things asked.
# TYPE asked_total counter
asked_total{what="a\"b\\\n"} 1
asked_total{what="c"} 2
# HELP took_seconds Time.
# TYPE took_seconds histogram
took_seconds_bucket{k="v",le="1"} 1
took_seconds_bucket{k="v",le="2"} 1
took_seconds_bucket{k="v",le="+Inf"} 3
took_seconds_sum{k="v"} 9.5
took_seconds_count{k="v"} 3
"#;
        assert_eq!(page.into_text(), expected);
    }
}
