//! A card of any kind: one id and one way to read it.

use purser_actors::answer::{ExactDecimal, Time};
use purser_actors::engine::{Engine, ListStart, OperationError};
use purser_actors::entity::card::CardView;
use purser_actors::entity::card::lifecycle;
use purser_actors::entity::card::{self, Card};
use purser_actors::entity::gift_card::GiftCardView;
use purser_actors::entity::gift_card::{self, GiftCard};
use purser_actors::entity::intl_order::{BillingAddress, IntlCardView, IntlOrder};
use purser_actors::entity::payment::Status;
use purser_actors::entity::reloadable_card::ReloadableCardView;
use purser_actors::entity::reloadable_card::{self, ReloadableCard};
use purser_actors::id::{CardId, PaymentId, Wallet};
use purser_actors::kernel::registry::LoadError;
use purser_actors::kernel::{Entity, JsonObject};
use purser_actors::money::Cents;
use purser_actors::port::{self, PortError, Timestamp};
use serde::Serialize;

use super::not_found;
use crate::http::app::App;
use crate::http::error::{ApiError, ErrorCode};
use crate::http::payments::with_refund;
use crate::http::schemas;
use crate::provider::gift_cards;
use crate::secret::Secret;

const USA: &str = "Non-Reloadable U.S.";
const INTL: &str = "Non-Reloadable International";
const RELOADABLE: &str = "Reloadable";
const GIFT: &str = "Gift Card";

/// Values of `card_type`. The first is the default.
pub(in crate::http) const CARD_TYPES: [&str; 4] = [USA, INTL, RELOADABLE, GIFT];

pub(in crate::http) enum AnyCard {
    Usa(Card),
    Gift(GiftCard),
    Intl(IntlOrder),
    Reloadable(ReloadableCard),
}

impl AnyCard {
    /// Reads the card of any kind with this id. Ids are unique over all kinds.
    pub(in crate::http) async fn read(engine: &Engine, id: CardId) -> Result<Option<Self>, ApiError> {
        if let Some(card) = engine.card(&id).await.map_err(unreadable)? {
            return Ok(Some(Self::Usa(card)));
        }
        if let Some(order) = engine.intl_order(&id).await.map_err(unreadable)? {
            return Ok(Some(Self::Intl(order)));
        }
        if let Some(gift) = engine.gift_card(&id).await.map_err(unreadable)? {
            return Ok(Some(Self::Gift(gift)));
        }
        Ok(engine.reloadable(&id).await.map_err(unreadable)?.map(Self::Reloadable))
    }

    /// A page of one card type, and whether there are more.
    pub(super) async fn list(
        engine: &Engine,
        card_type: &str,
        owner: &Wallet,
        listed: ListedCards,
    ) -> Result<(Vec<JsonObject>, bool), ApiError> {
        let found = match card_type {
            USA => {
                let paid = |card: &Card| Some(card.charge.payment);
                made(listed, paid, |start, limit| engine.cards_of(owner, start, limit)).await
            }
            INTL => {
                let paid = |order: &IntlOrder| Some(order.charge.payment);
                made(listed, paid, |start, limit| engine.intl_orders_of(owner, start, limit)).await
            }
            GIFT => {
                let paid = |gift: &GiftCard| Some(gift.charge.payment);
                made(listed, paid, |start, limit| engine.gift_cards_of(owner, start, limit)).await
            }
            RELOADABLE => {
                // Loaded from the card balance, not bought.
                let paid = |_: &ReloadableCard| None;
                made(listed, paid, |start, limit| engine.reloadables_of(owner, start, limit)).await
            }
            _ => Ok((Vec::new(), false)),
        };
        let (found, more) = found.map_err(unreadable)?;
        let mut cards = Vec::with_capacity(found.len());
        for (view, paid) in found {
            cards.push(match paid {
                Some(payment) => with_payment(engine, view, payment).await?,
                None => view,
            });
        }
        Ok((cards, more))
    }

