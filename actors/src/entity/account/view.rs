//! An account as its owner sees it.

use serde::Serialize;

use super::{BalanceLimitsView, OwnerCap, OwnerCaps, State, StatementLineType};
use crate::answer::{ExactDecimal, Time, UserId};
use crate::id::StatementLineId;
use crate::product::ProductLine;

/// Balance of an account.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = AccountBalance))]
pub struct AccountView {
    /// The wallet's address in lower case.
    pub user_id: UserId,
    /// `active` or `frozen`.
    pub status: State,
    /// Balance in US dollars.
    pub balance: ExactDecimal,
    /// Part of the balance that can be spent.
    pub available: ExactDecimal,
    /// Part of the balance that is on hold.
    pub held: ExactDecimal,
    /// Total of all credits in US dollars.
    pub total_deposits: ExactDecimal,
    /// Creation time (RFC 3339).
    pub created_at: Time,
    /// Daily caps set by the owner, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner_caps: Option<OwnerCapsView>,
    /// Limits set by the owner on what agents take out of the balances, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balance_limits: Option<BalanceLimitsView>,
    /// Since when the owner has stopped all agents (RFC 3339); absent while they may act.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agents_stopped_at: Option<Time>,
}

/// Daily caps set by the owner, by product. Without a cap here, only the service's cap applies.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = OwnerCaps))]
pub struct OwnerCapsView {
    /// Cap on prepaid cards of both kinds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usa_prepaid_card: Option<OwnerCapView>,
    /// Cap on gift cards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gift_card: Option<OwnerCapView>,
    /// Cap on payouts to debit cards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub push_to_card: Option<OwnerCapView>,
    /// Cap on payouts to bank destinations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bank_payment: Option<OwnerCapView>,
    /// Cap on payouts to payment apps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app_payment: Option<OwnerCapView>,
    /// Cap on top-ups of the balance at the card issuer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub card_balance: Option<OwnerCapView>,
}

/// The owner's daily cap on one product.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = OwnerCap))]
pub struct OwnerCapView {
    /// Maximum purchases per day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count_per_day: Option<u32>,
    /// Maximum US dollars per day, without fees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum_per_day: Option<ExactDecimal>,
}

impl OwnerCaps {
    pub(super) fn view(&self) -> Option<OwnerCapsView> {
        let of = |line| {
            let cap = Some(self.for_line(line)).filter(|cap| *cap != OwnerCap::default())?;
            Some(OwnerCapView {
                count_per_day: cap.count,
                sum_per_day: cap.sum.map(ExactDecimal::from),
            })
        };
        (!self.is_empty()).then(|| OwnerCapsView {
            usa_prepaid_card: of(ProductLine::UsaCard),
            gift_card: of(ProductLine::GiftCard),
            push_to_card: of(ProductLine::PushToCard),
            bank_payment: of(ProductLine::BankPayment),
            app_payment: of(ProductLine::AppPayment),
            card_balance: of(ProductLine::CardBalance),
        })
    }
}

/// One change of the balance.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = StatementLine))]
pub struct StatementLineView<'a> {
    /// `ent_…` is the id of the line.
    pub entry_id: StatementLineId,
    /// `credited`, `held`, `withdrawn`, `released` or `debited`; `held_unfinal` for a credit on hold until the payment
    /// behind it is final; `reversed` for a credit whose payment was reversed.
    pub r#type: StatementLineType,
    /// Amount in US dollars.
    pub amount: ExactDecimal,
    /// Id of the payment, card, deposit or withdrawal behind the change.
    pub cause: &'a str,
    /// Balance after the change, in US dollars.
    pub balance: ExactDecimal,
    /// Part of that balance that could be spent when the line was written.
    pub available: ExactDecimal,
    /// Part of that balance that was on hold when the line was written.
    pub held: ExactDecimal,
    /// Time of the change (RFC 3339).
    pub created_at: Time,
}
