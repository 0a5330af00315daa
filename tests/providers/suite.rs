//! The rules. They hold for any provider that declines a card of 6.66 and sells at least one gift card.

use std::time::{Duration, Instant};

use purser::provider::gift_cards::{
    GiftCardOrderRequest, GiftCardOrderStatus, GiftCardQuery, GiftCardQuote, RedemptionDetails,
};
use purser::provider::merchants::{CardType, MerchantQuery};
use purser::provider::payouts::{Payee, PayoutOrder, PayoutRail};
use purser::provider::{PlainCard, PlainIssueResult, Providers};
use purser::secret::Secret;
use purser::vault::CardNumberRecord;
use purser_actors::currency::Currency;
use purser_actors::id::{CardId, JobId, PayoutId, Wallet};
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::payouts::{PayoutRailStatus, PayoutStatusUpdate, RecallResult};
use purser_actors::port::{
    CardAction, CardActionRequest, CardState, CheckStatus, ErrorKind, IdentityCheckRequest, IssueCardRequest,
    IssuerAccountResult,
};
use rust_decimal::Decimal;

use super::control::ProviderControl;
use super::{balances, bridge};

const TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) async fn check_all_rules((providers, control): &(Providers, ProviderControl)) {
    cards(providers).await;
    gift_cards(providers).await;
    payouts(providers).await;
    check_identity(providers).await;
    reference_data(providers).await;
    balances::check_all_rules(providers, control).await;
    bridge::check_all_rules(providers).await;
    crate::reconciliation::lists(providers).await;
}

/// Asks until there is an answer.
pub(crate) async fn until<T>(what: &str, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(begun.elapsed() < TIMEOUT, "no end: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn card_order(key: u128, cents: u64) -> IssueCardRequest {
    IssueCardRequest {
        key: JobId(key),
        card: CardId(key + 1_000),
        amount: Cents::new(cents),
    }
}

async fn made(providers: &Providers, order: &IssueCardRequest) -> PlainCard {
    until("a card", async || match providers.issuer.issue(order).await.unwrap() {
        PlainIssueResult::Ready { card } => Some(card),
        PlainIssueResult::Pending { .. } => None,
        PlainIssueResult::Declined { reason } => panic!("declined: {reason}"),
    })
    .await
}

async fn cards(providers: &Providers) {
    let issuer = &providers.issuer;
    let order = card_order(1, 2_550);
    let card = made(providers, &order).await;
    let again = made(providers, &order).await;
    assert_eq!(card.issuer_ref, again.issuer_ref, "one key is one card");
    assert_eq!(card.number.expose_secret(), again.number.expose_secret());
    let digits = card.number.expose_secret();
    assert!((12..=19).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit()));
    let other = IssueCardRequest {
        amount: Cents::new(2_551),
        ..order.clone()
    };
    let refused = issuer.issue(&other).await.unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Permanent, "a key has one content: {refused}");
    let second = made(providers, &card_order(2, 2_550)).await;
    assert_ne!(second.issuer_ref, card.issuer_ref, "another key is another card");
    let cvv = issuer.cvv(&card.issuer_ref).await.unwrap();
    assert!(matches!(cvv.expose_secret().len(), 3 | 4));
    assert_eq!(issuer.available_balance(&card.issuer_ref).await.unwrap(), order.amount);
    let snapshot = issuer.card_snapshot(&card.issuer_ref).await.unwrap();
    assert_eq!(
        (snapshot.activity.available, snapshot.activity.transactions.len()),
        (order.amount, 0)
    );
    assert_eq!(
        (snapshot.sequence, snapshot.state, snapshot.released),
        (0, CardState::Open, Cents::ZERO)
    );
    check_card_actions(providers, &order, &card.issuer_ref).await;
    for unknown in ["unknown", "../cards", "a/b?c=d"] {
        assert_eq!(
            issuer.cvv(unknown).await.unwrap_err().kind,
            ErrorKind::Permanent,
            "{unknown}"
        );
        assert_eq!(
            issuer.card_snapshot(unknown).await.unwrap_err().kind,
            ErrorKind::Permanent
        );
    }
    for _ in 0..2 {
        let declined = issuer.issue(&card_order(3, 666)).await.unwrap();
        assert!(matches!(declined, PlainIssueResult::Declined { .. }), "{declined:?}");
    }
    assert_eq!(issuer.billing_address().await.unwrap().country.len(), 2);
}