    /// Transactions of the card, newest first. Empty for kinds that can't be charged.
    pub(in crate::http) fn transactions(&self) -> &[port::CardTransaction] {
        match self {
            Self::Usa(card) => card.transactions(),
            Self::Intl(order) => order.transactions(),
            Self::Reloadable(card) => card.transactions(),
            Self::Gift(_) => &[],
        }
    }

    /// Status changes of the card, oldest first.
    pub(in crate::http) fn history(&self) -> Vec<(&'static str, Timestamp)> {
        match self {
            Self::Usa(card) => named_history(&card.lifecycle.history, lifecycle::LifecycleChange::name),
            Self::Intl(order) => named_history(&order.lifecycle.history, lifecycle::LifecycleChange::name),
            Self::Reloadable(card) => named_history(&card.history, reloadable_card::CardHistoryEntry::name),
            Self::Gift(_) => Vec::new(),
        }
    }

    /// The newest cards of every kind that can be charged, up to a limit per kind.
    pub(in crate::http) async fn newest(
        engine: &Engine,
        owner: &Wallet,
        limit: usize,
    ) -> Result<Vec<(CardId, Self)>, ApiError> {
        let usa = engine.newest_usa_cards(owner, limit).await.map_err(unreadable)?;
        let intl = engine.newest_intl_orders(owner, limit).await.map_err(unreadable)?;
        let reloadable = engine.newest_reloadables(owner, limit).await.map_err(unreadable)?;
        let usa = usa.into_iter().map(|(id, card)| (id, Self::Usa(card)));
        let intl = intl.into_iter().map(|(id, order)| (id, Self::Intl(order)));
        let reloadable = reloadable.into_iter().map(|(id, card)| (id, Self::Reloadable(card)));
        Ok(usa.chain(intl).chain(reloadable).collect())
    }

