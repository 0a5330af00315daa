//! Amounts. USDC in atomic units, dollars in cents, rates as decimals; never a float.

use std::fmt;

use rust_decimal::{Decimal, RoundingStrategy};

use crate::json_text::define_json_text;

/// USDC in atomic units: 1 USDC is 1,000,000.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, bincode::Encode, bincode::Decode)]
pub struct Usdc(u64);

/// US dollars in cents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, bincode::Encode, bincode::Decode)]
pub struct Cents(u64);

/// An amount that does not fit, or text that is not an amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AmountError {
    /// Not `digits` or `digits.d` or `digits.dd` in ASCII.
    #[error("not a decimal number with at most 2 places")]
    Malformed,
    /// Above the largest or below the smallest value of the type.
    #[error("out of range")]
    OutOfRange,
}

/// One cent in atomic USDC.
const ATOMIC_PER_CENT: u64 = 10_000;

impl Usdc {
    /// Amount of zero USDC.
    pub const ZERO: Self = Self(0);

    /// From atomic units.
    pub const fn from_atomic(atomic: u64) -> Self {
        Self(atomic)
    }

    /// Value in atomic units.
    pub const fn atomic(self) -> u64 {
        self.0
    }

    /// Exact; dollars and USDC are taken one to one.
    ///
    /// # Errors
    /// [`AmountError::OutOfRange`] above 2^64 atomic units.
    pub fn from_cents(cents: Cents) -> Result<Self, AmountError> {
        cents
            .0
            .checked_mul(ATOMIC_PER_CENT)
            .map(Self)
            .ok_or(AmountError::OutOfRange)
    }

    /// Value in whole cents, rounded down.
    pub const fn whole_cents(self) -> Cents {
        Cents(self.0 / ATOMIC_PER_CENT)
    }

    /// Reads an amount of USDC: as [`Cents::parse`], with one to six digits behind the point.
    ///
    /// # Errors
    /// [`AmountError::Malformed`] for any other text, [`AmountError::OutOfRange`] above 2^64 atomic units.
    pub fn parse(text: &str) -> Result<Self, AmountError> {
        let (whole, fraction) = text.split_once('.').map_or((text, None), |(w, f)| (w, Some(f)));
        let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || fraction.is_some_and(|f| !digits(f) || f.len() > 6) {
            return Err(AmountError::Malformed);
        }
        let whole: u64 = whole.parse().map_err(|_| AmountError::OutOfRange)?;
        let millionths: u64 = format!("{:0<6}", fraction.unwrap_or_default())
            .parse()
            .map_err(|_| AmountError::Malformed)?;
        let whole = whole
            .checked_mul(1_000_000)
            .and_then(|whole| whole.checked_add(millionths));
        whole.map(Self).ok_or(AmountError::OutOfRange)
    }

    /// # Errors
    /// [`AmountError::OutOfRange`] on overflow.
    pub fn checked_add(self, other: Self) -> Result<Self, AmountError> {
        self.0.checked_add(other.0).map(Self).ok_or(AmountError::OutOfRange)
    }

    /// # Errors
    /// [`AmountError::OutOfRange`] below zero.
    pub fn checked_sub(self, other: Self) -> Result<Self, AmountError> {
        self.0.checked_sub(other.0).map(Self).ok_or(AmountError::OutOfRange)
    }

    /// Exact decimal in USDC, for example `5.25`.
    pub fn decimal(self) -> Decimal {
        Decimal::from_i128_with_scale(i128::from(self.0), 6).normalize()
    }
}

impl Cents {
    /// Amount of zero US dollars.
    pub const ZERO: Self = Self(0);

    /// Amount of a number of US cents.
    pub const fn new(cents: u64) -> Self {
        Self(cents)
    }

