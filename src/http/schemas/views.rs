//! The entities' views by the names of their schemas, and the answers that add members to one.

use purser_actors::engine::GateHold;
use purser_actors::entity::late_return::LateReturnView;
use purser_actors::entity::payment::PaymentView;
use purser_actors::entity::payout::PayoutView;
use purser_actors::entity::top_up::TopUpView;
use purser_actors::entity::withdrawal::WithdrawalView;
use purser_actors::entity::{
    account, api_key, bank_destination, banking, card, gift_card, identity_verification, intl_order, issuer_link,
    passkey, payment_recipient, recovery, refund, reloadable_card, session, spend_approval, wallet_payment, webhook,
    webhook_delivery,
};
use serde::Serialize;

use super::{PayingKey, PayoutDestination, ProductStatus};
use crate::payment::receipt::PaymentReceipt;
use purser_actors::answer::ExactDecimal;
use purser_actors::id::{CardId, PayoutId, TopUpId};

pub use purser_actors::entity::account::{
    AccountView as AccountBalance, OwnerCapView as OwnerCap, OwnerCapsView as OwnerCaps,
};
pub use purser_actors::entity::agent_wallet::{
    AgentWalletAddresses, AgentWalletLimits, AgentWalletView as AgentWalletResource,
};
pub use purser_actors::entity::api_key::KeyLimitsView as ApiKeyLimits;

pub type AgentInfo = session::AgentInfoView<'static>;
pub type ApiKeyResource = api_key::ApiKeyView<'static>;
pub type ApprovalResource = spend_approval::SpendApprovalView<'static>;
pub type BankAccountResource = banking::account::BankAccountView<'static>;
pub type BankDestinationResource = bank_destination::BankDestinationView<'static>;
pub type BankTransferResource = banking::transfer::BankTransferView<'static>;
pub type BankingApplicationResource = banking::application::BankingApplicationView<'static>;
pub type BankingProfileResource = banking::profile::BankingProfileView<'static>;
pub type Card = card::CardView<'static>;
pub type GiftCard = gift_card::GiftCardView<'static>;
pub type IdentityResource = identity_verification::IdentityView<'static>;
pub type IntlCard = intl_order::IntlCardView<'static>;
pub type IssuerLinkResource = issuer_link::IssuerLinkView<'static>;
pub type LateReturn = LateReturnView<'static>;
pub type PasskeyResource = passkey::PasskeyView<'static>;
pub type Payment = PaymentView<'static>;
pub type PaymentRecipientResource = payment_recipient::PaymentRecipientView<'static>;
pub type RecoveryResource = recovery::RecoveryView;
pub type RefundResource = refund::RefundView;
pub type ReloadableCard = reloadable_card::ReloadableCardView<'static>;
pub type SessionResource = session::SessionView<'static>;
pub type StatementLine = account::StatementLineView<'static>;
pub type WalletPaymentResource = wallet_payment::WalletPaymentView<'static>;
pub type Webhook = webhook::WebhookView<'static>;
pub type WebhookDelivery = webhook_delivery::WebhookDeliveryView<'static>;

/// A payment with the current status of its product.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct ListedPayment<'a> {
    #[serde(flatten)]
    pub payment: PaymentView<'a>,
    /// Whether the status is final.
    pub terminal: bool,
    /// Status of the product, by that product's own states. A payment that is `fulfilled` may have bought a card that
    /// `failed` or an order that is `queued`. A top-up that is `credited` is on the card balance. Null while there is
    /// no product.
    #[cfg_attr(feature = "documents", schema(required))]
    pub product_status: Option<ProductStatus>,
    /// US dollars of the charge that were credited to the account's balance, if any.
    #[cfg_attr(feature = "documents", schema(required = false))]
    pub credited_usd_amount: Option<ExactDecimal>,
    /// US dollars that operators refunded to the account's balance, if any.
    #[cfg_attr(feature = "documents", schema(required = false))]
    pub refunded_usd_amount: Option<ExactDecimal>,
    /// API key whose token came with the payment, if one did.
    pub api_key: Option<PayingKey>,
    /// Contents of `PAYMENT-RESPONSE`, once settled.
    #[cfg_attr(feature = "documents", schema(required))]
    pub receipt: Option<PaymentReceipt>,
    /// Id of the purchased card of any kind.
    pub card_id: Option<CardId>,
    /// Id of the purchased payout.
    pub payout_id: Option<PayoutId>,
    /// Id of the purchased top-up.
    pub top_up_id: Option<TopUpId>,
    /// Purchased USA card.
    pub card: Option<Card>,
    /// Purchased gift card, without its code.
    pub gift_card: Option<GiftCard>,
    /// Purchased international card.
    pub intl_card_order: Option<IntlCard>,
    /// Purchased payout, without its link.
    pub payout: Option<Payout<'a>>,
    /// The purchased top-up.
    pub top_up: Option<TopUp<'a>>,
}

/// A payout to a card, bank account or payment app.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct Payout<'a> {
    #[serde(flatten)]
    pub payout: PayoutView<'a>,
    /// Reason of a hold: `held_frozen`, `held_restored` or `held_unfinal`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<GateHold>,
    /// `true` while all attempts to carry it out have failed and it waits for an operator. Absent otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "documents", schema(required = false))]
    pub needs_operator: bool,
    /// Late return of the payout. Only when one payout is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late_return: Option<LateReturnView<'a>>,
    /// Link for the recipient, until a card is entered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redemption_url: Option<String>,
    /// Destination of a bank payment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination: Option<PayoutDestination>,
}

/// A top-up of the balance at the card issuer.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct TopUp<'a> {
    #[serde(flatten)]
    pub top_up: TopUpView<'a>,
    /// Reason of a hold: `held_frozen`, `held_restored` or `held_unfinal`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<GateHold>,
    /// `true` while all attempts to complete it have failed and it waits for an operator. Absent otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "documents", schema(required = false))]
    pub needs_operator: bool,
}

/// A withdrawal from a balance.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct Withdrawal<'a> {
    #[serde(flatten)]
    pub withdrawal: WithdrawalView<'a>,
    /// Reason of a hold: `held_frozen`, `held_restored` or `held_unfinal`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<GateHold>,
    /// `true` while all attempts to carry it out have failed and it waits for an operator. Absent otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "documents", schema(required = false))]
    pub needs_operator: bool,
}
