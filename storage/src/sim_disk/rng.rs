//! Deterministic random numbers from a seed.

/// A small deterministic generator (xorshift64*), for tests and simulations only.
#[derive(Clone, Debug)]
pub struct SeededRng(u64);

impl SeededRng {
    /// Two equal seeds give equal sequences.
    pub fn new(seed: u64) -> Self {
        // Spreads neighbouring seeds; a zero state would stay zero for ever.
        Self(seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number below `n` (0 if `n` is 0).
    pub fn next_below(&mut self, n: u64) -> u64 {
        (self.next_u64() >> 16).checked_rem(n).unwrap_or(0)
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.next_below(n) == 0
    }
}

impl Default for SeededRng {
    fn default() -> Self {
        Self::new(0)
    }
}