    /// The `card_type` of its list.
    pub(super) const fn card_type(&self) -> &'static str {
        match self {
            Self::Usa(_) => USA,
            Self::Gift(_) => GIFT,
            Self::Intl(_) => INTL,
            Self::Reloadable(_) => RELOADABLE,
        }
    }

    pub(super) const fn owner(&self) -> Wallet {
        match self {
            Self::Usa(card) => card.owner,
            Self::Gift(gift) => gift.owner,
            Self::Intl(order) => order.owner,
            Self::Reloadable(card) => card.owner,
        }
    }

    /// The payment that bought the card, or whose token created it. `None` if the signed-in owner created it.
    pub(in crate::http) const fn payment(&self) -> Option<PaymentId> {
        match self {
            Self::Usa(card) => Some(card.charge.payment),
            Self::Gift(gift) => Some(gift.charge.payment),
            Self::Intl(order) => Some(order.charge.payment),
            Self::Reloadable(card) => card.funded_by,
        }
    }

    pub(super) fn without_details(&self, id: CardId) -> AnyCardWithDetails<'_> {
        match self {
            Self::Usa(card) => AnyCardWithDetails::prepaid(id, card, None),
            Self::Gift(gift) => AnyCardWithDetails::Gift(Box::new(GiftCardWithDetails::of(id, gift))),
            Self::Intl(order) => AnyCardWithDetails::international(id, order, None),
            Self::Reloadable(card) => AnyCardWithDetails::reloadable(id, card, None),
        }
    }

    /// A gift card whose code is withheld until its payment is final, and what to do.
    pub(super) fn withheld(
        &self,
        id: CardId,
        hint: &'static str,
        retry_after_seconds: Option<u64>,
    ) -> AnyCardWithDetails<'_> {
        let mut shown = self.without_details(id);
        if let AnyCardWithDetails::Gift(gift) = &mut shown {
            gift.held = Some(schemas::UnfinalHold::HeldUnfinal);
            gift.hint = Some(hint);
            gift.retry_after_seconds = retry_after_seconds;
        }
        shown
    }

    /// Whether the card has secret details to show.
    pub(super) const fn vault_record(&self) -> bool {
        match self {
            Self::Usa(card) => card.is_usable(),
            Self::Gift(gift) => matches!(gift.status, gift_card::Status::Completed),
            Self::Intl(order) => order.is_usable(),
            Self::Reloadable(card) => card.is_usable(),
        }
    }

    /// Whether its details must wait until its payment is final. A gift card code can be spent as soon as it is shown.
    pub(super) async fn is_unfinal(&self, engine: &Engine) -> Result<bool, ApiError> {
        let Self::Gift(gift) = self else { return Ok(false) };
        let unfinal = engine.is_pending_finality(gift.charge.payment).await;
        unfinal.map_err(|_| ApiError::internal())
    }

    /// Whether a reorg reversed the payment that bought the card.
    pub(super) async fn is_reversed(&self, engine: &Engine) -> Result<bool, ApiError> {
        match self.payment() {
            Some(payment) => is_reversed(engine, payment).await,
            None => Ok(false),
        }
    }

    /// The card with its secret details. The record that they were read is durable before they are returned.
    pub(super) async fn with_details(&self, app: &App, id: CardId) -> Result<AnyCardWithDetails<'_>, ApiError> {
        match self {
            Self::Usa(card) => {
                let asked = async |issuer_ref: String| {
                    let cvv = app.providers.issuer.cvv(&issuer_ref).await?;
                    Ok((cvv, app.providers.issuer.available_balance(&issuer_ref).await?))
                };
                let details = details(app, id, card.details(), asked, app.engine.reveal_card(id)).await?;
                Ok(AnyCardWithDetails::prepaid(id, card, Some(details)))
            }
            Self::Reloadable(card) => {
                let asked = async |issuer_ref: String| {
                    let cvv = app.providers.reloadable_cards.cvv(&issuer_ref).await?;
                    Ok((cvv, app.providers.reloadable_cards.available(&issuer_ref).await?))
                };
                let details = details(app, id, card.details(), asked, app.engine.reveal_reloadable(id)).await?;
                Ok(AnyCardWithDetails::reloadable(id, card, Some(details)))
            }
            Self::Gift(gift) => redeemable(app, id, gift).await,
            Self::Intl(order) => {
                let details = operator_entered_details(app, id, order).await?;
                Ok(AnyCardWithDetails::international(id, order, Some(details)))
            }
        }
    }
}

/// A card with what only its own request shows.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum AnyCardWithDetails<'a> {
    /// A prepaid card.
    Prepaid(Box<CardWithDetails<'a>>),
    /// A gift card.
    Gift(Box<GiftCardWithDetails<'a>>),
    /// An international card.
    International(Box<IntlCardWithDetails<'a>>),
    /// A reloadable card.
    Reloadable(Box<ReloadableCardWithDetails<'a>>),
}

/// A card, with its number while it is ready or paused.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct CardWithDetails<'a> {
    #[serde(flatten)]
    card: CardView<'a>,
    /// Transactions of the card, newest first, including declined ones: at most 20.
    transactions: Vec<CardTransaction>,
    /// Card details while the card is ready or paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    card_details: Option<CardDetails>,
}

/// Details to pay with a card.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub(super) struct CardDetails {
    /// Card number, 16 digits.
    card_number: String,
    /// Expiry month, 1 to 12.
    exp_month: u8,
    /// Expiry year, four digits.
    exp_year: u16,
    /// Card verification value, 3 digits.
    cvv: String,
    /// Remaining US dollars.
    available_balance: ExactDecimal,
    /// Billing address for merchants.
    billing_address: BillingAddress,
}

/// A gift card, with its code and link once it is completed.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct GiftCardWithDetails<'a> {
    #[serde(flatten)]
    gift_card: GiftCardView<'a>,
    /// Redemption page. Anyone who opens it can spend the gift card.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "documents", schema(value_type = Option<String>))]
    redemption_url: Option<Option<String>>,
    /// Code to enter at the brand.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "documents", schema(value_type = Option<String>))]
    redemption_code: Option<Option<String>>,
    /// PIN that the brand requests with the code.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "documents", schema(value_type = Option<String>))]
    pin_code: Option<Option<String>>,
    /// `held_unfinal` for a completed gift card whose payment is not final yet. Link and code are shown once it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    held: Option<schemas::UnfinalHold>,
    /// What to do during the hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'static str>,
    /// Delay before a retry, also in `Retry-After`.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_seconds: Option<u64>,
}

