//! The desk's part for what is looked up: merchants, gift cards, exchange rates.

use std::sync::Arc;

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{ControlError, MAX_RULES, PendingFault, delay, fault_count, invalid};
use crate::identity::rfc3339;
use crate::provider::sandbox::gift_cards::SandboxGiftCards;
use crate::provider::sandbox::gift_cards::faults::{GiftCardFault, magic_products};
use crate::provider::sandbox::merchants::{MerchantFault, SandboxMerchants};
use crate::provider::sandbox::rates::SandboxRates;

/// The catalogs behind the desk.
pub struct CatalogControl {
    /// Who takes cards.
    pub merchants: Arc<SandboxMerchants>,
    /// What can be given.
    pub gift_cards: Arc<SandboxGiftCards>,
    /// What currencies cost.
    pub rates: Arc<SandboxRates>,
}

/// `POST` faults of the directory of merchants.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MerchantFaultRequest {
    /// What goes wrong.
    #[schema(inline)]
    pub fault: MerchantFaultParam,
    /// How often; 1 if absent, 0 until cleared.
    pub times: Option<u32>,
    /// For `slow`: milliseconds; 3,000 if absent.
    pub delay_ms: Option<u64>,
}

/// What the directory can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MerchantFaultParam {
    /// Answer nothing.
    Unreachable,
    /// Be slow.
    Slow,
    /// Forget every fault.
    Clear,
}

/// `POST` faults, stock and prices of gift cards.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GiftCardControlRequest {
    /// What goes wrong, or what changes.
    #[schema(inline)]
    pub fault: GiftCardControlParam,
    /// How often; 1 if absent, 0 until cleared.
    pub times: Option<u32>,
    /// For `slow`: milliseconds; 3,000 if absent.
    pub delay_ms: Option<u64>,
    /// For `stock` and `price`: which product.
    pub product_id: Option<String>,
    /// For `stock`: how many there are from now on.
    pub stock: Option<u32>,
    /// For `price`: the fraction that comes on top from now on, as decimal text below 1.
    pub fee_rate: Option<String>,
}

/// What the catalog can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum GiftCardControlParam {
    /// Answer nothing.
    Unreachable,
    /// Be slow.
    Slow,
    /// Answer nonsense.
    MalformedResponse,
    /// Take the order and never answer.
    Timeout,
    /// Give an order's first answer a second time.
    Duplicate,
    /// Let the brand refuse.
    Decline,
    /// Be sold out for a call.
    OutOfStock,
    /// Set a product's stock, for good.
    Stock,
    /// Set a product's fee rate, for good.
    Price,
    /// Forget every fault; stock and prices stay.
    Clear,
}

/// `POST` rates.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RateRequest {
    /// What changes.
    #[schema(inline)]
    pub change: RateChange,
    /// For `set`: ISO 4217, one of the table's but not USD.
    pub currency: Option<String>,
    /// For `set`: dollars a unit, as decimal text above zero.
    pub usd_per_unit: Option<String>,
    /// For `unreachable`: how often; 1 if absent, 0 until cleared.
    pub times: Option<u32>,
}

/// What the source of rates can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RateChange {
    /// Move one rate.
    Set,
    /// Answer nothing.
    Unreachable,
    /// Back to the settings, and answering.
    Clear,
}

/// The directory of merchants.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct SandboxMerchantView {
    /// Merchants in it.
    pub merchants: usize,
    /// Faults waiting.
    pub faults: Vec<PendingFault>,
    /// Calls that met a fault since the start.
    pub faults_injected: u64,
}

/// The catalog of gift cards.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct SandboxGiftCardView {
    /// Products in it.
    pub products: usize,
    /// Of these, sold out.
    pub sold_out: usize,
    /// Gift cards made or being made.
    pub gift_cards: usize,
    /// Orders refused for good.
    pub declined: usize,
    /// Faults waiting.
    pub faults: Vec<PendingFault>,
    /// Calls that met a fault since the start.
    pub faults_injected: u64,
}

/// The source of exchange rates.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct SandboxRateView {
    /// Who made the table.
    pub source: String,
    /// Since when it holds, RFC 3339.
    pub as_of: String,
    /// Dollars a unit by currency, as decimal text.
    pub usd_per_unit: std::collections::BTreeMap<String, String>,
    /// Faults waiting.
    pub faults: Vec<PendingFault>,
}

/// A product that forces an outcome.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct MagicProduct {
    /// For `/order-gift-card`.
    pub product_id: &'static str,
    /// What happens.
    pub effect: &'static str,
}

/// `GET` catalogs.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct SandboxCatalogView {
    /// Always true: none of this is real.
    pub sandbox: bool,
    /// Who takes cards.
    pub merchants: SandboxMerchantView,
    /// What can be given.
    pub gift_cards: SandboxGiftCardView,
    /// What currencies cost.
    pub rates: SandboxRateView,
    /// Products that force an outcome.
    pub magic_products: Vec<MagicProduct>,
}

