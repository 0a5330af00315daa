//! Weighted edit distance between two spellings. Swapped or doubled letters cost little and neighbouring keys a bit
//! more. Another first letter or another digit costs most.

/// A text, prepared for letter-by-letter comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spelling {
    pub(super) text: String,
    chars: Vec<char>,
    /// One bit per letter (some share one). Most spellings differ in too many letters to be measured at all.
    set: u64,
}

impl Spelling {
    pub(super) fn new(text: String) -> Self {
        let chars: Vec<char> = text.chars().collect();
        let set = chars.iter().fold(0, |set, &letter| set | 1 << (u32::from(letter) % 64));
        Self { text, chars, set }
    }

    pub(super) fn len(&self) -> usize {
        self.chars.len()
    }
}

/// In half edits.
const SWAP: u32 = 1;
const DOUBLE: u32 = 1;
const MISSING: u32 = 2;
const NEAR: u32 = 2;
const FAR: u32 = 3;
/// More than any name may have.
const NEVER: u32 = 100;

/// Vowels, and letters that look alike; keyboard neighbours come from [`ROWS`].
const ALIKE: [&str; 5] = ["aeiouy", "bd", "mn", "il", "uv"];
const ROWS: [&str; 3] = ["qwertyuiop", "asdfghjkl", "zxcvbnm"];

/// Most half edits in a name of this many letters.
const fn max_half_edits(letters: usize) -> u32 {
    match letters {
        0..=3 => 0,
        4 => 1,
        5..=8 => 2,
        9..=12 => 3,
        _ => 4,
    }
}

/// The cost of the edits between two spellings, `more` included. `None` when it is too high for a name this short.
pub(super) fn edit_cost(a: &Spelling, b: &Spelling, more: u32) -> Option<u32> {
    let most = max_half_edits(a.len().min(b.len())).checked_sub(more)?;
    let longer = u32::try_from(a.len().abs_diff(b.len())).unwrap_or(NEVER);
    // Each extra letter costs at least a doubled one, and each letter missing from the other a missing one.
    let lacking = (a.set & !b.set).count_ones().max((b.set & !a.set).count_ones());
    if most == 0 || longer > most || lacking * MISSING > most {
        return None;
    }
    let first = u32::from(a.chars.first() != b.chars.first());
    let weight = weight(&a.chars, &b.chars) + first;
    (weight <= most).then_some(weight + more)
}

/// Optimal string alignment with weights.
fn weight(a: &[char], b: &[char]) -> u32 {
    let mut before: Vec<u32> = Vec::new();
    let mut last: Vec<u32> = vec![0];
    for j in 0..b.len() {
        last.push(last[j] + one_more(b, j));
    }
    for i in 0..a.len() {
        let mut row = vec![last[0] + one_more(a, i)];
        for j in 0..b.len() {
            let replaced = last[j] + instead(a[i], b[j]);
            let mut best = replaced.min(last[j + 1] + one_more(a, i)).min(row[j] + one_more(b, j));
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] && a[i].is_alphabetic() && b[j].is_alphabetic() {
                best = best.min(before[j - 1] + SWAP);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(NEVER)
}

fn one_more(text: &[char], at: usize) -> u32 {
    match text[at] {
        digit if digit.is_numeric() => NEVER,
        letter if at > 0 && text[at - 1] == letter => DOUBLE,
        _ => MISSING,
    }
}

fn instead(a: char, b: char) -> u32 {
    if a == b {
        return 0;
    }
    if !a.is_ascii_lowercase() || !b.is_ascii_lowercase() {
        return NEVER;
    }
    if ALIKE.iter().any(|set| set.contains(a) && set.contains(b)) || neighbours(a, b) {
        return NEAR;
    }
    FAR
}

fn neighbours(a: char, b: char) -> bool {
    let place = |c| {
        ROWS.iter()
            .enumerate()
            .find_map(|(row, keys)| keys.find(c).map(|column| (row, column)))
    };
    let (Some(a), Some(b)) = (place(a), place(b)) else {
        return false;
    };
    match a.0.abs_diff(b.0) {
        0 => a.1.abs_diff(b.1) == 1,
        // Each keyboard row is shifted half a key to the right of the row above.
        1 => {
            let (upper, lower) = if a.0 < b.0 { (a.1, b.1) } else { (b.1, a.1) };
            upper == lower || upper == lower + 1
        }
        _ => false,
    }
}
