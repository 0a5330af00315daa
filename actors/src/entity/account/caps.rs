//! Daily caps set by the account owner. They can only tighten the service's caps.

use crate::money::Cents;
use crate::product::{DailyCap, ProductLine};

/// Owner's cap of one cap group per day (UTC).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct OwnerCap {
    /// Number of purchases; `None` leaves the service's cap.
    pub count: Option<u32>,
    /// Sum of their values in US dollars without fees; `None` leaves the service's cap.
    pub sum: Option<Cents>,
}

/// An owner's caps by cap group; groups without a cap are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct OwnerCaps(Vec<(ProductLine, OwnerCap)>);

impl OwnerCaps {
    /// Sets the cap of a line's group.
    #[must_use]
    pub fn with(mut self, line: ProductLine, cap: OwnerCap) -> Self {
        let budget = line.cap_group();
        self.0.retain(|(of, _)| *of != budget);
        if cap != OwnerCap::default() {
            self.0.push((budget, cap));
            self.0.sort_by_key(|(of, _)| *of);
        }
        self
    }

    /// Cap of a line's group.
    pub fn for_line(&self, line: ProductLine) -> OwnerCap {
        let budget = line.cap_group();
        let own = self.0.iter().find(|(of, _)| *of == budget);
        own.map(|(_, cap)| *cap).unwrap_or_default()
    }

    /// Whether no cap is set.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Effective cap of a line's group: the smaller of each number.
    pub fn effective(&self, line: ProductLine, service: Option<DailyCap>) -> OwnerCap {
        let own = self.for_line(line);
        let smaller = |count: Option<u32>, sum: Option<Cents>| OwnerCap {
            count: own.count.into_iter().chain(count).min(),
            sum: own.sum.into_iter().chain(sum).min(),
        };
        smaller(service.map(|cap| cap.count), service.map(|cap| cap.sum))
    }
}
