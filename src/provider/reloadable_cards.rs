//! Reloadable cards on card balances, holds on those balances, and the adapter that seals card data for the engine.

use std::sync::Arc;

use purser_actors::id::{CardId, JobId, WithdrawalId};
use purser_actors::money::Cents;
use purser_actors::port::{
    CardActionRequest, CardEvent, CardSnapshot, ExternalText, HoldRequest, HoldResult, HoldStatus, OpenCardRequest,
    OpenCardResult, PortError, PortFuture, ReloadableCardProvider,
};
use serde::{Deserialize, Serialize};

use super::cards::{CardActionBody, CardActionResponse, CardEventList, CvvResponse, PlainCard, sealed};
use super::definition::{conversions, provider};
#[cfg(feature = "documents")]
use super::wire::DecimalAmount;
use super::wire::{self, AfterParam, MalformedResponse, rising};
use purser_host::secret::Secret;
use purser_vault::Vault;

provider! {
    /// A provider of reloadable cards, with unsealed data. Methods shared with [`ReloadableCardProvider`] behave the
    /// same.
    trait ReloadableCardApi, client RemoteReloadableCards, tag "Reloadable cards";

    /// Same contract as [`ReloadableCardProvider::open`].
    fn open(order: &'a OpenCardRequest) -> PlainOpenResult {
        POST "/reloadable-cards" openReloadableCard "Open a card loaded from its owner's balance, or query an order";
        key key = order.key, "The same key never takes from the balance twice.";
        asks body it: OpenCardBody = OpenCardBody {
            card_id: order.card,
            deposit_address: order.account,
            amount: order.amount,
            reusable: order.reusable,
        };
        calls (&OpenCardRequest {
            key,
            card: it.card_id,
            account: it.deposit_address,
            amount: it.amount,
            reusable: it.reusable,
        });
        answers OpenReloadableCardResponse {
            card_id = order.card, deposit_address = order.account, amount = order.amount; state
        } "Result of the order.";
    }

    /// Same contract as [`ReloadableCardProvider::apply_action`].
    fn apply_action(order: &'a CardActionRequest) -> CardSnapshot {
        POST "/reloadable-cards/{reference}/actions" applyCardAction "Apply a card action to a card, once per idempotency key";
        at reference = order.issuer_ref, "The issuer's reference of the card.";
        key key = order.key, "The same key is the same card action.";
        asks body it: CardActionBody = CardActionBody { card_id: order.card, action: order.action };
        calls (&CardActionRequest { key, card: it.card_id, issuer_ref: reference, action: it.action });
        answers CardActionResponse { key = order.key, card_id in snapshot = order.card; .. } "State of the card.";
    }

    /// Same contract as [`ReloadableCardProvider::events_after`].
    fn events_after(after: u64, limit: usize) -> Vec<CardEvent> {
        GET "/card-events" listCardEvents "List events of all reloadable cards, such as charges";
        asks query it: AfterParam = AfterParam { after, limit };
        calls (it.after, it.bounded());
        absent Vec::new();
        answers CardEventList "Events in the order of their positions.";
        check |events| rising(after, events.iter().map(|event| event.position));
    }

    /// Same contract as [`ReloadableCardProvider::hold`].
    fn hold(order: &'a HoldRequest) -> HoldResult {
        POST "/balance-holds" createBalanceHold "Place a hold on part of a balance, or query a hold";
        key key = order.key, "The same key never creates a second hold; it identifies the hold.";
        asks body it: HoldBody = HoldBody {
            withdrawal_id: order.withdrawal,
            deposit_address: order.account,
            amount: order.amount,
        };
        calls (&HoldRequest { key, withdrawal: it.withdrawal_id, account: it.deposit_address, amount: it.amount });
        answers HoldResponse {
            withdrawal_id = order.withdrawal, deposit_address = order.account, amount = order.amount; state
        } "Result of the request.";
    }

    /// Same contract as [`ReloadableCardProvider::hold_status`].
    fn hold_status(key: JobId) -> HoldStatus {
        GET "/balance-holds/{key}" getBalanceHold "Return the status of the hold under a key";
        at key = key, "Key of the hold.";
        calls (wire::parse::<JobId>(&key, "a key")?);
        answers HoldLookupResponse { key = key; status } "Status of the hold; `not_found` is final.";
    }

    /// Same contract as [`ReloadableCardProvider::settle_hold`].
    fn settle_hold(key: JobId, paid: bool) -> () {
        POST "/balance-holds/{key}/settle" settleBalanceHold "Capture or release a hold; the result is final";
        at key = key, "Key of the hold.";
        key header = key, "The same.";
        asks body it: SettleHoldRequest = SettleHoldRequest { captured: paid };
        calls (named_twice(&key, header)?, it.captured);
        answers SettleHoldResponse { key = key, captured = paid; } "Result of the hold.";
    }

    /// The CVV, passed through and never stored. `Permanent` for a card that this provider does not have.
    fn cvv(issuer_ref: &'a str) -> Secret<String> {
        GET "/reloadable-cards/{reference}/cvv" getReloadableCardCvv "Return a card's security code";
        at reference = issuer_ref, "The issuer's reference of the card.";
        calls (&reference);
        answers CvvResponse { ; cvv } "The code.";
    }

    /// Amount that can still be spent with the card. `Permanent` for a card that this provider does not have.
    fn available(issuer_ref: &'a str) -> Cents {
        GET "/reloadable-cards/{reference}" getReloadableCardBalance "Return what can be spent with a card now";
        at reference = issuer_ref, "The issuer's reference of the card.";
        calls (&reference);
        answers CardBalance { reference = issuer_ref.to_owned(); available } "Remaining balance of the card.";
    }
}

