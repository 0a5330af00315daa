//! The purchased product in the paid response, in its state at the purchase, so that every replay shows the same.

use std::time::Duration;

use axum::response::Response;
use purser_actors::answer::{Address, ExactDecimal, Time, UserId};
use purser_actors::currency::{Country, Currency};
use purser_actors::engine::Engine;
use purser_actors::entity::PurchasedProduct;
use purser_actors::entity::card::Card;
use purser_actors::entity::gift_card::GiftCard;
use purser_actors::entity::intl_order::IntlOrder;
use purser_actors::entity::payout::{Payout, PayoutTarget};
use purser_actors::entity::top_up::TopUp;
use purser_actors::id::{BankDestinationId, CardId, PaymentId, PaymentRecipientId, PayoutId, TopUpId, Wallet};
use purser_actors::port::payouts::{BankDetails, Platform};
use serde::Serialize;

use super::response::ResponseWriter;
use crate::edge::error::ApiError;
use crate::edge::json;
use crate::identity::credentials::Credentials;
#[cfg(feature = "documents")]
use crate::statuses::NetworkName;
use crate::statuses::{
    AwaitingDetailsStatus, CreditedStatus, DepositNetwork, PaidStatus, PendingStatus, ProcessingStatus, QueuedStatus,
};

const TOP_UP_NOTE: &str = "On its way to the card balance, usually within a minute. Follow it under `top_ups` in GET \
    /list-card-transactions; when it is `credited`, GET /get-card-deposit-address counts it in the balance, and POST \
    /create-reloadable-card spends it.";

/// How long the response to a payment waits for its saved recipient.
const SAVE_TIMEOUT: Duration = Duration::from_secs(5);

/// A charge that was credited to the balance.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct CreditedPurchase {
    /// `credited` in every case.
    pub status: CreditedStatus,
    /// The payer's address in lower case.
    pub user_id: UserId,
    /// Id for `GET /get-payment`.
    pub payment_id: PaymentId,
    /// Credited amount in USDC.
    pub credited_amount: ExactDecimal,
    /// Explanation for people.
    pub note: &'static str,
}

/// Response of a paid card call that was settled.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum CardPurchaseResponse {
    /// The card was bought.
    Bought(CardPurchaseResult),
    /// The card could not be delivered, and the charge was credited to the balance.
    Credited(CreditedPurchase),
}

/// A purchased card with the payment.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(as = CardPurchase))]
pub struct CardPurchaseResult {
    /// Tokens, only for the call that paid first. Replays have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    auth: Option<Credentials>,
    /// The payer's address in lower case.
    user_id: UserId,
    /// Id for `GET /get-card-data`.
    card_id: CardId,
    /// Status of the card at purchase.
    status: PendingStatus,
    /// The card as purchased.
    card: PurchasedCard,
    /// Id for `GET /get-payment`.
    payment_id: PaymentId,
}

/// A card as purchased.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub(super) struct PurchasedCard {
    /// Id of the card.
    card_id: CardId,
    /// US dollars loaded on the card.
    usd_amount: ExactDecimal,
    /// `US` is the country of the card.
    country: &'static str,
    /// Status of the card at purchase.
    status: PendingStatus,
    /// Creation time (RFC 3339).
    created_at: Time,
}

/// Response of a paid gift card call that was settled.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum GiftCardPurchaseResponse {
    /// The gift card was bought.
    Bought(Box<GiftCardPurchaseResult>),
    /// The gift card could not be delivered, and the charge was credited to the balance.
    Credited(CreditedPurchase),
}

/// A purchased gift card with the payment.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(as = GiftCardPurchase))]
pub struct GiftCardPurchaseResult {
    /// Tokens, only for the call that paid first. Replays have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    auth: Option<Credentials>,
    /// The payer's address in lower case.
    user_id: UserId,
    /// Id for `GET /get-card-data`.
    card_id: CardId,
    /// Status of the gift card at purchase.
    status: ProcessingStatus,
    /// The gift card as purchased.
    gift_card: PurchasedGiftCard,
    /// Id for `GET /get-payment`.
    payment_id: PaymentId,
}

/// A gift card as purchased. Nothing can be redeemed yet: the code is read with a token once the order is completed.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(description = "A gift card as purchased."))]
pub(super) struct PurchasedGiftCard {
    /// Id of the gift card.
    card_id: CardId,
    /// Product id, as in `GET /search-gift-cards`.
    product_id: String,
    /// Amount in its own currency.
    amount: ExactDecimal,
    /// Currency of the amount (ISO 4217).
    currency: Currency,
    /// Country of redemption (ISO 3166-1 alpha-2).
    country: Country,
    /// Status of the gift card at purchase.
    status: ProcessingStatus,
    /// Always null at purchase.
    #[cfg_attr(feature = "documents", schema(required))]
    redemption_url: Option<String>,
    /// Always null at purchase.
    #[cfg_attr(feature = "documents", schema(required))]
    redemption_code: Option<String>,
    /// Always null at purchase.
    #[cfg_attr(feature = "documents", schema(required))]
    pin_code: Option<String>,
    /// Creation time (RFC 3339).
    created_at: Time,
}

