#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use purser_actors::id::JobId;
use purser_actors::port::Timestamp;
use tempfile::TempDir;

use super::*;
use crate::gift_cards::{Denominations, Redeemability, RedemptionDetails};
use purser_config::{Config, ConfigSources};
use purser_sandbox::test_store::store_in;

struct TestClock(AtomicU64);

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

struct Harness {
    dir: TempDir,
    clock: Arc<TestClock>,
    gifts: SandboxGiftCards,
}

fn open(dir: &TempDir, clock: &Arc<TestClock>) -> SandboxGiftCards {
    let settings = SandboxGiftCardSettings {
        timeout_after_ms: 1,
        ..SandboxGiftCardSettings::default()
    };
    SandboxGiftCards::open(&store_in(dir.path()), settings, clock.clone()).unwrap()
}

fn harness() -> Harness {
    let (dir, clock) = (
        tempfile::tempdir().unwrap(),
        Arc::new(TestClock(AtomicU64::new(1_768_473_000_000))),
    );
    let gifts = open(&dir, &clock);
    Harness { dir, clock, gifts }
}

impl Harness {
    fn wait(&self, ms: u64) {
        self.clock.0.fetch_add(ms, Ordering::SeqCst);
    }

    fn restarted(self) -> Self {
        let Self { dir, clock, gifts } = self;
        drop(gifts);
        let gifts = open(&dir, &clock);
        Self { dir, clock, gifts }
    }

    /// Name of an order's status, or the kind of its error.
    async fn order_status(&self, order: &GiftCardOrderRequest) -> String {
        match self.gifts.order(order).await {
            Ok(GiftCardOrderStatus::Accepted { .. }) => "accepted".into(),
            Ok(GiftCardOrderStatus::Pending { .. }) => "pending".into(),
            Ok(GiftCardOrderStatus::Ready { .. }) => "ready".into(),
            Ok(GiftCardOrderStatus::Declined { reason }) => reason.to_string(),
            Err(error) => format!("{:?}", error.kind),
        }
    }

    async fn redemption(&self, order: &GiftCardOrderRequest) -> RedemptionDetails {
        self.gifts.order(order).await.unwrap().redemption().unwrap()
    }

    async fn made(&self) -> usize {
        self.gifts.state().await.unwrap().gift_cards
    }
}

fn order(key: u128, product_id: &str, amount: u64) -> GiftCardOrderRequest {
    GiftCardOrderRequest {
        key: JobId(key),
        product_id: product_id.to_owned(),
        country: "US".to_owned(),
        amount: Cents::new(amount),
        fee_rate: Decimal::new(48, 3),
    }
}

const FERNHILL: &str = "gift_fernhill_grocers_us";

// Checks: the catalog has the documented numbers of products and countries, and each product is within the limits of
// range, fee, country and currency.
#[test]
fn every_product_can_be_sold() {
    let catalog = Catalog::read(catalog::PRODUCTS).unwrap();
    let config = Config::load(&ConfigSources::default()).unwrap();
    let (rates, sold) = (config.rates.table(), &config.products.gift_card);
    assert!(catalog.all().len() >= 200, "{}", catalog.all().len());
    let mut countries = BTreeSet::new();
    for listed in catalog.all() {
        let product = &listed.product;
        let id = &product.product_id;
        for end in [product.values.ends().0, product.values.ends().1] {
            let usd = Cents::ceil_to_cent(rates.to_usd(end.decimal(), &product.currency).unwrap()).unwrap();
            assert!(usd >= sold.min_amount && usd <= sold.max_amount, "{id}: {usd}");
            assert!(product.values.offer(end), "{id}");
        }
        assert!(product.fee_rate <= sold.fee_rate, "{id}");
        assert!(product.name.chars().all(|c| !c.is_control() && c != '<'), "{id}");
        if let Redeemability::Countries(codes) = &product.redeemability {
            assert!(codes.iter().all(|code| sold.countries.serves(code)), "{id}");
            countries.extend(codes.iter().cloned());
        }
    }
    assert!(countries.len() >= 30, "{}", countries.len());
    let currencies: BTreeSet<_> = catalog.all().iter().map(|l| &l.product.currency).collect();
    assert!(currencies.len() >= 15 && currencies.iter().all(|c| rates.usd_per_unit.contains_key(*c)));
    assert!(
        catalog.all().iter().any(|l| l.stock == 0),
        "something is sold out from the start"
    );
    for (id, ..) in faults::magic_products() {
        assert!(
            catalog
                .get(id)
                .is_some_and(|l| l.product.redeemability == Redeemability::Worldwide),
            "{id}"
        );
    }
}

