#![allow(clippy::unwrap_used)]

use super::fold::{sound, words};
use super::host::Host;
use super::*;

fn score(wanted: &str, name: &str) -> u32 {
    SearchQuery::new(wanted).unwrap().score(&SearchName::new(name).unwrap())
}

// Checks: decorative words are dropped and identifying words remain.
#[test]
fn search_names_are_split_into_words() {
    for (text, expected) in [
        ("Macy’s, Inc.", "macys"),
        ("H&M", "h and m"),
        ("Disney+", "disney plus"),
        ("Marks + Spencer", "marks and spencer"),
        ("Carrefour S.A.", "carrefour"),
        ("Lidl GmbH & Co. KG", "lidl"),
        ("The Gap", "gap"),
        ("The", "the"),
        ("Inc", "inc"),
        ("T.J. Maxx", "tj maxx"),
        ("Ｗａｌｍａｒｔ", "walmart"),
        ("Żabka Łódź Straße Ærø", "zabka lodz strasse aero"),
        ("STARBUCKS STORE 04512", "starbucks store"),
        ("WALMART #12", "walmart"),
        ("Motel 6", "motel 6"),
        ("SQ *BLUE BOTTLE", "blue bottle"),
        ("AMZN Mktp*2K4LL", "amzn mktp"),
        ("\u{1b}[31m!!!", "31m"),
        ("😀 —", ""),
    ] {
        assert_eq!(words(text).join(" "), expected, "{text}");
    }
    assert_eq!(sound("netflicks"), sound("netflix"));
    assert_eq!(sound("sephora"), sound("sefora"));
    assert_ne!(sound("forever22"), sound("forever2"));
}

// Checks: the order of the match kinds, and the limits of each.
#[test]
fn a_better_match_has_more_points() {
    assert_eq!(score("Barnes and Noble", "Barnes & Noble"), SAME);
    assert_eq!(score("bed bath beyond", "Bed Bath & Beyond"), SAME);
    let falling = [
        score("walmart", "Walmart"),
        score("walmart store", "Walmart"),
        score("walmar", "Walmart"),
        score("walma", "Walmart"),
        score("walmrat", "Walmart"),
        score("wamart", "Walmart"),
    ];
    assert!(
        falling.windows(2).all(|pair| pair[0] > pair[1]) && falling[5] > 0,
        "{falling:?}"
    );
    for (wanted, name) in [
        ("wal", "Walmart"),
        ("wall art", "Walmart"),
        ("nice", "Nike"),
        ("rose", "Ross"),
        ("big 6", "Big 5"),
        ("motel 66", "Motel 6"),
        ("hm", "H&M"),
        ("delta dental", "Delta"),
        ("marget", "Target"),
        ("東京", "Tokyo"),
    ] {
        assert_eq!(score(wanted, name), 0, "{wanted} is not {name}");
    }
    assert!(SearchQuery::new("!!! 😀").is_none() && SearchQuery::new("").is_none());
}

// Checks: words anywhere in a name match, prefixes and misspellings too, and every significant query word must match.
// Such a match never scores as high as the full name.
#[test]
fn words_are_found_within_a_name() {
    let within = |wanted: &str, name: &str| {
        let (wanted, name) = (SearchQuery::new(wanted).unwrap(), SearchName::new(name).unwrap());
        wanted.points_within(&name)
    };
    const NAME: &str = "Copper Kettle Coffee United States";
    for wanted in [
        "kettle",
        "coffee",
        "KETTLÉ coffee",
        "states",
        "kett",
        "ket",
        "kettel",
        "coffee gift card",
        "cofee kettle",
    ] {
        assert!((1..SAME).contains(&within(wanted, NAME)), "{wanted}");
    }
    for wanted in ["ke", "kettle garage", "tea", "ettle", "xk"] {
        assert_eq!(within(wanted, NAME), 0, "{wanted}");
    }
    assert!(within("kettle", NAME) > within("kettel", NAME));
    assert!(within("vpn", "Quietshield VPN") > within("coffee", NAME));
}

// Checks: a certain match removes the guesses; without one the guesses remain, best first.
#[test]
fn exact_match_ends_the_fuzzy_search() {
    let listed = |points: &[u32]| ranked(points.iter().copied().zip(0..));
    assert_eq!(listed(&[670, SAME, 0, 750]), [1, 3]);
    assert_eq!(listed(&[650, 0, 670]), [2, 0]);
    assert_eq!(listed(&[0, 0]), [0; 0]);
}

// Checks: only the whole address matches, with any text around it; a lookalike is another address.
#[test]
fn an_address_is_compared_as_a_whole() {
    let within = |text: &str, domain: &str| Host::find(text).is_some_and(|host| host.within(domain) > 0);
    for text in [
        "walmart.com",
        "https://www.walmart.com/ip/1?a=b#c",
        "//grocery.walmart.com",
        "user@walmart.com",
        "WALMART.COM:443",
        "Walmart.com, Inc.",
        "walmart.com official site",
    ] {
        assert!(within(text, "walmart.com"), "{text}");
    }
    for text in [
        "notwalmart.com",
        "walmart.com.evil.example",
        "walmart.co",
        "walmart com",
        "wal.mart",
    ] {
        assert!(!within(text, "walmart.com"), "{text}");
    }
    let abroad = |text: &str, domain: &str| Host::find(text).is_some_and(|host| host.is_abroad(domain));
    assert!(abroad("amazon.co.uk", "amazon.com") && abroad("www.zalando.fr", "zalando.de"));
    assert!(!abroad("amaz0n.de", "amazon.com") && !abroad("amazon.zip", "amazon.com") && !abroad("dm.fr", "dm.de"));
    assert!(!abroad("amazon.de.evil.com", "amazon.com"));
    assert_eq!(Host::find("j.crew outlet").map(|h| h.within("jcrew.com")), None);
}