/// Response of a paid order that was settled.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum IntlOrderPurchaseResponse {
    /// The order was placed.
    Ordered(IntlOrderPurchaseResult),
    /// The order could not be placed, and the charge was credited to the balance.
    Credited(CreditedPurchase),
}

/// A placed order of an international card with the payment.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(as = IntlOrderPurchase))]
pub struct IntlOrderPurchaseResult {
    /// Tokens, only for the call that paid first. Replays have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    auth: Option<Credentials>,
    /// The payer's address in lower case.
    user_id: UserId,
    /// The order as placed.
    intl_card_order: IntlCardOrder,
    /// Id for `GET /get-payment`.
    payment_id: PaymentId,
}

/// An order as placed.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub(super) struct IntlCardOrder {
    /// Id for `GET /get-card-data` and `POST /cancel-intl-order`.
    card_id: CardId,
    /// US dollars to load on the card.
    on_card_usd_amount: ExactDecimal,
    /// US dollars paid, fees included.
    charged_usd_amount: ExactDecimal,
    /// Label given by the caller.
    #[cfg_attr(feature = "documents", schema(required))]
    label: Option<String>,
    /// Status of the order when it was placed.
    status: QueuedStatus,
    /// Creation time (RFC 3339).
    created_at: Time,
}

/// Response of a paid top-up.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum TopUpPurchaseResponse {
    /// The top-up was bought.
    Bought(Box<TopUpPurchaseResult>),
    /// The top-up was not possible, and the charge was credited to the account balance.
    Credited(CreditedPurchase),
}

/// A purchased top-up.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(as = TopUpPurchase))]
pub struct TopUpPurchaseResult {
    /// Tokens, only for the call that paid first.
    #[serde(skip_serializing_if = "Option::is_none")]
    auth: Option<Credentials>,
    /// The wallet's address in lower case.
    user_id: UserId,
    /// `top_…` is the id, as in `top_ups` of `GET /list-card-transactions`.
    top_up_id: TopUpId,
    /// Status of the top-up at purchase.
    status: PaidStatus,
    /// US dollars that arrive on the balance.
    funded_usd: ExactDecimal,
    /// The owner's deposit address at the card issuer.
    deposit_address: Address,
    /// `base` is the network of the deposit address.
    network: DepositNetwork,
    /// `USDC` is the token.
    asset: &'static str,
    /// `solana`: bridged by burn and mint; `base`: forwarded.
    #[cfg_attr(feature = "documents", schema(value_type = NetworkName))]
    payment_network: &'static str,
    /// Explanation for people.
    note: &'static str,
    /// Id for `GET /get-payment`.
    payment_id: PaymentId,
}

/// Response of a paid push to card that was settled.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum PushToCardPurchaseResponse {
    /// The payout waits for the recipient's card.
    Bought(Box<PushToCardPurchaseResult>),
    /// The payout was not possible, and the charge was credited to the balance.
    Credited(CreditedPurchase),
}

/// A purchased push to card with the payment.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(as = PushToCardPurchase))]
pub struct PushToCardPurchaseResult {
    /// Tokens, only for the call that paid first. Replays have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    auth: Option<Credentials>,
    /// The payer's address in lower case.
    user_id: UserId,
    /// Id for `GET /get-payment-status`.
    payout_id: PayoutId,
    /// Status of the payout at purchase.
    status: AwaitingDetailsStatus,
    /// Link for the recipient, only in the response to the call that paid first.
    #[serde(skip_serializing_if = "Option::is_none")]
    redemption_url: Option<String>,
    /// Amount that the recipient gets.
    amount: ExactDecimal,
    /// Currency of `amount` only (ISO 4217).
    currency: Currency,
    /// Fee in `fee_currency`.
    fee_amount: ExactDecimal,
    /// `USD` is the currency of the fee.
    fee_currency: Currency,
    /// US dollars paid, fee included.
    charged_usd_amount: ExactDecimal,
    /// What to do next.
    note: &'static str,
    /// Id for `GET /get-payment`.
    payment_id: PaymentId,
}

/// Response of a paid bank payment that was settled.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum BankPaymentPurchaseResponse {
    /// The bank payment was bought.
    Bought(Box<BankPaymentPurchaseResult>),
    /// The bank payment was not possible, and the charge was credited to the balance.
    Credited(CreditedPurchase),
}

