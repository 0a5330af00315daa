//! Reconciliation lists: everything that a provider did, for comparison. The engine reads each list by its own port; on
//! the wire they are one operation.

use purser_actors::currency::Country;
use purser_actors::id::BankTransferId;
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::{
    EntryKey, ErrorKind, ExternalText, GiftTerms, ListCursor, ListPage, PortError, PortFuture, ProviderEntry,
    ProviderList, Timestamp,
};
use purser_actors::reconciliation::{self, EntryAmount, ReconciliationSource};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use super::ProviderLists;
use super::definition::provider;
use super::remote::RemoteClient;
use super::server::{Failure, missing};
#[cfg(feature = "documents")]
use super::wire::UsdcAmount;
use super::wire::{self, MalformedResponse};

/// Maximum number of entries on a page.
const MAX_ENTRIES: usize = 1_000;
/// Code for amounts in USDC, which has no ISO 4217 code.
const USDC: &str = "USDC";

provider! {
    /// All lists of a provider.
    trait ReconciliationApi, client RemoteLists, tag "Reconciliation";

    /// One page of a list, or the one entry with a key. `Permanent` for a list that is not kept.
    fn page(asked: &'a ReconciliationQuery) -> ListPage<ProviderEntry> {
        GET "/reconciliation-entries/{list}" listReconciliationEntries "List orders, deposits or balances with their outcomes\n\nThe order never changes, except that a changed entry is listed again at the end. An undecided entry may be left out.";
        at list = asked.list.source().name(), &ReconciliationListName::in_words();
        asks query it: AfterQuery = AfterQuery::from(asked);
        calls (&it.read(&list)?);
        answers ReconciliationPage {
            list = asked.list,
            after = asked.after.as_ref().map(ToString::to_string),
            key = asked.key.as_ref().map(ToString::to_string);
            ..
        } "One page of the list.";
        check |page| asked.check(page);
    }
}

impl ReconciliationApi for ProviderLists {
    fn page<'a>(&'a self, asked: &'a ReconciliationQuery) -> PortFuture<'a, ListPage<ProviderEntry>> {
        Box::pin(async move {
            let list = self.get(&asked.list.source()).ok_or_else(|| PortError {
                kind: ErrorKind::Permanent,
                operation: "list",
                message: NO_LIST.to_owned(),
            })?;
            match &asked.key {
                Some(key) => Ok(ListPage {
                    items: list.entry(key).await?.into_iter().collect(),
                    next: None,
                }),
                None => list.entries(asked.after.as_ref(), asked.limit).await,
            }
        })
    }
}

const NO_LIST: &str = "this provider does not keep that list";

/// One list over HTTP.
pub struct RemoteReconciliationList {
    pub remote: RemoteClient,
    pub list: ReconciliationSource,
}

impl RemoteReconciliationList {
    async fn fetch(&self, asked: ReconciliationQuery) -> Result<ListPage<ProviderEntry>, PortError> {
        RemoteLists(self.remote.clone()).page(&asked).await
    }
}

impl ProviderList for RemoteReconciliationList {
    fn entries<'a>(&'a self, after: Option<&'a ListCursor>, limit: usize) -> PortFuture<'a, ListPage<ProviderEntry>> {
        Box::pin(self.fetch(ReconciliationQuery {
            list: ReconciliationListName(self.list),
            after: after.cloned(),
            key: None,
            limit,
        }))
    }

    fn entry<'a>(&'a self, name: &'a EntryKey) -> PortFuture<'a, Option<ProviderEntry>> {
        Box::pin(async move {
            let asked = ReconciliationQuery {
                list: ReconciliationListName(self.list),
                after: None,
                key: Some(name.clone()),
                limit: 1,
            };
            Ok(self.fetch(asked).await?.items.into_iter().next())
        })
    }
}

/// A query of a list.
#[derive(Clone, Debug)]
pub struct ReconciliationQuery {
    pub list: ReconciliationListName,
    /// Cursor to start after.
    pub after: Option<ListCursor>,
    /// Restricts the query to this key.
    pub key: Option<EntryKey>,
    /// Maximum number of entries.
    pub limit: usize,
}

impl ReconciliationQuery {
    /// Checks that the cursor of a page advances, that a page with entries has one, and that an entry has the key.
    fn check(&self, page: &ListPage<ProviderEntry>) -> Result<(), MalformedResponse> {
        if page.next.is_some() && page.next == self.after {
            return Err(MalformedResponse("a page leads to itself"));
        }
        if self.key.is_none() && page.next.is_none() != page.items.is_empty() {
            return Err(MalformedResponse("a page leads on as long as it has entries"));
        }
        match (&self.key, page.items.first()) {
            (Some(key), Some(entry)) if entry.name != *key => Err(MalformedResponse("it is about something else")),
            _ => Ok(()),
        }
    }
}

/// Query parameters of a list.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::IntoParams))]
#[cfg_attr(feature = "documents", into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct AfterQuery {
    /// Return only entries after this cursor, the `next` of an earlier page; from the first entry if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<String>,
    /// Return only the entry with this `key`.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// Maximum number of entries, at most 1,000.
    limit: usize,
}

