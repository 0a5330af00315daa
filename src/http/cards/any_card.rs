//! A card of any kind: one id and one way to read it.

use purser_actors::card::lifecycle;
use purser_actors::card::{self, Card};
use purser_actors::engine::{Engine, OperationError};
use purser_actors::gift_card::{self, GiftCard};
use purser_actors::id::{CardId, PaymentId, Wallet};
use purser_actors::intl_order::IntlOrder;
use purser_actors::kernel::registry::LoadError;
use purser_actors::kernel::{Entity, JsonObject, to_json};
use purser_actors::money::Cents;
use purser_actors::payment::Status;
use purser_actors::port::{CardTransaction, PortError, Timestamp};
use purser_actors::reloadable_card::{self, ReloadableCard};

use super::not_found;
use crate::http::app::App;
use crate::http::error::{ApiError, ErrorCode};
use crate::provider::{BillingAddress, gift_cards};
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

    /// A page of one card type as JSON texts, and whether there are more.
    pub(super) async fn list(
        engine: &Engine,
        card_type: &str,
        owner: &Wallet,
        after: Option<CardId>,
        limit: usize,
    ) -> Result<(Vec<String>, bool), ApiError> {
        match card_type {
            USA => made((after, limit), |after, limit| engine.cards_of(owner, after, limit)).await,
            INTL => {
                made((after, limit), |after, limit| {
                    engine.intl_orders_of(owner, after, limit)
                })
                .await
            }
            GIFT => made((after, limit), |after, limit| engine.gift_cards_of(owner, after, limit)).await,
            RELOADABLE => {
                made((after, limit), |after, limit| {
                    engine.reloadables_of(owner, after, limit)
                })
                .await
            }
            _ => Ok((Vec::new(), false)),
        }
        .map_err(unreadable)
    }

    /// Transactions of the card, newest first. Empty for kinds that can't be charged.
    pub(in crate::http) fn transactions(&self) -> &[CardTransaction] {
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

    pub(super) fn view(&self, id: &CardId) -> JsonObject {
        let view = match self {
            Self::Usa(card) => JsonObject::of(&card.view(id)),
            Self::Gift(gift) => return JsonObject::of(&gift.view(id)),
            Self::Intl(order) => JsonObject::of(&order.view(id)),
            Self::Reloadable(card) => JsonObject::of(&card.view(id)),
        };
        view.list("transactions", self.transactions().iter().map(render_transaction))
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
        let Some(payment) = self.payment() else {
            return Ok(false);
        };
        let read = engine.payment(&payment).await.map_err(unreadable)?;
        Ok(read.is_some_and(|payment| matches!(payment.status, Status::Reversed { .. })))
    }

    /// Adds the secret details. The record that they were read is durable before they are returned.
    pub(super) async fn with_details(&self, app: &App, id: CardId, view: JsonObject) -> Result<JsonObject, ApiError> {
        match self {
            Self::Usa(card) => {
                let asked = async |issuer_ref: String| {
                    let cvv = app.providers.issuer.cvv(&issuer_ref).await?;
                    Ok((cvv, app.providers.issuer.available_balance(&issuer_ref).await?))
                };
                let shown = details(app, id, card.details(), asked, app.engine.reveal_card(id)).await?;
                Ok(view.object("card_details", &shown))
            }
            Self::Reloadable(card) => {
                let asked = async |issuer_ref: String| {
                    let cvv = app.providers.reloadable_cards.cvv(&issuer_ref).await?;
                    Ok((cvv, app.providers.reloadable_cards.available(&issuer_ref).await?))
                };
                let shown = details(app, id, card.details(), asked, app.engine.reveal_reloadable(id)).await?;
                Ok(view.object("card_details", &shown))
            }
            Self::Gift(_) => redeemable(app, id, view).await,
            Self::Intl(order) => Ok(view.object("card_details", &operator_entered_details(app, id, order).await?)),
        }
    }
}

/// Renders a card transaction for the card's owner.
pub(in crate::http) fn render_transaction(one: &CardTransaction) -> JsonObject {
    JsonObject::new()
        .text("transaction_id", &one.id)
        .text("merchant", &one.merchant)
        .number("usd_amount", one.amount.decimal())
        .text("status", one.status.name())
        .optional_text("decline_reason", one.reason.as_deref())
        .time("at", one.at)
}

fn named_history<C: Copy>(
    history: &[(C, Timestamp)],
    name: impl Fn(C) -> &'static str,
) -> Vec<(&'static str, Timestamp)> {
    history.iter().map(|(change, at)| (name(*change), *at)).collect()
}

/// Failed orders have no card. `GET /list-payments` shows their outcome.
const FAILED_STATUSES: [&str; 2] = ["failed", "rejected"];

