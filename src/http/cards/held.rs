//! A card of whatever kind that somebody holds: one id, one place to read it.

use purser_actors::card::{self, Card};
use purser_actors::engine::{Denied, Engine};
use purser_actors::gift_card::{self, GiftCard};
use purser_actors::id::{CardId, PaymentId, Wallet};
use purser_actors::intl_order::{self, IntlOrder};
use purser_actors::kernel::family::LoadError;
use purser_actors::kernel::{Entity, View};
use purser_actors::money::Cents;
use purser_actors::port::{CardTransaction, PortError};
use purser_actors::reloadable::Reloadable;

use super::{Cards, unknown};
use crate::http::error::ApiError;
use crate::provider::{BillingAddress, redemption};
use crate::secret::Secret;

const USA: &str = "Non-Reloadable U.S.";
const INTL: &str = "Non-Reloadable International";
const RELOADABLE: &str = "Reloadable";
const GIFT: &str = "Gift Card";

/// Every value of `card_type`; the first is the default.
pub(super) const CARD_TYPES: [&str; 4] = [USA, INTL, RELOADABLE, GIFT];

/// See the module.
pub(super) enum Held {
    Usa(Card),
    Gift(GiftCard),
    Intl(IntlOrder),
    Reloadable(Reloadable),
}

impl Held {
    /// Ids are unique over all kinds.
    pub(super) async fn read(engine: &Engine, id: CardId) -> Result<Option<Self>, ApiError> {
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

    /// A page of one type as JSON texts, and whether there are more.
    pub(super) async fn list(
        engine: &Engine,
        card_type: &str,
        owner: &Wallet,
        after: Option<CardId>,
        limit: usize,
    ) -> Result<(Vec<String>, bool), ApiError> {
        match card_type {
            USA => engine.cards_of(owner, after, limit).await.map(texts),
            INTL => engine.intl_orders_of(owner, after, limit).await.map(texts),
            GIFT => engine.gift_cards_of(owner, after, limit).await.map(texts),
            RELOADABLE => engine.reloadables_of(owner, after, limit).await.map(texts),
            _ => Ok((Vec::new(), false)),
        }
        .map_err(unreadable)
    }

    /// The list that it is in.
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

    /// What bought it, or whose token made it; `None` for what the holder made.
    pub(super) const fn payment(&self) -> Option<PaymentId> {
        match self {
            Self::Usa(card) => Some(card.charge.payment),
            Self::Gift(gift) => Some(gift.charge.payment),
            Self::Intl(order) => Some(order.charge.payment),
            Self::Reloadable(card) => card.funded_by,
        }
    }

    pub(super) fn status(&self) -> &'static str {
        match self {
            Self::Usa(card) => card.status(),
            Self::Gift(gift) => gift.status(),
            Self::Intl(order) => order.status(),
            Self::Reloadable(card) => card.status(),
        }
    }

    pub(super) fn view(&self, id: &CardId) -> View {
        match self {
            Self::Usa(card) => card.view(id).list("transactions", card.spent().iter().map(spent)),
            Self::Gift(gift) => gift.view(id),
            Self::Intl(order) => order.view(id),
            Self::Reloadable(card) => card.view(id).list("transactions", card.spent().iter().map(spent)),
        }
    }

    /// Whether there is something to be shown that spends it.
    pub(super) const fn opens(&self) -> bool {
        match self {
            Self::Usa(card) => matches!(card.status, card::Status::Ready(_)),
            Self::Gift(gift) => matches!(gift.status, gift_card::Status::Completed),
            Self::Intl(order) => matches!(order.status, intl_order::Status::Ready(_)),
            Self::Reloadable(card) => card.is_alive(),
        }
    }

    /// Adds what spends it. That it was shown is durable before it is.
    pub(super) async fn opened(&self, cards: &Cards, id: CardId, view: View) -> Result<View, ApiError> {
        match self {
            Self::Usa(card) => {
                let asked = async |issuer_ref: String| {
                    let cvv = cards.issuer.cvv(&issuer_ref).await?;
                    Ok((cvv, cards.issuer.available_balance(&issuer_ref).await?))
                };
                let shown = details(cards, id, card.details(), asked, cards.engine.reveal(id)).await?;
                Ok(view.object("card_details", &shown))
            }
            Self::Reloadable(card) => {
                let asked = async |issuer_ref: String| {
                    let cvv = cards.program.cvv(&issuer_ref).await?;
                    Ok((cvv, cards.program.available(&issuer_ref).await?))
                };
                let shown = details(cards, id, card.details(), asked, cards.engine.reveal_reloadable(id)).await?;
                Ok(view.object("card_details", &shown))
            }
            Self::Gift(_) => redeemable(cards, id, view).await,
            Self::Intl(order) => Ok(view.object("card_details", &entered(cards, id, order).await?)),
        }
    }
}

/// A purchase made with a card, as its owner is shown it.
pub(in crate::http) fn spent(one: &CardTransaction) -> View {
    View::new()
        .text("transaction_id", &one.id)
        .text("merchant", &one.merchant)
        .number("usd_amount", one.amount.decimal())
        .time("at", one.at)
}

