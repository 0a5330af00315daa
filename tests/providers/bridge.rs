//! The rules of a bridge.

use purser::provider::Providers;
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::{
    AttestationStatus, BridgeTransfer, ChainStatus, ErrorKind, Finality, MintResult, SignedMint, SubmitResult,
};

use super::suite::until;

pub(crate) async fn check_all_rules(providers: &Providers) {
    let bridge = &providers.bridge;
    let transfer = BridgeTransfer {
        key: 101,
        to: [0xD4; 20],
        delivered_amount: Usdc::from_cents(Cents::new(2_500)).unwrap(),
    };
    let burn = bridge.sign_burn(&transfer).await.unwrap();
    assert!(burn.burned >= transfer.delivered_amount, "{burn:?}");
    // What is signed is not sent.
    assert_eq!(bridge.find_burn(&burn).await.unwrap(), ChainStatus::Pending);
    let nothing = bridge.attestation(&burn).await.unwrap();
    assert!(matches!(nothing, AttestationStatus::Pending { .. }), "{nothing:?}");
    let sent = bridge.burn(&burn).await.unwrap();
    let SubmitResult::Settled { transaction, finality } = &sent else {
        panic!("{sent:?}");
    };
    assert_eq!(bridge.burn(&burn).await.unwrap(), sent, "the same burn burns once");
    let landed = ChainStatus::Confirmed {
        transaction: transaction.clone(),
        finality: *finality,
    };
    assert_eq!(bridge.find_burn(&burn).await.unwrap(), landed);
    let attested = async || {
        until("an attestation", async || {
            match bridge.attestation(&burn).await.unwrap() {
                AttestationStatus::Complete(attested) => Some(attested),
                AttestationStatus::Pending { .. } => None,
                expired @ AttestationStatus::Expired { .. } => panic!("{expired:?}"),
            }
        })
        .await
    };
    let message = attested().await;
    assert_eq!(message.check_matches(&transfer, burn.burned), Ok(()));
    assert_eq!(attested().await.nonce, message.nonce, "a burn has one message");
    assert_eq!(bridge.find_mint(&message).await.unwrap(), ChainStatus::Pending);
    let mint = bridge.sign_mint(&message).await.unwrap();
    assert_eq!(
        bridge.find_mint(&message).await.unwrap(),
        ChainStatus::Pending,
        "what is signed is not sent"
    );
    let mut bytes = mint.bytes.clone();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    let transaction = mint.transaction.clone();
    let forged = bridge.mint(&SignedMint { bytes, transaction }).await.unwrap_err();
    assert_eq!(forged.kind, ErrorKind::Permanent, "this was never attested: {forged}");
    let MintResult::Minted { transaction } = bridge.mint(&mint).await.unwrap() else {
        panic!("not minted");
    };
    assert_eq!(
        bridge.mint(&mint).await.unwrap(),
        MintResult::NonceUsed,
        "a nonce mints once"
    );
    let finality = Finality::Final;
    let landed = ChainStatus::Confirmed { transaction, finality };
    assert_eq!(bridge.find_mint(&message).await.unwrap(), landed);
    assert!(bridge.reattest(&[9; 32]).await.is_err(), "no such message");
}
