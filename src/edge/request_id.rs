//! The id of a request.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use http::HeaderValue;
use purser_actors::port::Entropy;
use serde::{Serialize, Serializer};

/// Id of the request, for the engine and for log lines that outlive it. Rendered as text only when needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestId(pub u128);

impl RequestId {
    pub(crate) fn text(self) -> [u8; 36] {
        let mut text = *b"req_00000000000000000000000000000000";
        for (place, byte) in text[4..].chunks_exact_mut(2).zip(self.0.to_be_bytes()) {
            const DIGITS: &[u8; 16] = b"0123456789abcdef";
            place[0] = DIGITS[usize::from(byte >> 4)];
            place[1] = DIGITS[usize::from(byte & 15)];
        }
        text
    }

    pub fn header(self) -> HeaderValue {
        HeaderValue::from_bytes(&self.text()).unwrap_or(HeaderValue::from_static("req_unknown"))
    }
}

/// Generates request ids: unique across restarts, not secret, and without a system call for each.
pub struct RequestIds {
    base: u128,
    next: AtomicU64,
}

impl RequestIds {
    pub fn new(entropy: &dyn Entropy) -> Self {
        Self {
            base: entropy.random(),
            next: AtomicU64::new(0),
        }
    }

    pub fn next(&self) -> RequestId {
        let n = u128::from(self.next.fetch_add(1, Ordering::Relaxed));
        // Multiplication by an odd number is a bijection, so two counters never give the same id.
        RequestId(
            self.base
                .wrapping_add(n.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)),
        )
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.text()).unwrap_or("req_unknown"))
    }
}

impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
