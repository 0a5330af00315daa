//! What was ever ordered, on the wire: `GET /v1/reconciliation-entries/{list}`.

use purser_actors::id::BankTransferId;
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::{EntryKey, GiftTerms, ListCursor, ListPage, ProviderEntry, Timestamp};
use purser_actors::reconciliation::{self, EntryAmount, ReconciliationSource};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{DecimalAmount, MalformedResponse, TextValue, UsdcAmount};

/// Which of a provider's lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReconciliationListName {
    /// Orders of cards.
    Cards,
    /// Orders of gift cards.
    GiftCards,
    /// Orders of payouts.
    Payouts,
    /// What the bank was told to move.
    BankTransfers,
    /// What came in at the bank for the service to credit, and what it gave back.
    BankDeposits,
    /// Orders of reloadable cards, and what was set aside of balances.
    ReloadableCards,
    /// What is left on each reloadable card that was opened.
    CardBalances,
    /// What was burned for the bridge to carry.
    Bridge,
    /// What was given back of prepaid cards that have ended.
    PrepaidRemainders,
}

impl ReconciliationListName {
    /// All.
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

    /// By its name in a path.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|list| list.source().name() == name)
    }

    /// Whose list it is.
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

/// What came of something on a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EntryStatus {
    /// It is not known yet.
    Pending,
    /// The provider has the money and still owes what it is for: set aside of a balance, or burned and not minted.
    Held,
    /// Made, paid, moved, come in or minted.
    Completed,
    /// Not done, and it never will be.
    Declined,
    /// It was done, and the money came back.
    Returned,
}

/// Something on a list, as it stands.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ReconciliationEntry {
    /// Its name. Of an order, and of what is left of one: the `Idempotency-Key` that it came with. Of what came in at the
    /// bank: its `reference`. Of what the bridge carries: the `transaction` that burned it. 1 to 200 bytes without control
    /// characters.
    pub key: String,
    /// The provider's word for what it is, for people.
    pub product: String,
    /// What was ordered, came in, is left, or arrives over the bridge.
    #[schema(value_type = UsdcAmount)]
    pub amount: String,
    /// ISO 4217, whose amounts have two places at most; or `USDC`, whose have six.
    pub currency: String,
    /// Of money that the bank gives back: the `transfer_id` of the move that it is the return of. Null for all else.
    #[schema(required, value_type = Option<String>)]
    #[serde(deserialize_with = "Option::deserialize")]
    pub returned_transfer_id: Option<TextValue<BankTransferId>>,
    /// Of a gift card: the `country` that it was ordered for, ISO 3166-1 alpha-2. May be left out of all else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub country: Option<String>,
    /// Of a gift card: the `fee_rate` that it was ordered at. May be left out of all else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub fee_rate: Option<TextValue<Decimal>>,
    /// What came of it.
    pub status: EntryStatus,
    /// When that last changed, in Unix milliseconds.
    pub at_ms: u64,
}

/// Part of a list. It names the question again.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ReconciliationPage {
    /// The question's.
    pub list: ReconciliationListName,
    /// The question's.
    #[schema(required)]
    #[serde(deserialize_with = "Option::deserialize")]
    pub after: Option<String>,
    /// The question's.
    #[schema(required)]
    #[serde(deserialize_with = "Option::deserialize")]
    pub key: Option<String>,
    /// In the list's order.
    pub entries: Vec<ReconciliationEntry>,
    /// What to ask for `after`; null when there are no entries behind the cursor now.
    #[schema(required)]
    #[serde(deserialize_with = "Option::deserialize")]
    pub next: Option<String>,
}

/// A question about a list.
#[derive(Clone, Copy, Debug)]
pub struct ReconciliationQuery<'a> {
    /// Which.
    pub list: ReconciliationListName,
    /// Behind which cursor.
    pub after: Option<&'a str>,
    /// For which key alone.
    pub key: Option<&'a str>,
}

impl ReconciliationPage {
    /// As the provider says it.
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

    /// As this service reads it.
    ///
    /// # Errors
    /// When it answers another question, leads nowhere, or ends although it has entries.
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

/// The currency of what is on no list of ISO's.
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

    // Aim: a page that leads to itself would be read for ever, and one that leaves out where it leads says nothing.
    #[test]
    fn a_page_leads_on_or_is_the_last() {
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
