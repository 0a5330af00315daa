//! The rules of lists: whatever was ordered is on one, and a cursor leads on.

use purser::provider::Providers;
use purser_actors::id::EffectId;
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::{Cursor, Entry, EntryName, Page, ProviderList};
use purser_actors::product::Currency;
use purser_actors::reconcile::{Money, Source, Standing};

use crate::suite::{paid, payout, until};

/// All of a list, by pages of this size.
async fn whole(list: &dyn ProviderList, limit: usize) -> Vec<Entry> {
    let (mut all, mut at) = (Vec::new(), None);
    loop {
        let Page { items, next } = list.entries(at.as_ref(), limit).await.unwrap();
        assert!(items.len() <= limit);
        assert_eq!(
            next.is_none(),
            items.is_empty(),
            "a page leads on as long as it has entries"
        );
        all.extend(items);
        match next {
            Some(next) => at = Some(next),
            None => return all,
        }
    }
}

fn named(all: &[Entry], name: &str) -> Vec<Entry> {
    all.iter()
        .filter(|entry| entry.name.as_str() == name)
        .cloned()
        .collect()
}

const fn dollars(cents: u64) -> Money {
    Money::Cents(Cents::new(cents), Currency::USD)
}

fn of(all: &[Entry], key: u128) -> Vec<Entry> {
    named(all, &EffectId(key).to_string())
}

/// What was ordered above is on the lists under its keys, once and as it ended; what was not is not.
pub(crate) async fn lists(providers: &Providers) {
    let cards = &providers.lists[&Source::Cards];
    let all = whole(&**cards, 100).await;
    for (key, standing, cents) in [
        (1, Standing::Done, 2_550),
        (2, Standing::Done, 2_550),
        (3, Standing::Refused, 666),
    ] {
        let [entry] = &of(&all, key)[..] else {
            panic!("{key}: {all:?}")
        };
        assert_eq!((entry.standing, entry.money), (standing, dollars(cents)));
        assert_eq!(
            cards.entry(&EntryName::of(EffectId(key))).await.unwrap().as_ref(),
            Some(entry),
            "alone as on the list"
        );
    }
    let gifts = whole(&*providers.lists[&Source::GiftCards], 100).await;
    assert_eq!(of(&gifts, 11).len() + of(&gifts, 12).len(), 2);
    assert!(gifts.iter().all(|entry| entry.standing == Standing::Done));
    holders(providers).await;
    for (source, list) in &providers.lists {
        assert_eq!(list.entry(&EntryName::of(EffectId(4_711))).await.unwrap(), None);
        let all = whole(&**list, 100).await;
        for size in [1, 2] {
            assert_eq!(
                whole(&**list, size).await,
                all,
                "{source:?}: pages of {size} are the same list"
            );
        }
        let begun = list.entries(None, 1).await.unwrap();
        let rest = list.entries(begun.next.as_ref(), 1_000).await.unwrap();
        assert_eq!(rest.items, all[1..], "{source:?}: a cursor leads on where it was given");
        let none = "no cursor of anybody".replace(' ', "-");
        let none = Cursor::new(none).unwrap();
        assert!(list.entries(Some(&none), 1).await.is_err(), "{source:?}");
    }
    one_that_changes_comes_again(providers).await;
}

/// What was done above with holders' money is on its lists, by its names and as it ended.
async fn holders(providers: &Providers) {
    use Standing::{Done, Refused, Returned};
    let order = |key: u128| EffectId(key).to_string();
    for (source, name, standing, money) in [
        (Source::Bank, order(91), Done, dollars(5_000)),
        (Source::Bank, order(92), Done, dollars(2_000)),
        (Source::Bank, order(93), Refused, dollars(3_001)),
        (Source::BankDeposits, "wire-1".to_owned(), Done, dollars(1_234)),
        (Source::BankDeposits, "wire-2".to_owned(), Done, dollars(1)),
        (Source::CardProgram, order(40), Refused, dollars(10_001)),
        (Source::CardProgram, order(41), Done, dollars(4_050)),
        (Source::CardProgram, order(61), Refused, dollars(7_000)),
        (Source::CardProgram, order(62), Done, dollars(2_000)),
        (Source::CardProgram, order(63), Returned, dollars(4_000)),
        (Source::CardBalances, order(41), Done, dollars(0)),
        (Source::PrepaidRemainders, order(1), Done, dollars(2_550)),
    ] {
        let list = &providers.lists[&source];
        let listed = named(&whole(&**list, 100).await, &name);
        assert!(!listed.is_empty(), "{source:?}: {name}");
        let expected = (standing, money, None);
        for entry in &listed {
            assert_eq!(
                (entry.standing, entry.money, entry.returns),
                expected,
                "{source:?}: {name}"
            );
        }
        let name = EntryName::new(name).unwrap();
        assert_eq!(
            list.entry(&name).await.unwrap().as_ref(),
            listed.last(),
            "{source:?}: {name}"
        );
    }
    let crossings = whole(&*providers.lists[&Source::Bridge], 100).await;
    let arrives = Money::Usdc(Usdc::from_cents(Cents::new(2_500)).unwrap());
    assert!(!crossings.is_empty());
    for crossing in &crossings {
        assert_eq!((crossing.standing, crossing.money), (Done, arrives));
    }
}

/// A payout is listed when it is ordered, and again, behind that, when it is paid.
async fn one_that_changes_comes_again(providers: &Providers) {
    let list = &providers.lists[&Source::Payouts];
    let mut at = None;
    while let Some(next) = list.entries(at.as_ref(), 1_000).await.unwrap().next {
        at = Some(next);
    }
    let order = payout(24, 1_200);
    providers.rails.send(order.clone()).await.unwrap();
    let first = until("it is listed", async || {
        let page = list.entries(at.as_ref(), 10).await.unwrap();
        page.next.map(|next| (page.items, next))
    })
    .await;
    let expected = (EntryName::of(order.key), Money::Cents(order.amount, order.currency));
    assert_eq!((first.0[0].name.clone(), first.0[0].money), expected);
    paid(providers, &order).await;
    let again = until("it comes again", async || {
        let all = list.entries(at.as_ref(), 10).await.unwrap().items;
        let all = of(&all, 24);
        (all.len() > 1).then_some(all)
    })
    .await;
    assert!(again.iter().all(|entry| entry.standing == Standing::Done), "{again:?}");
    let entry = list.entry(&EntryName::of(order.key)).await.unwrap().unwrap();
    assert_eq!(entry.standing, Standing::Done);
    assert_eq!(again.last(), Some(&entry));
}