/// An international card, with its number while it is ready or paused.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct IntlCardWithDetails<'a> {
    #[serde(flatten)]
    card: IntlCardView<'a>,
    /// Transactions of the card, newest first, as operators have reported them: at most 20.
    transactions: Vec<CardTransaction>,
    /// Card details while the card is ready or paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    card_details: Option<IntlCardDetails>,
}

/// Details to pay with an international card.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub(super) struct IntlCardDetails {
    /// Card number, 12 to 19 digits.
    card_number: String,
    /// Expiry month, 1 to 12.
    exp_month: u8,
    /// Expiry year, four digits.
    exp_year: u16,
    /// Card verification value, 3 or 4 digits.
    cvv: String,
    /// Remaining US dollars, as an operator last reported.
    available_balance: ExactDecimal,
    /// Billing address for merchants.
    billing_address: BillingAddress,
}

/// A reloadable card, with its number while it is open or paused.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct ReloadableCardWithDetails<'a> {
    #[serde(flatten)]
    card: ReloadableCardView<'a>,
    /// Transactions of the card, newest first, including declined ones: at most 20.
    transactions: Vec<CardTransaction>,
    /// Card details while the card is open or paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    card_details: Option<CardDetails>,
}

impl<'a> AnyCardWithDetails<'a> {
    fn prepaid(id: CardId, card: &'a Card, card_details: Option<CardDetails>) -> Self {
        Self::Prepaid(Box::new(CardWithDetails {
            card: card.view(&id),
            transactions: card.transactions().iter().map(CardTransaction::from).collect(),
            card_details,
        }))
    }

    fn international(id: CardId, order: &'a IntlOrder, card_details: Option<IntlCardDetails>) -> Self {
        Self::International(Box::new(IntlCardWithDetails {
            card: order.view(&id),
            transactions: order.transactions().iter().map(CardTransaction::from).collect(),
            card_details,
        }))
    }

    fn reloadable(id: CardId, card: &'a ReloadableCard, card_details: Option<CardDetails>) -> Self {
        Self::Reloadable(Box::new(ReloadableCardWithDetails {
            card: card.view(&id),
            transactions: card.transactions().iter().map(CardTransaction::from).collect(),
            card_details,
        }))
    }
}

impl<'a> GiftCardWithDetails<'a> {
    /// Without its code.
    fn of(id: CardId, gift: &'a GiftCard) -> Self {
        Self {
            gift_card: gift.view(&id),
            redemption_url: None,
            redemption_code: None,
            pin_code: None,
            held: None,
            hint: None,
            retry_after_seconds: None,
        }
    }
}

/// A charge of a card, approved or declined.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct CardTransaction {
    /// `txn_000001` for example. The issuer's id of the transaction.
    transaction_id: String,
    /// Name of the merchant: external text, never markup.
    merchant: String,
    /// Amount in US dollars.
    usd_amount: ExactDecimal,
    /// `pending`, `settled`, `declined` or `refunded`.
    #[cfg_attr(feature = "documents", schema(value_type = schemas::CardTransactionStatus))]
    status: &'static str,
    /// Reason of a declined charge, as the issuer reports it.
    #[cfg_attr(feature = "documents", schema(required))]
    decline_reason: Option<String>,
    /// Time of the charge (RFC 3339).
    at: Time,
}

impl From<&port::CardTransaction> for CardTransaction {
    fn from(one: &port::CardTransaction) -> Self {
        Self {
            transaction_id: one.id.to_string(),
            merchant: one.merchant.to_string(),
            usd_amount: one.amount.into(),
            status: one.status.name(),
            decline_reason: one.reason.as_ref().map(ToString::to_string),
            at: one.at.into(),
        }
    }
}