/// An order of a card that is loaded from its owner's balance.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(as = OpenReloadableCardRequest))]
#[serde(deny_unknown_fields)]
pub struct OpenCardBody {
    /// The service's id of the card.
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    card_id: CardId,
    /// Deposit address on Base of the account whose balance is used.
    #[serde(with = "wire::base_address")]
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    deposit_address: [u8; 20],
    /// Amount to load, in US dollars.
    #[cfg_attr(feature = "documents", schema(value_type = DecimalAmount))]
    amount: Cents,
    /// Whether the card stays open after its first charge.
    reusable: bool,
}

/// Result of an order. It repeats the order.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct OpenReloadableCardResponse {
    /// Card id of the order.
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    card_id: CardId,
    /// Deposit address of the order.
    #[serde(with = "wire::base_address")]
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    deposit_address: [u8; 20],
    /// Amount of the order.
    #[cfg_attr(feature = "documents", schema(value_type = DecimalAmount))]
    amount: Cents,
    /// Status of the order.
    #[serde(flatten)]
    state: PlainOpenResult,
}

/// Status of a reloadable card order.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(as = OpenReloadableCardStatus))]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum PlainOpenResult {
    /// The card is open, and its amount was taken from the balance. The answer stays the same whatever happens to the
    /// card later.
    Open {
        /// The new card.
        card: PlainCard,
    },
    /// Accepted; query again with the same key after this time.
    Pending {
        /// Delay in milliseconds.
        retry_after_ms: u64,
    },
    /// Declined: the balance was too low. Nothing was taken under this key, and nothing ever will be.
    #[serde(rename = "insufficient_balance")]
    Insufficient,
    /// Declined: no card exists under this key, and none ever will. Nothing was taken.
    Declined {
        /// The issuer's reason.
        #[cfg_attr(feature = "documents", schema(value_type = String))]
        reason: ExternalText,
    },
}

/// What can be spent with a card.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct CardBalance {
    /// The issuer's reference of the card.
    reference: String,
    /// Amount that can still be spent, in US dollars.
    #[cfg_attr(feature = "documents", schema(value_type = DecimalAmount))]
    available: Cents,
}

/// A request to hold part of a balance, so that it cannot be spent otherwise.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(as = HoldRequest))]
#[serde(deny_unknown_fields)]
pub struct HoldBody {
    /// The service's id of the withdrawal that the hold is for.
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    withdrawal_id: WithdrawalId,
    /// Deposit address on Base of the account whose balance is held.
    #[serde(with = "wire::base_address")]
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    deposit_address: [u8; 20],
    /// Amount in US dollars.
    #[cfg_attr(feature = "documents", schema(value_type = DecimalAmount))]
    amount: Cents,
}

/// Result of a hold request. It repeats the request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct HoldResponse {
    /// Withdrawal id of the request.
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    withdrawal_id: WithdrawalId,
    /// Deposit address of the request.
    #[serde(with = "wire::base_address")]
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    deposit_address: [u8; 20],
    /// Amount of the request.
    #[cfg_attr(feature = "documents", schema(value_type = DecimalAmount))]
    amount: Cents,
    /// Status of the hold.
    #[serde(flatten, with = "HoldState")]
    #[cfg_attr(feature = "documents", schema(value_type = HoldState))]
    state: HoldResult,
}

