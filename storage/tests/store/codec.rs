//! The format of stored values, held by files of every version ever written.

use purser_storage::codec::{DecodeError, Stored, decode, decode_body, encode};

/// A value with one field of every kind that stored types use.
#[derive(Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
struct Sample {
    id: [u8; 16],
    amount: u128,
    small: u8,
    signed: i64,
    name: String,
    list: Vec<u32>,
    maybe: Option<u64>,
    state: State,
}

#[derive(Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
enum State {
    Open,
    Closed { at_ms: u64 },
}

impl Stored for Sample {
    const SCHEMA: u16 = 0xFFF0;
}

#[derive(Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
struct Other(u8);

impl Stored for Other {
    const SCHEMA: u16 = 0xFFF1;
}

fn sample() -> Sample {
    Sample {
        id: *b"0123456789abcdef",
        amount: 1_000_000_000_000_000_000_007,
        small: 200,
        signed: -5,
        name: "Zo\u{eb}".into(),
        list: vec![1, 2, 3],
        maybe: Some(u64::MAX),
        state: State::Closed {
            at_ms: 1_700_000_000_000,
        },
    }
}

/// Checks: the encoding of version 2 can always be read and is still the one written. Version 1 was in no release, and is
/// refused by name.
#[test]
fn version_2_encoding_is_unchanged() {
    let golden = include_bytes!("golden/codec_v2.bin");
    assert_eq!(decode::<Sample>(golden).unwrap(), sample());
    assert_eq!(encode(&sample()), golden);
    let old = [&[1], &golden[1..]].concat();
    assert_eq!(decode::<Sample>(&old), Err(DecodeError::Version(1)));
}

/// Checks: a changed, missing or additional byte is always detected.
#[test]
fn every_changed_byte_is_detected() {
    let good = encode(&sample());
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1;
        assert!(decode::<Sample>(&bad).is_err(), "byte {at}");
        assert!(decode::<Sample>(&good[..at]).is_err(), "cut at {at}");
    }
    let longer = [&good[..], &[0]].concat();
    assert_eq!(decode::<Sample>(&longer), Err(DecodeError::Checksum));
}

/// Checks: a value never decodes as another type, and the error names both types.
#[test]
fn bytes_of_another_type_are_rejected() {
    let wrong = DecodeError::Schema {
        found: Sample::SCHEMA,
        expected: Other::SCHEMA,
    };
    assert_eq!(decode::<Other>(&encode(&sample())), Err(wrong));
    assert_eq!(decode::<Other>(&[]), Err(DecodeError::Truncated));
    assert_eq!(decode::<Other>(&[9, 0, 0, 0, 0, 0, 0]), Err(DecodeError::Version(9)));
}

/// Checks: a type reads its older shape and writes only its own; an older program rejects the new shape by number.
#[test]
fn older_shape_is_upgraded_when_it_is_read() {
    #[derive(Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
    struct OldPrice(u32);
    impl Stored for OldPrice {
        const SCHEMA: u16 = 0xFFF3;
    }
    #[derive(Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
    struct Price {
        cents: u64,
        currency: String,
    }
    impl Stored for Price {
        const SCHEMA: u16 = 0xFFF4;

        fn upgrade(schema: u16, body: &[u8]) -> Result<Self, DecodeError> {
            match schema {
                OldPrice::SCHEMA => decode_body(body).map(|OldPrice(dollars)| Self {
                    cents: u64::from(dollars) * 100,
                    currency: "USD".to_owned(),
                }),
                found => Err(DecodeError::Schema {
                    found,
                    expected: Self::SCHEMA,
                }),
            }
        }
    }
    let price = Price {
        cents: 700,
        currency: "USD".to_owned(),
    };
    let old = encode(&OldPrice(7));
    assert_eq!(decode::<Price>(&old).unwrap(), price);
    assert_eq!(decode::<Price>(&encode(&price)).unwrap(), price);
    let unknown = |found, expected| DecodeError::Schema { found, expected };
    assert_eq!(decode::<OldPrice>(&encode(&price)), Err(unknown(0xFFF4, 0xFFF3)));
    assert_eq!(decode::<Price>(&encode(&Other(1))), Err(unknown(0xFFF1, 0xFFF4)));
    for at in 0..old.len() {
        let mut damaged = old.clone();
        damaged[at] ^= 1;
        assert!(decode::<Price>(&damaged).is_err(), "byte {at}");
    }
}

/// Checks: a corrupt length with a valid checksum cannot make the reader exceed its memory limit.
#[test]
fn huge_length_is_rejected() {
    #[derive(Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
    struct Claim(u64);
    impl Stored for Claim {
        const SCHEMA: u16 = 0xFFF2;
    }
    #[derive(Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
    struct List(Vec<u8>);
    impl Stored for List {
        const SCHEMA: u16 = 0xFFF2;
    }
    let claimed = encode(&Claim(1 << 60));
    assert!(matches!(decode::<List>(&claimed), Err(DecodeError::Malformed(_))));
}
