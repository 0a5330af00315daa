//! Amounts of the contract, fees, and integer limits.

use std::collections::BTreeSet;

use purser_actors::money::{AmountError, Cents, FeeRule, Usdc};
use purser_actors::product::PriceRange;
use rust_decimal::Decimal;

#[test]
fn case_24_amounts_have_at_most_two_decimal_places() {
    // Checks: every accepted format with its cents; everything else is malformed or too large.
    for (text, cents) in [
        ("5", 5_00),
        ("5.0", 5_00),
        ("5.00", 5_00),
        ("005", 5_00),
        ("0", 0),
        ("0.01", 1),
        ("0.1", 10),
        ("1000", 100_000),
        ("184467440737095516.15", u64::MAX),
        ("00000000000000000000000000000000000000.07", 7),
    ] {
        assert_eq!(Cents::parse(text), Ok(Cents::new(cents)), "{text}");
    }
    for text in [
        "", " ", "5.001", "1e3", "-5", "+5", "NaN", "inf", "٥", "5,00", "0x5", "5.", ".5", ".", "5 ", " 5", "5.0.0",
        "1_000", "5\n", "5.é", "$5", "５", "5.-1",
    ] {
        assert_eq!(Cents::parse(text), Err(AmountError::Malformed), "{text:?}");
    }
    for text in [
        "184467440737095516.16",
        "184467440737095517",
        "18446744073709551616",
        "1111111111222222222233333333334444444444",
    ] {
        assert_eq!(Cents::parse(text), Err(AmountError::OutOfRange), "{text}");
    }
}

fn rule(rate: &str, minimum: &str) -> FeeRule {
    FeeRule {
        rate: rate.parse().unwrap(),
        minimum: minimum.parse().unwrap(),
    }
}

fn total(rule: &FeeRule, amount: &str) -> String {
    rule.total(Cents::parse(amount).unwrap()).unwrap().to_string()
}

#[test]
fn case_25_fees_are_exact_at_and_beyond_both_limits() {
    // Checks: the vectors of the decisions, and one cent beside each limit; rounding is up, once, at the end.
    let bank = rule("0.0025", "1.5");
    let app = rule("0.049", "1.5");
    let international = rule("0.038", "0");
    let push = rule("0.048", "1.5");
    let gift = rule("0.048", "0");
    let card = rule("0", "0");
    for (rule, amount, expected) in [
        (&bank, "2000", "2005"),
        (&bank, "10", "11.5"),
        (&bank, "9.99", "11.49"),
        (&bank, "50000", "50125"),
        (&bank, "50000.01", "50125.02"),
        (&bank, "600", "601.5"),
        (&bank, "600.01", "601.52"),
        (&app, "5", "6.5"),
        (&app, "30.61", "32.11"),
        (&app, "30.62", "32.13"),
        (&app, "1000", "1049"),
        (&app, "1000.01", "1049.02"),
        (&international, "100", "103.8"),
        (&international, "1000", "1038"),
        (&push, "9541.98", "10000"),
        (&push, "9541.99", "10000.01"),
        (&push, "10", "11.5"),
        (&gift, "9000", "9432"),
        (&gift, "9000.01", "9432.02"),
        (&card, "5", "5"),
        (&card, "4.99", "4.99"),
        (&card, "1000", "1000"),
        (&card, "1000.01", "1000.01"),
    ] {
        assert_eq!(total(rule, amount), expected, "{rule:?} of {amount}");
    }
}

#[test]
fn case_26_amounts_do_not_wrap_at_their_limits() {
    // Checks: in every operation the last value that fits is exact and the next one is out of range.
    let (top, one) = (Usdc::from_atomic(u64::MAX), Usdc::from_atomic(1));
    assert_eq!(top.checked_add(Usdc::ZERO), Ok(top));
    assert_eq!(top.checked_add(one), Err(AmountError::OutOfRange));
    assert_eq!(one.checked_sub(one), Ok(Usdc::ZERO));
    assert_eq!(Usdc::ZERO.checked_sub(one), Err(AmountError::OutOfRange));
    assert_eq!(
        Cents::new(u64::MAX).checked_add(Cents::new(1)),
        Err(AmountError::OutOfRange)
    );
    let most = u64::MAX / 10_000;
    assert_eq!(Usdc::from_cents(Cents::new(most)), Ok(Usdc::from_atomic(most * 10_000)));
    assert_eq!(Usdc::from_cents(Cents::new(most + 1)), Err(AmountError::OutOfRange));
    let double = rule("1", "0");
    assert_eq!(double.total(Cents::new(u64::MAX)), Err(AmountError::OutOfRange));
    assert_eq!(double.total(Cents::new(u64::MAX / 2)), Ok(Cents::new(u64::MAX - 1)));
    assert_eq!(rule("0", "0").total(Cents::new(u64::MAX)), Ok(Cents::new(u64::MAX)));
}

#[test]
fn decimal_rounds_up_to_cents() {
    // Checks: the smallest fraction of a cent rounds up to a cent; negative values and values out of range are errors.
    for (dollars, cents) in [
        ("0", Some(0)),
        ("0.01", Some(1)),
        ("0.0100000000000000000000000001", Some(2)),
        ("0.000000001", Some(1)),
        ("184467440737095516.15", Some(u64::MAX)),
        ("184467440737095516.151", None),
        ("-0.01", None),
        ("-0.001", None),
        ("79228162514264337593543950335", None),
    ] {
        let found = Cents::ceil_to_cent(dollars.parse::<Decimal>().unwrap());
        assert_eq!(found.ok(), cents.map(Cents::new), "{dollars}");
    }
}

#[test]
fn amounts_format_exactly() {
    for (atomic, text) in [
        (0, "0"),
        (1, "0.000001"),
        (5_250_000, "5.25"),
        (u64::MAX, "18446744073709.551615"),
    ] {
        assert_eq!(Usdc::from_atomic(atomic).to_string(), text);
    }
    for (cents, text) in [(0, "0"), (1, "0.01"), (5_00, "5"), (u64::MAX, "184467440737095516.15")] {
        assert_eq!(Cents::new(cents).to_string(), text);
    }
}

#[test]
fn price_matches_its_amount_at_every_fee() {
    // Checks: each price of a range is found, at the usual and the promotional fee; an amount between two prices is
    // not.
    let prices = PriceRange {
        min: Cents::new(10_000),
        max: Cents::new(100_000),
        step: Cents::new(100),
        fees: [Some(rule("0.038", "0")), Some(rule("0.01", "2"))],
    };
    let usdc = |cents| Usdc::from_cents(Cents::new(cents)).unwrap();
    let mut all = BTreeSet::new();
    for dollars in 100..=1_000 {
        for fee in prices.fees.iter().flatten() {
            all.insert(fee.total(Cents::new(dollars * 100)).unwrap().get());
        }
    }
    for cents in 0..=110_000 {
        assert_eq!(prices.contains_price(usdc(cents)), all.contains(&cents), "{cents}");
    }
    let none = PriceRange {
        fees: [None; 2],
        ..prices
    };
    assert!(!none.contains_price(usdc(10_380)));
    let free = PriceRange {
        min: Cents::ZERO,
        fees: [Some(rule("0", "0")), None],
        ..prices
    };
    assert!(
        free.contains_price(Usdc::ZERO)
            && !free.contains_price(Usdc::from_atomic(u64::MAX))
            && !free.contains_price(usdc(1))
    );
}