/// A purchased bank payment with the payment.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(as = BankPaymentPurchase))]
pub struct BankPaymentPurchaseResult {
    /// Tokens, only for the call that paid first. Replays have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    auth: Option<Credentials>,
    /// The payer's address in lower case.
    user_id: UserId,
    /// The bank payment as purchased.
    bank_payment: PurchasedBankPayment,
    /// Id for `GET /get-payment`.
    payment_id: PaymentId,
}

/// A bank payment as purchased.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub(super) struct PurchasedBankPayment {
    /// Id for `GET /get-payment-status`.
    payout_id: PayoutId,
    /// US dollars that arrive.
    amount: ExactDecimal,
    /// Fee in US dollars.
    fee_amount: ExactDecimal,
    /// US dollars paid.
    charged_amount: ExactDecimal,
    /// Destination id, as in `GET /bank-recipients`.
    destination_id: BankDestinationId,
    /// Status of the payout at purchase.
    state: QueuedStatus,
    /// Destination of the payment.
    destination: PayoutDestination,
}

/// A bank destination of a payout.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct PayoutDestination {
    /// Label given by the owner.
    name: String,
    /// Name of the bank.
    bank_name: String,
    /// Name of the account holder.
    account_holder_name: String,
    /// Last four digits of the account number.
    account_number_last4: String,
}

impl From<&BankDetails> for PayoutDestination {
    fn from(bank: &BankDetails) -> Self {
        Self {
            name: bank.name.clone(),
            bank_name: bank.bank_name.clone(),
            account_holder_name: bank.account_holder_name.clone(),
            account_number_last4: bank.last4.clone(),
        }
    }
}

/// Response of a paid app payment that was settled.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum AppPaymentPurchaseResponse {
    /// The app payment was bought.
    Bought(Box<AppPaymentPurchaseResult>),
    /// The app payment was not possible, and the charge was credited to the balance.
    Credited(CreditedPurchase),
}

/// A purchased app payment with the payment.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(as = AppPaymentPurchase))]
pub struct AppPaymentPurchaseResult {
    /// Tokens, only for the call that paid first. Replays have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    auth: Option<Credentials>,
    /// The payer's address in lower case.
    user_id: UserId,
    /// The app payment as purchased.
    payment: PurchasedAppPayment,
    /// URL to poll for its status.
    status_url: String,
    /// Id for `GET /get-payment`.
    payment_id: PaymentId,
}

/// An app payment as purchased.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub(super) struct PurchasedAppPayment {
    /// Id for `GET /get-payment-status`.
    payout_id: PayoutId,
    /// Status of the payout at purchase.
    state: QueuedStatus,
    /// `venmo` or `paypal`.
    platform: Platform,
    /// US dollars that arrive.
    amount: ExactDecimal,
    /// Fee in US dollars.
    fee_amount: ExactDecimal,
    /// US dollars paid.
    charged_amount: ExactDecimal,
    /// Id for `/payment-recipients`.
    recipient_id: PaymentRecipientId,
}

/// What the response says beside the product.
pub(super) struct PurchaseContext {
    /// For the call whose claim won. Only that call also gets a link that gives its bearer access.
    pub(super) auth: Option<Credentials>,
    pub(super) user_id: UserId,
    pub(super) payment_id: PaymentId,
}

pub(super) enum PurchasedRecord {
    Card(CardId, Card),
    GiftCard(CardId, GiftCard),
    Intl(CardId, IntlOrder),
    Payout(PayoutId, Box<Payout>),
    TopUp(TopUpId, TopUp),
}

impl PurchasedRecord {
    /// Reads what a payment bought.
    ///
    /// # Errors
    /// 500 when storage fails or the product is missing.
    pub(super) async fn read(engine: &Engine, product: PurchasedProduct) -> Result<Self, ApiError> {
        match product {
            PurchasedProduct::Card(id) => {
                let card = engine.card(&id).await.ok().flatten();
                card.map(|card| Self::Card(id, card)).ok_or_else(ApiError::internal)
            }
            PurchasedProduct::GiftCard(id) => {
                let gift = engine.gift_card(&id).await.ok().flatten();
                gift.map(|gift| Self::GiftCard(id, gift)).ok_or_else(ApiError::internal)
            }
            PurchasedProduct::IntlOrder(id) => {
                let order = engine.intl_order(&id).await.ok().flatten();
                order.map(|order| Self::Intl(id, order)).ok_or_else(ApiError::internal)
            }
            PurchasedProduct::Payout(id) => {
                let payout = engine.payout(&id).await.ok().flatten();
                let payout = payout.ok_or_else(ApiError::internal)?;
                if let PayoutTarget::App(recipient, ..) = &payout.plan.target {
                    // So that the client can list, rename and pay the recipient at once. The payment is answered in any
                    // case.
                    drop(tokio::time::timeout(SAVE_TIMEOUT, engine.await_recipient_saved(*recipient)).await);
                }
                Ok(Self::Payout(id, Box::new(payout)))
            }
            PurchasedProduct::TopUp(id) => {
                let top_up = engine.top_up(&id).await.ok().flatten();
                top_up
                    .map(|top_up| Self::TopUp(id, top_up))
                    .ok_or_else(ApiError::internal)
            }
        }
    }