// Checks: a range has exact ends and steps; a fixed list has exactly its amounts.
#[test]
fn case_25_amounts_end_at_their_edges() {
    let cents = Cents::new;
    let range = Denominations::Range {
        min: cents(2_500),
        max: cents(10_000),
        step: cents(500),
    };
    let offered: Vec<u64> = (0..=10_500).filter(|a| range.offer(cents(*a))).collect();
    assert_eq!(offered, (5..=20).map(|n| n * 500).collect::<Vec<_>>());
    let fixed = Denominations::Fixed {
        amounts: vec![cents(1_000), cents(2_500)],
    };
    let offered: Vec<u64> = (0..=3_000).filter(|a| fixed.offer(cents(*a))).collect();
    assert_eq!(offered, [1_000, 2_500]);
}

// Checks: one key creates one gift card with the same redemption data, over every repetition and a restart.
#[tokio::test]
async fn one_key_makes_one_gift_card() {
    let world = harness();
    let wanted = order(1, FERNHILL, 5_000);
    assert_eq!(world.order_status(&wanted).await, "accepted");
    assert_eq!(world.order_status(&wanted).await, "pending");
    let world = world.restarted();
    assert_eq!(world.order_status(&wanted).await, "pending");
    world.wait(2_000);
    let first = world.redemption(&wanted).await;
    let world = world.restarted();
    let second = world.redemption(&wanted).await;
    let open = |r: &RedemptionDetails| {
        let text = |s: &Option<purser_host::secret::Secret<String>>| s.as_ref().map(|s| s.expose_secret().clone());
        (text(&r.redemption_url), text(&r.redemption_code), text(&r.pin_code))
    };
    assert_eq!(open(&first), open(&second));
    let (url, code, pin) = open(&first);
    assert!(url.is_none() && code.is_some_and(|c| c.len() == 19) && pin.is_some_and(|p| p.len() == 4));
    assert_eq!(world.made().await, 1);
    for other in [order(1, FERNHILL, 5_100), order(1, "gift_lumenflix_us", 5_000)] {
        assert_eq!(world.order_status(&other).await, "Permanent");
    }
    assert_eq!(world.made().await, 1);
    assert!(!format!("{first:?}").contains('-'), "nothing of the code is printed");
}

// Checks: the last card is sold once under concurrency; it is sold out in the search, also after a restart.
#[tokio::test]
async fn the_last_one_is_sold_once() {
    let world = harness();
    assert!(world.gifts.set_stock(FERNHILL, 1).await.unwrap());
    let (one, other) = (order(1, FERNHILL, 5_000), order(2, FERNHILL, 5_000));
    let said = tokio::join!(world.order_status(&one), world.order_status(&other));
    let mut said = [said.0, said.1];
    said.sort();
    assert_eq!(said, ["accepted", "out_of_stock"]);
    let world = world.restarted();
    let look = world.gifts.offer(FERNHILL, "US", Cents::new(5_000)).await.unwrap();
    assert_eq!(look, GiftCardQuote::OutOfStock);
    assert!(!world.gifts.product(FERNHILL).await.unwrap().unwrap().in_stock);
    assert!(world.gifts.set_stock(FERNHILL, 1).await.unwrap());
    assert_eq!(
        world.order_status(&other).await,
        "out_of_stock",
        "a decline is permanent"
    );
    assert_eq!(world.order_status(&order(3, FERNHILL, 5_000)).await, "accepted");
    assert!(!world.gifts.set_stock("gift_nowhere", 1).await.unwrap());
}