impl From<&ReconciliationQuery> for AfterQuery {
    fn from(asked: &ReconciliationQuery) -> Self {
        Self {
            after: asked.after.as_ref().map(ToString::to_string),
            key: asked.key.as_ref().map(ToString::to_string),
            limit: asked.limit,
        }
    }
}

impl AfterQuery {
    fn read(self, list: &str) -> Result<ReconciliationQuery, Failure> {
        let list = ReconciliationListName::from_name(list).ok_or_else(|| missing(NO_LIST))?;
        if self.after.is_some() && self.key.is_some() {
            return Err(MalformedResponse("a cursor or a key, and not both").into());
        }
        let cursor = |text| ListCursor::new(text).ok_or(MalformedResponse("a cursor of this list"));
        let key = |text| EntryKey::new(text).ok_or(MalformedResponse("a name of 1 to 200 bytes"));
        Ok(ReconciliationQuery {
            list,
            after: self.after.map(cursor).transpose()?,
            key: self.key.map(key).transpose()?,
            limit: self.limit.clamp(1, MAX_ENTRIES),
        })
    }
}

/// A provider's reconciliation list, by the name of its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "&'static str", try_from = "String")]
pub struct ReconciliationListName(ReconciliationSource);

impl ReconciliationListName {
    /// Every list: each source that is not a chain.
    pub fn all() -> impl Iterator<Item = Self> {
        let sources = ReconciliationSource::ALL.into_iter();
        sources.filter(|source| source.network().is_none()).map(Self)
    }

    /// Source that the list belongs to.
    pub const fn source(self) -> ReconciliationSource {
        self.0
    }

    /// The list with this name in a path.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|list| list.0.name() == name)
    }

    /// The names, for the document.
    #[cfg(feature = "documents")]
    fn in_words() -> String {
        let mut names: Vec<_> = Self::all().map(|list| format!("`{}`", list.0.name())).collect();
        let last = names.pop().unwrap_or_default();
        format!("{} or {last}.", names.join(", "))
    }
}

impl From<ReconciliationListName> for &'static str {
    fn from(list: ReconciliationListName) -> Self {
        list.0.name()
    }
}

impl TryFrom<String> for ReconciliationListName {
    type Error = MalformedResponse;

    fn try_from(name: String) -> Result<Self, MalformedResponse> {
        Self::from_name(&name).ok_or(MalformedResponse(NO_LIST))
    }
}

#[cfg(feature = "documents")]
impl utoipa::PartialSchema for ReconciliationListName {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        use utoipa::openapi::schema::{ObjectBuilder, Type};
        let string = ObjectBuilder::new().schema_type(Type::String);
        let string = string.description(Some("A provider's reconciliation list."));
        string.enum_values(Some(Self::all().map(<&str>::from))).build().into()
    }
}

#[cfg(feature = "documents")]
impl utoipa::ToSchema for ReconciliationListName {}

/// Outcome of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
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

impl From<reconciliation::EntryStatus> for EntryStatus {
    fn from(status: reconciliation::EntryStatus) -> Self {
        match status {
            reconciliation::EntryStatus::NotSubmitted | reconciliation::EntryStatus::Pending => Self::Pending,
            reconciliation::EntryStatus::Held => Self::Held,
            reconciliation::EntryStatus::Completed => Self::Completed,
            reconciliation::EntryStatus::Declined => Self::Declined,
            reconciliation::EntryStatus::Returned => Self::Returned,
        }
    }
}

impl From<EntryStatus> for reconciliation::EntryStatus {
    fn from(status: EntryStatus) -> Self {
        match status {
            EntryStatus::Pending => Self::Pending,
            EntryStatus::Held => Self::Held,
            EntryStatus::Completed => Self::Completed,
            EntryStatus::Declined => Self::Declined,
            EntryStatus::Returned => Self::Returned,
        }
    }
}

/// An entry of a list, with its current status.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct ReconciliationEntry {
    /// Key of the entry. For an order, and for the balance of a card: the `Idempotency-Key` of the order. For a bank
    /// deposit: its `reference`. For a bridge transfer: the `transaction` of its burn. 1 to 200 bytes without control
    /// characters.
    pub key: String,
    /// The provider's name of the product, for display.
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    pub product: ExternalText,
    /// Amount that was ordered, received, is left, or is delivered by the bridge.
    #[cfg_attr(feature = "documents", schema(value_type = UsdcAmount))]
    pub amount: String,
    /// ISO 4217 code, for amounts with at most two decimal places, or `USDC`, with six.
    pub currency: String,
    /// For a returned transfer at the bank: the `transfer_id` of the original transfer. `null` otherwise.
    #[cfg_attr(feature = "documents", schema(required, value_type = Option<String>))]
    #[serde(deserialize_with = "Option::deserialize")]
    pub returned_transfer_id: Option<BankTransferId>,
    /// For a gift card: the `country` of its order, ISO 3166-1 alpha-2. Omit it otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "documents", schema(value_type = Option<String>))]
    pub country: Option<Country>,
    /// For a gift card: the `fee_rate` of its order. Omit it otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "documents", schema(value_type = Option<String>))]
    pub fee_rate: Option<RateText>,
    /// Outcome of the entry.
    pub status: EntryStatus,
    /// Time of the last change, in Unix milliseconds.
    #[cfg_attr(feature = "documents", schema(value_type = u64))]
    pub at_ms: Timestamp,
}

