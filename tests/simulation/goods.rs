//! Whatever payments bought, in the judge's terms: whose it is, what paid for it, and what its state says of the maker. A new
//! product is a line in [`goods`] and an arm each in what asks for it.

use std::collections::BTreeMap;

use purser_actors::card::{self, Card};
use purser_actors::gift_card::{self, GiftCard};
use purser_actors::id::{CardId, PaymentId, PayoutId, TopUpId, Wallet};
use purser_actors::intl_order::{self, IntlOrder};
use purser_actors::kernel::effect::Work;
use purser_actors::kernel::{Entity, Kind, table};
use purser_actors::payout::Payout;
use purser_actors::product::Product;
use purser_actors::top_up::TopUp;
use purser_storage::codec::{self, Stored};
use purser_storage::{Row, RowKey};

use crate::makers::Thing;

/// Something that was sold.
pub(crate) struct Good {
    /// As credits name it.
    pub(crate) name: String,
    pub(crate) owner: Wallet,
    pub(crate) payment: PaymentId,
    pub(crate) status: &'static str,
    /// Whether its state says that the maker made it.
    pub(crate) says_made: bool,
    /// The work that brings it from the maker.
    pub(crate) work: Work,
}

fn each<T: Stored>(rows: &BTreeMap<RowKey, Row>, kind: Kind, mut take: impl FnMut(u128, T)) {
    let prefix = [table::ENTITY, kind as u8];
    let of_kind = rows.iter().filter(|(key, _)| key.starts_with(&prefix));
    for (key, row) in of_kind {
        let id = key[2..].try_into().map(u128::from_be_bytes).unwrap();
        take(id, codec::decode(&row.value).unwrap());
    }
}

/// Everything that was sold.
pub(crate) fn goods(rows: &BTreeMap<RowKey, Row>) -> BTreeMap<Thing, Good> {
    let mut goods = BTreeMap::new();
    each(rows, Kind::Card, |id, card: Card| {
        use card::Status::{Closed, Expired, Paused, Ready};
        let good = Good {
            name: CardId(id).to_string(),
            owner: card.owner,
            payment: card.charge.payment,
            status: card.status(),
            says_made: matches!(card.status, Ready(_) | Paused(_) | Closed(_) | Expired(_)),
            work: Work::IssueCard(CardId(id)),
        };
        goods.insert((Kind::Card as u8, id), good);
    });
    each(rows, Kind::GiftCard, |id, gift: GiftCard| {
        let good = Good {
            name: CardId(id).to_string(),
            owner: gift.owner,
            payment: gift.charge.payment,
            status: gift.status(),
            says_made: gift.status == gift_card::Status::Completed,
            work: Work::OrderGiftCard(CardId(id)),
        };
        goods.insert((Kind::GiftCard as u8, id), good);
    });
    each(rows, Kind::IntlOrder, |id, order: IntlOrder| {
        use intl_order::Status::{Cancelled, Rejected};
        let good = Good {
            name: CardId(id).to_string(),
            owner: order.owner,
            payment: order.charge.payment,
            status: order.status(),
            says_made: !matches!(order.status, Cancelled | Rejected { .. }),
            work: Work::ForgetCvv(CardId(id)),
        };
        goods.insert((Kind::IntlOrder as u8, id), good);
    });
    each(rows, Kind::Payout, |id, payout: Payout| {
        let good = Good {
            name: PayoutId(id).to_string(),
            owner: payout.owner,
            payment: payout.charge.payment,
            status: payout.status(),
            // Judged by where the money is.
            says_made: false,
            work: Work::SendPayout(PayoutId(id)),
        };
        goods.insert((Kind::Payout as u8, id), good);
    });
    each(rows, Kind::TopUp, |id, top_up: TopUp| {
        let good = Good {
            name: TopUpId(id).to_string(),
            owner: top_up.owner,
            payment: top_up.charge.payment,
            status: top_up.status(),
            // Judged by where the money is.
            says_made: false,
            work: Work::SendTopUp(TopUpId(id)),
        };
        goods.insert((Kind::TopUp as u8, id), good);
    });
    goods
}

/// The thing that a payment names.
pub(crate) fn thing(product: &Product) -> Thing {
    match product {
        Product::Card(id) => (Kind::Card as u8, id.0),
        Product::GiftCard(id) => (Kind::GiftCard as u8, id.0),
        Product::IntlOrder(id) => (Kind::IntlOrder as u8, id.0),
        Product::Payout(id) => (Kind::Payout as u8, id.0),
        Product::TopUp(id) => (Kind::TopUp as u8, id.0),
    }
}