// Checks: an order is declined if its price rose after the quote, not if it fell.
#[tokio::test]
async fn raised_price_is_declined() {
    let world = harness();
    let quoted = |key, thousandths| GiftCardOrderRequest {
        fee_rate: Decimal::new(thousandths, 3),
        ..order(key, FERNHILL, 5_000)
    };
    assert_eq!(world.order_status(&quoted(1, 20)).await, "accepted");
    assert!(world.gifts.set_fee_rate(FERNHILL, Decimal::new(30, 3)).await.unwrap());
    assert_eq!(world.order_status(&quoted(2, 20)).await, "price_changed");
    let world = world.restarted();
    assert_eq!(world.order_status(&quoted(3, 20)).await, "price_changed");
    assert_eq!(world.order_status(&quoted(4, 40)).await, "accepted");
    let GiftCardQuote::Available { fee_rate, .. } = world.gifts.offer(FERNHILL, "US", Cents::new(5_000)).await.unwrap()
    else {
        panic!("it is open");
    };
    assert_eq!(fee_rate, Decimal::new(30, 3));
}

// Checks: everything that can be known before the payment is reported before it, in this order.
#[tokio::test]
async fn quote_names_the_first_problem() {
    let world = harness();
    let look =
        async |id: &str, country: &str, amount| world.gifts.offer(id, country, Cents::new(amount)).await.unwrap();
    assert_eq!(look("gift_nowhere", "FR", 1).await, GiftCardQuote::UnknownProduct);
    assert_eq!(look(FERNHILL, "FR", 1).await, GiftCardQuote::NotInCountry);
    assert!(matches!(
        look(FERNHILL, "US", 1).await,
        GiftCardQuote::InvalidAmount {
            values: Denominations::Range { .. }
        }
    ));
    assert!(matches!(
        look("gift_openhand_charity", "JP", 2_000).await,
        GiftCardQuote::Available { .. }
    ));
    for (key, id, country, reason) in [
        (1, "gift_nowhere", "US", "unknown_product"),
        (2, FERNHILL, "FR", "not_in_country"),
    ] {
        let wanted = GiftCardOrderRequest {
            country: country.into(),
            ..order(key, id, 5_000)
        };
        assert_eq!(world.order_status(&wanted).await, reason);
    }
    assert_eq!(world.order_status(&order(3, FERNHILL, 1)).await, "amount_not_offered");
    assert_eq!(world.made().await, 0);
}

// Checks: every magic product and every fault ends in one gift card or in a definite decline, after enough queries.
#[tokio::test]
async fn one_key_makes_at_most_one_gift_card_despite_faults() {
    use faults::MagicOutcome::*;
    let world = harness();
    for (key, (id, magic, _)) in (1..).zip(faults::magic_products()) {
        let wanted = order(key, id, 5_000);
        let mut said = Vec::new();
        for _ in 0..6 {
            said.push(world.order_status(&wanted).await);
            world.wait(2_000);
        }
        let expected: [&str; 3] = match magic {
            Declined => ["declined_by_brand"; 3],
            SoldOutAtOrder => ["out_of_stock"; 3],
            PriceRaisedAtOrder => ["price_changed"; 3],
            Slow => ["accepted", "pending", "pending"],
            TimeoutAfterSuccess | GarbageAfterSuccess => ["Unknown", "ready", "ready"],
            TwoTemporaryErrors => ["Temporary", "Temporary", "accepted"],
            DuplicateResponse => ["accepted", "accepted", "ready"],
        };
        assert_eq!(said[..3], expected, "{id}");
        let ends = if expected[0] == expected[2] && magic != Slow {
            expected[0]
        } else {
            "ready"
        };
        assert_eq!(said[5], ends, "{id}");
        let look = world.gifts.offer(id, "JP", Cents::new(5_000)).await.unwrap();
        assert!(
            matches!(look, GiftCardQuote::Available { .. }),
            "{id} looks well before it is ordered"
        );
    }
    assert_eq!(world.made().await, 5);
    for (key, fault, first, then) in [
        (11, Fault::Unreachable, "Temporary", "accepted"),
        (12, Fault::MalformedResponse, "Unknown", "accepted"),
        (13, Fault::Slow { ms: 1 }, "accepted", "pending"),
        (14, Fault::Timeout, "Unknown", "pending"),
        (15, Fault::Decline, "declined_by_brand", "declined_by_brand"),
        (16, Fault::OutOfStock, "out_of_stock", "out_of_stock"),
    ] {
        world.gifts.faults.add(fault, Some(1));
        let wanted = order(key, "gift_lumenflix_us", 2_500);
        assert_eq!(
            [world.order_status(&wanted).await, world.order_status(&wanted).await],
            [first, then],
            "{fault:?}"
        );
    }
    assert_eq!(world.made().await, 9);
    let wanted = order(14, "gift_lumenflix_us", 2_500);
    world.wait(2_000);
    world.gifts.faults.add(Fault::Duplicate, Some(1));
    assert_eq!(
        [world.order_status(&wanted).await, world.order_status(&wanted).await],
        ["accepted", "ready"]
    );
}