    /// Value in cents.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Reads an amount as the contract takes it: ASCII digits, optionally a point and one or two digits.
    /// No sign, exponent, space, separator or other digits. `5`, `5.0` and `5.00` are equal.
    ///
    /// # Errors
    /// [`AmountError::Malformed`] for any other text, [`AmountError::OutOfRange`] above 2^64 cents.
    pub fn parse(text: &str) -> Result<Self, AmountError> {
        let (whole, fraction) = text.split_once('.').map_or((text, None), |(w, f)| (w, Some(f)));
        let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || fraction.is_some_and(|f| !digits(f) || f.len() > 2) {
            return Err(AmountError::Malformed);
        }
        let whole: u64 = whole.parse().map_err(|_| AmountError::OutOfRange)?;
        let cents: u64 = match fraction {
            None => 0,
            Some(f) if f.len() == 1 => f.parse::<u64>().map_err(|_| AmountError::Malformed)? * 10,
            Some(f) => f.parse().map_err(|_| AmountError::Malformed)?,
        };
        whole
            .checked_mul(100)
            .and_then(|w| w.checked_add(cents))
            .map(Self)
            .ok_or(AmountError::OutOfRange)
    }

    /// # Errors
    /// [`AmountError::OutOfRange`] on overflow.
    pub fn checked_add(self, other: Self) -> Result<Self, AmountError> {
        self.0.checked_add(other.0).map(Self).ok_or(AmountError::OutOfRange)
    }

    /// # Errors
    /// [`AmountError::OutOfRange`] when it would be negative.
    pub fn checked_sub(self, other: Self) -> Result<Self, AmountError> {
        self.0.checked_sub(other.0).map(Self).ok_or(AmountError::OutOfRange)
    }

    /// Exact decimal in dollars, for example `5.25`.
    pub fn decimal(self) -> Decimal {
        Decimal::from_i128_with_scale(i128::from(self.0), 2).normalize()
    }

    /// A non-negative decimal of dollars, rounded up to the cent.
    ///
    /// # Errors
    /// [`AmountError::OutOfRange`] when negative or too large.
    pub fn ceil_to_cent(dollars: Decimal) -> Result<Self, AmountError> {
        use rust_decimal::prelude::ToPrimitive;
        if dollars < Decimal::ZERO {
            return Err(AmountError::OutOfRange);
        }
        let cents = dollars
            .checked_mul(Decimal::ONE_HUNDRED)
            .ok_or(AmountError::OutOfRange)?;
        let cents = cents.round_dp_with_strategy(0, RoundingStrategy::ToPositiveInfinity);
        cents.to_u64().map(Self).ok_or(AmountError::OutOfRange)
    }
}

impl fmt::Display for Usdc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.decimal())
    }
}

impl fmt::Display for Cents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.decimal())
    }
}

/// Fee on top of a product's amount: `max(amount × rate, minimum)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeeRule {
    /// Fraction of the amount; 0.0025 means 0.25 %.
    pub rate: Decimal,
    /// Smallest fee, in the amount's currency.
    pub minimum: Decimal,
}

impl FeeRule {
    /// The fee-inclusive total, rounded up to the cent once, at the end.
    ///
    /// # Errors
    /// [`AmountError::OutOfRange`] when the total does not fit.
    pub fn total(&self, amount: Cents) -> Result<Cents, AmountError> {
        Cents::ceil_to_cent(self.exact(amount)?)
    }

    /// The total before rounding, for an amount that is converted into another currency first.
    ///
    /// # Errors
    /// [`AmountError::OutOfRange`] when the total does not fit.
    pub fn exact(&self, amount: Cents) -> Result<Decimal, AmountError> {
        let base = amount.decimal();
        let share = base.checked_mul(self.rate).ok_or(AmountError::OutOfRange)?;
        let fee = share.max(self.minimum);
        base.checked_add(fee).ok_or(AmountError::OutOfRange)
    }
}

define_json_text!([] Cents, |amount: &Self| *amount, Self::parse);
define_json_text!([] Usdc, |amount: &Self| *amount, Self::parse);
