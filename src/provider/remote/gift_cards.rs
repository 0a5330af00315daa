//! A catalog of gift cards elsewhere.

use purser_actors::money::Cents;
use purser_actors::port::{BoxFuture, PortError};

use super::{Remote, unreadable};
use crate::provider::gift_cards::{GiftAnswer, GiftCatalog, GiftPage, GiftProduct, GiftSearch, Offer, OrderGiftCard};
use crate::provider::wire::gift_cards::{GiftQuery, MaybeProduct, OfferAnswer, OfferQuery, Product, Products};
use crate::provider::wire::gift_orders::{GiftOrder, GiftOrderAnswer};
use crate::provider::wire::{Amount, Text, Unreadable};

/// A catalog over HTTP.
pub struct RemoteGiftCards(pub Remote);

impl GiftCatalog for RemoteGiftCards {
    fn search<'a>(&'a self, wanted: &'a GiftSearch) -> BoxFuture<'a, Result<Option<GiftPage>, PortError>> {
        const CALL: &str = "search gift cards";
        Box::pin(async move {
            let query = GiftQuery::from(wanted.clone());
            let said: Products = self.0.get(CALL, &["gift-cards"], &query).await?;
            said.read().map_err(unreadable(CALL))
        })
    }

    fn product<'a>(&'a self, product_id: &'a str) -> BoxFuture<'a, Result<Option<GiftProduct>, PortError>> {
        const CALL: &str = "gift card product";
        Box::pin(async move {
            let said: MaybeProduct = self.0.get(CALL, &["gift-cards", product_id], &()).await?;
            let is_it = |product: &Product| product.product_id == product_id;
            if said.product_id != product_id || !said.product.as_ref().is_none_or(is_it) {
                return Err(unreadable(CALL)(Unreadable("it is about another product")));
            }
            let product = said.product.map(GiftProduct::try_from).transpose();
            product.map_err(unreadable(CALL))
        })
    }

    fn offer<'a>(
        &'a self,
        product_id: &'a str,
        country: &'a str,
        amount: Cents,
    ) -> BoxFuture<'a, Result<Offer, PortError>> {
        const CALL: &str = "gift card offer";
        Box::pin(async move {
            let query = OfferQuery {
                country: country.to_owned(),
                amount: Text(Amount(amount)),
            };
            let said: OfferAnswer = self.0.get(CALL, &["gift-cards", product_id, "offer"], &query).await?;
            said.try_into().map_err(unreadable(CALL))
        })
    }

    fn order<'a>(&'a self, order: &'a OrderGiftCard) -> BoxFuture<'a, Result<GiftAnswer, PortError>> {
        const CALL: &str = "order gift card";
        Box::pin(async move {
            let wanted = GiftOrder::from(order);
            let key = Some(order.key);
            let said: GiftOrderAnswer = self.0.post(CALL, &["gift-card-orders"], key, &wanted).await?;
            said.read(&wanted).map_err(unreadable(CALL))
        })
    }
}