/// Prepaid card actions: each is applied once per key, closing releases the remainder, and the events arrive in order.
async fn check_card_actions(providers: &Providers, order: &IssueCardRequest, issuer_ref: &str) {
    let issuer = &providers.issuer;
    let request = |key, action| CardActionRequest {
        key: JobId(key),
        card: order.card,
        issuer_ref: issuer_ref.to_owned(),
        action,
    };
    let mut last = 0;
    for (key, action, state) in [
        (61, CardAction::Pause, CardState::Paused),
        (62, CardAction::Resume, CardState::Open),
        // What was carried out is not carried out again, whatever came after it.
        (61, CardAction::Pause, CardState::Open),
        (63, CardAction::Close, CardState::Closed),
        (63, CardAction::Close, CardState::Closed),
        (64, CardAction::Resume, CardState::Closed),
    ] {
        let snapshot = issuer.apply_action(&request(key, action)).await.unwrap();
        assert_eq!(snapshot.state, state, "{key} {action:?}");
        assert!(snapshot.sequence >= last, "{key}");
        last = snapshot.sequence;
    }
    let closed = issuer.card_snapshot(issuer_ref).await.unwrap();
    assert_eq!(
        (closed.released, closed.activity.available),
        (order.amount, Cents::ZERO)
    );
    let unknown = CardActionRequest {
        issuer_ref: "unknown".into(),
        ..request(65, CardAction::Pause)
    };
    assert_eq!(
        issuer.apply_action(&unknown).await.unwrap_err().kind,
        ErrorKind::Permanent
    );
    let events = issuer.events_after(0, 1_000).await.unwrap();
    assert!(events.windows(2).all(|pair| pair[0].position < pair[1].position));
    let newest = events.iter().rfind(|event| event.card == order.card).unwrap();
    assert_eq!(newest.snapshot, closed);
    assert_eq!(
        issuer.events_after(events[0].position, 1_000).await.unwrap(),
        events[1..]
    );
    assert!(
        issuer
            .events_after(events.last().unwrap().position, 10)
            .await
            .unwrap()
            .is_empty()
    );
}

async fn gift_cards(providers: &Providers) {
    let catalog = &providers.gift_cards;
    let query = |limit, starting_after| GiftCardQuery {
        limit,
        starting_after,
        ..GiftCardQuery::default()
    };
    let page = catalog.search(&query(1, None)).await.unwrap().unwrap();
    assert_eq!(page.products.len(), 1);
    assert_eq!(page.has_more, page.count > 1);
    let unknown = Some("no such product".to_owned());
    assert_eq!(catalog.search(&query(1, unknown)).await.unwrap(), None);
    assert_eq!(catalog.product("no such product").await.unwrap(), None);
    let all = catalog.search(&query(100, None)).await.unwrap().unwrap();
    let product = all.products.iter().find(|product| product.in_stock).unwrap();
    let found = catalog.product(&product.product_id).await.unwrap().unwrap();
    assert_eq!(found, *product, "a product is the same in a list and alone");
    let country = match &product.redeemability {
        purser::provider::gift_cards::Redeemability::Worldwide => "US".to_owned(),
        purser::provider::gift_cards::Redeemability::Countries(countries) => countries[0].clone(),
    };
    let (least, most) = product.values.ends();
    let offer = catalog.offer(&product.product_id, &country, least).await.unwrap();
    let GiftCardQuote::Available { currency, fee_rate } = offer else {
        panic!("{offer:?}");
    };
    assert_eq!((currency, fee_rate), (product.currency.clone(), product.fee_rate));
    let too_much = Cents::new(most.get() + 1);
    let offer = catalog.offer(&product.product_id, &country, too_much).await.unwrap();
    let values = product.values.clone();
    assert_eq!(offer, GiftCardQuote::InvalidAmount { values });
    let offer = catalog.offer("no such product", &country, least).await.unwrap();
    assert_eq!(offer, GiftCardQuote::UnknownProduct);
    let order = |key| GiftCardOrderRequest {
        key: JobId(key),
        product_id: product.product_id.clone(),
        country: country.clone(),
        amount: least,
        fee_rate,
    };
    let first = redeemed(providers, &order(11)).await;
    assert_eq!(redeemed(providers, &order(11)).await, first, "one key is one gift card");
    assert_ne!(redeemed(providers, &order(12)).await, first);
    let other = GiftCardOrderRequest {
        amount: most,
        fee_rate: fee_rate + Decimal::new(1, 4),
        ..order(11)
    };
    assert_eq!(catalog.order(&other).await.unwrap_err().kind, ErrorKind::Permanent);
}

