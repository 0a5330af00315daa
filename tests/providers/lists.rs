//! The rules of lists: whatever was ordered is on one, and a cursor leads on.

use purser::provider::Providers;
use purser_actors::id::EffectId;
use purser_actors::port::{Cursor, Entry, Page, ProviderList};
use purser_actors::reconcile::{Source, Standing};

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

fn of(all: &[Entry], key: u128) -> Vec<Entry> {
    all.iter().filter(|entry| entry.key == EffectId(key)).cloned().collect()
}

/// What was ordered above is on the lists under its keys, once and as it ended; what was not is not.
pub(crate) async fn lists(providers: &Providers) {
    let dollars = |entry: &Entry| (entry.amount.get(), entry.currency.as_str().to_owned());
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
        assert_eq!((entry.standing, dollars(entry)), (standing, (cents, "USD".into())));
        assert_eq!(
            cards.entry(EffectId(key)).await.unwrap().as_ref(),
            Some(entry),
            "alone as on the list"
        );
    }
    let gifts = whole(&*providers.lists[&Source::GiftCards], 100).await;
    assert_eq!(of(&gifts, 11).len() + of(&gifts, 12).len(), 2);
    assert!(gifts.iter().all(|entry| entry.standing == Standing::Done));
    for (source, list) in &providers.lists {
        assert_eq!(list.entry(EffectId(4_711)).await.unwrap(), None);
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
    assert_eq!((first.0[0].key, first.0[0].amount), (order.key, order.amount));
    paid(providers, &order).await;
    let again = until("it comes again", async || {
        let all = list.entries(at.as_ref(), 10).await.unwrap().items;
        let all = of(&all, 24);
        (all.len() > 1).then_some(all)
    })
    .await;
    assert!(again.iter().all(|entry| entry.standing == Standing::Done), "{again:?}");
    let entry = list.entry(order.key).await.unwrap().unwrap();
    assert_eq!(entry.standing, Standing::Done);
    assert_eq!(again.last(), Some(&entry));
}
