//! The owner's own daily caps. They only ever tighten the service's.

use crate::kernel::JsonObject;
use crate::money::Cents;
use crate::product::{DailyCap, ProductLine};

/// What an owner allows of one budget in a day (UTC).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct OwnerCap {
    /// Purchases; `None` is as many as the service allows.
    pub count: Option<u32>,
    /// Sum of what they are worth in US dollars, fees apart; `None` is as much as the service allows.
    pub sum: Option<Cents>,
}

/// An owner's caps by budget; those that say nothing are not in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct OwnerCaps(Vec<(ProductLine, OwnerCap)>);

impl OwnerCaps {
    /// Sets what is allowed of a line's budget.
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

    /// What is allowed of a line's budget.
    pub fn for_line(&self, line: ProductLine) -> OwnerCap {
        let budget = line.cap_group();
        let own = self.0.iter().find(|(of, _)| *of == budget);
        own.map(|(_, cap)| *cap).unwrap_or_default()
    }

    /// Whether nothing is tightened.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What holds of a line's budget: of each number the smaller one.
    pub fn effective(&self, line: ProductLine, service: Option<DailyCap>) -> OwnerCap {
        let own = self.for_line(line);
        let smaller = |count: Option<u32>, sum: Option<Cents>| OwnerCap {
            count: own.count.into_iter().chain(count).min(),
            sum: own.sum.into_iter().chain(sum).min(),
        };
        smaller(service.map(|cap| cap.count), service.map(|cap| cap.sum))
    }

    /// As the owner reads them, by the contract's names.
    pub(super) fn view(&self) -> JsonObject {
        self.0.iter().fold(JsonObject::new(), |view, (budget, cap)| {
            let shown = JsonObject::new();
            let shown = match cap.count {
                Some(count) => shown.integer("count_per_day", u64::from(count)),
                None => shown,
            };
            let shown = match cap.sum {
                Some(sum) => shown.number("sum_per_day", sum.decimal()),
                None => shown,
            };
            view.object(budget.name(), &shown)
        })
    }
}
