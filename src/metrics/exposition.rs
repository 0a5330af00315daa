//! Prometheus's text format, version 0.0.4, written without floating point because all our values are whole numbers.

use std::fmt::Write as _;

use purser_storage::stats::HistogramSnapshot;

/// The `Content-Type` of a page.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Unit of a whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    One,
    /// Milliseconds, shown as seconds.
    Millis,
    /// Microseconds, shown as seconds.
    Micros,
}

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

/// Label names with their values.
pub(super) type Labels<'a> = &'a [(&'a str, &'a str)];

#[derive(Default)]
pub(super) struct Exposition {
    text: String,
}

/// The samples of one metric.
pub(super) struct Samples<'a> {
    exposition: &'a mut Exposition,
    name: &'static str,
    unit: Unit,
}

impl Exposition {
    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// Starts a counter. Its name ends in `_total`.
    pub(super) fn counter(&mut self, name: &'static str, help: &str) -> Samples<'_> {
        self.start_metric(name, "counter", help, Unit::One)
    }

    /// Starts a gauge.
    pub(super) fn gauge(&mut self, name: &'static str, unit: Unit, help: &str) -> Samples<'_> {
        self.start_metric(name, "gauge", help, unit)
    }

    /// Starts a histogram.
    pub(super) fn histogram(&mut self, name: &'static str, unit: Unit, help: &str) -> Samples<'_> {
        self.start_metric(name, "histogram", help, unit)
    }

    fn start_metric(&mut self, name: &'static str, kind: &str, help: &str, unit: Unit) -> Samples<'_> {
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        Samples {
            exposition: self,
            name,
            unit,
        }
    }

    fn line(&mut self, name: &str, suffix: &str, labels: Labels<'_>, bound: Option<&str>, value: &str) {
        self.text.push_str(name);
        self.text.push_str(suffix);
        let bound = bound.map(|bound| ("le", bound));
        for (n, (label, value)) in labels.iter().copied().chain(bound).enumerate() {
            self.text.push(if n == 0 { '{' } else { ',' });
            let value = value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
            let _ = write!(self.text, "{label}=\"{value}\"");
        }
        if !labels.is_empty() || bound.is_some() {
            self.text.push('}');
        }
        let _ = writeln!(self.text, " {value}");
    }
}

impl Samples<'_> {
    /// The only sample of a metric without labels.
    pub(super) fn is(self, value: u64) {
        self.with(&[], value);
    }

    pub(super) fn with(self, labels: Labels<'_>, value: u64) -> Self {
        let text = self.unit.text(value);
        self.exposition.line(self.name, "", labels, None, &text);
        self
    }

    /// One sample per value of a label.
    pub(super) fn each<'v>(self, label: &str, values: impl IntoIterator<Item = (&'v str, u64)>) {
        let mut samples = self;
        for (value, n) in values {
            samples = samples.with(&[(label, value)], n);
        }
    }

    /// The samples of one histogram.
    pub(super) fn histogram_samples(self, labels: Labels<'_>, spread: &HistogramSnapshot) -> Self {
        let mut below = 0;
        for (count, bound) in spread.counts.iter().zip(spread.bounds) {
            below += count;
            let bound = self.unit.text(*bound);
            self.exposition
                .line(self.name, "_bucket", labels, Some(&bound), &below.to_string());
        }
        let count = spread.count().to_string();
        self.exposition.line(self.name, "_bucket", labels, Some("+Inf"), &count);
        self.exposition
            .line(self.name, "_sum", labels, None, &self.unit.text(spread.sum));
        self.exposition.line(self.name, "_count", labels, None, &count);
        self
    }
}

#[cfg(test)]
mod tests {
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
        page.gauge("open", Unit::One, "Things open.").is(3);
        page.counter("asked_total", "Things asked.")
            .each("what", [("a\"b\\\n", 1), ("c", 2)]);
        let spread = HistogramSnapshot {
            bounds: &[1_000, 2_000],
            counts: vec![1, 0, 2],
            sum: 9_500,
        };
        let times = page.histogram("took_seconds", Unit::Millis, "Time.");
        let _ = times.histogram_samples(&[("k", "v")], &spread);
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
