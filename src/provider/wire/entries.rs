//! What was ever ordered, on the wire: `GET /v1/entries/{list}`.

use purser_actors::id::EffectId;
use purser_actors::port::{Cursor, Entry, Page, Timestamp};
use purser_actors::product::Currency;
use purser_actors::reconcile::{Source, Standing};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Amount, Text, Unreadable};

/// Which of a provider's lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ListName {
    /// Orders of cards.
    Cards,
    /// Orders of gift cards.
    GiftCards,
    /// Orders of payouts.
    Payouts,
}

impl ListName {
    /// All.
    pub const ALL: [Self; 3] = [Self::Cards, Self::GiftCards, Self::Payouts];

    /// By its name in a path.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|list| list.source().name() == name)
    }

    /// Whose list it is.
    pub const fn source(self) -> Source {
        match self {
            Self::Cards => Source::Cards,
            Self::GiftCards => Source::GiftCards,
            Self::Payouts => Source::Payouts,
        }
    }
}

/// What came of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EntryStatus {
    /// It is not known yet.
    Pending,
    /// Made or paid.
    Done,
    /// Not done, and it never will be.
    Refused,
    /// It was done, and the money came back.
    Returned,
}

/// An order as it stands.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct EntryOnWire {
    /// The `Idempotency-Key` that it came with.
    #[schema(value_type = String)]
    pub key: Text<EffectId>,
    /// The provider's word for what was ordered, for people.
    pub product: String,
    /// What was ordered.
    #[schema(value_type = Amount)]
    pub amount: Text<Amount>,
    /// ISO 4217.
    #[schema(value_type = String)]
    pub currency: Text<Currency>,
    /// What came of it.
    pub status: EntryStatus,
    /// When that last changed, in Unix milliseconds.
    pub at_ms: u64,
}

/// Part of a list. It names the question again.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct EntryPage {
    /// The question's.
    pub list: ListName,
    /// The question's.
    #[schema(required)]
    #[serde(deserialize_with = "Option::deserialize")]
    pub after: Option<String>,
    /// The question's.
    #[schema(required)]
    #[serde(deserialize_with = "Option::deserialize")]
    pub key: Option<String>,
    /// In the list's order.
    pub entries: Vec<EntryOnWire>,
    /// What to ask for `after`; null when there are no entries behind the cursor now.
    #[schema(required)]
    #[serde(deserialize_with = "Option::deserialize")]
    pub next: Option<String>,
}

/// A question about a list.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Which.
    pub list: ListName,
    /// Behind which cursor.
    pub after: Option<&'a str>,
    /// For which key alone.
    pub key: Option<&'a str>,
}

impl EntryPage {
    /// As the provider says it.
    pub fn of(asked: Asked<'_>, page: Page<Entry>) -> Self {
        let entries = page.items.into_iter().map(|entry| EntryOnWire {
            key: Text(entry.key),
            product: entry.product.to_string(),
            amount: Text(Amount(entry.amount)),
            currency: Text(entry.currency),
            status: match entry.standing {
                Standing::NotAsked | Standing::UnderWay => EntryStatus::Pending,
                Standing::Done => EntryStatus::Done,
                Standing::Refused => EntryStatus::Refused,
                Standing::Returned => EntryStatus::Returned,
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
    pub fn read(self, asked: Asked<'_>) -> Result<Page<Entry>, Unreadable> {
        let same = self.list == asked.list && self.after.as_deref() == asked.after && self.key.as_deref() == asked.key;
        if !same {
            return Err(Unreadable("it is about another list"));
        }
        if self.next.is_some() && self.next.as_deref() == asked.after {
            return Err(Unreadable("a page leads to itself"));
        }
        let next = match self.next {
            None => None,
            Some(text) => Some(Cursor::new(text).ok_or(Unreadable("no cursor"))?),
        };
        if asked.key.is_none() && next.is_none() != self.entries.is_empty() {
            return Err(Unreadable("a page leads on as long as it has entries"));
        }
        let items = self.entries.into_iter().map(|entry| Entry {
            key: entry.key.0,
            product: entry.product.into(),
            amount: entry.amount.0.0,
            currency: entry.currency.0,
            standing: match entry.status {
                EntryStatus::Pending => Standing::UnderWay,
                EntryStatus::Done => Standing::Done,
                EntryStatus::Refused => Standing::Refused,
                EntryStatus::Returned => Standing::Returned,
            },
            at: Timestamp(entry.at_ms),
        });
        let items: Vec<Entry> = items.collect();
        Ok(Page { items, next })
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
        let asked = Asked {
            list: ListName::Cards,
            after: Some("b"),
            key: None,
        };
        let entry = json!({"key": format!("eff_{:032x}", 1), "product": "card", "amount": "5", "currency": "USD",
            "status": "done", "at_ms": 1});
        let page = json!({"list": "cards", "after": "b", "key": null, "entries": [entry], "next": "c"});
        let read = |page: Value| serde_json::from_value::<EntryPage>(page).ok()?.read(asked).ok();
        assert_eq!(read(page.clone()).unwrap().items.len(), 1);
        for (member, value) in [("next", json!("b")), ("next", Value::Null), ("after", json!("a"))] {
            let mut wrong = page.clone();
            wrong[member] = value;
            assert!(read(wrong).is_none(), "{member}");
        }
        for member in ["next", "after", "key"] {
            let mut lacking = page.clone();
            lacking.as_object_mut().unwrap().remove(member);
            assert!(read(lacking).is_none(), "{member}");
        }
    }
}
