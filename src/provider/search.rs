//! Compares names that people type with known names. Tolerates spelling variants, accents, legal forms, joined and
//! split words, prefixes and typing errors. Merchants and gift cards use the same rules.
//!
//! A match scores from 0 (none) to 1,000 (the same name). This module decides what counts as a match, so that a list
//! never holds a guess. Addresses are only compared by [`host`], because a typing error in an address is another
//! address.

mod distance;
mod fold;
pub mod host;

use self::distance::{Spelling, edit_cost};
use self::fold::{is_plain, sound, words};

/// Score of the same name.
pub const SAME: u32 = 1_000;
/// Score of a name that sounds the same, or differs in doubled letters only.
const SOUNDS_SAME: u32 = 940;
/// Shorter names sound alike too easily.
const MIN_SOUND_LEN: usize = 4;
/// Cost of words beside the name, such as "store" or "near me".
const EXTRA_WORDS_COST: u32 = 40;
/// Score of a prefix. The matched share of the name adds up to [`PREFIX_MORE`].
const PREFIX: u32 = 700;
const PREFIX_MORE: u32 = 200;
/// Minimum letters of a prefix, and minimum hundredths of the name.
const MIN_PREFIX_LEN: usize = 4;
const PREFIX_SHARE: usize = 40;
/// Score of a misspelled name, before its errors are deducted.
const MISSPELLED: u32 = 690;
/// Score when all query words match words of a name exactly or by prefix, and when they match with typing errors. The
/// matched share of the name is added.
const WITHIN: u32 = 720;
const WITHIN_MISSPELLED: u32 = 540;
/// Minimum letters of a word prefix.
const MIN_WORD_PREFIX_LEN: usize = 3;
/// When another match is certain, a match below this score is dropped.
const CERTAIN: u32 = 930;

/// Longer queries are cut: no name is longer, and comparing takes time.
const MAX_NAME_LEN: usize = 100;

/// A name, prepared for comparison.
#[derive(Clone, Debug)]
pub struct SearchName {
    words: usize,
    /// Each word separately.
    parts: Vec<Spelling>,
    /// All words as one, with "and".
    joined: String,
    /// Spelling without "and".
    bare: Spelling,
    sound: Spelling,
}

impl SearchName {
    /// `None` when the text has nothing to compare.
    pub fn new(text: &str) -> Option<Self> {
        Self::of(&words(text))
    }

    fn of(words: &[String]) -> Option<Self> {
        let bare: String = words.iter().filter(|w| *w != "and").map(String::as_str).collect();
        (!bare.is_empty()).then(|| Self {
            words: words.len(),
            parts: words.iter().cloned().map(Spelling::new).collect(),
            joined: words.concat(),
            sound: Spelling::new(sound(&bare)),
            bare: Spelling::new(bare),
        })
    }

    fn is(&self, other: &Self) -> bool {
        // Initials joined by "and" are a distinct name: H&M differs from any other HM.
        self.joined == other.joined || (self.bare == other.bare && self.bare.len() >= MIN_PREFIX_LEN)
    }
}

#[derive(Clone, Debug)]
pub struct SearchQuery {
    full: SearchName,
    /// The query without words that do not identify anyone.
    core: Option<SearchName>,
}

impl SearchQuery {
    /// `None` when the text has nothing to search for.
    pub fn new(text: &str) -> Option<Self> {
        let text: String = text.chars().take(MAX_NAME_LEN).collect();
        let all = words(&text);
        let full = SearchName::of(&all)?;
        let core: Vec<String> = all.iter().filter(|w| !is_plain(w)).cloned().collect();
        let core = if core.len() < all.len() {
            SearchName::of(&core)
        } else {
            None
        };
        Some(Self { full, core })
    }

    /// Score of a name; 0 when it does not match.
    pub fn score(&self, name: &SearchName) -> u32 {
        // The rest of "american airlines" begins many names but means only one.
        let core = self
            .core
            .as_ref()
            .map_or(0, |core| spelling_score(core, name).saturating_sub(EXTRA_WORDS_COST));
        spelling_score(&self.full, name)
            .max(prefix_score(&self.full, name))
            .max(core)
    }

    /// Scores how well the query's words match those of a name, in any order. Used for lists, where "coffee" means
    /// everything with coffee in it. 0 unless each significant word equals a word of the name, is a prefix of one, or
    /// is one with typing errors.
    pub fn points_within(&self, name: &SearchName) -> u32 {
        let (mut met, mut slipped) = (0, false);
        for part in &self.full.parts {
            match name.parts.iter().filter_map(|word| word_match(part, word)).max() {
                Some(how) => {
                    met += 1;
                    slipped |= how == Match::Misspelled;
                }
                None if is_plain(&part.text) => {}
                None => return 0,
            }
        }
        if met == 0 {
            return 0;
        }
        let share = met * 100 / self.full.parts.len().max(name.parts.len()).max(1);
        let base = if slipped { WITHIN_MISSPELLED } else { WITHIN };
        base + u32::try_from(share).unwrap_or(0)
    }
}

/// How a query word matches a word of a name. A greater variant is a better match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Match {
    Misspelled,
    Prefix,
    Same,
}

fn word_match(part: &Spelling, word: &Spelling) -> Option<Match> {
    if part == word {
        return Some(Match::Same);
    }
    if part.len() >= MIN_WORD_PREFIX_LEN && word.text.starts_with(&part.text) {
        return Some(Match::Prefix);
    }
    edit_cost(part, word, 0).map(|_| Match::Misspelled)
}

/// Returns the matches, best first; equal scores stay in order. Where one match is certain, guesses are dropped.
pub fn ranked<T>(scored: impl Iterator<Item = (u32, T)>) -> Vec<T> {
    let mut found: Vec<(u32, T)> = scored.filter(|(points, _)| *points > 0).collect();
    found.sort_by_key(|(points, _)| std::cmp::Reverse(*points));
    let best = found.first().map_or(0, |(points, _)| *points);
    let least = if best >= CERTAIN { PREFIX } else { 1 };
    let kept = found.into_iter().filter(|(points, _)| *points >= least);
    kept.map(|(_, item)| item).collect()
}

/// Score of a name that was typed in full, correctly or not.
fn spelling_score(wanted: &SearchName, name: &SearchName) -> u32 {
    if wanted.is(name) {
        return SAME;
    }
    if wanted.sound == name.sound && wanted.sound.len() >= MIN_SOUND_LEN {
        return SOUNDS_SAME;
    }
    // A different word split counts as one more error. Otherwise "wall art" would be a shop.
    let split = u32::from(wanted.words != name.words);
    let written = edit_cost(&wanted.bare, &name.bare, split);
    let by_sound = edit_cost(&wanted.sound, &name.sound, split);
    let fewest = written.into_iter().chain(by_sound).min();
    fewest.map_or(0, |slips| MISSPELLED.saturating_sub(10 * slips))
}

/// Score of a name of which only a prefix was typed.
fn prefix_score(wanted: &SearchName, name: &SearchName) -> u32 {
    let share = wanted.bare.len() * 100 / name.bare.len().max(1);
    if wanted.bare.len() < MIN_PREFIX_LEN || share < PREFIX_SHARE || !name.bare.text.starts_with(&wanted.bare.text) {
        return 0;
    }
    PREFIX + PREFIX_MORE * u32::try_from(share).unwrap_or(0) / 100
}

#[cfg(test)]
mod tests;