fn named_history<C: Copy>(
    history: &[(C, Timestamp)],
    name: impl Fn(C) -> &'static str,
) -> Vec<(&'static str, Timestamp)> {
    history.iter().map(|(change, at)| (name(*change), *at)).collect()
}

/// Failed orders have no card: the list has them only on request.
const FAILED_STATUSES: [&str; 2] = ["failed", "rejected"];

type CardPage<E> = (Vec<(CardId, E)>, bool);
/// Cards as they are shown, each with its payment, and whether there may be more.
type PaidCards = (Vec<(JsonObject, Option<PaymentId>)>, bool);

/// Which cards a list has.
#[derive(Clone, Copy)]
pub(super) struct ListedCards {
    /// Where it starts, and its order.
    pub(super) start: ListStart<CardId>,
    /// How many at most.
    pub(super) limit: usize,
    /// Whether it has orders that failed too.
    pub(super) with_failed: bool,
}

/// Whether a reorg reversed a payment.
async fn is_reversed(engine: &Engine, payment: PaymentId) -> Result<bool, ApiError> {
    let read = engine.payment(&payment).await.map_err(unreadable)?;
    Ok(read.is_some_and(|payment| matches!(payment.status, Status::Reversed { .. })))
}

/// Adds to a listed card what became of its payment afterwards. The card's own status does not show that.
async fn with_payment(engine: &Engine, view: JsonObject, payment: PaymentId) -> Result<JsonObject, ApiError> {
    let view = match is_reversed(engine, payment).await? {
        true => view.boolean("payment_reversed", true),
        false => view,
    };
    with_refund(engine, view, payment).await
}

/// A page of cards with their payments, with or without failed orders, and whether there may be more.
async fn made<E: Entity<Id = CardId>, F: Future<Output = Result<CardPage<E>, LoadError>>>(
    ListedCards {
        mut start,
        limit,
        with_failed,
    }: ListedCards,
    paid: impl Fn(&E) -> Option<PaymentId>,
    page: impl Fn(ListStart<CardId>, usize) -> F,
) -> Result<PaidCards, LoadError> {
    let mut shown = Vec::new();
    loop {
        let (found, more) = page(start, limit).await?;
        start = start.at(found.last().map(|(id, _)| *id).or(start.position()));
        let cards = found
            .iter()
            .filter(|(_, card)| with_failed || !FAILED_STATUSES.contains(&card.status()));
        for (id, card) in cards {
            if shown.len() == limit {
                return Ok((shown, true));
            }
            shown.push((JsonObject::of(&card.view(id)), paid(card)));
        }
        if !more {
            return Ok((shown, false));
        }
    }
}

fn unreadable(_: LoadError) -> ApiError {
    ApiError::internal()
}

async fn sealed(app: &App, id: CardId) -> Result<Vec<u8>, ApiError> {
    let sealed = app.engine.sealed(id).await.ok().flatten();
    sealed.ok_or_else(ApiError::internal)
}

async fn redeemable<'a>(app: &App, id: CardId, gift: &'a GiftCard) -> Result<AnyCardWithDetails<'a>, ApiError> {
    let redemption = gift_cards::open(&app.vault, id, &sealed(app, id).await?).map_err(|error| {
        tracing::error!(card = %id, %error, "a gift card's code cannot be opened");
        ApiError::internal()
    })?;
    match app.engine.reveal_gift_card(id).await {
        Ok(()) => {}
        Err(OperationError::Rejected(_)) => return Err(not_found()),
        Err(_) => {
            return Err(ApiError::unavailable(
                ErrorCode::ServiceUnavailable,
                "The gift card cannot be read now.",
                2,
            ));
        }
    }
    let text = |secret: &Option<Secret<String>>| Some(secret.as_ref().map(|s| s.expose_secret().to_owned()));
    Ok(AnyCardWithDetails::Gift(Box::new(GiftCardWithDetails {
        redemption_url: text(&redemption.redemption_url),
        redemption_code: text(&redemption.redemption_code),
        pin_code: text(&redemption.pin_code),
        ..GiftCardWithDetails::of(id, gift)
    })))
}

