//! A remote catalog of gift cards.

use purser_actors::money::Cents;
use purser_actors::port::{BoxFuture, PortError};

use super::{RemoteClient, unreadable};
use crate::provider::gift_cards::{GiftCardApi, GiftCardOrderStatus, GiftCardPage};
use crate::provider::wire::gift_card_orders::{GiftCardOrderRequest, GiftCardOrderResponse};
use crate::provider::wire::gift_cards::{
    GiftCardProduct, GiftCardProductList, GiftCardProductResponse, GiftCardQuery, GiftCardQuote, GiftCardQuoteQuery,
};
use crate::provider::wire::{DecimalAmount, MalformedResponse, TextValue};

/// A catalog over HTTP.
pub struct RemoteGiftCards(pub RemoteClient);

impl GiftCardApi for RemoteGiftCards {
    fn search<'a>(
        &'a self,
        wanted: &'a crate::provider::gift_cards::GiftCardQuery,
    ) -> BoxFuture<'a, Result<Option<GiftCardPage>, PortError>> {
        const CALL: &str = "search gift cards";
        Box::pin(async move {
            let query = GiftCardQuery::from(wanted.clone());
            let said: GiftCardProductList = self.0.get(CALL, &["gift-cards"], &query).await?;
            said.read().map_err(unreadable(CALL))
        })
    }

    fn product<'a>(
        &'a self,
        product_id: &'a str,
    ) -> BoxFuture<'a, Result<Option<crate::provider::gift_cards::GiftCardProduct>, PortError>> {
        const CALL: &str = "gift card product";
        Box::pin(async move {
            let said: GiftCardProductResponse = self.0.get(CALL, &["gift-cards", product_id], &()).await?;
            let is_it = |product: &GiftCardProduct| product.product_id == product_id;
            if said.product_id != product_id || !said.product.as_ref().is_none_or(is_it) {
                return Err(unreadable(CALL)(MalformedResponse("it is about another product")));
            }
            let product = said
                .product
                .map(crate::provider::gift_cards::GiftCardProduct::try_from)
                .transpose();
            product.map_err(unreadable(CALL))
        })
    }

    fn offer<'a>(
        &'a self,
        product_id: &'a str,
        country: &'a str,
        amount: Cents,
    ) -> BoxFuture<'a, Result<crate::provider::gift_cards::GiftCardQuote, PortError>> {
        const CALL: &str = "gift card offer";
        Box::pin(async move {
            let query = GiftCardQuoteQuery {
                country: country.to_owned(),
                amount: TextValue(DecimalAmount(amount)),
            };
            let said: GiftCardQuote = self.0.get(CALL, &["gift-cards", product_id, "quote"], &query).await?;
            said.try_into().map_err(unreadable(CALL))
        })
    }

    fn order<'a>(
        &'a self,
        order: &'a crate::provider::gift_cards::GiftCardOrderRequest,
    ) -> BoxFuture<'a, Result<GiftCardOrderStatus, PortError>> {
        const CALL: &str = "order gift card";
        Box::pin(async move {
            let wanted = GiftCardOrderRequest::from(order);
            let key = Some(order.key);
            let said: GiftCardOrderResponse = self.0.post(CALL, &["gift-card-orders"], key, &wanted).await?;
            said.read(&wanted).map_err(unreadable(CALL))
        })
    }
}