type CardPage<E> = (Vec<(CardId, E)>, bool);

/// A page of cards that did not fail, as JSON texts, and whether there may be more.
async fn made<E: Entity<Id = CardId>, F: Future<Output = Result<CardPage<E>, LoadError>>>(
    (mut after, limit): (Option<CardId>, usize),
    page: impl Fn(Option<CardId>, usize) -> F,
) -> Result<(Vec<String>, bool), LoadError> {
    let mut shown = Vec::new();
    loop {
        let (found, more) = page(after, limit).await?;
        after = found.last().map(|(id, _)| *id).or(after);
        let cards = found
            .iter()
            .filter(|(_, card)| !FAILED_STATUSES.contains(&card.status()));
        for (id, card) in cards {
            if shown.len() == limit {
                return Ok((shown, true));
            }
            shown.push(to_json(&card.view(id)));
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

async fn redeemable(app: &App, id: CardId, view: JsonObject) -> Result<JsonObject, ApiError> {
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
    let text = |secret: &Option<Secret<String>>| secret.as_ref().map(|s| s.expose_secret().to_owned());
    Ok(view
        .optional_text("redemption_url", text(&redemption.redemption_url))
        .optional_text("redemption_code", text(&redemption.redemption_code))
        .optional_text("pin_code", text(&redemption.pin_code)))
}

/// Number and CVV from the vault, and the billing address that the operator entered. The record that they were read is
/// durable before they are returned. The remaining amount is the operators' last report.
async fn operator_entered_details(app: &App, id: CardId, order: &IntlOrder) -> Result<JsonObject, ApiError> {
    let closed = |error: &dyn std::fmt::Display| {
        tracing::error!(card = %id, %error, "a card's secrets cannot be opened");
        ApiError::internal()
    };
    let number = app.vault.open(id, &sealed(app, id).await?).map_err(|e| closed(&e))?;
    let cvv = match app.engine.sealed_cvv(id).await.ok().flatten() {
        None => None,
        Some(sealed) => {
            let cvvs = app.cvvs.clone();
            let opened = tokio::task::spawn_blocking(move || cvvs.open_cvv(id, &sealed)).await;
            opened.map_err(|e| closed(&e))?.map_err(|e| closed(&e))?
        }
    };
    let Some(cvv) = cvv else {
        // The CVV is destroyed when the card ends, which may have happened since it was read.
        let now = app.engine.intl_order(&id).await.map_err(unreadable)?;
        return Err(match now.is_some_and(|order| order.is_usable()) {
            true => closed(&"its CVV or the key of that is gone"),
            false => ApiError::unavailable(ErrorCode::ServiceUnavailable, "The card has just ended.", 1),
        });
    };
    match app.engine.reveal_intl(id).await {
        Ok(()) => {}
        Err(OperationError::Rejected(_)) => return Err(not_found()),
        Err(_) => {
            return Err(ApiError::unavailable(
                ErrorCode::ServiceUnavailable,
                "The card cannot be read now.",
                2,
            ));
        }
    }
    let shown = JsonObject::new()
        .text("card_number", number.number().expose_secret())
        .integer("exp_month", u64::from(number.exp_month()))
        .integer("exp_year", u64::from(number.exp_year()))
        .text("cvv", cvv.expose_secret())
        .number("available_balance", order.lifecycle.activity.available.decimal());
    let billing = order.details().map(|details| details.billing.clone());
    Ok(shown.object("billing_address", &address(&billing.unwrap_or_default())))
}

fn address(billing: &BillingAddress) -> JsonObject {
    JsonObject::new()
        .text("line1", &billing.line1)
        .text("city", &billing.city)
        .text("state", &billing.state)
        .text("postal_code", &billing.postal_code)
        .text("country", &billing.country)
}

/// The number from the vault; CVV and remaining amount from the issuer. The record that they were read is durable
/// before they are returned.
async fn details<R>(
    app: &App,
    id: CardId,
    known: Option<&card::CardDetails>,
    asked: impl AsyncFnOnce(String) -> Result<(Secret<String>, Cents), PortError>,
    reveal: impl Future<Output = Result<(), OperationError<R>>>,
) -> Result<JsonObject, ApiError> {
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
        Err(OperationError::Rejected(_)) => return Err(not_found()),
        Err(_) => return Err(later()),
    }
    let address = address(&app.providers.billing_address);
    Ok(JsonObject::new()
        .text("card_number", number.number().expose_secret())
        .integer("exp_month", u64::from(number.exp_month()))
        .integer("exp_year", u64::from(number.exp_year()))
        .text("cvv", cvv.expose_secret())
        .number("available_balance", available.decimal())
        .object("billing_address", &address))
}
