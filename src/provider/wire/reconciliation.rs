//! Reconciliation lists on the wire: `GET /v1/reconciliation-entries/{list}`.

use purser_actors::id::BankTransferId;
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::{EntryKey, GiftTerms, ListCursor, ListPage, ProviderEntry, Timestamp};
use purser_actors::reconciliation::{self, EntryAmount, ReconciliationSource};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{DecimalAmount, MalformedResponse, TextValue, UsdcAmount};

/// A provider's reconciliation list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReconciliationListName {
    /// Orders of prepaid cards.
    Cards,
    /// Orders of gift cards.
    GiftCards,
    /// Orders of payouts.
    Payouts,
    /// Transfers that the service ordered at the bank.
    BankTransfers,
    /// Bank deposits for the service to credit, and returned transfers.
    BankDeposits,
    /// Orders of reloadable cards, and holds on balances.
    ReloadableCards,
    /// Remaining balance of each reloadable card.
    CardBalances,
    /// Burns of bridge transfers.
    Bridge,
    /// Money returned from closed prepaid cards.
    PrepaidRemainders,
}

impl ReconciliationListName {
    pub const ALL: [Self; 9] = [
        Self::Cards,
        Self::GiftCards,
        Self::Payouts,
        Self::BankTransfers,
        Self::BankDeposits,
        Self::ReloadableCards,
        Self::CardBalances,
        Self::Bridge,
        Self::PrepaidRemainders,
    ];

    /// The list with this name in a path.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|list| list.source().name() == name)
    }

    /// Source that the list belongs to.
    pub const fn source(self) -> ReconciliationSource {
        match self {
            Self::Cards => ReconciliationSource::Cards,
            Self::GiftCards => ReconciliationSource::GiftCards,
            Self::Payouts => ReconciliationSource::Payouts,
            Self::BankTransfers => ReconciliationSource::BankTransfers,
            Self::BankDeposits => ReconciliationSource::BankDeposits,
            Self::ReloadableCards => ReconciliationSource::ReloadableCards,
            Self::CardBalances => ReconciliationSource::CardBalances,
            Self::Bridge => ReconciliationSource::Bridge,
            Self::PrepaidRemainders => ReconciliationSource::PrepaidRemainders,
        }
    }
}

/// Outcome of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EntryStatus {
    /// The outcome is not known yet.
    Pending,
    /// The provider has the money and still owes the product: on hold, or burned and not minted.
    Held,
    /// Created, paid, transferred, received or minted.
    Completed,
    /// Not executed, and it never will be.
    Declined,
    /// Executed, and the money was returned.
    Returned,
}

/// An entry of a list, with its current status.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ReconciliationEntry {
    /// Key of the entry. For an order, and for the balance of a card: the `Idempotency-Key` of the order. For a bank
    /// deposit: its `reference`. For a bridge transfer: the `transaction` of its burn. 1 to 200 bytes without control
    /// characters.
    pub key: String,
    /// The provider's name of the product, for display.
    pub product: String,
    /// Amount that was ordered, received, is left, or is delivered by the bridge.
    #[schema(value_type = UsdcAmount)]
    pub amount: String,
    /// ISO 4217 code, for amounts with at most two decimal places, or `USDC`, with six.
    pub currency: String,
    /// For a returned transfer at the bank: the `transfer_id` of the original transfer. `null` otherwise.
    #[schema(required, value_type = Option<String>)]
    #[serde(deserialize_with = "Option::deserialize")]
    pub returned_transfer_id: Option<TextValue<BankTransferId>>,
    /// For a gift card: the `country` of its order, ISO 3166-1 alpha-2. Omit it otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub country: Option<String>,
    /// For a gift card: the `fee_rate` of its order. Omit it otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub fee_rate: Option<TextValue<Decimal>>,
    /// Outcome of the entry.
    pub status: EntryStatus,
    /// Time of the last change, in Unix milliseconds.
    pub at_ms: u64,
}

/// A page of a list. It repeats the query.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ReconciliationPage {
    /// List of the query.
    pub list: ReconciliationListName,
    /// Cursor of the query.
    #[schema(required)]
    #[serde(deserialize_with = "Option::deserialize")]
    pub after: Option<String>,
    /// Key of the query.
    #[schema(required)]
    #[serde(deserialize_with = "Option::deserialize")]
    pub key: Option<String>,
    /// Entries in the list's order.
    pub entries: Vec<ReconciliationEntry>,
    /// Cursor for the next page, to be sent as `after`; `null` if there are no more entries now.
    #[schema(required)]
    #[serde(deserialize_with = "Option::deserialize")]
    pub next: Option<String>,
}

/// A query of a list.
#[derive(Clone, Copy, Debug)]
pub struct ReconciliationQuery<'a> {
    pub list: ReconciliationListName,
    /// Cursor to start after.
    pub after: Option<&'a str>,
    /// Restricts the query to this key.
    pub key: Option<&'a str>,
}