fn pending_fault(fault: &'static str, remaining: Option<u32>) -> PendingFault {
    PendingFault {
        fault,
        wallet: None,
        remaining,
    }
}

/// A plain decimal: digits with an optional fraction.
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
    /// Everything at a glance.
    ///
    /// # Errors
    /// [`DeskError::Stopped`].
    pub async fn state(&self) -> Result<SandboxCatalogView, ControlError> {
        let merchants = self.merchants.state();
        let gifts = self.gift_cards.state().await?;
        let rates = self.rates.state();
        let rate = |(currency, rate): (&String, &Decimal)| (currency.clone(), rate.normalize().to_string());
        let magic = |(product_id, _, effect)| MagicProduct { product_id, effect };
        Ok(SandboxCatalogView {
            sandbox: true,
            merchants: SandboxMerchantView {
                merchants: merchants.merchants,
                faults: merchants
                    .rules
                    .iter()
                    .map(|r| pending_fault(r.fault.name(), r.remaining))
                    .collect(),
                faults_injected: merchants.faults_injected,
            },
            gift_cards: SandboxGiftCardView {
                products: gifts.products,
                sold_out: gifts.sold_out,
                gift_cards: gifts.gift_cards,
                declined: gifts.declined,
                faults: gifts
                    .rules
                    .iter()
                    .map(|r| pending_fault(r.fault.name(), r.remaining))
                    .collect(),
                faults_injected: gifts.faults_injected,
            },
            rates: SandboxRateView {
                source: rates.table.source.clone(),
                as_of: rfc3339::format(rates.table.as_of),
                usd_per_unit: rates.table.usd_per_unit.iter().map(rate).collect(),
                faults: (rates.unreachable_calls != Some(0))
                    .then(|| pending_fault("unreachable", rates.unreachable_calls))
                    .into_iter()
                    .collect(),
            },
            magic_products: magic_products().into_iter().map(magic).collect(),
        })
    }

    /// Steers the directory of merchants and answers the new state.
    ///
    /// # Errors
    /// [`DeskError::Invalid`] for a field that is wrong; nothing changes then.
    pub async fn set_merchant_fault(&self, request: &MerchantFaultRequest) -> Result<SandboxCatalogView, ControlError> {
        let ms = delay(request.delay_ms)?;
        if request.delay_ms.is_some() && request.fault != MerchantFaultParam::Slow {
            return Err(invalid("ms", "only for slow"));
        }
        if self.merchants.state().rules.len() >= MAX_RULES && request.fault != MerchantFaultParam::Clear {
            return Err(invalid("fault", "too many faults are waiting; clear them first"));
        }
        let remaining = fault_count(request.times);
        match request.fault {
            MerchantFaultParam::Unreachable => self.merchants.add_fault(MerchantFault::Unreachable, remaining),
            MerchantFaultParam::Slow => self.merchants.add_fault(MerchantFault::Slow { ms }, remaining),
            MerchantFaultParam::Clear => self.merchants.clear_faults(),
        }
        self.state().await
    }

    /// Steers the catalog of gift cards and answers the new state.
    ///
    /// # Errors
    /// [`DeskError::Invalid`] for a field that is wrong or does not belong to the fault; nothing changes then.
    pub async fn update_gift_cards(
        &self,
        request: &GiftCardControlRequest,
    ) -> Result<SandboxCatalogView, ControlError> {
        use GiftCardControlParam::{
            Clear, Decline, Duplicate, MalformedResponse, OutOfStock, Price, Slow, Stock, Timeout, Unreachable,
        };
        let ms = delay(request.delay_ms)?;
        let of_product = matches!(request.fault, Stock | Price);
        for (param, given, belongs) in [
            ("ms", request.delay_ms.is_some(), request.fault == Slow),
            ("product_id", request.product_id.is_some(), of_product),
            ("stock", request.stock.is_some(), request.fault == Stock),
            ("fee_rate", request.fee_rate.is_some(), request.fault == Price),
            ("times", request.times.is_some(), !of_product && request.fault != Clear),
        ] {
            if given && !belongs {
                return Err(invalid(param, "does not belong to this fault"));
            }
        }
        let fault = match request.fault {
            Unreachable => GiftCardFault::Unreachable,
            Slow => GiftCardFault::Slow { ms },
            MalformedResponse => GiftCardFault::MalformedResponse,
            Timeout => GiftCardFault::Timeout,
            Duplicate => GiftCardFault::Duplicate,
            Decline => GiftCardFault::Decline,
            OutOfStock => GiftCardFault::OutOfStock,
            Stock | Price => {
                self.change_product(request).await?;
                return self.state().await;
            }
            Clear => {
                self.gift_cards.clear_faults();
                return self.state().await;
            }
        };
        if self.gift_cards.state().await?.rules.len() >= MAX_RULES {
            return Err(invalid("fault", "too many faults are waiting; clear them first"));
        }
        self.gift_cards.add_fault(fault, fault_count(request.times));
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

    /// Steers the source of rates and answers the new state.
    ///
    /// # Errors
    /// [`DeskError::Invalid`] for a field that is wrong or does not belong to the change; nothing changes then.
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
