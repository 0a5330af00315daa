//! The format of stored values, held by files of every version ever written.

use purser_storage::codec::{DecodeError, Stored, decode, encode};

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

/// Aim: what version 1 wrote is read for ever, and is still what is written.
#[test]
fn version_1_is_read_and_written_as_ever() {
    let golden = include_bytes!("golden/codec_v1.bin");
    assert_eq!(decode::<Sample>(golden).unwrap(), sample());
    assert_eq!(encode(&sample()), golden);
}

/// Aim: no byte can change, be missing or be added without being noticed.
#[test]
fn every_change_is_noticed() {
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

/// Aim: one type's bytes are never another's, and the error names both.
#[test]
fn another_types_bytes_are_refused() {
    let wrong = DecodeError::Schema {
        found: Sample::SCHEMA,
        expected: Other::SCHEMA,
    };
    assert_eq!(decode::<Other>(&encode(&sample())), Err(wrong));
    assert_eq!(decode::<Other>(&[]), Err(DecodeError::Truncated));
    assert_eq!(decode::<Other>(&[9, 0, 0, 0, 0, 0, 0]), Err(DecodeError::Version(9)));
}

/// Aim: a damaged length with a good checksum cannot make the reader take more memory than the limit.
#[test]
fn a_huge_length_is_refused() {
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
