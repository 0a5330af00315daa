//! Finds merchants' addresses in pasted text: a full URL, a host, a host followed by a legal form.
//!
//! No typing error is tolerated: `amaz0n.com` is another site, and the user wants to know who owns the address. Only
//! the country may differ, because `amazon.de` is the same merchant as `amazon.com`.

use super::fold::{folded, is_legal, is_plain};

/// Endings that make a dotted word an address; any two-letter ending does too.
const GENERIC: &[&str] = &[
    "com", "net", "org", "info", "biz", "shop", "store", "online", "site", "app", "dev", "xyz", "zip", "top", "club",
    "vip", "live", "work", "link", "click", "example", "test", "invalid", "market", "cloud", "games",
];

/// Country endings under which merchants use the same name: the part before them is compared.
const COUNTRIES: &[&str] = &[
    "com", "eu", "de", "fr", "es", "it", "nl", "be", "at", "ch", "pl", "cz", "se", "dk", "no", "fi", "pt", "ie", "ca",
    "gr", "hu", "ro", "sk", "si", "hr", "lt", "lv", "ee", "lu", "co.uk", "com.au", "co.nz", "co.jp", "com.mx",
    "com.br", "com.sg", "co.in", "co.kr", "com.tr", "com.ar", "com.co", "com.pe", "jp", "mx", "sg",
];

/// A host in lower case, without `www.`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host(String);

impl Host {
    /// The address in a text, if the text is one. It may be followed by a legal form or decorative words.
    pub fn find(text: &str) -> Option<Self> {
        let text = folded(text.trim());
        let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((&text, ""));
        let words = rest
            .split(|c: char| !c.is_alphanumeric() && c != '.')
            .map(|w| w.replace('.', ""));
        if !words.filter(|w| !w.is_empty()).all(|w| is_legal(&w) || is_plain(&w)) {
            return None;
        }
        Self::read(first)
    }

    fn read(word: &str) -> Option<Self> {
        let (scheme, rest) = word.split_once("//").map_or((None, word), |(s, r)| (Some(s), r));
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let host = host.rsplit('@').next().unwrap_or_default();
        let host = host.split(':').next().unwrap_or_default();
        let host = host.trim_matches(|c: char| !c.is_alphanumeric());
        let host = host.strip_prefix("www.").unwrap_or(host);
        let label = |l: &str| !l.is_empty() && l.chars().all(|c| c.is_alphanumeric() || c == '-');
        let shaped = host.contains('.') && host.split('.').all(label);
        (shaped && (scheme.is_some() || Self::has_ending(host) || word.contains('/'))).then(|| Self(host.to_owned()))
    }

    fn has_ending(host: &str) -> bool {
        let last = host.rsplit('.').next().unwrap_or_default();
        let country = last.len() == 2 && last.chars().all(|c| c.is_ascii_lowercase());
        country || GENERIC.contains(&last)
    }

    /// As [`Host::find`], or the text's only word if it is exactly a known domain such as `e.leclerc`.
    pub fn known(text: &str, is_domain: impl Fn(&str) -> bool) -> Option<Self> {
        let exact = folded(text.trim());
        if is_domain(&exact) {
            return Some(Self(exact));
        }
        Self::find(text)
    }

    /// How many characters of the host this domain covers, including as a parent of a subdomain; 0 for another domain.
    pub fn within(&self, domain: &str) -> usize {
        let parent = self
            .0
            .strip_suffix(domain)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
        if parent { domain.len() } else { 0 }
    }

    /// Whether the two differ in their country only.
    pub fn is_abroad(&self, domain: &str) -> bool {
        let (Some(own), Some(other)) = (registered(&self.0), registered(domain)) else {
            return false;
        };
        // Shorter names often belong to another owner in the next country.
        own.len() >= 4 && own == other
    }
}

/// The registered part: `amazon` of `smile.amazon.co.uk`.
pub fn registered(host: &str) -> Option<&str> {
    let ends = |ending: &&&str| host.strip_suffix(**ending).is_some_and(|rest| rest.ends_with('.'));
    let longest = COUNTRIES.iter().filter(ends).max_by_key(|e| e.len())?;
    let rest = host.strip_suffix(longest)?.strip_suffix('.')?;
    rest.rsplit('.').next()
}
