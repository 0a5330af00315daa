//! The service-wide rate limit: a number of requests per caller in a fixed window. One counter per caller, bounded
//! memory, well under a microsecond per request.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use purser_actors::id::Wallet;
use purser_actors::port::Timestamp;

use purser_config::Limits;

/// Identity that a request counts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RateLimitKey {
    /// The wallet of a valid token.
    Wallet(Wallet),
    V4([u8; 4]),
    /// The first 64 bits of an IPv6 address: one customer's network, however many addresses it uses.
    V6([u8; 8]),
    /// The payer of a verified payment, with a separate limit.
    Payer(Wallet),
}

impl From<IpAddr> for RateLimitKey {
    fn from(ip: IpAddr) -> Self {
        match ip.to_canonical() {
            IpAddr::V4(v4) => Self::V4(v4.octets()),
            IpAddr::V6(v6) => {
                let [a, b, c, d, e, f, g, h, ..] = v6.octets();
                Self::V6([a, b, c, d, e, f, g, h])
            }
        }
    }
}

/// Values of the rate limit headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimitStatus {
    /// Requests per window.
    pub limit: u32,
    /// Requests left in this window.
    pub remaining: u32,
    /// Seconds until the next window, at least 1.
    pub reset_seconds: u32,
    /// Whether this request is within the limit.
    pub allowed: bool,
}

/// Enough shards that two cores seldom contend.
const SHARDS: usize = 64;

#[derive(Default)]
struct LimiterShard {
    /// Number of the window that the counts belong to.
    window: u64,
    /// Keyed hash of the caller. Two callers with one hash would share a limit, which 64 bits make negligible.
    counts: HashMap<u64, u32, BuildHasherDefault<IdentityHasher>>,
    /// Number of address entries.
    addresses: usize,
    /// Shared counters for callers that arrive when the shard is full: addresses, and wallets.
    overflow: [u32; 2],
}

/// Passes keys through, because they are hashes already.
#[derive(Default)]
struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

pub struct RateLimiter {
    shards: Vec<Mutex<LimiterShard>>,
    /// Keyed with secrets of the process, so that callers can't target one shard.
    hasher: RandomState,
    per_shard: usize,
    /// Maximum address entries per shard. Addresses cost their user nothing, and they must not displace wallets.
    addresses_per_shard: usize,
    window_seconds: u64,
    requests: u32,
    payments: u32,
    /// Rejections of requests and of payments.
    rejected: [AtomicU64; 2],
}

impl RateLimiter {
    /// Uses the limits of the settings.
    pub fn new(limits: &Limits) -> Self {
        let per_shard = limits.max_tracked_callers.div_ceil(SHARDS);
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            hasher: RandomState::new(),
            per_shard,
            addresses_per_shard: per_shard - per_shard / 4,
            window_seconds: u64::from(limits.window_seconds.max(1)),
            requests: limits.requests_per_window,
            payments: limits.payments_per_window,
            rejected: Default::default(),
        }
    }

    /// Rejections since startup, by limit.
    pub fn rejected_count(&self) -> [(&'static str, u64); 2] {
        let n = |i: usize| self.rejected[i].load(Ordering::Relaxed);
        [("requests", n(0)), ("payments", n(1))]
    }

    pub fn count(&self, caller: RateLimitKey, now: Timestamp) -> RateLimitStatus {
        self.consume(caller, now, 1)
    }

    /// The remaining requests, without counting. For preflights and health checks.
    pub fn peek(&self, caller: RateLimitKey, now: Timestamp) -> RateLimitStatus {
        self.consume(caller, now, 0)
    }

    /// Counts one verified payment of a payer, whatever address or token sent it. The paid routes call this after
    /// verifying the signature and before any claim.
    pub fn count_payment(&self, payer: Wallet, now: Timestamp) -> RateLimitStatus {
        self.consume(RateLimitKey::Payer(payer), now, 1)
    }

    fn consume(&self, caller: RateLimitKey, now: Timestamp, cost: u32) -> RateLimitStatus {
        let of_payer = matches!(caller, RateLimitKey::Payer(_));
        let is_address = matches!(caller, RateLimitKey::V4(_) | RateLimitKey::V6(_));
        let limit = if of_payer { self.payments } else { self.requests };
        let window = now.seconds() / self.window_seconds;
        let key = self.hasher.hash_one(caller);
        // The hash map uses the top and lowest bits of the hash. The shard index uses bits in between.
        let place = (key >> 40) as usize % SHARDS;
        let used = {
            let mut shard = self.shards[place].lock();
            // If the clock steps back, the newer window continues instead of granting a second limit.
            if window > shard.window {
                shard.window = window;
                shard.counts.clear();
                shard.addresses = 0;
                shard.overflow = [0; 2];
            }
            let full =
                shard.counts.len() >= self.per_shard || (is_address && shard.addresses >= self.addresses_per_shard);
            match shard.counts.get_mut(&key) {
                Some(count) => add(count, cost),
                None if full => add(&mut shard.overflow[usize::from(!is_address)], cost),
                None if cost == 0 => 0,
                None => {
                    shard.counts.insert(key, cost);
                    shard.addresses += usize::from(is_address);
                    cost
                }
            }
        };
        if cost > 0 && used > limit {
            self.rejected[usize::from(of_payer)].fetch_add(1, Ordering::Relaxed);
        }
        RateLimitStatus {
            limit,
            remaining: limit.saturating_sub(used),
            reset_seconds: u32::try_from(self.window_seconds - now.seconds() % self.window_seconds).unwrap_or(1),
            allowed: used <= limit,
        }
    }
}

