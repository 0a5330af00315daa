//! The sandbox's directory of merchants: names and aliases from a file that is compiled in, found by [`crate::search`].

use std::collections::HashMap;

use purser_actors::port::PortFuture;

use crate::merchants::{Acceptance, CardType, Merchant, MerchantDirectory, MerchantPage, MerchantQuery};
use crate::search::host::{Host, registered};
use crate::search::{SAME, SearchName, SearchQuery, ranked};
use purser_sandbox::faults::{FaultTexts, Faults};

const TEXTS: FaultTexts = FaultTexts {
    unreachable: "the sandbox's directory of merchants is unreachable",
    malformed: "the answer is no directory's answer",
};
const DIRECTORY: &str = include_str!("merchants/directory.txt");

/// An entry of the directory.
struct DirectoryEntry {
    id: String,
    name: String,
    domain: String,
    category: String,
    countries: Vec<String>,
    /// In the order of [`CardType::ALL`].
    accepted: [Acceptance; 3],
    notes: Option<String>,
    /// Name and aliases.
    names: Vec<SearchName>,
    /// The label of its domain, matched exactly.
    label: Option<SearchName>,
}

/// A simulated directory.
pub struct SandboxMerchants {
    entries: Vec<DirectoryEntry>,
    /// Indexes into `entries`, ordered by name.
    by_name: Vec<usize>,
    pub faults: Faults,
}

impl SandboxMerchants {
    /// Reads the directory.
    ///
    /// # Errors
    /// Names the line that does not match its section's header.
    pub fn new() -> Result<Self, String> {
        Self::read(DIRECTORY)
    }

    fn read(text: &str) -> Result<Self, String> {
        let mut entries: Vec<DirectoryEntry> = Vec::new();
        let mut section = None;
        for (n, line) in text.lines().enumerate() {
            let wrong = |what: &str| format!("line {}: {what}", n + 1);
            if line.starts_with('#') || line.trim().is_empty() {
                continue;
            }
            if let Some(head) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
                section = Some(DirectorySection::read(head).ok_or_else(|| wrong("not a head"))?);
                continue;
            }
            let section = section.as_ref().ok_or_else(|| wrong("no head above"))?;
            entries.push(section.entry(line).ok_or_else(|| wrong("not a merchant"))?);
        }
        let mut ids = HashMap::new();
        if let Some(twice) = entries.iter().find(|e| ids.insert(e.id.clone(), ()).is_some()) {
            return Err(format!("{} is there twice", twice.id));
        }
        let mut by_name: Vec<usize> = (0..entries.len()).collect();
        by_name.sort_by_key(|&at| entries[at].name.to_lowercase());
        Ok(Self {
            entries,
            by_name,
            faults: Faults::new(TEXTS, 0),
        })
    }

    /// Number of merchants.
    pub const fn count(&self) -> usize {
        self.entries.len()
    }

    fn find(&self, q: &str) -> Vec<&DirectoryEntry> {
        let is_domain = |text: &str| self.entries.iter().any(|e| e.domain == text);
        if let Some(host) = Host::known(q, is_domain) {
            return self.at(&host);
        }
        let Some(wanted) = SearchQuery::new(q) else {
            return Vec::new();
        };
        ranked(self.entries.iter().map(|entry| (entry.points(&wanted), entry)))
    }

    /// Merchants of a host. The longest domain wins, so that `aws.amazon.com` is not the shop.
    fn at(&self, host: &Host) -> Vec<&DirectoryEntry> {
        let longest = self.entries.iter().map(|e| host.within(&e.domain)).max().unwrap_or(0);
        if longest > 0 {
            return self
                .entries
                .iter()
                .filter(|e| host.within(&e.domain) == longest)
                .collect();
        }
        self.entries.iter().filter(|e| host.is_abroad(&e.domain)).collect()
    }

    fn page(&self, wanted: &MerchantQuery) -> Option<MerchantPage> {
        let found = match &wanted.q {
            Some(q) => self.find(q),
            None => self.by_name.iter().filter_map(|&at| self.entries.get(at)).collect(),
        };
        let from = match &wanted.starting_after {
            None => 0,
            Some(id) => found.iter().position(|entry| entry.id == *id)? + 1,
        };
        let rest = &found[from..];
        let merchants = rest
            .iter()
            .take(wanted.limit)
            .map(|entry| entry.to_merchant(wanted.card_type));
        Some(MerchantPage {
            merchants: merchants.collect(),
            has_more: rest.len() > wanted.limit,
        })
    }
}

