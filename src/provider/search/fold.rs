//! Normalizes text for comparison: resolves compatibility forms, removes accents and case, and drops decorative words.

use icu_normalizer::DecomposingNormalizerBorrowed;

/// Legal forms of companies, dropped from the end of a name.
const LEGAL: &[&str] = &[
    "inc",
    "incorporated",
    "llc",
    "llp",
    "lp",
    "ltd",
    "limited",
    "corp",
    "corporation",
    "co",
    "company",
    "plc",
    "gmbh",
    "ag",
    "kg",
    "kgaa",
    "se",
    "sa",
    "sas",
    "sarl",
    "srl",
    "spa",
    "bv",
    "nv",
    "ab",
    "asa",
    "oy",
    "oyj",
    "kk",
    "pty",
    "ltda",
    "and",
];

/// Words that describe a business but do not identify it.
const PLAIN: &[&str] = &[
    "store",
    "stores",
    "shop",
    "shops",
    "online",
    "official",
    "website",
    "site",
    "web",
    "app",
    "com",
    "www",
    "near",
    "me",
    "us",
    "usa",
    "uk",
    "gift",
    "card",
    "cards",
    "giftcard",
    "subscription",
    "membership",
    "account",
    "order",
    "orders",
    "purchase",
    "payment",
    "payments",
    "checkout",
    "service",
    "services",
    "supercenter",
    "supermarket",
    "supermarkets",
    "marketplace",
    "grocery",
    "groceries",
    "restaurant",
    "restaurants",
    "coffee",
    "pizza",
    "burgers",
    "fries",
    "donuts",
    "hotel",
    "hotels",
    "resort",
    "resorts",
    "airline",
    "airlines",
    "pharmacy",
    "gas",
    "station",
    "outlet",
    "and",
];

/// Card processors that put their prefix and an asterisk before a merchant's name.
const PROCESSORS: &[&str] = &["sq", "tst", "sp", "pp", "py", "paypal"];

pub(super) fn is_plain(word: &str) -> bool {
    PLAIN.contains(&word)
}

pub(super) fn is_legal(word: &str) -> bool {
    LEGAL.contains(&word)
}

/// Lower case, without accents, with compatibility characters decomposed.
pub(super) fn folded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in DecomposingNormalizerBorrowed::new_nfkd().normalize(text).chars() {
        match c {
            // Combining marks.
            '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' => {}
            // Letters that no Unicode decomposition splits.
            'ß' | 'ẞ' => out.push_str("ss"),
            'æ' | 'Æ' => out.push_str("ae"),
            'œ' | 'Œ' => out.push_str("oe"),
            'ø' | 'Ø' => out.push('o'),
            'ł' | 'Ł' => out.push('l'),
            'đ' | 'Đ' | 'ð' | 'Ð' => out.push('d'),
            'þ' | 'Þ' => out.push_str("th"),
            'ı' => out.push('i'),
            _ => out.extend(c.to_lowercase()),
        }
    }
    out
}

/// The words of a name in order, "&" as "and", without its legal form, its article and the additions of a card
/// statement.
pub(super) fn words(text: &str) -> Vec<String> {
    let text = folded(text);
    let mut words = split(merchant_part(&text));
    join_initials(&mut words);
    while words.len() > 1 && words.last().is_some_and(|w| is_legal(w)) {
        words.pop();
    }
    if words.len() > 1 && words[0] == "the" {
        words.remove(0);
    }
    words
}

/// A statement's line is `PROCESSOR *MERCHANT` or `MERCHANT*CODE`.
fn merchant_part(text: &str) -> &str {
    match text.split_once('*') {
        Some((before, after)) if PROCESSORS.contains(&before.trim()) => after,
        Some((before, _)) if !before.trim().is_empty() => before,
        _ => text,
    }
}

fn split(text: &str) -> Vec<String> {
    let mut spaced = String::with_capacity(text.len() + 8);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            // An apostrophe is part of a word.
            '\'' | '’' | '‘' | 'ʼ' | '`' | '´' => {}
            '&' => spaced.push_str(" and "),
            // At the end of a word it means "plus", between words "and".
            '+' if rest.peek().is_none_or(|next| next.is_whitespace()) && !spaced.ends_with(' ') => {
                spaced.push_str(" plus ");
            }
            '+' => spaced.push_str(" and "),
            // Preserved, so that a store number is recognized below.
            '#' => spaced.push_str(" #"),
            _ if c.is_alphanumeric() => spaced.push(c),
            _ => spaced.push(' '),
        }
    }
    let mut words: Vec<String> = Vec::new();
    for word in spaced.split_whitespace() {
        let digits = word.trim_start_matches('#');
        let all_digits = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        let number_of_a_store = all_digits && (word.starts_with('#') || digits.len() >= 5);
        if digits.is_empty() || (number_of_a_store && !words.is_empty()) {
            continue;
        }
        words.push(if matches!(digits, "und" | "et") { "and" } else { digits }.to_owned());
    }
    words
}

/// Joins initials: "s a" is "sa" and "t j" is "tj", with or without dots.
fn join_initials(words: &mut Vec<String>) {
    let single = |word: &String| word.chars().count() == 1 && word.chars().all(char::is_alphabetic);
    let mut at = 0;
    while at + 1 < words.len() {
        let mut end = at;
        while end < words.len() && single(&words[end]) {
            end += 1;
        }
        if end - at > 1 {
            let joined = words[at..end].concat();
            words.splice(at..end, [joined]);
        }
        at += 1;
    }
}

/// Rough English phonetic form: equal for spellings that are often confused, and for doubled letters.
pub(super) fn sound(text: &str) -> String {
    let plain = text
        .replace("ph", "f")
        .replace("ck", "k")
        .replace("qu", "kw")
        .replace('x', "ks");
    let letters: Vec<char> = plain.chars().collect();
    let mut out = String::with_capacity(letters.len());
    let mut last = ' ';
    for (at, &letter) in letters.iter().enumerate() {
        let next = letters.get(at + 1).copied().unwrap_or(' ');
        let heard = match letter {
            'c' if matches!(next, 'e' | 'i' | 'y') => 's',
            'c' if next != 'h' => 'k',
            'q' => 'k',
            'z' => 's',
            'y' => 'i',
            other => other,
        };
        // A repeated digit is not a typing error.
        if heard != last || heard.is_ascii_digit() {
            out.push(heard);
        }
        last = heard;
    }
    out
}