fn query(q: &str, country: &str) -> GiftCardQuery {
    GiftCardQuery {
        q: (!q.is_empty()).then(|| q.to_owned()),
        country: (!country.is_empty()).then(|| country.to_owned()),
        limit: 1_000,
        ..GiftCardQuery::default()
    }
}

// Checks: products are found by name, brand and category despite typos; filters narrow, and products without borders
// are in every country.
#[tokio::test]
async fn products_are_found_by_name_and_place() {
    let world = harness();
    let ids = async |search: &GiftCardQuery| -> Vec<String> {
        let page = world.gifts.search(search).await.unwrap().unwrap();
        assert_eq!(page.count, page.products.len());
        page.products.into_iter().map(|p| p.product_id).collect()
    };
    assert_eq!(ids(&query("fernhill grocers", "US")).await, [FERNHILL]);
    assert_eq!(ids(&query("FERNHIL GROCRES", "US")).await, [FERNHILL]);
    assert_eq!(
        ids(&query("marche lumiere france", "")).await[0],
        "gift_marche_lumiere_fr"
    );
    assert_eq!(ids(&query("knihy pod vezi", "CZ")).await, ["gift_knihy_pod_vezi_cz"]);
    assert_eq!(ids(&query("vpn", "")).await, ["gift_quietshield_vpn"]);
    assert_eq!(ids(&query("noodel", "JP")).await, ["gift_noodle_lantern_jp"]);
    assert_eq!(ids(&query("kettle", "CA")).await, ["gift_copper_kettle_coffee_ca"]);
    assert_eq!(ids(&query("lumiere", "CH")).await, ["gift_marche_lumiere_ch"]);
    assert_eq!(ids(&query("kowalski hardware", "")).await, [""; 0]);
    assert_eq!(ids(&query("!!!", "")).await, [""; 0]);
    let all = world.gifts.search(&query("", "")).await.unwrap().unwrap();
    let borderless: Vec<_> = all
        .products
        .iter()
        .filter(|p| p.redeemability == Redeemability::Worldwide)
        .collect();
    assert!(borderless.len() >= 10);
    for country in ["US", "MT", "JP", "BR"] {
        let here = ids(&query("", country)).await;
        assert!(borderless.iter().all(|p| here.contains(&p.product_id)), "{country}");
        assert_eq!(here.len(), all.facets.countries[country], "{country}");
    }
    let narrow = GiftCardQuery {
        currency: Some("EUR".into()),
        category: Some("Groceries".into()),
        ..query("", "DE")
    };
    let page = world.gifts.search(&narrow).await.unwrap().unwrap();
    assert!(
        page.products
            .iter()
            .all(|p| p.currency == "EUR" && p.category == "groceries" && p.redeemability.covers("DE"))
    );
    assert_eq!(
        (page.count, page.count),
        (page.facets.currencies["EUR"], page.facets.categories["groceries"])
    );
    assert!(
        page.facets.categories.len() > 5,
        "a facet shows what its own filter hides"
    );
}

// Checks: pages contain all products once; a cursor of another search is rejected.
#[tokio::test]
async fn pages_hold_every_product_once() {
    let world = harness();
    let all = world.gifts.search(&query("", "")).await.unwrap().unwrap().products;
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let search = GiftCardQuery {
            starting_after: after,
            limit: 17,
            ..query("", "")
        };
        let page = world.gifts.search(&search).await.unwrap().unwrap();
        seen.extend(page.products);
        if !page.has_more {
            break;
        }
        after = seen.last().map(|p| p.product_id.clone());
    }
    assert_eq!(seen, all);
    let foreign = GiftCardQuery {
        starting_after: Some(FERNHILL.into()),
        ..query("", "FR")
    };
    assert_eq!(world.gifts.search(&foreign).await.unwrap(), None);
}
