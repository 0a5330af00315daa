//! Sandbox control of merchants, gift cards and exchange rates.

use std::sync::Arc;

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use super::{ControlError, PendingFault, delay, fault_count, invalid, pending_faults, set_fault};
use crate::sandbox::gift_cards::SandboxGiftCards;
use crate::sandbox::gift_cards::faults::magic_products;
use crate::sandbox::merchants::SandboxMerchants;
use crate::sandbox::rates::SandboxRates;
use purser_protocol::rfc3339;
use purser_sandbox::faults::Fault;

pub struct CatalogControl {
    pub merchants: Arc<SandboxMerchants>,
    pub gift_cards: Arc<SandboxGiftCards>,
    pub rates: Arc<SandboxRates>,
}

/// `POST` a fault of the merchant directory.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct MerchantFaultRequest {
    /// Fault to inject.
    #[cfg_attr(feature = "documents", schema(inline))]
    pub fault: MerchantFaultParam,
    /// Number of calls that fail; 1 if absent. 0 lasts until `clear`.
    pub times: Option<u32>,
    /// For `slow`: delay in milliseconds; 3,000 if absent.
    pub delay_ms: Option<u64>,
}

purser_sandbox::fault_params! {
    /// Faults of the merchant directory.
    pub enum MerchantFaultParam { ; }
}

/// `POST` a fault, a stock or a fee rate of gift cards.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct GiftCardControlRequest {
    /// Fault to inject, or value to change.
    #[cfg_attr(feature = "documents", schema(inline))]
    pub fault: GiftCardControlParam,
    /// Number of calls that fail; 1 if absent. 0 lasts until `clear`.
    pub times: Option<u32>,
    /// For `slow`: delay in milliseconds; 3,000 if absent.
    pub delay_ms: Option<u64>,
    /// For `stock` and `price`: id of the product.
    pub product_id: Option<String>,
    /// For `stock`: new number of items in stock.
    pub stock: Option<u32>,
    /// For `price`: new fee rate, as decimal text below 1.
    pub fee_rate: Option<String>,
}

purser_sandbox::fault_params! {
    /// Faults of the gift card catalog, and permanent changes of a product's stock or fee rate. `clear` keeps those.
    pub enum GiftCardControlParam { MalformedResponse, Timeout, Duplicate, Decline, OutOfStock; Stock, Price }
}

/// `POST` an exchange rate.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RateRequest {
    /// Change to make.
    #[cfg_attr(feature = "documents", schema(inline))]
    pub change: RateChange,
    /// For `set`: ISO 4217 code of a currency in the table, except USD.
    pub currency: Option<String>,
    /// For `set`: US dollars per unit, as decimal text above zero.
    pub usd_per_unit: Option<String>,
    /// For `unreachable`: number of calls that fail; 1 if absent. 0 lasts until `clear`.
    pub times: Option<u32>,
}

/// Changes of the exchange rate source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum RateChange {
    /// Set one rate.
    Set,
    /// Do not respond.
    Unreachable,
    /// Restore the configured rates and respond normally.
    Clear,
}

/// State of the merchant directory.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct SandboxMerchantView {
    /// Number of merchants.
    pub merchants: usize,
    /// Faults still to be injected.
    pub faults: Vec<PendingFault>,
    /// Number of calls that met a fault since the start.
    pub faults_injected: u64,
}

/// State of the gift card catalog.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct SandboxGiftCardView {
    /// Number of products.
    pub products: usize,
    /// Number of products that are sold out.
    pub sold_out: usize,
    /// Number of gift cards that are ready or being made.
    pub gift_cards: usize,
    /// Number of orders declined permanently.
    pub declined: usize,
    /// Faults still to be injected.
    pub faults: Vec<PendingFault>,
    /// Number of calls that met a fault since the start.
    pub faults_injected: u64,
}

/// State of the exchange rate source.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct SandboxRateView {
    /// Publisher of the rates.
    pub source: String,
    /// Time since which the rates are valid (RFC 3339).
    pub as_of: String,
    /// US dollars per unit by currency, as decimal text.
    pub usd_per_unit: std::collections::BTreeMap<String, String>,
    /// Faults still to be injected.
    pub faults: Vec<PendingFault>,
}

/// A product that forces an outcome.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct MagicProduct {
    /// Product id for `/order-gift-card`.
    pub product_id: &'static str,
    /// Outcome that the product forces.
    pub effect: &'static str,
}

/// `GET` the state of the catalogs.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct SandboxCatalogView {
    /// Always true: no real provider is involved.
    pub sandbox: bool,
    /// State of the merchant directory.
    pub merchants: SandboxMerchantView,
    /// Gift card catalog.
    pub gift_cards: SandboxGiftCardView,
    /// Exchange rate source.
    pub rates: SandboxRateView,
    /// Products that force an outcome.
    pub magic_products: Vec<MagicProduct>,
}

/// Parses a plain decimal: digits with an optional fraction.
fn decimal(param: &'static str, text: Option<&str>) -> Result<Decimal, ControlError> {
    let text = text.ok_or_else(|| invalid(param, "needed for this"))?;
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.') && text.starts_with(|c: char| c.is_ascii_digit());
    let read = if plain {
        Decimal::from_str_exact(text).ok()
    } else {
        None
    };
    read.ok_or_else(|| invalid(param, "a plain decimal as text, such as 0.0025"))
}

