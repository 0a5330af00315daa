//! Caps of an agent wallet per merchant: what agents may pay one server in a day.
//!
//! A merchant is the host of a paid call, whatever its port. A transfer to an address has no merchant. What is reserved
//! or spent counts from the hold on, as toward the daily cap, and in the same state.

use serde::Serialize;

use super::{AgentWallet, WalletHold, in_usdc};
use crate::answer::ExactDecimal;
use crate::entity::spend_approval::{ExceededLimit, SpendLimit};
use crate::entity::wallet_payment::PaymentMethod;
use crate::money::{Cents, Usdc};
use crate::port::Timestamp;

/// Caps per merchant and day (UTC) that the owner has set, in US dollars.
#[derive(Clone, Debug, Default, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct MerchantCaps {
    /// Merchants with a cap of their own, in the order of their hosts.
    pub hosts: Vec<MerchantCap>,
    /// Cap of each other merchant; 0 allows no other, `None` is without a cap. This service's own routes are no other
    /// merchant: they have the caps of the products.
    pub others: Option<Cents>,
}

/// Cap of one merchant.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct MerchantCap {
    /// Host in lower case, without a port; `route` is this service.
    pub host: String,
    /// Cap per day (UTC); 0 forbids it.
    pub per_day: Cents,
}

/// What was reserved or spent at one merchant on the day of the wallet.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(super) struct MerchantUse {
    host: String,
    used: Usdc,
}

/// Caps per merchant and day of a managed wallet, in US dollars.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = MerchantLimits))]
pub struct MerchantCapsView {
    /// Merchants with a cap of their own.
    pub hosts: Vec<MerchantCapView>,
    /// Cap of each other merchant; 0 allows no other, null is without a cap.
    #[cfg_attr(feature = "documents", schema(required))]
    pub others_per_day_usd: Option<ExactDecimal>,
}

/// Cap of one merchant.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = MerchantLimit))]
pub struct MerchantCapView {
    /// Host in lower case, without a port; `route` is this service.
    pub host: String,
    /// Cap per day (UTC) in US dollars; 0 forbids it.
    pub per_day_usd: ExactDecimal,
}

impl From<&MerchantCaps> for MerchantCapsView {
    fn from(caps: &MerchantCaps) -> Self {
        let view = |cap: &MerchantCap| MerchantCapView {
            host: cap.host.clone(),
            per_day_usd: cap.per_day.into(),
        };
        Self {
            hosts: caps.hosts.iter().map(view).collect(),
            others_per_day_usd: caps.others.map(ExactDecimal::from),
        }
    }
}

impl MerchantCaps {
    /// Maximum number of merchants with a cap of their own.
    pub const MAX_HOSTS: usize = 100;

    /// Cap of a merchant, if it has one.
    pub fn cap_of(&self, merchant: &str) -> Option<Cents> {
        let own = self.hosts.iter().find(|cap| cap.host == merchant);
        match own {
            Some(cap) => Some(cap.per_day),
            None if merchant == PaymentMethod::OWN => None,
            None => self.others,
        }
    }

    /// Whether no cap is set.
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty() && self.others.is_none()
    }
}

impl AgentWallet {
    /// Maximum number of merchants whose spends of a day are counted.
    pub const MAX_MERCHANTS_A_DAY: usize = 256;

    /// Merchants of the day of `at`, each with the amount reserved or spent there, in the order of the first spend.
    pub fn merchants_on(&self, at: Timestamp) -> impl Iterator<Item = (&str, Usdc)> {
        let is_today = self.is_counted_day(at);
        let today = self.merchant_uses.iter().filter(move |_| is_today);
        today.map(|one| (one.host.as_str(), one.used))
    }

    /// Amount reserved or spent at a merchant on the day of `at`.
    pub fn used_at(&self, merchant: &str, at: Timestamp) -> Usdc {
        self.merchants_on(at)
            .find(|(host, _)| *host == merchant)
            .map_or(Usdc::ZERO, |(_, used)| used)
    }

    /// The cap of the merchant, if a spend of this amount exceeds it. `before` is the amount that a lost history spent:
    /// the chains don't show at which merchant, so it counts for each.
    pub(super) fn exceeded_at(
        &self,
        method: &PaymentMethod,
        amount: Usdc,
        before: Usdc,
        at: Timestamp,
    ) -> Option<ExceededLimit> {
        let merchant = method.merchant()?;
        let cap = self.merchant_caps.cap_of(merchant)?;
        let is_counted = || self.merchants_on(at).any(|(host, _)| host == merchant);
        let is_full = self.merchants_on(at).count() >= Self::MAX_MERCHANTS_A_DAY && !is_counted();
        let left = in_usdc(cap)
            .checked_sub(self.used_at(merchant, at))
            .and_then(|left| left.checked_sub(before))
            .ok()
            .filter(|_| !is_full)
            .unwrap_or(Usdc::ZERO);
        (amount > left).then_some(ExceededLimit {
            limit: SpendLimit::MerchantPerDay,
            cap,
            left,
        })
    }

    /// Whether the hold exceeds the cap of its merchant, of `later` holds of the day not counted, with the amount that a
    /// lost history spent.
    pub(super) fn exceeds_merchant_cap(&self, open: &WalletHold, later: &[WalletHold], before: Usdc) -> bool {
        let Some(merchant) = &open.merchant else { return false };
        let Some(cap) = self.merchant_caps.cap_of(merchant) else {
            return false;
        };
        let counted = self.merchant_uses.iter().find(|one| one.host == *merchant);
        let used = counted.map_or(Usdc::ZERO, |one| one.used);
        let later = later
            .iter()
            .filter(|one| one.day == self.day && one.merchant == open.merchant);
        let used = later.fold(used, |used, one| used.checked_sub(one.amount).unwrap_or(Usdc::ZERO));
        used.checked_add(before).unwrap_or(Usdc::from_atomic(u64::MAX)) > in_usdc(cap)
    }

    /// Counts a hold of the day. Once [`AgentWallet::MAX_MERCHANTS_A_DAY`] are counted, a
    /// further merchant is not.
    pub(super) fn count_merchant(&mut self, open: &WalletHold) -> Option<()> {
        let Some(merchant) = &open.merchant else {
            return Some(());
        };
        if let Some(one) = self.merchant_uses.iter_mut().find(|one| one.host == *merchant) {
            one.used = one.used.checked_add(open.amount).ok()?;
        } else if self.merchant_uses.len() < Self::MAX_MERCHANTS_A_DAY {
            self.merchant_uses.push(MerchantUse {
                host: merchant.clone(),
                used: open.amount,
            });
        }
        Some(())
    }

    /// Gives back what was counted for a hold of the day.
    pub(super) fn uncount_merchant(&mut self, open: &WalletHold) {
        let Some(merchant) = &open.merchant else { return };
        if let Some(one) = self.merchant_uses.iter_mut().find(|one| one.host == *merchant) {
            one.used = one.used.checked_sub(open.amount).unwrap_or(Usdc::ZERO);
        }
    }
}
