//! The direction of a list: `order=asc` or `order=desc`.

use purser_actors::engine::ListStart;

/// Values of `order`. The first is the default.
pub(super) const ORDERS: [&str; 2] = ["asc", "desc"];

/// Where a page begins: after this position, or before it if the newest come first.
pub(super) const fn list_start<P: Copy>(newest_first: bool, position: Option<P>) -> ListStart<P> {
    if newest_first {
        ListStart::Before(position)
    } else {
        ListStart::After(position)
    }
}