impl MerchantDirectory for SandboxMerchants {
    fn search<'a>(&'a self, wanted: &'a MerchantQuery) -> PortFuture<'a, Option<MerchantPage>> {
        Box::pin(async move {
            self.faults.before("merchants", |_| true).await?;
            Ok(self.page(wanted))
        })
    }
}

impl DirectoryEntry {
    fn points(&self, wanted: &SearchQuery) -> u32 {
        let named = self.names.iter().map(|name| wanted.score(name)).max().unwrap_or(0);
        let by_domain = self.label.as_ref().is_some_and(|label| wanted.score(label) == SAME);
        // A match by name comes before a match by alias.
        let alias = u32::from(self.names.first().is_none_or(|name| wanted.score(name) < named));
        if by_domain {
            named.max(SAME - 2)
        } else {
            named.saturating_sub(alias)
        }
    }

    fn to_merchant(&self, card_type: CardType) -> Merchant {
        let places = CardType::ALL.into_iter().zip(self.accepted);
        let status = places
            .filter(|(card, _)| *card == card_type)
            .map(|(_, status)| status)
            .next();
        Merchant {
            id: self.id.clone(),
            name: self.name.clone(),
            url: Some(format!("https://{}", self.domain)),
            category: self.category.clone(),
            countries: self.countries.clone(),
            status: status.unwrap_or(Acceptance::Unknown),
            notes: self.notes.clone(),
        }
    }
}

/// Values shared by the merchants of one section.
struct DirectorySection {
    category: String,
    countries: Vec<String>,
    accepted: [Acceptance; 3],
    notes: Option<String>,
}

impl DirectorySection {
    fn read(head: &str) -> Option<Self> {
        let mut parts = head.split('|').map(str::trim);
        let (category, countries, cards, notes) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let mark = |mark: &str| match mark {
            "+" => Some(Acceptance::Accepted),
            "-" => Some(Acceptance::NotAccepted),
            "?" => Some(Acceptance::Unknown),
            _ => None,
        };
        let accepted: Vec<Acceptance> = cards.split_whitespace().map(mark).collect::<Option<_>>()?;
        let countries = countries.split_whitespace().filter(|c| *c != "*");
        Some(Self {
            category: category.to_owned(),
            countries: countries.map(str::to_owned).collect(),
            accepted: accepted.try_into().ok()?,
            notes: (!notes.is_empty()).then(|| notes.to_owned()),
        })
    }

    fn entry(&self, line: &str) -> Option<DirectoryEntry> {
        let mut parts = line.split('|').map(str::trim);
        let (name, domain, aliases) = (parts.next()?, parts.next()?, parts.next()?);
        let aliases = aliases.split(',').map(str::trim).filter(|alias| !alias.is_empty());
        let names: Vec<SearchName> = std::iter::once(name)
            .chain(aliases)
            .map(SearchName::new)
            .collect::<Option<_>>()?;
        Some(DirectoryEntry {
            id: format!("mer_{}", domain.replace('.', "_")),
            name: name.to_owned(),
            domain: domain.to_owned(),
            category: self.category.clone(),
            countries: self.countries.clone(),
            accepted: self.accepted,
            notes: self.notes.clone(),
            names,
            label: registered(domain).and_then(SearchName::new),
        })
    }
}

#[cfg(test)]
mod tests;
