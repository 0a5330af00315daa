//! Which routes are on their way out.

use std::fmt;
use std::time::SystemTime;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::ToSchema;

/// The contract's versions.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Versions {
    /// Routes being retired.
    pub deprecated_routes: Vec<DeprecatedRoute>,
}

/// A route on its way out.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DeprecatedRoute {
    /// The route.
    pub route: String,
    /// What to call instead.
    pub successor: String,
    /// The day it ends, as an HTTP date, once it is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub sunset: Option<SunsetDate>,
}

impl DeprecatedRoute {
    /// Whether both names are paths that fit a header.
    pub(super) fn is_plain(&self) -> bool {
        let plain = |path: &str| {
            path.starts_with('/')
                && path
                    .bytes()
                    .all(|b| b.is_ascii_graphic() && !matches!(b, b'<' | b'>' | b'"'))
        };
        plain(&self.route) && plain(&self.successor) && self.route != self.successor
    }
}

/// The first moment of a day, in UTC. Settings write it as `2027-11-20`, answers as an HTTP date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SunsetDate(SystemTime);

impl fmt::Display for SunsetDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&httpdate::fmt_http_date(self.0))
    }
}

impl Serialize for SunsetDate {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SunsetDate {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let day = humantime::parse_rfc3339(&format!("{text}T00:00:00Z"));
        day.map(Self)
            .map_err(|_| D::Error::custom(format!("{text:?} is not a day such as 2027-11-20")))
    }
}