/// 503: the card was usable when it was read, and no longer is. Read again, it has no details.
fn just_ended() -> ApiError {
    ApiError::unavailable(ErrorCode::ServiceUnavailable, "The card has just ended.", 1)
}

/// Number and CVV from the vault, and the billing address that the operator entered. The record that they were read is
/// durable before they are returned. The remaining amount is the operators' last report.
async fn operator_entered_details(app: &App, id: CardId, order: &IntlOrder) -> Result<IntlCardDetails, ApiError> {
    let closed = |error: &dyn std::fmt::Display| {
        tracing::error!(card = %id, %error, "a card's secrets cannot be opened");
        ApiError::internal()
    };
    let number = app.vault.open(id, &sealed(app, id).await?).map_err(|e| closed(&e))?;
    let opened = match app.engine.sealed_cvv(id).await.ok().flatten() {
        None => Ok(None),
        Some(sealed) => {
            let cvvs = app.cvvs.clone();
            let opened = tokio::task::spawn_blocking(move || cvvs.open_cvv(id, &sealed)).await;
            opened.map_err(|e| closed(&e))?
        }
    };
    let cvv = match opened {
        Ok(Some(cvv)) => cvv,
        unopened => {
            // The CVV is destroyed when the card ends, which may have happened since it was read.
            let now = app.engine.intl_order(&id).await.map_err(unreadable)?;
            return Err(match (now.is_some_and(|order| order.is_usable()), unopened) {
                (false, _) => just_ended(),
                (true, Err(error)) => closed(&error),
                (true, Ok(_)) => closed(&"its CVV or the key of that is gone"),
            });
        }
    };
    match app.engine.reveal_intl(id).await {
        Ok(()) => {}
        Err(OperationError::Rejected(_)) => return Err(just_ended()),
        Err(_) => {
            return Err(ApiError::unavailable(
                ErrorCode::ServiceUnavailable,
                "The card cannot be read now.",
                2,
            ));
        }
    }
    Ok(IntlCardDetails {
        card_number: number.number().expose_secret().to_owned(),
        exp_month: number.exp_month(),
        exp_year: number.exp_year(),
        cvv: cvv.expose_secret().to_owned(),
        available_balance: order.lifecycle.activity.available.into(),
        billing_address: order
            .details()
            .map(|details| details.billing.clone())
            .unwrap_or_default(),
    })
}

/// The number from the vault; CVV and remaining amount from the issuer. The record that they were read is durable
/// before they are returned.
async fn details<R>(
    app: &App,
    id: CardId,
    known: Option<&card::CardDetails>,
    asked: impl AsyncFnOnce(String) -> Result<(Secret<String>, Cents), PortError>,
    reveal: impl Future<Output = Result<(), OperationError<R>>>,
) -> Result<CardDetails, ApiError> {
    let later = || ApiError::unavailable(ErrorCode::IssuerUnavailable, "The card issuer does not answer.", 2);
    let issuer_ref = known.map(|d| d.issuer_ref.clone()).ok_or_else(ApiError::internal)?;
    let sealed = sealed(app, id).await?;
    let number = app.vault.open(id, &sealed).map_err(|error| {
        tracing::error!(card = %id, %error, "a card number cannot be opened");
        ApiError::internal()
    })?;
    let (cvv, available) = asked(issuer_ref).await.map_err(|_| later())?;
    match reveal.await {
        Ok(()) => {}
        Err(OperationError::Rejected(_)) => return Err(just_ended()),
        Err(_) => return Err(later()),
    }
    Ok(CardDetails {
        card_number: number.number().expose_secret().to_owned(),
        exp_month: number.exp_month(),
        exp_year: number.exp_year(),
        cvv: cvv.expose_secret().to_owned(),
        available_balance: available.into(),
        billing_address: app.providers.billing_address.clone(),
    })
}
