//! Implements the catalog port for the engine: seals redemption data, and is the only place that opens it again.

use std::sync::Arc;

use purser_actors::id::CardId;
use purser_actors::money::Cents;
use purser_actors::port::{
    BoxFuture, ErrorKind, GiftCardOffer, GiftCardOrderResult, GiftCardProvider, GiftCardRequest, PortError,
};
use purser_actors::product::{Country, Currency};
use rust_decimal::Decimal;
use zeroize::Zeroizing;

use super::gift_cards::{GiftCardApi, GiftCardOrderRequest, GiftCardOrderStatus, GiftCardQuote, RedemptionDetails};
use crate::secret::Secret;
use crate::vault::{Vault, VaultError};

/// First byte of sealed redemption data. It is not a month, so the bytes are never read as a card number.
const TAG: u8 = 0xF1;

/// Seals redemption data of `catalog` with the vault's active key.
pub struct SealingGiftCards {
    catalog: Arc<dyn GiftCardApi>,
    vault: Arc<Vault>,
}

impl SealingGiftCards {
    /// Wraps `catalog`; `vault` seals its codes.
    pub const fn new(catalog: Arc<dyn GiftCardApi>, vault: Arc<Vault>) -> Self {
        Self { catalog, vault }
    }
}

/// The parts in order, each with its length in two bytes; an absent part has the length 0xFFFF.
fn plain(redemption: &RedemptionDetails) -> Option<Zeroizing<Vec<u8>>> {
    let parts = [
        &redemption.redemption_url,
        &redemption.redemption_code,
        &redemption.pin_code,
    ];
    let mut bytes = Zeroizing::new(vec![TAG]);
    for part in parts {
        let text = part.as_ref().map(|secret| secret.expose_secret().as_bytes());
        let length = text.map_or(Some(u16::MAX), |t| {
            u16::try_from(t.len()).ok().filter(|n| *n < u16::MAX)
        })?;
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(text.unwrap_or_default());
    }
    Some(bytes)
}

fn parse(bytes: &[u8]) -> Option<RedemptionDetails> {
    let (TAG, mut rest) = bytes.split_first().map(|(tag, rest)| (*tag, rest))? else {
        return None;
    };
    let mut part = || {
        let (length, tail) = rest.split_first_chunk::<2>()?;
        let length = u16::from_be_bytes(*length);
        if length == u16::MAX {
            rest = tail;
            return Some(None);
        }
        let (text, tail) = tail.split_at_checked(usize::from(length))?;
        rest = tail;
        let text = std::str::from_utf8(text).ok()?;
        Some(Some(Secret::new(text.to_owned())))
    };
    Some(RedemptionDetails {
        redemption_url: part()?,
        redemption_code: part()?,
        pin_code: part()?,
    })
}

/// Opens a gift card's sealed redemption data.
///
/// # Errors
/// When the record belongs to another card, was changed, or its key is gone.
pub fn open(vault: &Vault, card: CardId, sealed: &[u8]) -> Result<RedemptionDetails, VaultError> {
    let bytes = vault.open_bytes(card, sealed)?;
    parse(&bytes).ok_or(VaultError::Sealed("content"))
}

impl SealingGiftCards {
    /// If sealing fails, the engine has received nothing yet; the order is safe at the catalog under its key.
    fn seal(&self, card: CardId, redemption: &RedemptionDetails) -> Result<Vec<u8>, PortError> {
        let none = [
            &redemption.redemption_url,
            &redemption.redemption_code,
            &redemption.pin_code,
        ];
        if none.iter().all(|part| part.is_none()) {
            return Err(failed("the catalog delivered nothing to redeem"));
        }
        let bytes = plain(redemption).ok_or_else(|| failed("the catalog delivered too much text"))?;
        self.vault.seal_bytes(card, &bytes).map_err(|e| failed(&e.to_string()))
    }
}

/// A retry loses nothing: the key makes it the same order.
fn failed(message: &str) -> PortError {
    PortError {
        kind: ErrorKind::Temporary,
        operation: "order_gift_card",
        message: message.to_owned(),
    }
}

impl GiftCardProvider for SealingGiftCards {
    fn offer<'a>(
        &'a self,
        product: &'a str,
        currency: Currency,
        country: Country,
        amount: Cents,
    ) -> BoxFuture<'a, Result<GiftCardOffer, PortError>> {
        Box::pin(async move {
            Ok(match self.catalog.offer(product, country.as_str(), amount).await? {
                GiftCardQuote::Available {
                    currency: now,
                    fee_rate,
                } if now == currency.as_str() => GiftCardOffer::Available {
                    fee_rate: fee_rate.normalize().to_string(),
                },
                _ => GiftCardOffer::Unavailable,
            })
        })
    }

    fn order<'a>(&'a self, order: &'a GiftCardRequest) -> BoxFuture<'a, Result<GiftCardOrderResult, PortError>> {
        Box::pin(async move {
            let wanted = &order.order;
            let fee_rate: Decimal = wanted
                .fee_rate
                .parse()
                .map_err(|_| failed("the quoted rate is no number"))?;
            let placed = GiftCardOrderRequest {
                key: order.key,
                product_id: wanted.product.clone(),
                country: wanted.country.to_string(),
                amount: wanted.amount,
                fee_rate,
            };
            Ok(match self.catalog.order(&placed).await? {
                GiftCardOrderStatus::Ready {
                    redemption_url,
                    redemption_code,
                    pin_code,
                } => GiftCardOrderResult::Ready {
                    sealed: self.seal(
                        order.card,
                        &RedemptionDetails {
                            redemption_url,
                            redemption_code,
                            pin_code,
                        },
                    )?,
                },
                GiftCardOrderStatus::Accepted { retry_after_ms } | GiftCardOrderStatus::Pending { retry_after_ms } => {
                    GiftCardOrderResult::Pending { retry_after_ms }
                }
                GiftCardOrderStatus::Declined { reason } => GiftCardOrderResult::Declined { reason },
            })
        })
    }
}

#[cfg(test)]
mod tests;
