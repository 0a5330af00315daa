//! The rules of lists: whatever was ordered is on one, and a cursor leads on.

use purser::provider::Providers;
use purser_actors::currency::Currency;
use purser_actors::id::JobId;
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::{EntryKey, ListCursor, ListPage, ProviderEntry, ProviderList};
use purser_actors::reconciliation::{EntryAmount, EntryStatus, ReconciliationSource};

use crate::suite::{payout, until, wait_until_paid};

/// All of a list, by pages of this size.
async fn read_all(list: &dyn ProviderList, limit: usize) -> Vec<ProviderEntry> {
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

fn entries_named(all: &[ProviderEntry], name: &str) -> Vec<ProviderEntry> {
    all.iter()
        .filter(|entry| entry.name.as_str() == name)
        .cloned()
        .collect()
}

const fn dollars(cents: u64) -> EntryAmount {
    EntryAmount::Cents(Cents::new(cents), Currency::USD)
}

fn of(all: &[ProviderEntry], key: u128) -> Vec<ProviderEntry> {
    entries_named(all, &JobId(key).to_string())
}

/// What was ordered above is on the lists under its keys, once and as it ended; what was not is not.
pub(crate) async fn lists(providers: &Providers) {
    let cards = &providers.lists[&ReconciliationSource::Cards];
    let all = read_all(&**cards, 100).await;
    for (key, status, cents) in [
        (1, EntryStatus::Completed, 2_550),
        (2, EntryStatus::Completed, 2_550),
        (3, EntryStatus::Declined, 666),
    ] {
        let [entry] = &of(&all, key)[..] else {
            panic!("{key}: {all:?}")
        };
        assert_eq!((entry.status, entry.amount), (status, dollars(cents)));
        assert_eq!(
            cards.entry(&EntryKey::for_order(JobId(key))).await.unwrap().as_ref(),
            Some(entry),
            "alone as on the list"
        );
    }
    let gifts = read_all(&*providers.lists[&ReconciliationSource::GiftCards], 100).await;
    assert_eq!(of(&gifts, 11).len() + of(&gifts, 12).len(), 2);
    assert!(gifts.iter().all(|entry| entry.status == EntryStatus::Completed));
    check_customer_money(providers).await;
    for (source, list) in &providers.lists {
        assert_eq!(list.entry(&EntryKey::for_order(JobId(4_711))).await.unwrap(), None);
        let all = read_all(&**list, 100).await;
        for size in [1, 2] {
            assert_eq!(
                read_all(&**list, size).await,
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
    check_changed_entry_is_listed_again(providers).await;
}

/// What was done above with holders' money is on its lists, by its names and as it ended.
async fn check_customer_money(providers: &Providers) {
    use EntryStatus::{Completed, Declined, Returned};
    let order = |key: u128| JobId(key).to_string();
    for (source, name, status, money) in [
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
        let listed = entries_named(&read_all(&**list, 100).await, &name);
        assert!(!listed.is_empty(), "{source:?}: {name}");
        let expected = (status, money, None);
        for entry in &listed {
            assert_eq!(
                (entry.status, entry.amount, entry.returned_transfer),
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
    let bridge_transfers = read_all(&*providers.lists[&ReconciliationSource::Bridge], 100).await;
    let arrives = EntryAmount::Usdc(Usdc::from_cents(Cents::new(2_500)).unwrap());
    assert!(!bridge_transfers.is_empty());
    for bridge_transfer in &bridge_transfers {
        assert_eq!((bridge_transfer.status, bridge_transfer.amount), (Completed, arrives));
    }
}

/// A payout is listed when it is ordered, and again, behind that, when it is paid.
async fn check_changed_entry_is_listed_again(providers: &Providers) {
    let list = &providers.lists[&ReconciliationSource::Payouts];
    let mut at = None;
    while let Some(next) = list.entries(at.as_ref(), 1_000).await.unwrap().next {
        at = Some(next);
    }
    let order = payout(24, 1_200);
    providers.payouts.send(order.clone()).await.unwrap();
    let first = until("it is listed", async || {
        let page = list.entries(at.as_ref(), 10).await.unwrap();
        page.next.map(|next| (page.items, next))
    })
    .await;
    let expected = (
        EntryKey::for_order(order.key),
        EntryAmount::Cents(order.amount, order.currency),
    );
    assert_eq!((first.0[0].name.clone(), first.0[0].amount), expected);
    wait_until_paid(providers, &order).await;
    let again = until("it comes again", async || {
        let all = list.entries(at.as_ref(), 10).await.unwrap().items;
        let all = of(&all, 24);
        (all.len() > 1).then_some(all)
    })
    .await;
    assert!(
        again.iter().all(|entry| entry.status == EntryStatus::Completed),
        "{again:?}"
    );
    let entry = list.entry(&EntryKey::for_order(order.key)).await.unwrap().unwrap();
    assert_eq!(entry.status, EntryStatus::Completed);
    assert_eq!(again.last(), Some(&entry));
}