/// A page of a list. It repeats the query.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct ReconciliationPage {
    /// List of the query.
    pub list: ReconciliationListName,
    /// Cursor of the query.
    #[cfg_attr(feature = "documents", schema(required))]
    #[serde(deserialize_with = "Option::deserialize")]
    pub after: Option<String>,
    /// Key of the query.
    #[cfg_attr(feature = "documents", schema(required))]
    #[serde(deserialize_with = "Option::deserialize")]
    pub key: Option<String>,
    /// Entries in the list's order.
    pub entries: Vec<ReconciliationEntry>,
    /// Cursor for the next page, to be sent as `after`; `null` if there are no more entries now.
    #[cfg_attr(feature = "documents", schema(required))]
    #[serde(deserialize_with = "Option::deserialize")]
    pub next: Option<String>,
}

/// A rate, as decimal text.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct RateText(#[serde(with = "wire::text")] Decimal);

impl ReconciliationPage {
    fn of(
        page: ListPage<ProviderEntry>,
        list: ReconciliationListName,
        after: Option<String>,
        key: Option<String>,
    ) -> Self {
        Self {
            list,
            after,
            key,
            entries: page.items.into_iter().map(Into::into).collect(),
            next: page.next.map(|cursor| cursor.to_string()),
        }
    }
}

impl TryFrom<ReconciliationPage> for ListPage<ProviderEntry> {
    type Error = MalformedResponse;

    fn try_from(page: ReconciliationPage) -> Result<Self, MalformedResponse> {
        let cursor = |text| ListCursor::new(text).ok_or(MalformedResponse("no cursor"));
        let items = page.entries.into_iter().map(TryInto::try_into);
        Ok(Self {
            items: items.collect::<Result<_, MalformedResponse>>()?,
            next: page.next.map(cursor).transpose()?,
        })
    }
}

impl From<ProviderEntry> for ReconciliationEntry {
    fn from(entry: ProviderEntry) -> Self {
        let (amount, currency) = match entry.amount {
            EntryAmount::Usdc(amount) => (amount.to_string(), USDC.to_owned()),
            EntryAmount::Cents(amount, currency) => (amount.to_string(), currency.to_string()),
        };
        Self {
            key: entry.name.to_string(),
            product: entry.product,
            amount,
            currency,
            returned_transfer_id: entry.returned_transfer,
            country: entry.terms.as_ref().map(|terms| terms.country),
            fee_rate: entry.terms.and_then(|terms| terms.fee_rate.parse().ok()).map(RateText),
            status: entry.status.into(),
            at_ms: entry.at,
        }
    }
}

impl TryFrom<ReconciliationEntry> for ProviderEntry {
    type Error = MalformedResponse;

    fn try_from(entry: ReconciliationEntry) -> Result<Self, MalformedResponse> {
        let money = match entry.currency.as_str() {
            USDC => Usdc::parse(&entry.amount).map(EntryAmount::Usdc),
            currency => {
                let currency = wire::parse(currency, "no currency")?;
                Cents::parse(&entry.amount).map(|amount| EntryAmount::Cents(amount, currency))
            }
        };
        let terms = entry.country.zip(entry.fee_rate).map(|(country, rate)| GiftTerms {
            country,
            fee_rate: rate.0.normalize().to_string(),
        });
        Ok(Self {
            name: EntryKey::new(entry.key).ok_or(MalformedResponse("no name"))?,
            product: entry.product,
            amount: money.map_err(|_| MalformedResponse("no amount of its currency"))?,
            returned_transfer: entry.returned_transfer_id,
            terms,
            status: entry.status.into(),
            at: entry.at_ms,
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
            list: ReconciliationListName(ReconciliationSource::Cards),
            after: ListCursor::new("b".to_owned()),
            key: None,
            limit: 10,
        };
        let entry = json!({"key": format!("job_{:032x}", 1), "product": "card", "amount": "5", "currency": "USD",
            "returned_transfer_id": null, "status": "completed", "at_ms": 1});
        let page = json!({"list": "cards", "after": "b", "key": null, "entries": [entry], "next": "c"});
        let read = |page: Value| {
            let page = serde_json::from_value::<ReconciliationPage>(page).ok()?;
            let same = (page.list, page.after.clone(), page.key.clone())
                == (asked.list, asked.after.as_ref().map(ToString::to_string), None);
            let page = same.then(|| ListPage::try_from(page).ok())??;
            asked.check(&page).ok().map(|()| page)
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
