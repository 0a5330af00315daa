#![allow(clippy::unwrap_used)]

use super::*;

const LIFETIME_MS: u64 = 300_000;

fn usd(rate: &str) -> FeeRules {
    let rule = FeeRuleText {
        rate: rate.to_owned(),
        minimum: "1.5".to_owned(),
        promotion: None,
    };
    BTreeMap::from([("bank_payment".to_owned(), rule)])
}

fn promoted(rate: &str, from: u64, until: u64) -> FeeRules {
    let mut rules = usd("0.038");
    for rule in rules.values_mut() {
        rule.promotion = Some(Promotion {
            rate: rate.to_owned(),
            from: Timestamp(from),
            until: Timestamp(until),
        });
    }
    rules
}

fn no_rates() -> RateTableRecord {
    RateTableRecord::default()
}

const fn window(now: u64) -> QuoteWindow {
    QuoteWindow {
        since: Timestamp(now.saturating_sub(LIFETIME_MS)),
        now: Timestamp(now),
        fresh_until: Timestamp(u64::MAX),
    }
}

fn totals(versions: &PriceVersions, asked: &PriceQuery<'_>, now: u64) -> Vec<u64> {
    let quotes = still_honoured(&versions.0, asked, &window(now));
    quotes.iter().map(|q| q.total.get()).collect()
}

fn euro(rate: &str, as_of: u64) -> RateTableRecord {
    RateTableRecord {
        rates: BTreeMap::from([("EUR".to_owned(), rate.to_owned())]),
        source: "a bank".to_owned(),
        as_of: Timestamp(as_of),
    }
}

const BANK: PriceQuery<'static> = PriceQuery {
    line: ProductLine::BankPayment,
    amount: Cents::new(200_000),
    currency: Currency::USD,
    product_rates: None,
};

// Checks (case 22): a changed price applies at once, and the old one is accepted for the lifetime of its quotes.
#[test]
fn case_22_an_old_price_is_honoured_for_the_life_of_its_quotes() {
    let at = Timestamp;
    let first = effective_at(
        PriceVersions::default(),
        (usd("0.0025"), no_rates()),
        LIFETIME_MS,
        at(1_000),
    );
    let unchanged = effective_at(first.clone(), (usd("0.0025"), no_rates()), LIFETIME_MS, at(2_000));
    assert_eq!(first, unchanged);
    let changed = effective_at(first, (usd("0.01"), no_rates()), LIFETIME_MS, at(10_000));
    assert_eq!(totals(&changed, &BANK, 10_000), [202_000, 200_500]);
    assert_eq!(totals(&changed, &BANK, 310_000), [202_000, 200_500]);
    assert_eq!(totals(&changed, &BANK, 310_001), [202_000]);
    let gift = PriceQuery {
        line: ProductLine::GiftCard,
        ..BANK
    };
    assert_eq!(totals(&changed, &gift, 310_001), [0; 0]);
    assert_eq!(
        effective_at(changed, (usd("0.01"), no_rates()), LIFETIME_MS, at(310_001))
            .0
            .len(),
        1
    );
}

// Checks (case 22): the same when a promotion starts or ends by the clock alone.
#[test]
fn case_22_a_promotion_begins_and_ends_without_breaking_a_quote() {
    let versions = effective_at(
        PriceVersions::default(),
        (promoted("0.019", 1_000_000, 2_000_000), no_rates()),
        LIFETIME_MS,
        Timestamp(0),
    );
    let (usual, promotion) = (207_600, 203_800);
    for (now, expected) in [
        (999_999, vec![usual]),
        (1_000_000, vec![promotion, usual]),
        (1_299_999, vec![promotion, usual]),
        (1_300_000, vec![promotion]),
        (1_999_999, vec![promotion]),
        (2_000_000, vec![usual, promotion]),
        (2_300_000, vec![usual]),
    ] {
        assert_eq!(totals(&versions, &BANK, now), expected, "at {now}");
    }
}

