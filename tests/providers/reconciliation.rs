//! The rules of lists: whatever was ordered is on one, and a cursor leads on.

use purser::provider::Providers;
use purser_actors::id::JobId;
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::{EntryKey, ListCursor, ListPage, ProviderEntry, ProviderList};
use purser_actors::product::Currency;
use purser_actors::reconciliation::{EntryAmount, EntryStatus, ReconciliationSource};

use crate::suite::{paid, payout, until};

/// All of a list, by pages of this size.
async fn whole(list: &dyn ProviderList, limit: usize) -> Vec<ProviderEntry> {
    let (mut all, mut at) = (Vec::new(), None);
    loop {
        let ListPage { items, next } = list.entries(at.as_ref(), limit).await.unwrap();
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

fn named(all: &[ProviderEntry], name: &str) -> Vec<ProviderEntry> {
    all.iter()
        .filter(|entry| entry.name.as_str() == name)
        .cloned()
        .collect()
}

const fn dollars(cents: u64) -> EntryAmount {
    EntryAmount::Cents(Cents::new(cents), Currency::USD)
}

fn of(all: &[ProviderEntry], key: u128) -> Vec<ProviderEntry> {
    named(all, &JobId(key).to_string())
}

/// What was ordered above is on the lists under its keys, once and as it ended; what was not is not.
pub(crate) async fn lists(providers: &Providers) {
    let cards = &providers.lists[&ReconciliationSource::Cards];
    let all = whole(&**cards, 100).await;
    for (key, standing, cents) in [
        (1, EntryStatus::Completed, 2_550),
        (2, EntryStatus::Completed, 2_550),
        (3, EntryStatus::Declined, 666),
    ] {
        let [entry] = &of(&all, key)[..] else {
            panic!("{key}: {all:?}")
        };
        assert_eq!((entry.standing, entry.money), (standing, dollars(cents)));
        assert_eq!(
            cards.entry(&EntryKey::of(JobId(key))).await.unwrap().as_ref(),
            Some(entry),
            "alone as on the list"
        );
    }
    let gifts = whole(&*providers.lists[&ReconciliationSource::GiftCards], 100).await;
    assert_eq!(of(&gifts, 11).len() + of(&gifts, 12).len(), 2);
    assert!(gifts.iter().all(|entry| entry.standing == EntryStatus::Completed));
    holders(providers).await;
    for (source, list) in &providers.lists {
        assert_eq!(list.entry(&EntryKey::of(JobId(4_711))).await.unwrap(), None);
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
        let none = ListCursor::new(none).unwrap();
        assert!(list.entries(Some(&none), 1).await.is_err(), "{source:?}");
    }
    one_that_changes_comes_again(providers).await;
}

/// What was done above with holders' money is on its lists, by its names and as it ended.
async fn holders(providers: &Providers) {
    use EntryStatus::{Completed, Declined, Returned};
    let order = |key: u128| JobId(key).to_string();
    for (source, name, standing, money) in [
        (
            ReconciliationSource::BankTransfers,
            order(91),
            Completed,
            dollars(5_000),
        ),
        (
            ReconciliationSource::BankTransfers,
            order(92),
            Completed,
            dollars(2_000),
        ),
        (ReconciliationSource::BankTransfers, order(93), Declined, dollars(3_001)),
        (
            ReconciliationSource::BankDeposits,
            "wire-1".to_owned(),
            Completed,
            dollars(1_234),
        ),
        (
            ReconciliationSource::BankDeposits,
            "wire-2".to_owned(),
            Completed,
            dollars(1),
        ),
        (
            ReconciliationSource::ReloadableCards,
            order(40),
            Declined,
            dollars(10_001),
        ),
        (
            ReconciliationSource::ReloadableCards,
            order(41),
            Completed,
            dollars(4_050),
        ),
        (
            ReconciliationSource::ReloadableCards,
            order(61),
            Declined,
            dollars(7_000),
        ),
        (
            ReconciliationSource::ReloadableCards,
            order(62),
            Completed,
            dollars(2_000),
        ),
        (
            ReconciliationSource::ReloadableCards,
            order(63),
            Returned,
            dollars(4_000),
        ),
        (ReconciliationSource::CardBalances, order(41), Completed, dollars(0)),
        (
            ReconciliationSource::PrepaidRemainders,
            order(1),
            Completed,
            dollars(2_550),
        ),
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
        let name = EntryKey::new(name).unwrap();
        assert_eq!(
            list.entry(&name).await.unwrap().as_ref(),
            listed.last(),
            "{source:?}: {name}"
        );
    }
    let crossings = whole(&*providers.lists[&ReconciliationSource::Bridge], 100).await;
    let arrives = EntryAmount::Usdc(Usdc::from_cents(Cents::new(2_500)).unwrap());
    assert!(!crossings.is_empty());
    for crossing in &crossings {
        assert_eq!((crossing.standing, crossing.money), (Completed, arrives));
    }
}

/// A payout is listed when it is ordered, and again, behind that, when it is paid.
async fn one_that_changes_comes_again(providers: &Providers) {
    let list = &providers.lists[&ReconciliationSource::Payouts];
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
    let expected = (
        EntryKey::of(order.key),
        EntryAmount::Cents(order.amount, order.currency),
    );
    assert_eq!((first.0[0].name.clone(), first.0[0].money), expected);
    paid(providers, &order).await;
    let again = until("it comes again", async || {
        let all = list.entries(at.as_ref(), 10).await.unwrap().items;
        let all = of(&all, 24);
        (all.len() > 1).then_some(all)
    })
    .await;
    assert!(
        again.iter().all(|entry| entry.standing == EntryStatus::Completed),
        "{again:?}"
    );
    let entry = list.entry(&EntryKey::of(order.key)).await.unwrap().unwrap();
    assert_eq!(entry.standing, EntryStatus::Completed);
    assert_eq!(again.last(), Some(&entry));
}
