//! Request metrics of the front: count, status class and duration. A request costs one lookup and two additions on
//! cells of its thread.

use std::collections::HashMap;

use http::StatusCode;
use purser_storage::stats::{Histogram, HistogramSnapshot, PerThread};

/// Label of unknown paths.
pub const OTHER: &str = "other";

/// Status classes. A 402 is a price, not an error, so it is counted apart from the other 4xx.
pub const CLASSES: [&str; 6] = ["1xx", "2xx", "3xx", "402", "4xx", "5xx"];

/// Upper bounds of the duration buckets, in microseconds.
const TIMES_US: &[u64] = &[
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 5_000_000, 30_000_000,
];

/// Paths that begin alike and are counted together.
#[derive(Clone, Copy, Debug)]
pub struct PathGroup {
    /// How they begin.
    pub prefix: &'static str,
    /// Label of all of them.
    pub label: &'static str,
}

/// Requests by route and status class.
pub struct RequestMetrics {
    paths: &'static [&'static str],
    groups: &'static [PathGroup],
    routes: HashMap<&'static str, usize>,
    cells: PerThread<Box<[Histogram]>>,
}

impl RequestMetrics {
    /// Counts requests to these paths, each of which stands once, and to the groups of further paths; others are counted
    /// as [`OTHER`].
    pub fn new(paths: &'static [&'static str], groups: &'static [PathGroup]) -> Self {
        let cells = (paths.len() + groups.len() + 1) * CLASSES.len();
        Self {
            paths,
            groups,
            routes: paths.iter().copied().zip(0..).collect(),
            cells: PerThread::new(|| (0..cells).map(|_| Histogram::new(TIMES_US)).collect()),
        }
    }

    /// Index of a path, to keep while the request is answered.
    pub fn route(&self, path: &str) -> usize {
        let of_group = || {
            let group = self.groups.iter().position(|group| path.starts_with(group.prefix));
            self.paths.len() + group.unwrap_or(self.groups.len())
        };
        self.routes.get(path).copied().unwrap_or_else(of_group)
    }

    pub fn record(&self, route: usize, status: StatusCode, took_us: u64) {
        let class = match status.as_u16() {
            402 => 3,
            100..200 => 0,
            200..300 => 1,
            300..400 => 2,
            400..500 => 4,
            _ => 5,
        };
        if let Some(cell) = self.cells.mine().get(route * CLASSES.len() + class) {
            cell.record(took_us);
        }
    }

    /// Route, status class and durations in microseconds of every combination with at least one request.
    pub fn read(&self) -> Vec<(&'static str, &'static str, HistogramSnapshot)> {
        let mut found = Vec::new();
        let groups = self.groups.iter().map(|group| group.label);
        for (r, route) in self.paths.iter().copied().chain(groups).chain([OTHER]).enumerate() {
            for (c, class) in CLASSES.into_iter().enumerate() {
                let mut sum = Histogram::new(TIMES_US).snapshot();
                let cells = self.cells.all().filter_map(|cells| cells.get(r * CLASSES.len() + c));
                cells.for_each(|cell| sum.add(&cell.snapshot()));
                if sum.count() > 0 {
                    found.push((route, class, sum));
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Checks: a request is counted once, under its route or group and class, on any thread; an unknown path creates no
    // label.
    #[test]
    fn request_is_counted_once_under_its_route() {
        const GROUPS: &[PathGroup] = &[PathGroup {
            prefix: "/desk/",
            label: "/desk/{page}",
        }];
        let meter = RequestMetrics::new(&["/get-card", "/desk/login"], GROUPS);
        let card = meter.route("/get-card");
        std::thread::scope(|threads| {
            for _ in 0..10 {
                threads.spawn(|| meter.record(card, StatusCode::PAYMENT_REQUIRED, 300));
            }
        });
        meter.record(card, StatusCode::OK, 7);
        meter.record(meter.route("/get-card/x"), StatusCode::NOT_FOUND, 1);
        meter.record(meter.route("/wp-admin"), StatusCode::NOT_FOUND, 1);
        for (path, took_us) in [("/desk/login", 3), ("/desk/orders", 4), ("/desk/orders/card_1", 5)] {
            meter.record(meter.route(path), StatusCode::OK, took_us);
        }
        let read: Vec<_> = meter
            .read()
            .into_iter()
            .map(|(r, c, d)| (r, c, d.count(), d.sum))
            .collect();
        assert_eq!(
            read,
            [
                ("/get-card", "2xx", 1, 7),
                ("/get-card", "402", 10, 3_000),
                ("/desk/login", "2xx", 1, 3),
                ("/desk/{page}", "2xx", 2, 9),
                (OTHER, "4xx", 2, 2)
            ]
        );
    }
}