/// What lets its bearer spend an ordered gift card.
async fn redeemed(providers: &Providers, order: &GiftCardOrderRequest) -> Vec<String> {
    let RedemptionDetails {
        redemption_url,
        redemption_code,
        pin_code,
    } = until("a gift card", async || {
        match providers.gift_cards.order(order).await.unwrap() {
            GiftCardOrderStatus::Declined { reason } => panic!("declined: {reason}"),
            status => status.redemption(),
        }
    })
    .await;
    let parts = [redemption_url, redemption_code, pin_code].into_iter().flatten();
    let texts: Vec<_> = parts.map(|part| part.expose_secret().clone()).collect();
    assert!(!texts.is_empty());
    texts
}

pub(crate) fn payout(key: u128, cents: u64) -> PayoutOrder {
    PayoutOrder {
        key: JobId(key),
        payout_id: PayoutId(key + 1_000),
        rail: PayoutRail::AppPayment,
        amount: Cents::new(cents),
        currency: Currency::USD,
        payee: Payee::App {
            platform: "paypal".into(),
            recipient: "ada@example.com".into(),
            first_name: "Ada".into(),
            last_name: "Lovelace".into(),
            email: "ada@example.com".into(),
        },
    }
}

pub(crate) async fn wait_until_paid(providers: &Providers, order: &PayoutOrder) -> PayoutStatusUpdate {
    until("a payout", async || {
        let report = providers.payouts.send(order.clone()).await.unwrap();
        match report.status {
            PayoutRailStatus::InProcess { .. } => None,
            PayoutRailStatus::Complete { .. } => Some(report),
            state => panic!("{state:?}"),
        }
    })
    .await
}

async fn payouts(providers: &Providers) {
    let rails = &providers.payouts;
    let order = payout(21, 4_200);
    let report = wait_until_paid(providers, &order).await;
    assert_eq!(wait_until_paid(providers, &order).await, report, "one key pays once");
    let other = PayoutOrder {
        amount: Cents::new(4_201),
        ..order.clone()
    };
    assert_eq!(rails.send(other).await.unwrap_err().kind, ErrorKind::Permanent);
    assert_eq!(
        rails.find(order.key).await.unwrap(),
        Some(report),
        "asking orders nothing"
    );
    assert_eq!(rails.find(JobId(29)).await.unwrap(), None);
    let card = CardNumberRecord::new(Secret::new("4000008400001234".to_owned()), 12, 2031).unwrap();
    let to_card = PayoutOrder {
        rail: PayoutRail::PushToCard,
        payee: Payee::Card {
            number: card.number().clone(),
            exp_month: card.exp_month(),
            exp_year: card.exp_year(),
        },
        ..payout(22, 2_500)
    };
    wait_until_paid(providers, &to_card).await;
    let to_bank = PayoutOrder {
        rail: PayoutRail::BankPayment,
        payee: Payee::Bank {
            routing_number: "021000021".into(),
            account_number: Secret::new("000123456789".into()),
            account_holder_name: "Ada Lovelace".into(),
        },
        ..payout(23, 9_900)
    };
    wait_until_paid(providers, &to_bank).await;
    // Events are delivered again, in order, from any position.
    let events = rails.events_after(0, 1_000).await.unwrap();
    assert!(events.windows(2).all(|pair| pair[0].position < pair[1].position));
    for order in [&order, &to_card, &to_bank] {
        let words = events.iter().filter(|event| event.payout == order.payout_id);
        let words: Vec<_> = words
            .map(|event| (event.update.sequence, &event.update.status))
            .collect();
        assert!(words.windows(2).all(|pair| pair[0].0 < pair[1].0), "{words:?}");
        assert!(
            matches!(words.last(), Some((_, PayoutRailStatus::Complete { .. }))),
            "{words:?}"
        );
    }
    let rest = rails.events_after(events[0].position, 1_000).await.unwrap();
    assert_eq!(rest, events[1..]);
    assert_eq!(rails.events_after(0, 1).await.unwrap(), events[..1]);
    assert!(
        rails
            .events_after(events.last().unwrap().position, 10)
            .await
            .unwrap()
            .is_empty()
    );
    for _ in 0..2 {
        assert_eq!(
            rails.recall(order.key, order.payout_id).await.unwrap(),
            RecallResult::TooLate
        );
    }
    assert_eq!(rails.find(JobId(29)).await.unwrap(), None, "asking has ordered nothing");
    let country = rails.card_country(card.number()).await.unwrap();
    assert_eq!(country.unwrap().as_str(), "US");
    let foreign = Secret::new("9999999999999995".to_owned());
    assert_eq!(rails.card_country(&foreign).await.unwrap(), None);
}

