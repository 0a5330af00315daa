//! Signups per address: a limit per minute and one per hour. The tighter one applies.

use std::net::IpAddr;

use http::HeaderMap;
use purser_actors::port::Timestamp;

use super::super::headers::write_budget;
use super::super::rate_limit::{RateLimitKey, RateLimitStatus, RateLimiter};
use crate::config::Limits;

pub struct SignupRateLimiter([(RateLimiter, u32); 2]);

/// Limit of an address after a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignupLimitStatus {
    tighter: RateLimitStatus,
    window_seconds: u32,
}

impl SignupRateLimiter {
    /// Per minute, then per hour.
    pub fn new(ceilings: &[Limits; 2]) -> Self {
        Self(
            ceilings
                .each_ref()
                .map(|limits| (RateLimiter::new(limits), limits.window_seconds)),
        )
    }

    /// Counts a call. A call that the minute limit rejects does not count for the hour.
    pub fn count(&self, ip: IpAddr, now: Timestamp) -> SignupLimitStatus {
        let caller = RateLimitKey::from(ip);
        let [(minute, minutes_s), (hour, hours_s)] = &self.0;
        let short = minute.count(caller, now);
        let long = match short.allowed {
            true => hour.count(caller, now),
            false => hour.peek(caller, now),
        };
        let by_hour = match (short.allowed, long.allowed) {
            (true, true) => long.remaining < short.remaining,
            // A call that the minute limit rejected was not counted for the hour. If the hour has no calls left,
            // waiting a minute does not help.
            (false, _) => long.remaining == 0,
            (true, false) => true,
        };
        let (tighter, window_seconds) = if by_hour { (long, *hours_s) } else { (short, *minutes_s) };
        let allowed = short.allowed && long.allowed;
        SignupLimitStatus {
            tighter: RateLimitStatus { allowed, ..tighter },
            window_seconds,
        }
    }
}

impl SignupLimitStatus {
    pub(super) const fn allowed(&self) -> bool {
        self.tighter.allowed
    }

    /// Seconds until the tighter window resets.
    pub(super) fn wait_s(&self) -> u64 {
        u64::from(self.tighter.reset_seconds)
    }

    pub(super) fn write(&self, headers: &mut HeaderMap) {
        write_budget(headers, &self.tighter, self.window_seconds);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::config::{Config, ConfigSources};

    fn budgets() -> SignupRateLimiter {
        let config = Config::load(&ConfigSources::default()).unwrap();
        SignupRateLimiter::new(&config.signup.rate_limits(&config.limits))
    }

    const fn at(seconds: u64) -> Timestamp {
        Timestamp(seconds * 1_000)
    }

    /// Allowed, limit, remaining, seconds until the reset, window.
    fn fields(status: SignupLimitStatus) -> (bool, u32, u32, u32, u32) {
        let RateLimitStatus {
            limit,
            remaining,
            reset_seconds,
            allowed,
        } = status.tighter;
        (allowed, limit, remaining, reset_seconds, status.window_seconds)
    }

    // Checks (case 51): by default the fourth signup in a minute and the twenty-first in an hour are rejected, and the
    // headers show the tighter limit. Calls rejected by the minute limit do not count for the hour. The next hour
    // starts at zero.
    #[test]
    fn case_51_signups_are_limited_per_minute_and_hour() {
        let (budgets, ip) = (budgets(), "192.0.2.1".parse().unwrap());
        let hour = 7_200;
        for minute in 0..6 {
            let now = at(hour + minute * 60);
            for n in 1..=3 {
                let seen = fields(budgets.count(ip, now));
                assert_eq!(seen, (true, 3, 3 - n, 60, 60), "call {n} in minute {minute}");
            }
            for _ in 0..5 {
                assert_eq!(
                    fields(budgets.count(ip, now)),
                    (false, 3, 0, 60, 60),
                    "the fourth in minute {minute}"
                );
            }
        }
        // 18 were allowed so far: one more minute allows two.
        let now = at(hour + 360);
        assert_eq!(fields(budgets.count(ip, now)), (true, 20, 1, 3_240, 3_600));
        assert_eq!(fields(budgets.count(ip, now)), (true, 20, 0, 3_240, 3_600));
        assert_eq!(
            fields(budgets.count(ip, now)),
            (false, 20, 0, 3_240, 3_600),
            "the twenty-first"
        );
        assert_eq!(
            fields(budgets.count(ip, now)),
            (false, 20, 0, 3_240, 3_600),
            "and both at once"
        );
        let now = at(hour + 3_599);
        assert_eq!(fields(budgets.count(ip, now)), (false, 20, 0, 1, 3_600));
        assert_eq!(fields(budgets.count(ip, at(hour + 3_600))), (true, 3, 2, 60, 60));
    }

    // Checks (case 51): all addresses of an IPv6 /64 share a limit, and so do an IPv4 address and its IPv6 form; a
    // neighbouring /64 has its own.
    #[test]
    fn case_51_ipv6_network_shares_a_signup_limit() {
        let (budgets, now) = (budgets(), at(7_200));
        for host in ["2001:db8:1:2::1", "2001:db8:1:2:ffff::2", "2001:db8:1:2:a:b:c:d"] {
            assert!(budgets.count(host.parse().unwrap(), now).allowed(), "{host}");
        }
        assert!(!budgets.count("2001:db8:1:2::9".parse().unwrap(), now).allowed());
        assert!(budgets.count("2001:db8:1:3::1".parse().unwrap(), now).allowed());
        for host in ["192.0.2.1", "::ffff:192.0.2.1", "192.0.2.1"] {
            assert!(budgets.count(host.parse().unwrap(), now).allowed(), "{host}");
        }
        assert!(!budgets.count("::ffff:192.0.2.1".parse().unwrap(), now).allowed());
    }
}
