//! How names that people type are compared with names that are known: spelling, accents, legal forms, joined and split
//! words, beginnings, slips of the hand. Merchants and gift cards are found by the same rules.
//!
//! A match has points from 0 (none) to 1,000 (the same name); what counts as a match at all is decided here, so that a
//! list never holds a guess. Addresses are compared by [`address`] alone: a slip in an address is another address.

mod distance;
mod fold;
pub mod host;

use self::distance::{Spelling, edit_cost};
use self::fold::{is_plain, sound, words};

/// Points of the same name.
pub const SAME: u32 = 1_000;
/// The same in the ear, or but for doubled letters.
const SOUNDS_SAME: u32 = 940;
/// Shorter names sound alike too easily.
const MIN_SOUND_LEN: usize = 4;
/// What words beside the name cost, such as "store" or "near me".
const EXTRA_WORDS_COST: u32 = 40;
/// Points of a beginning, to which its share of the name adds up to [`PREFIX_MORE`].
const PREFIX: u32 = 700;
const PREFIX_MORE: u32 = 200;
/// A beginning is at least so many letters, and so many hundredths of the name.
const MIN_PREFIX_LEN: usize = 4;
const PREFIX_SHARE: usize = 40;
/// Points of a name with slips, before they are taken off.
const MISSPELLED: u32 = 690;
/// Points of words that all match words of a name, exactly or by their beginning, and of words that do with slips, to which their share of the name is added.
const WITHIN: u32 = 720;
const WITHIN_MISSPELLED: u32 = 540;
/// The beginning of a word is at least so many letters.
const MIN_WORD_PREFIX_LEN: usize = 3;
/// A match of fewer points than this is no reading of the query when another reading is certain.
const CERTAIN: u32 = 930;

/// Longer queries are cut: nobody's name is longer, and comparing takes time.
const MAX_NAME_LEN: usize = 100;

/// A name, ready to be compared.
#[derive(Clone, Debug)]
pub struct SearchName {
    words: usize,
    /// Each by itself.
    parts: Vec<Spelling>,
    /// All words as one, with "and".
    joined: String,
    /// Without "and".
    bare: Spelling,
    /// As it sounds.
    sound: Spelling,
}

impl SearchName {
    /// `None` when nothing of the text is left to compare.
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
        // Initials joined by "and" are a name of their own: H&M is not whatever else is called HM.
        self.joined == other.joined || (self.bare == other.bare && self.bare.len() >= MIN_PREFIX_LEN)
    }
}

/// What somebody looks for.
#[derive(Clone, Debug)]
pub struct SearchQuery {
    full: SearchName,
    /// Without words that say nothing of who is meant.
    core: Option<SearchName>,
}

impl SearchQuery {
    /// `None` when nothing of the text is left to look for.
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

    /// How well a name fits; 0 when it does not.
    pub fn score(&self, name: &SearchName) -> u32 {
        // What is left of "american airlines" begins a lot of names, and means one.
        let core = self
            .core
            .as_ref()
            .map_or(0, |core| spelling_score(core, name).saturating_sub(EXTRA_WORDS_COST));
        spelling_score(&self.full, name)
            .max(prefix_score(&self.full, name))
            .max(core)
    }

    /// How well the words of the query match those of a name, in any order: for a list to choose from, where "coffee" means
    /// everything with coffee in it. 0 unless each significant word is one of the name's, the beginning of one, or one with
    /// slips.
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

/// How a word of a query is one of a name's; the better ones are greater.
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

/// Keeps what is a match, best first; equals stay in their order. Where one reading is certain, guesses go.
pub fn ranked<T>(scored: impl Iterator<Item = (u32, T)>) -> Vec<T> {
    let mut found: Vec<(u32, T)> = scored.filter(|(points, _)| *points > 0).collect();
    found.sort_by_key(|(points, _)| std::cmp::Reverse(*points));
    let best = found.first().map_or(0, |(points, _)| *points);
    let least = if best >= CERTAIN { PREFIX } else { 1 };
    let kept = found.into_iter().filter(|(points, _)| *points >= least);
    kept.map(|(_, item)| item).collect()
}

/// Points of a name that was written out, rightly or not.
fn spelling_score(wanted: &SearchName, name: &SearchName) -> u32 {
    if wanted.is(name) {
        return SAME;
    }
    if wanted.sound == name.sound && wanted.sound.len() >= MIN_SOUND_LEN {
        return SOUNDS_SAME;
    }
    // Words split otherwise are one slip more, or "wall art" would be a shop.
    let split = u32::from(wanted.words != name.words);
    let written = edit_cost(&wanted.bare, &name.bare, split);
    let spoken = edit_cost(&wanted.sound, &name.sound, split);
    let fewest = written.into_iter().chain(spoken).min();
    fewest.map_or(0, |slips| MISSPELLED.saturating_sub(10 * slips))
}

/// Points of a name of which only the beginning was written.
fn prefix_score(wanted: &SearchName, name: &SearchName) -> u32 {
    let share = wanted.bare.len() * 100 / name.bare.len().max(1);
    if wanted.bare.len() < MIN_PREFIX_LEN || share < PREFIX_SHARE || !name.bare.text.starts_with(&wanted.bare.text) {
        return 0;
    }
    PREFIX + PREFIX_MORE * u32::try_from(share).unwrap_or(0) / 100
}

#[cfg(test)]
mod tests;