impl CatalogControl {
    /// Returns the state of all catalogs.
    ///
    /// # Errors
    /// [`ControlError::Stopped`].
    pub async fn state(&self) -> Result<SandboxCatalogView, ControlError> {
        let gifts = self.gift_cards.state().await?;
        let rates = self.rates.state();
        let rate = |(currency, rate): (&String, &Decimal)| (currency.clone(), rate.normalize().to_string());
        let magic = |(product_id, _, effect)| MagicProduct { product_id, effect };
        Ok(SandboxCatalogView {
            sandbox: true,
            merchants: SandboxMerchantView {
                merchants: self.merchants.count(),
                faults: pending_faults(&self.merchants.faults.waiting()),
                faults_injected: self.merchants.faults.injected(),
            },
            gift_cards: SandboxGiftCardView {
                products: gifts.products,
                sold_out: gifts.sold_out,
                gift_cards: gifts.gift_cards,
                declined: gifts.declined,
                faults: pending_faults(&self.gift_cards.faults.waiting()),
                faults_injected: self.gift_cards.faults.injected(),
            },
            rates: SandboxRateView {
                source: rates.table.source.clone(),
                as_of: rfc3339::format(rates.table.as_of),
                usd_per_unit: rates.table.usd_per_unit.iter().map(rate).collect(),
                faults: (rates.unreachable_calls != Some(0))
                    .then(|| PendingFault {
                        fault: Fault::Unreachable.name(),
                        wallet: None,
                        remaining: rates.unreachable_calls,
                    })
                    .into_iter()
                    .collect(),
            },
            magic_products: magic_products().into_iter().map(magic).collect(),
        })
    }

    /// Injects a fault of the merchant directory and returns the new state.
    ///
    /// # Errors
    /// [`ControlError::Invalid`] if a field is invalid; nothing changes then.
    pub async fn set_merchant_fault(&self, request: &MerchantFaultRequest) -> Result<SandboxCatalogView, ControlError> {
        let ms = delay(request.delay_ms)?;
        if request.delay_ms.is_some() && request.fault != MerchantFaultParam::Slow {
            return Err(invalid("delay_ms", "only for slow"));
        }
        set_fault(&self.merchants.faults, request.fault.fault(ms), request.times)?;
        self.state().await
    }

    /// Changes the gift card catalog and returns the new state.
    ///
    /// # Errors
    /// [`ControlError::Invalid`] if a field is invalid or does not belong to the fault; nothing changes then.
    pub async fn update_gift_cards(
        &self,
        request: &GiftCardControlRequest,
    ) -> Result<SandboxCatalogView, ControlError> {
        use GiftCardControlParam::{Clear, Price, Slow, Stock};
        let ms = delay(request.delay_ms)?;
        let of_product = matches!(request.fault, Stock | Price);
        for (param, given, belongs) in [
            ("delay_ms", request.delay_ms.is_some(), request.fault == Slow),
            ("product_id", request.product_id.is_some(), of_product),
            ("stock", request.stock.is_some(), request.fault == Stock),
            ("fee_rate", request.fee_rate.is_some(), request.fault == Price),
            ("times", request.times.is_some(), !of_product && request.fault != Clear),
        ] {
            if given && !belongs {
                return Err(invalid(param, "does not belong to this fault"));
            }
        }
        match request.fault {
            Stock | Price => self.change_product(request).await?,
            fault => set_fault(&self.gift_cards.faults, fault.fault(ms), request.times)?,
        }
        self.state().await
    }

    async fn change_product(&self, request: &GiftCardControlRequest) -> Result<(), ControlError> {
        let product_id = request.product_id.as_deref();
        let product_id = product_id.ok_or_else(|| invalid("product_id", "needed for this"))?;
        let known = if request.fault == GiftCardControlParam::Stock {
            let stock = request.stock.ok_or_else(|| invalid("stock", "needed for this"))?;
            self.gift_cards.set_stock(product_id, stock).await?
        } else {
            let fee_rate = decimal("fee_rate", request.fee_rate.as_deref())?;
            if fee_rate >= Decimal::ONE {
                return Err(invalid("fee_rate", "a fraction below 1: 0.048 means 4.8 %"));
            }
            self.gift_cards.set_fee_rate(product_id, fee_rate).await?
        };
        if known {
            Ok(())
        } else {
            Err(invalid("product_id", "no such product"))
        }
    }

    /// Changes the exchange rate source and returns the new state.
    ///
    /// # Errors
    /// [`ControlError::Invalid`] if a field is invalid or does not belong to the change; nothing changes then.
    pub async fn update_rates(&self, request: &RateRequest) -> Result<SandboxCatalogView, ControlError> {
        let sets = request.change == RateChange::Set;
        for (param, given, belongs) in [
            ("currency", request.currency.is_some(), sets),
            ("usd_per_unit", request.usd_per_unit.is_some(), sets),
            (
                "times",
                request.times.is_some(),
                request.change == RateChange::Unreachable,
            ),
        ] {
            if given && !belongs {
                return Err(invalid(param, "does not belong to this change"));
            }
        }
        match request.change {
            RateChange::Set => {
                let rate = decimal("usd_per_unit", request.usd_per_unit.as_deref())?;
                if rate <= Decimal::ZERO {
                    return Err(invalid("usd_per_unit", "above zero"));
                }
                let currency = request.currency.as_deref().unwrap_or_default();
                if !self.rates.set(currency, rate) {
                    return Err(invalid("currency", "one of the table's, but not USD"));
                }
            }
            RateChange::Unreachable => self.rates.set_unreachable(fault_count(request.times)),
            RateChange::Clear => self.rates.clear(),
        }
        self.state().await
    }
}