/// Status of a hold.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(as = HoldResult))]
#[serde(remote = "HoldResult", tag = "status", rename_all = "snake_case")]
pub enum HoldState {
    /// The amount is on hold.
    Held,
    /// The amount was on hold under this key, and the hold was settled.
    #[serde(rename = "settled")]
    AlreadySettled {
        /// Whether the hold was captured; otherwise it was released to the balance.
        #[serde(rename = "captured")]
        paid: bool,
    },
    /// Accepted; query again with the same key after this time.
    Pending {
        /// Delay in milliseconds.
        retry_after_ms: u64,
    },
    /// Declined: the balance was too low. There is no hold under this key, and there never will be.
    InsufficientBalance,
    /// Declined for another reason.
    Declined {
        /// The issuer's reason.
        #[cfg_attr(feature = "documents", schema(value_type = String))]
        reason: ExternalText,
    },
}

/// Status of the hold under a key.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct HoldLookupResponse {
    /// Key of the hold.
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    key: JobId,
    /// Status of the hold.
    status: HoldStatusName,
}

/// Status of a hold, by its key.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(as = HoldStatus))]
#[serde(rename_all = "snake_case")]
pub enum HoldStatusName {
    /// The amount is on hold.
    Held,
    /// The hold was captured.
    Captured,
    /// The hold was released to the balance.
    Released,
    /// There was never a hold under this key.
    NotFound,
}

conversions! {
    HoldStatusName = HoldStatus {
        HoldStatusName::Held = (HoldStatus::Held);
        HoldStatusName::Captured = (HoldStatus::Settled { paid: true });
        HoldStatusName::Released = (HoldStatus::Settled { paid: false });
        HoldStatusName::NotFound = (HoldStatus::NotFound);
    }
}

/// Settles a hold. The result is final: repeating it changes nothing, and the opposite is `rejected`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SettleHoldRequest {
    /// Whether to capture the hold; otherwise it is released to the balance.
    captured: bool,
}

/// Result of a settled hold.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct SettleHoldResponse {
    /// Key of the hold.
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    key: JobId,
    /// Whether the hold was captured.
    captured: bool,
}

/// The key of a hold, named by the path and by the header.
fn named_twice(path: &str, header: JobId) -> Result<JobId, MalformedResponse> {
    match path == header.to_string() {
        true => Ok(header),
        false => Err(MalformedResponse("one key: path and header name two")),
    }
}

/// Implements [`ReloadableCardProvider`] for the engine: seals the card data that the provider returns.
pub struct SealingReloadableCards<P: ?Sized> {
    reloadable_cards: Arc<P>,
    vault: Arc<Vault>,
}

impl<P: ReloadableCardApi + ?Sized> SealingReloadableCards<P> {
    /// Seals card data of `reloadable_cards` with the vault's active key.
    pub const fn new(reloadable_cards: Arc<P>, vault: Arc<Vault>) -> Self {
        Self {
            reloadable_cards,
            vault,
        }
    }

    async fn opened(&self, order: &OpenCardRequest) -> Result<OpenCardResult, PortError> {
        let card: CardId = order.card;
        Ok(match self.reloadable_cards.open(order).await? {
            PlainOpenResult::Open { card: plain } => OpenCardResult::Open(sealed(&self.vault, card, plain)?),
            PlainOpenResult::Pending { retry_after_ms } => OpenCardResult::Pending { retry_after_ms },
            PlainOpenResult::Insufficient => OpenCardResult::InsufficientBalance,
            PlainOpenResult::Declined { reason } => OpenCardResult::Declined { reason },
        })
    }
}

impl<P: ReloadableCardApi + ?Sized> ReloadableCardProvider for SealingReloadableCards<P> {
    fn open<'a>(&'a self, order: &'a OpenCardRequest) -> PortFuture<'a, OpenCardResult> {
        Box::pin(self.opened(order))
    }

    fn apply_action<'a>(&'a self, order: &'a CardActionRequest) -> PortFuture<'a, CardSnapshot> {
        self.reloadable_cards.apply_action(order)
    }

    fn events_after(&self, after: u64, limit: usize) -> PortFuture<'_, Vec<CardEvent>> {
        self.reloadable_cards.events_after(after, limit)
    }

    fn hold<'a>(&'a self, order: &'a HoldRequest) -> PortFuture<'a, HoldResult> {
        self.reloadable_cards.hold(order)
    }

    fn hold_status(&self, key: JobId) -> PortFuture<'_, HoldStatus> {
        self.reloadable_cards.hold_status(key)
    }

    fn settle_hold(&self, key: JobId, paid: bool) -> PortFuture<'_, ()> {
        self.reloadable_cards.settle_hold(key, paid)
    }
}