impl ReconciliationPage {
    /// The wire form of a page.
    pub fn of(asked: ReconciliationQuery<'_>, page: ListPage<ProviderEntry>) -> Self {
        let entries = page.items.into_iter().map(|entry| ReconciliationEntry {
            key: entry.name.to_string(),
            product: entry.product.to_string(),
            amount: match entry.amount {
                EntryAmount::Usdc(amount) => UsdcAmount(amount).to_string(),
                EntryAmount::Cents(amount, _) => DecimalAmount(amount).to_string(),
            },
            currency: match entry.amount {
                EntryAmount::Usdc(_) => USDC.to_owned(),
                EntryAmount::Cents(_, currency) => currency.as_str().to_owned(),
            },
            returned_transfer_id: entry.returned_transfer.map(TextValue),
            country: entry.terms.as_ref().map(|terms| terms.country.as_str().to_owned()),
            fee_rate: entry.terms.and_then(|terms| terms.fee_rate.parse().ok()).map(TextValue),
            status: match entry.status {
                reconciliation::EntryStatus::NotSubmitted | reconciliation::EntryStatus::Pending => {
                    EntryStatus::Pending
                }
                reconciliation::EntryStatus::Held => EntryStatus::Held,
                reconciliation::EntryStatus::Completed => EntryStatus::Completed,
                reconciliation::EntryStatus::Declined => EntryStatus::Declined,
                reconciliation::EntryStatus::Returned => EntryStatus::Returned,
            },
            at_ms: entry.at.0,
        });
        Self {
            list: asked.list,
            after: asked.after.map(str::to_owned),
            key: asked.key.map(str::to_owned),
            entries: entries.collect(),
            next: page.next.map(|cursor| cursor.to_string()),
        }
    }

    /// Reads the page.
    ///
    /// # Errors
    /// When it answers another query, its cursor does not advance, or it has entries but no cursor.
    pub fn read(self, asked: ReconciliationQuery<'_>) -> Result<ListPage<ProviderEntry>, MalformedResponse> {
        let same = self.list == asked.list && self.after.as_deref() == asked.after && self.key.as_deref() == asked.key;
        if !same {
            return Err(MalformedResponse("it is about another list"));
        }
        if self.next.is_some() && self.next.as_deref() == asked.after {
            return Err(MalformedResponse("a page leads to itself"));
        }
        let next = match self.next {
            None => None,
            Some(text) => Some(ListCursor::new(text).ok_or(MalformedResponse("no cursor"))?),
        };
        if asked.key.is_none() && next.is_none() != self.entries.is_empty() {
            return Err(MalformedResponse("a page leads on as long as it has entries"));
        }
        let items: Result<Vec<ProviderEntry>, MalformedResponse> =
            self.entries.into_iter().map(ReconciliationEntry::read).collect();
        Ok(ListPage { items: items?, next })
    }
}

/// Code for amounts in USDC, which has no ISO 4217 code.
const USDC: &str = "USDC";

impl ReconciliationEntry {
    fn read(self) -> Result<ProviderEntry, MalformedResponse> {
        let money = match self.currency.as_str() {
            USDC => Usdc::parse(&self.amount).map(EntryAmount::Usdc),
            currency => {
                let currency = currency.parse().map_err(|_| MalformedResponse("no currency"))?;
                Cents::parse(&self.amount).map(|amount| EntryAmount::Cents(amount, currency))
            }
        };
        let country = self.country.map(|country| country.parse());
        let country = country.transpose().map_err(|_| MalformedResponse("no country"))?;
        let terms = country.zip(self.fee_rate).map(|(country, rate)| GiftTerms {
            country,
            fee_rate: rate.0.normalize().to_string(),
        });
        Ok(ProviderEntry {
            name: EntryKey::new(self.key).ok_or(MalformedResponse("no name"))?,
            product: self.product.into(),
            amount: money.map_err(|_| MalformedResponse("no amount of its currency"))?,
            returned_transfer: self.returned_transfer_id.map(|id| id.0),
            terms,
            status: match self.status {
                EntryStatus::Pending => reconciliation::EntryStatus::Pending,
                EntryStatus::Held => reconciliation::EntryStatus::Held,
                EntryStatus::Completed => reconciliation::EntryStatus::Completed,
                EntryStatus::Declined => reconciliation::EntryStatus::Declined,
                EntryStatus::Returned => reconciliation::EntryStatus::Returned,
            },
            at: Timestamp(self.at_ms),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::{Value, json};

    use super::*;

    // Checks: a page whose cursor is its own start is rejected, because it would be read forever; so is one without a
    // cursor.
    #[test]
    fn page_advances_or_is_the_last() {
        let asked = ReconciliationQuery {
            list: ReconciliationListName::Cards,
            after: Some("b"),
            key: None,
        };
        let entry = json!({"key": format!("job_{:032x}", 1), "product": "card", "amount": "5", "currency": "USD",
            "returned_transfer_id": null, "status": "completed", "at_ms": 1});
        let page = json!({"list": "cards", "after": "b", "key": null, "entries": [entry], "next": "c"});
        let read = |page: Value| {
            serde_json::from_value::<ReconciliationPage>(page)
                .ok()?
                .read(asked)
                .ok()
        };
        assert_eq!(read(page.clone()).unwrap().items.len(), 1);
        for (member, value) in [("next", json!("b")), ("next", Value::Null), ("after", json!("a"))] {
            let mut wrong = page.clone();
            wrong[member] = value;
            assert!(read(wrong).is_none(), "{member}");
        }
        for (member, value) in [
            ("key", "two\nlines"),
            ("key", ""),
            ("amount", "5.001"),
            ("currency", "usd"),
        ] {
            let mut wrong = page.clone();
            wrong["entries"][0][member] = json!(value);
            assert!(read(wrong).is_none(), "{member}");
        }
        let mut carried = page.clone();
        (carried["entries"][0]["amount"], carried["entries"][0]["currency"]) = (json!("5.000001"), json!("USDC"));
        let money = read(carried).unwrap().items[0].amount;
        assert_eq!(
            money,
            EntryAmount::Usdc(Usdc::from_atomic(5_000_001)),
            "USDC has six places"
        );
        for member in ["next", "after", "key"] {
            let mut lacking = page.clone();
            lacking.as_object_mut().unwrap().remove(member);
            assert!(read(lacking).is_none(), "{member}");
        }
    }
}