// Checks (case 22): a promotion that was withdrawn before it began, or had ended before it was listed, is never a
// price.
#[test]
fn case_22_a_promotion_counts_only_while_its_list_is_in_force() {
    let first = effective_at(
        PriceVersions::default(),
        (promoted("0.019", 1_000_000, 2_000_000), no_rates()),
        LIFETIME_MS,
        Timestamp(0),
    );
    let taken_back = effective_at(first, (usd("0.038"), no_rates()), LIFETIME_MS, Timestamp(900_000));
    assert_eq!(totals(&taken_back, &BANK, 1_100_000), [207_600]);
    // Not even in the millisecond in which it was withdrawn.
    let at_once = effective_at(
        effective_at(
            PriceVersions::default(),
            (promoted("0.019", 900_000, 2_000_000), no_rates()),
            LIFETIME_MS,
            Timestamp(0),
        ),
        (usd("0.038"), no_rates()),
        LIFETIME_MS,
        Timestamp(900_000),
    );
    assert_eq!(totals(&at_once, &BANK, 900_000 + LIFETIME_MS), [207_600]);
    let ended = (promoted("0.019", 0, 1_000_000), no_rates());
    let late = effective_at(PriceVersions::default(), ended, LIFETIME_MS, Timestamp(1_000_001));
    assert_eq!(totals(&late, &BANK, 1_100_000), [207_600]);
}

// Checks (case 25): an amount in another currency is converted with its fee and rounded up once. Its value is converted
// alone, and a currency without a rate has no price.
#[test]
fn case_25_other_currencies_are_converted_exactly_and_rounded_once() {
    let versions = effective_at(
        PriceVersions::default(),
        (usd("0.048"), euro("1.0837", 7)),
        LIFETIME_MS,
        Timestamp(0),
    );
    let asked = |amount, currency: &str| PriceQuery {
        amount: Cents::new(amount),
        currency: currency.parse().unwrap(),
        ..BANK
    };
    // 10.00 EUR with the smallest fee of 1.50 EUR: 11.50 x 1.0837 = 12.46255.
    let quotes = versions.0[0].quotes(&asked(10_00, "EUR"), &window(0));
    assert_eq!(
        (quotes[0].total, quotes[0].worth),
        (Cents::new(12_47), Cents::new(10_84))
    );
    let facts = QuoteFacts {
        fee_rate: "0.048".into(),
        min_fee: "1.5".into(),
        exchange: Some(ExchangeRate {
            usd_per_unit: "1.0837".into(),
            source: "a bank".into(),
            as_of: Timestamp(7),
        }),
    };
    assert_eq!(quotes[0].facts(), facts);
    // The vector of the contract's table: 9541.98 at 4.8 % is 10000.00.
    let quotes = versions.0[0].quotes(&asked(954_198, "USD"), &window(0));
    assert_eq!(quotes[0].total, Cents::new(1_000_000));
    assert_eq!(versions.0[0].quotes(&asked(10_00, "GBP"), &window(0)), []);
}

// Checks: rates that their source no longer reports are quoted until they are too old, and those quotes stay valid for
// their lifetime. US dollars never expire, and identical rates create no new list.
#[test]
fn exchange_rates_expire() {
    let first = effective_at(
        PriceVersions::default(),
        (usd("0"), euro("1.1", 7)),
        LIFETIME_MS,
        Timestamp(0),
    );
    let versions = effective_at(first, (usd("0"), euro("1.1", 8)), LIFETIME_MS, Timestamp(1_000));
    assert_eq!(versions.0.len(), 1);
    let euros = PriceQuery {
        currency: "EUR".parse().unwrap(),
        ..BANK
    };
    let quotes = |asked: &PriceQuery<'_>, now| {
        let window = QuoteWindow {
            fresh_until: Timestamp(1_000_000),
            ..window(now)
        };
        still_honoured(&versions.0, asked, &window)
    };
    assert_eq!(
        quotes(&euros, 1_000_000)[0].exchange.as_ref().unwrap().as_of,
        Timestamp(8)
    );
    assert_eq!(quotes(&euros, 1_000_000 + LIFETIME_MS).len(), 1);
    assert_eq!(quotes(&euros, 1_000_001 + LIFETIME_MS), []);
    assert_eq!(quotes(&BANK, 1_000_001 + LIFETIME_MS).len(), 1);
}
