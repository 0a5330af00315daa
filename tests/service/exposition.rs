//! A strict parser for a metrics page in the text format.

use std::collections::BTreeMap;

use rust_decimal::Decimal;

/// Metric kinds and samples of one page.
#[derive(Debug, Default)]
pub(crate) struct Exposition {
    /// Kind by name.
    pub(crate) kinds: BTreeMap<String, String>,
    /// Value by series, as written: `name{label="value"}`.
    series: BTreeMap<String, Decimal>,
}

impl Exposition {
    /// Parses a page; panics at the first line that violates the format.
    pub(crate) fn read(text: &str) -> Self {
        assert!(text.ends_with('\n'), "the last line has no end");
        let (mut page, mut current) = (Self::default(), String::new());
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, help) = rest.split_once(' ').unwrap();
                assert!(is_name(name) && !help.is_empty(), "{line}");
                name.clone_into(&mut current);
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').unwrap();
                assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
                assert_eq!(
                    (name, kind == "counter"),
                    (&*current, name.ends_with("_total")),
                    "{line}"
                );
                let twice = page.kinds.insert(name.to_owned(), kind.to_owned());
                assert!(twice.is_none(), "{name} begins twice");
            } else {
                page.sample(&current, line);
            }
        }
        page.check_histograms();
        page
    }

    fn sample(&mut self, current: &str, line: &str) {
        let (series, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
        let name = series.split('{').next().unwrap();
        let ending = name
            .strip_prefix(current)
            .unwrap_or_else(|| panic!("{line} below {current}"));
        let allowed: &[&str] = match self.kinds[current].as_str() {
            "histogram" => &["_bucket", "_sum", "_count"],
            _ => &[""],
        };
        assert!(allowed.contains(&ending), "{line}");
        if let Some(labels) = series.strip_prefix(name).filter(|labels| !labels.is_empty()) {
            let inner = labels.strip_prefix('{').and_then(|l| l.strip_suffix('}')).unwrap();
            for label in inner.split("\",") {
                let (name, value) = label.split_once("=\"").unwrap_or_else(|| panic!("{line}"));
                assert!(is_name(name), "{line}");
                assert!(!value.trim_end_matches('"').contains(['"', '\\', '\n']), "{line}");
            }
        }
        let value = Decimal::from_str_exact(value).unwrap_or_else(|e| panic!("{line}: {e}"));
        assert!(self.series.insert(series.to_owned(), value).is_none(), "twice: {line}");
    }

    /// Histogram buckets are cumulative and end with `+Inf`.
    fn check_histograms(&self) {
        let mut below: BTreeMap<String, Decimal> = BTreeMap::new();
        for (name, kind) in &self.kinds {
            for (series, count) in &self.series {
                let Some(labels) = series.strip_prefix(&format!("{name}_count")) else {
                    continue;
                };
                assert_eq!(kind, "histogram", "{series}");
                let inner = labels.trim_matches(['{', '}']);
                let comma = if inner.is_empty() { "" } else { "," };
                let last = format!("{name}_bucket{{{inner}{comma}le=\"+Inf\"}}");
                assert_eq!(self.series.get(&last), Some(count), "{last}");
                let prefix = format!("{name}_bucket{{{inner}{comma}le=\"");
                let ends = |series: &str| match series.strip_prefix(&prefix)?.trim_end_matches("\"}") {
                    "+Inf" => Some(Decimal::MAX),
                    end => Some(Decimal::from_str_exact(end).unwrap()),
                };
                let ranges = self.series.iter().filter_map(|(s, n)| Some((ends(s)?, *n)));
                let mut ranges: Vec<(Decimal, Decimal)> = ranges.collect();
                ranges.sort();
                assert!(
                    ranges.len() > 2 && ranges.is_sorted_by(|a, b| a.1 <= b.1),
                    "{series}: {ranges:?}"
                );
                below.insert(series.clone(), *count);
            }
        }
        assert!(!below.is_empty(), "no histogram was found");
    }

    /// Number of running and scheduled jobs of this type.
    pub(crate) fn open(&self, work: &str) -> Decimal {
        let of = |state| self.value(&format!("purser_outbox_jobs{{job_type=\"{work}\",state=\"{state}\"}}"));
        of("running") + of("scheduled")
    }

    /// The value of a series; 0 for one without a sample.
    pub(crate) fn value(&self, series: &str) -> Decimal {
        let name = series.split('{').next().unwrap();
        let known = ["", "_sum", "_count", "_bucket"];
        assert!(
            known
                .iter()
                .any(|e| self.kinds.contains_key(name.strip_suffix(e).unwrap_or("-"))),
            "there is no metric {name}"
        );
        self.series.get(series).copied().unwrap_or_default()
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_')
}
