//! Everything payments bought, as the checks see it: its owner, its payment, and what its state implies about the
//! provider. A new product needs a line in [`goods`] and an arm in each match.

use std::collections::BTreeMap;

use purser_actors::entity::PurchasedProduct;
use purser_actors::entity::card::{self, Card};
use purser_actors::entity::gift_card::{self, GiftCard};
use purser_actors::entity::intl_order::{self, IntlOrder};
use purser_actors::entity::payout;
use purser_actors::entity::payout::Payout;
use purser_actors::entity::top_up;
use purser_actors::entity::top_up::TopUp;
use purser_actors::id::{CardId, PaymentId, PayoutId, TopUpId, Wallet};
use purser_actors::kernel::job::AnyJob;
use purser_actors::kernel::{Entity, EntityKind, table};
use purser_storage::codec::{self, Stored};
use purser_storage::{Row, RowKey};

use crate::providers::ProductKey;

/// Something that was sold.
pub(crate) struct SoldProduct {
    /// As credits name it.
    pub(crate) name: String,
    pub(crate) owner: Wallet,
    pub(crate) payment: PaymentId,
    pub(crate) status: &'static str,
    /// Whether its state implies that the provider made it.
    pub(crate) is_made: bool,
    /// The job that fetches it from the provider.
    pub(crate) job: AnyJob,
}

fn each<T: Stored>(rows: &BTreeMap<RowKey, Row>, kind: EntityKind, mut take: impl FnMut(u128, T)) {
    let prefix = [table::ENTITY, kind as u8];
    let of_kind = rows.iter().filter(|(key, _)| key.starts_with(&prefix));
    for (key, row) in of_kind {
        let id = key[2..].try_into().map(u128::from_be_bytes).unwrap();
        take(id, codec::decode(&row.value).unwrap());
    }
}

/// Everything that was sold.
pub(crate) fn sold_products(rows: &BTreeMap<RowKey, Row>) -> BTreeMap<ProductKey, SoldProduct> {
    let mut goods = BTreeMap::new();
    each(rows, EntityKind::Card, |id, card: Card| {
        use card::Status::{Closed, Expired, Paused, Ready};
        let good = SoldProduct {
            name: CardId(id).to_string(),
            owner: card.owner,
            payment: card.charge.payment,
            status: card.status(),
            is_made: matches!(card.status, Ready(_) | Paused(_) | Closed(_) | Expired(_)),
            job: card::Job::IssueCard(CardId(id)).into(),
        };
        goods.insert((EntityKind::Card as u8, id), good);
    });
    each(rows, EntityKind::GiftCard, |id, gift: GiftCard| {
        let good = SoldProduct {
            name: CardId(id).to_string(),
            owner: gift.owner,
            payment: gift.charge.payment,
            status: gift.status(),
            is_made: gift.status == gift_card::Status::Completed,
            job: gift_card::Job::OrderGiftCard(CardId(id)).into(),
        };
        goods.insert((EntityKind::GiftCard as u8, id), good);
    });
    each(rows, EntityKind::IntlOrder, |id, order: IntlOrder| {
        use intl_order::Status::{Cancelled, Rejected};
        let good = SoldProduct {
            name: CardId(id).to_string(),
            owner: order.owner,
            payment: order.charge.payment,
            status: order.status(),
            is_made: !matches!(order.status, Cancelled | Rejected { .. }),
            job: intl_order::Job::ShredCvv(CardId(id)).into(),
        };
        goods.insert((EntityKind::IntlOrder as u8, id), good);
    });
    each(rows, EntityKind::Payout, |id, payout: Payout| {
        let good = SoldProduct {
            name: PayoutId(id).to_string(),
            owner: payout.owner,
            payment: payout.charge.payment,
            status: payout.status(),
            // Judged by where the money is.
            is_made: false,
            job: payout::Job::SendPayout(PayoutId(id)).into(),
        };
        goods.insert((EntityKind::Payout as u8, id), good);
    });
    each(rows, EntityKind::TopUp, |id, top_up: TopUp| {
        let good = SoldProduct {
            name: TopUpId(id).to_string(),
            owner: top_up.owner,
            payment: top_up.charge.payment,
            status: top_up.status(),
            // Judged by where the money is.
            is_made: false,
            job: top_up::Job::SendTopUp(TopUpId(id)).into(),
        };
        goods.insert((EntityKind::TopUp as u8, id), good);
    });
    goods
}

/// The thing that a payment names.
pub(crate) fn product_key(product: &PurchasedProduct) -> ProductKey {
    match product {
        PurchasedProduct::Card(id) => (EntityKind::Card as u8, id.0),
        PurchasedProduct::GiftCard(id) => (EntityKind::GiftCard as u8, id.0),
        PurchasedProduct::IntlOrder(id) => (EntityKind::IntlOrder as u8, id.0),
        PurchasedProduct::Payout(id) => (EntityKind::Payout as u8, id.0),
        PurchasedProduct::TopUp(id) => (EntityKind::TopUp as u8, id.0),
    }
}