async fn check_identity(providers: &Providers) {
    let (ada, bob) = (Wallet::Evm([0xA1; 20]), Wallet::Solana([0xB2; 32]));
    let check = |key, wallet| IdentityCheckRequest {
        key: JobId(key),
        wallet,
    };
    let identity = &providers.identity_check;
    let begun = identity.start(&check(31, ada)).await.unwrap();
    assert_eq!(identity.start(&check(31, ada)).await.unwrap(), begun);
    let other = identity.start(&check(31, bob)).await.unwrap_err();
    assert_eq!(other.kind, ErrorKind::Permanent);
    let second = identity.start(&check(32, bob)).await.unwrap();
    assert!(second.reference != begun.reference && second.url != begun.url);
    // Nothing is decided before the person has answered.
    let status = identity.status(&begun.reference).await.unwrap();
    assert!(matches!(status, CheckStatus::Pending { .. }), "{status:?}");
    assert!(identity.status("no such check").await.is_err());
    let opened = async |wallet: &Wallet| {
        until("an account", async || {
            match providers.accounts.open(wallet).await.unwrap() {
                IssuerAccountResult::Open { deposit_address } => Some(deposit_address),
                IssuerAccountResult::Pending { .. } => None,
                IssuerAccountResult::Declined { reason } => panic!("declined: {reason}"),
            }
        })
        .await
    };
    let address = opened(&ada).await;
    assert_eq!(
        opened(&ada).await,
        address,
        "an account owner always has the same account"
    );
    assert_ne!(opened(&bob).await, address);
    assert_eq!(providers.balances.balance(&address).await.unwrap(), Usdc::ZERO);
    let deposit = purser_actors::port::CardDeposit {
        address,
        transaction: "0x00".into(),
        amount: Usdc::from_atomic(1),
    };
    assert!(!providers.deposits.is_credited(&deposit).await.unwrap());
}

async fn reference_data(providers: &Providers) {
    let table = providers.rates.current().await.unwrap();
    assert_eq!(table.usd_per_unit["USD"], Decimal::ONE);
    assert!(table.usd_per_unit.values().all(|rate| *rate > Decimal::ZERO));
    let query = MerchantQuery {
        q: None,
        card_type: CardType::NonReloadableInternational,
        starting_after: None,
        limit: 1,
    };
    let page = providers.merchants.search(&query).await.unwrap().unwrap();
    assert_eq!(page.merchants.len(), 1);
    let name = page.merchants[0].name.clone();
    let by_name = MerchantQuery {
        q: Some(name.clone()),
        limit: 5,
        ..query.clone()
    };
    let found = providers.merchants.search(&by_name).await.unwrap().unwrap();
    assert!(found.merchants.iter().any(|merchant| merchant.name == name));
    let lost = MerchantQuery {
        starting_after: Some("no such merchant".into()),
        ..query
    };
    assert_eq!(providers.merchants.search(&lost).await.unwrap(), None);
}
