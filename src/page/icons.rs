//! Icons of pages, as markup in which colours and sizes come from the stylesheet.

use super::markup::Fixed;

/// The service's mark: two brass stripes around a white one on navy.
pub(crate) const MARK: Fixed = Fixed(
    "<svg class=\"mark\" viewBox=\"0 0 24 24\" aria-hidden=\"true\"><rect class=\"a\" width=\"24\" height=\"24\" rx=\"6\"/>\
     <path class=\"b\" d=\"M0 7h24v2.5H0zM0 14.5h24V17H0z\"/><path class=\"c\" d=\"M0 10.5h24v3H0z\"/></svg>",
);

pub(crate) const CHECK: Fixed = Fixed(
    "<svg class=\"icon good\" viewBox=\"0 0 16 16\" aria-hidden=\"true\"><path d=\"m3 8.5 3.5 3.5L13 4.5\"/></svg>",
);

pub(crate) const CROSS: Fixed =
    Fixed("<svg class=\"icon off\" viewBox=\"0 0 16 16\" aria-hidden=\"true\"><path d=\"m4 4 8 8m0-8-8 8\"/></svg>");

pub(crate) const CLOCK: Fixed = Fixed(
    "<svg class=\"icon good\" viewBox=\"0 0 16 16\" aria-hidden=\"true\"><circle cx=\"8\" cy=\"8\" r=\"6\"/>\
     <path d=\"M8 4.5V8l2.5 1.5\"/></svg>",
);

pub(crate) const LOCK: Fixed = Fixed(
    "<svg class=\"icon\" viewBox=\"0 0 16 16\" aria-hidden=\"true\"><rect x=\"3\" y=\"7\" width=\"10\" height=\"6.5\" rx=\"1.5\"/>\
     <path d=\"M5.5 7V5a2.5 2.5 0 0 1 5 0v2\"/></svg>",
);

/// Marks an error: an octagon, so that it differs from other marks without its colour.
pub(crate) const WRONG: Fixed = Fixed(
    "<svg class=\"icon\" viewBox=\"0 0 16 16\" aria-hidden=\"true\"><path d=\"M5.5 2h5L14 5.5v5L10.5 14h-5L2 10.5v-5z\"/>\
     <path d=\"m6 6 4 4m0-4-4 4\"/></svg>",
);