fn texts<E: Entity>((found, more): (Vec<(E::Id, E)>, bool)) -> (Vec<String>, bool) {
    (
        found.iter().map(|(id, entity)| entity.view(id).to_json()).collect(),
        more,
    )
}

fn unreadable(_: LoadError) -> ApiError {
    ApiError::internal()
}

async fn sealed(cards: &Cards, id: CardId) -> Result<Vec<u8>, ApiError> {
    let sealed = cards.engine.sealed(id).await.ok().flatten();
    sealed.ok_or_else(ApiError::internal)
}

async fn redeemable(cards: &Cards, id: CardId, view: View) -> Result<View, ApiError> {
    let redemption = redemption::open(&cards.vault, id, &sealed(cards, id).await?).map_err(|error| {
        tracing::error!(card = %id, %error, "a gift card's code cannot be opened");
        ApiError::internal()
    })?;
    match cards.engine.reveal_gift_card(id).await {
        Ok(()) => {}
        Err(Denied::Rejected(_)) => return Err(unknown()),
        Err(_) => {
            return Err(ApiError::unavailable(
                "unavailable",
                "The gift card cannot be read now.",
                2,
            ));
        }
    }
    let text = |secret: &Option<Secret<String>>| secret.as_ref().map(|s| s.expose_secret().to_owned());
    Ok(view
        .maybe("redemption_url", text(&redemption.redemption_url))
        .maybe("redemption_code", text(&redemption.redemption_code))
        .maybe("pin_code", text(&redemption.pin_code)))
}

/// Number and CVV from the vault, the address from the operator who entered them. That they were shown is durable before
/// they are. Nobody tells us what is spent with such a card: what it was loaded with is all that is known to be on it.
async fn entered(cards: &Cards, id: CardId, order: &IntlOrder) -> Result<View, ApiError> {
    let closed = |error: &dyn std::fmt::Display| {
        tracing::error!(card = %id, %error, "a card's secrets cannot be opened");
        ApiError::internal()
    };
    let number = cards
        .vault
        .open(id, &sealed(cards, id).await?)
        .map_err(|e| closed(&e))?;
    let sealed_cvv = cards.engine.sealed_cvv(id).await.ok().flatten();
    let sealed_cvv = sealed_cvv.ok_or_else(|| closed(&"there is no CVV"))?;
    let cvvs = cards.cvvs.clone();
    let opened = tokio::task::spawn_blocking(move || cvvs.open_cvv(id, &sealed_cvv)).await;
    let cvv = opened.map_err(|e| closed(&e))?.map_err(|e| closed(&e))?;
    let cvv = cvv.ok_or_else(|| closed(&"the CVV's key is destroyed"))?;
    match cards.engine.reveal_intl(id).await {
        Ok(()) => {}
        Err(Denied::Rejected(_)) => return Err(unknown()),
        Err(_) => return Err(ApiError::unavailable("unavailable", "The card cannot be read now.", 2)),
    }
    let shown = View::new()
        .text("card_number", number.number().expose_secret())
        .integer("exp_month", u64::from(number.exp_month()))
        .integer("exp_year", u64::from(number.exp_year()))
        .text("cvv", cvv.expose_secret())
        .number("available_balance", order.amount.decimal());
    Ok(match order.details().and_then(|details| details.billing.as_ref()) {
        Some(billing) => shown.object("billing_address", &address(billing)),
        None => shown.maybe("billing_address", None::<&str>),
    })
}

fn address(billing: &BillingAddress) -> View {
    View::new()
        .text("line1", &billing.line1)
        .text("city", &billing.city)
        .text("state", &billing.state)
        .text("postal_code", &billing.postal_code)
        .text("country", &billing.country)
}

/// The number from the vault; CVV and what is left as `asked` of whoever issued it. That it was shown is durable before it
/// is.
async fn details<R>(
    cards: &Cards,
    id: CardId,
    known: Option<&card::Details>,
    asked: impl AsyncFnOnce(String) -> Result<(Secret<String>, Cents), PortError>,
    reveal: impl Future<Output = Result<(), Denied<R>>>,
) -> Result<View, ApiError> {
    let later = || ApiError::unavailable("issuer_unavailable", "The card issuer does not answer.", 2);
    let issuer_ref = known.map(|d| d.issuer_ref.clone()).ok_or_else(ApiError::internal)?;
    let sealed = sealed(cards, id).await?;
    let number = cards.vault.open(id, &sealed).map_err(|error| {
        tracing::error!(card = %id, %error, "a card number cannot be opened");
        ApiError::internal()
    })?;
    let (cvv, available) = asked(issuer_ref).await.map_err(|_| later())?;
    match reveal.await {
        Ok(()) => {}
        Err(Denied::Rejected(_)) => return Err(unknown()),
        Err(_) => return Err(later()),
    }
    let address = address(&cards.issuer.billing_address());
    Ok(View::new()
        .text("card_number", number.number().expose_secret())
        .integer("exp_month", u64::from(number.exp_month()))
        .integer("exp_year", u64::from(number.exp_year()))
        .text("cvv", cvv.expose_secret())
        .number("available_balance", available.decimal())
        .object("billing_address", &address))
}
