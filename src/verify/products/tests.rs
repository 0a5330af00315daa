use purser_actors::id::Wallet;

use super::super::ChainTransfer;
use super::{OutgoingTransfer, TransferMatch};

fn moved(to: u8, atomic: u64) -> ChainTransfer {
    ChainTransfer {
        transaction: "sent".into(),
        index: 0,
        from: Wallet::Evm([1; 20]),
        to: Wallet::Evm([to; 20]),
        atomic,
        at_ms: 0,
        mark: None,
    }
}

#[test]
fn outgoing_transfer_matches_only_the_exact_signed_one() {
    // Checks: an open top-up matches its own transfer, and none that only has its amount: a double send is detected.
    let left = |signed| OutgoingTransfer {
        name: "top_1".into(),
        transaction: None,
        signed,
        atomic: 7,
        mark: None,
    };
    let (burn, transfer) = (
        left(TransferMatch::As("burn".into())),
        left(TransferMatch::For(Wallet::Evm([2; 20]))),
    );
    for (left, transaction, to, atomic, own) in [
        (&burn, "burn", 9, 7, true),
        (&burn, "burn", 9, 8, false),
        (&burn, "another", 9, 7, false),
        (&transfer, "any", 2, 7, true),
        (&transfer, "any", 3, 7, false),
        (&transfer, "any", 2, 8, false),
    ] {
        assert_eq!(
            left.may_be(transaction, &moved(to, atomic)),
            own,
            "{left:?}: {transaction} to {to}"
        );
    }
}
