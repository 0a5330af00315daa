//! Settings of deprecated routes.

use std::fmt;
use std::time::SystemTime;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Versions {
    /// Routes that are deprecated.
    pub deprecated_routes: Vec<DeprecatedRoute>,
}

/// A deprecated route.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct DeprecatedRoute {
    /// Path of the deprecated route.
    pub route: String,
    /// Path of the replacement.
    pub successor: String,
    /// Day on which the route is removed, as an HTTP date; absent until it is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "documents", schema(value_type = Option<String>))]
    pub sunset: Option<SunsetDate>,
}

impl DeprecatedRoute {
    /// Whether both paths are plain enough for a header.
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

/// The start of a day in UTC. Settings contain it as `2027-11-20`, responses as an HTTP date.
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
