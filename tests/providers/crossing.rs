//! The rules of a bridge.

use purser::provider::Providers;
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::{Attestation, Crossing, ErrorKind, Finality, Lookup, Minting, SignedMint, Submitted};

use super::suite::until;

pub(crate) async fn every_rule(providers: &Providers) {
    let bridge = &providers.bridge;
    let crossing = Crossing {
        key: 101,
        to: [0xD4; 20],
        arrives: Usdc::from_cents(Cents::new(2_500)).unwrap(),
    };
    let burn = bridge.sign_burn(&crossing).await.unwrap();
    assert!(burn.burned >= crossing.arrives, "{burn:?}");
    // What is signed is not sent.
    assert_eq!(bridge.find_burn(&burn).await.unwrap(), Lookup::Pending);
    let nothing = bridge.attestation(&burn).await.unwrap();
    assert!(matches!(nothing, Attestation::Pending { .. }), "{nothing:?}");
    let sent = bridge.burn(&burn).await.unwrap();
    let Submitted::Settled { transaction, finality } = &sent else {
        panic!("{sent:?}");
    };
    assert_eq!(bridge.burn(&burn).await.unwrap(), sent, "the same burn burns once");
    let landed = Lookup::Landed {
        transaction: transaction.clone(),
        finality: *finality,
    };
    assert_eq!(bridge.find_burn(&burn).await.unwrap(), landed);
    let attested = async || {
        until("an attestation", async || {
            match bridge.attestation(&burn).await.unwrap() {
                Attestation::Complete(attested) => Some(attested),
                Attestation::Pending { .. } => None,
                lapsed @ Attestation::Lapsed { .. } => panic!("{lapsed:?}"),
            }
        })
        .await
    };
    let message = attested().await;
    assert_eq!(message.is_of(&crossing, burn.burned), Ok(()));
    assert_eq!(attested().await.nonce, message.nonce, "a burn has one message");
    assert_eq!(bridge.find_mint(&message).await.unwrap(), Lookup::Pending);
    let mint = bridge.sign_mint(&message).await.unwrap();
    assert_eq!(
        bridge.find_mint(&message).await.unwrap(),
        Lookup::Pending,
        "what is signed is not sent"
    );
    let mut bytes = mint.bytes.clone();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    let transaction = mint.transaction.clone();
    let forged = bridge.mint(&SignedMint { bytes, transaction }).await.unwrap_err();
    assert_eq!(forged.kind, ErrorKind::Permanent, "nobody attested this: {forged}");
    let Minting::Minted { transaction } = bridge.mint(&mint).await.unwrap() else {
        panic!("not minted");
    };
    assert_eq!(
        bridge.mint(&mint).await.unwrap(),
        Minting::NonceUsed,
        "a nonce mints once"
    );
    let finality = Finality::Final;
    let landed = Lookup::Landed { transaction, finality };
    assert_eq!(bridge.find_mint(&message).await.unwrap(), landed);
    assert!(bridge.attest_again(&[9; 32]).await.is_err(), "no such message");
}