    /// The response to the paid call.
    pub(super) fn response(
        self,
        PurchaseContext {
            auth,
            user_id,
            payment_id,
        }: PurchaseContext,
        answers: &ResponseWriter,
    ) -> Response {
        match self {
            Self::Payout(id, payout) => {
                let context = PurchaseContext {
                    auth,
                    user_id,
                    payment_id,
                };
                payout_response(id, &payout, context, answers)
            }
            Self::Card(id, card) => json::ok(&CardPurchaseResult {
                auth,
                user_id,
                card_id: id,
                status: PendingStatus::Pending,
                card: PurchasedCard {
                    card_id: id,
                    usd_amount: card.amount.into(),
                    country: "US",
                    status: PendingStatus::Pending,
                    created_at: card.created_at.into(),
                },
                payment_id,
            }),
            Self::GiftCard(id, gift) => json::ok(&GiftCardPurchaseResult {
                auth,
                user_id,
                card_id: id,
                status: ProcessingStatus::Processing,
                gift_card: PurchasedGiftCard {
                    card_id: id,
                    product_id: gift.order.product,
                    amount: gift.order.amount.into(),
                    currency: gift.order.currency,
                    country: gift.order.country,
                    status: ProcessingStatus::Processing,
                    redemption_url: None,
                    redemption_code: None,
                    pin_code: None,
                    created_at: gift.created_at.into(),
                },
                payment_id,
            }),
            Self::Intl(id, order) => json::ok(&IntlOrderPurchaseResult {
                auth,
                user_id,
                intl_card_order: IntlCardOrder {
                    card_id: id,
                    on_card_usd_amount: order.amount.into(),
                    charged_usd_amount: order.charge.charged.into(),
                    label: order.label,
                    status: QueuedStatus::Queued,
                    created_at: order.created_at.into(),
                },
                payment_id,
            }),
            Self::TopUp(id, top_up) => json::ok(&TopUpPurchaseResult {
                auth,
                user_id,
                top_up_id: id,
                status: PaidStatus::Paid,
                funded_usd: top_up.amount.into(),
                deposit_address: Wallet::Evm(top_up.address).into(),
                network: DepositNetwork::Base,
                asset: "USDC",
                payment_network: top_up.rail.name(),
                note: TOP_UP_NOTE,
                payment_id,
            }),
        }
    }
}

/// The response to a paid payout.
fn payout_response(id: PayoutId, payout: &Payout, context: PurchaseContext, answers: &ResponseWriter) -> Response {
    let PurchaseContext {
        auth,
        user_id,
        payment_id,
    } = context;
    let amount = payout.amount.into();
    let fee_amount = payout.charge.fee().into();
    let charged_amount = payout.charge.charged.into();
    match &payout.plan.target {
        PayoutTarget::Card(_) => json::ok(&PushToCardPurchaseResult {
            redemption_url: auth.as_ref().map(|_| answers.form_links.url(id).expose().to_owned()),
            auth,
            user_id,
            payout_id: id,
            status: AwaitingDetailsStatus::AwaitingDetails,
            amount,
            currency: payout.currency,
            fee_amount,
            fee_currency: Currency::USD,
            charged_usd_amount: charged_amount,
            note: "Give redemption_url to the recipient, who enters the debit card there within 30 days. \
                   GET /get-payment-status shows it again.",
            payment_id,
        }),
        PayoutTarget::Bank(destination, bank) => json::ok(&BankPaymentPurchaseResult {
            auth,
            user_id,
            bank_payment: PurchasedBankPayment {
                payout_id: id,
                amount,
                fee_amount,
                charged_amount,
                destination_id: *destination,
                state: QueuedStatus::Queued,
                destination: bank.into(),
            },
            payment_id,
        }),
        PayoutTarget::App(recipient, platform, _) => json::ok(&AppPaymentPurchaseResult {
            auth,
            user_id,
            payment: PurchasedAppPayment {
                payout_id: id,
                state: QueuedStatus::Queued,
                platform: *platform,
                amount,
                fee_amount,
                charged_amount,
                recipient_id: *recipient,
            },
            status_url: format!("{}/get-payment-status?payout_id={id}", answers.public_url),
            payment_id,
        }),
    }
}
