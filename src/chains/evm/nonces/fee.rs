//! Prices of replacement transactions.

use super::super::tx::Fee;

/// The lowest price that replaces this one: 12.5 % more of both fees, rounded up, and at least 1 wei. (geth requires 10
/// %, some nodes 12.5 %.) `None` above the cap.
pub fn bumped(fee: Fee, cap: u128) -> Option<Fee> {
    let bump = |wei: u128| wei.checked_add(wei.div_ceil(8).max(1));
    let fee = Fee {
        max_fee: bump(fee.max_fee)?,
        max_priority_fee: bump(fee.max_priority_fee)?,
    };
    // A transaction whose priority fee exceeds `max_fee` is invalid (EIP-1559).
    let max_fee = fee.max_fee.max(fee.max_priority_fee);
    (max_fee <= cap).then_some(Fee { max_fee, ..fee })
}

/// This price, limited to the cap.
pub fn clamped(fee: Fee, cap: u128) -> Fee {
    let max_fee = fee.max_fee.min(cap);
    Fee {
        max_fee,
        max_priority_fee: fee.max_priority_fee.min(max_fee),
    }
}

/// The maximum of each fee.
pub(crate) fn higher(a: Fee, b: Fee) -> Fee {
    Fee {
        max_fee: a.max_fee.max(b.max_fee),
        max_priority_fee: a.max_priority_fee.max(b.max_priority_fee),
    }
}

/// Whether `new` may replace `old`.
pub(crate) fn replaces(new: Fee, old: Fee) -> bool {
    bumped(old, u128::MAX)
        .is_some_and(|least| new.max_fee >= least.max_fee && new.max_priority_fee >= least.max_priority_fee)
}
