//! Signatures of payments on Base, as stored.

use purser_actors::entity::payment::{Event, Payment, Status};
use purser_actors::port::{Authorization, EvmAuthorization, EvmSignature};
use purser_storage::codec;

use crate::fixtures::{NOW, authorization, claim, payment};

const CONFIG: bincode::config::Configuration = bincode::config::standard();

fn signed(signature: EvmSignature) -> EvmAuthorization {
    let Authorization::Evm(evm) = authorization() else {
        panic!("the sample is on Base");
    };
    EvmAuthorization { signature, ..evm }
}

#[test]
fn signature_of_a_key_is_stored_as_its_bytes() {
    // Checks: for any stored v, of a payer, of our treasury, and of a payment adopted after a restore.
    for v in [0, 1, 4, 27, 28, 0xfe] {
        let mut signature = [7; 65];
        signature[64] = v;
        let stored = bincode::encode_to_vec(EvmSignature::ecdsa(signature), CONFIG).unwrap();
        assert_eq!(stored, signature, "v {v}");
        let authorization = signed(signature.into());
        let bytes = bincode::encode_to_vec(&authorization, CONFIG).unwrap();
        assert!(bytes.ends_with(&signature), "v {v}");
        let read: (EvmAuthorization, usize) = bincode::decode_from_slice(&bytes, CONFIG).unwrap();
        assert_eq!(read, (authorization, bytes.len()), "v {v}");
    }
}

#[test]
fn signature_of_any_length_round_trips() {
    // Checks: it is decoded unchanged, and so are the fields after it in the row.
    for length in [0, 1, 64, 65, 66, 1_000, EvmSignature::MAX_BYTES] {
        for byte in [0, 27, 0xff] {
            let signature = EvmSignature::new(&vec![byte; length]).unwrap();
            assert_eq!(signature.as_bytes(), vec![byte; length]);
            assert_eq!(signature.as_ecdsa().is_some(), length == 65);
            let mut claim = claim();
            claim.authorization = Authorization::Evm(signed(signature));
            let row = Payment {
                claim: claim.clone(),
                ..payment(Status::Claimed)
            };
            assert_eq!(codec::decode::<Payment>(&codec::encode(&row)).unwrap(), row, "{length}");
            let event = Event::Claimed(Box::new(claim));
            assert_eq!(
                codec::decode::<Event>(&codec::encode(&event)).unwrap(),
                event,
                "{length} at {NOW:?}"
            );
        }
    }
    assert_eq!(EvmSignature::new(&vec![0; EvmSignature::MAX_BYTES + 1]), None);
}

#[test]
fn stored_length_above_the_limit_is_corrupt() {
    // Checks: more than 4 KiB is never read as a signature.
    let long = EvmSignature::new(&[5; 66]).unwrap();
    let good = bincode::encode_to_vec(&long, CONFIG).unwrap();
    assert_eq!(good.len(), 65 + 1 + 66);
    assert!(
        bincode::decode_from_slice::<EvmSignature, _>(&good[..100], CONFIG).is_err(),
        "cut off"
    );
    let mut damaged = good;
    damaged.splice(65..66, bincode::encode_to_vec(4_097_u16, CONFIG).unwrap());
    damaged.extend([0; 5_000]);
    assert!(
        bincode::decode_from_slice::<EvmSignature, _>(&damaged, CONFIG).is_err(),
        "too long"
    );
}