fn add(count: &mut u32, cost: u32) -> u32 {
    *count = count.saturating_add(cost);
    *count
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const NOW: Timestamp = Timestamp(1_800_000_010_000);

    fn limiter(requests: u32, callers: usize) -> RateLimiter {
        RateLimiter::new(&Limits {
            requests_per_window: requests,
            window_seconds: 60,
            payments_per_window: 1,
            max_tracked_callers: callers,
        })
    }

    fn ip(text: &str) -> RateLimitKey {
        text.parse::<IpAddr>().unwrap().into()
    }

    // Checks: the limit itself is allowed, one past it is not, and the next window starts at zero.
    #[test]
    fn limit_applies_per_window() {
        let limiter = limiter(2, 1000);
        let first = limiter.count(ip("1.2.3.4"), NOW);
        assert_eq!(
            first,
            RateLimitStatus {
                limit: 2,
                remaining: 1,
                reset_seconds: 50,
                allowed: true
            }
        );
        assert!(limiter.count(ip("1.2.3.4"), NOW).allowed);
        let third = limiter.count(ip("1.2.3.4"), NOW);
        assert_eq!((third.allowed, third.remaining), (false, 0));
        assert_eq!(limiter.rejected_count(), [("requests", 1), ("payments", 0)]);
        assert!(
            limiter.count(ip("1.2.3.5"), NOW).allowed,
            "another caller has a budget of its own"
        );
        assert!(limiter.count(ip("1.2.3.4"), NOW.plus_ms(50_000)).allowed);
    }

    // Checks: a clock that steps back does not grant the limit again.
    #[test]
    fn backward_clock_step_does_not_reset_the_limit() {
        let limiter = limiter(1, 1000);
        limiter.count(ip("1.2.3.4"), NOW);
        assert!(!limiter.count(ip("1.2.3.4"), Timestamp(NOW.0 - 3_600_000)).allowed);
    }

    // Checks (case 51): another lower half of an IPv6 address, or IPv4 written as IPv6, is the same caller.
    #[test]
    fn case_51_ipv6_network_shares_a_limit() {
        assert_eq!(ip("2001:db8:1:2::1"), ip("2001:db8:1:2:ffff::9"));
        assert_ne!(ip("2001:db8:1:2::1"), ip("2001:db8:1:3::1"));
        assert_eq!(ip("::ffff:1.2.3.4"), ip("1.2.3.4"));
    }

    // Checks: `peek` does not count; a payer's payments have a separate limit from the wallet's requests.
    #[test]
    fn payment_and_request_limits_are_separate() {
        let limiter = limiter(5, 1000);
        let wallet = Wallet::Evm([7; 20]);
        assert_eq!(limiter.peek(RateLimitKey::Wallet(wallet), NOW).remaining, 5);
        assert!(limiter.count_payment(wallet, NOW).allowed);
        assert!(!limiter.count_payment(wallet, NOW).allowed);
        assert_eq!(limiter.peek(RateLimitKey::Wallet(wallet), NOW).remaining, 5);
    }

    // Checks: the setting bounds memory however many callers arrive; known callers keep their own limit.
    #[test]
    fn callers_beyond_capacity_share_a_limit() {
        let limiter = limiter(10, 64);
        let flood = |i: u32| RateLimitKey::V4(i.to_be_bytes());
        for i in 0..10_000 {
            limiter.count(flood(i), NOW);
        }
        let tracked: usize = limiter.shards.iter().map(|s| s.lock().counts.len()).sum();
        assert_eq!(tracked, 64);
        assert!(!limiter.count(flood(9_999), NOW).allowed);
        let is_tracked = |caller: RateLimitKey| {
            let key = limiter.hasher.hash_one(caller);
            limiter.shards.iter().any(|s| s.lock().counts.contains_key(&key))
        };
        let known = (0..10_000).map(flood).find(|c| is_tracked(*c)).unwrap();
        assert_eq!(limiter.count(known, NOW).remaining, 8);
    }

    // Checks: a flood of addresses displaces no wallet and shares a separate limit; `peek` reports what a request would
    // get.
    #[test]
    fn address_flood_does_not_displace_wallets() {
        let limiter = limiter(10, 64 * 40);
        for i in 0..100_000_u32 {
            limiter.count(RateLimitKey::V4(i.to_be_bytes()), NOW);
        }
        let tracked: usize = limiter.shards.iter().map(|s| s.lock().counts.len()).sum();
        assert_eq!(tracked, 64 * 30);
        assert_eq!(limiter.peek(RateLimitKey::V4([9; 4]), NOW).remaining, 0);
        for n in 0..100 {
            let wallet = RateLimitKey::Wallet(Wallet::Evm([n; 20]));
            assert_eq!(limiter.count(wallet, NOW).remaining, 9, "{n}");
        }
        assert_eq!(
            limiter.count(RateLimitKey::V4([9; 4]), NOW.plus_ms(60_000)).remaining,
            9
        );
    }
}
