//! Transfer names, and attributions of transfers as stored.

use purser_actors::approval::ApprovableAction;
use purser_actors::id::{ApprovalId, Network, OutgoingTransferId, TransferName, Wallet};
use purser_actors::ledger::{LedgerAccount, LedgerProvider, Outlay};
use purser_actors::money::Usdc;
use purser_actors::port::{AttributedTransfer, ChainMovement, OutgoingTransfer, Timestamp};
use purser_storage::codec::{self, DecodeError};

fn outgoing_transfer(index: u32) -> OutgoingTransfer {
    OutgoingTransfer {
        transaction: "left".into(),
        to: Wallet::Evm([9; 20]),
        amount: Usdc::from_atomic(5),
        at: Timestamp(8),
        fingerprint: [4; 32],
        index,
    }
}

#[test]
fn transfer_is_named_by_its_transaction_and_index() {
    // Checks: text round-trips, a hash alone names all transfers of its transaction, and malformed text names none.
    for (text, transaction, index) in [
        ("0xab", "0xab", None),
        ("0xab#0", "0xab", Some(0)),
        ("0xab#17", "0xab", Some(17)),
    ] {
        let name = TransferName::parse(text).unwrap();
        assert_eq!((name.transaction.as_str(), name.index), (transaction, index));
        assert_eq!(name.to_string(), text);
        assert_eq!(TransferName::transaction_of(text), transaction);
    }
    for text in ["", "#1", "0xab#", "0xab#x", "0xab#-1", "0xab#4294967296"] {
        assert_eq!(TransferName::parse(text), None, "{text}");
    }
    let (first, second) = (outgoing_transfer(0), outgoing_transfer(3));
    assert_eq!((first.key().as_str(), second.key().as_str()), ("left", "left#3"));
    assert_eq!(first.name().to_string(), "left#0");
    let named = |text: &str| {
        let name = TransferName::parse(text).unwrap();
        (first.is_named(&name), second.is_named(&name))
    };
    assert_eq!(named("left"), (true, true));
    assert_eq!(named("left#0"), (true, false));
    assert_eq!(named("left#3"), (false, true));
    assert_eq!(named("right#3"), (false, false));
    assert_ne!(
        ChainMovement::plain_fingerprint("left", 0),
        ChainMovement::plain_fingerprint("left", 1)
    );
    assert_ne!(
        ChainMovement::plain_fingerprint("left", 0),
        ChainMovement::plain_fingerprint("right", 0)
    );
}

#[test]
fn first_transfer_has_the_id_of_its_transaction() {
    // Checks: ids in stored rows, events and ledger entries are unchanged; any other transfer has an id of its own.
    let before = OutgoingTransferId(327_157_064_700_699_413_486_883_783_624_567_961_887);
    assert_eq!(outgoing_transfer(0).id(), before);
    assert_eq!(OutgoingTransferId::for_name(Network::Base, "left"), before);
    assert_ne!(outgoing_transfer(3).id(), before);
    for index in [0, 3] {
        let one = outgoing_transfer(index);
        assert_eq!(OutgoingTransferId::for_name(Network::Base, &one.key()), one.id());
        assert_eq!(
            OutgoingTransferId::for_name(Network::Base, &one.name().to_string()),
            one.id()
        );
    }
}

#[test]
fn attribution_is_stored_with_index_account_and_outlay() {
    // Checks: an attribution is read as it was stored, and a changed row is rejected.
    for (index, account, outlay) in [
        (0, Some(Wallet::Evm([1; 20])), None),
        (3, None, None),
        (3, None, Some(Outlay::Provider(LedgerProvider::GiftCards))),
        (3, None, Some(Outlay::OperatorFunds)),
        (3, None, Some(Outlay::NetworkFees)),
    ] {
        let attributed = AttributedTransfer {
            transfer: outgoing_transfer(index),
            account,
            outlay,
        };
        let bytes = codec::encode(&attributed);
        assert_eq!(codec::decode(&bytes), Ok(attributed));
        let mut damaged = bytes;
        *damaged.last_mut().unwrap() ^= 1;
        assert_eq!(
            codec::decode::<AttributedTransfer>(&damaged),
            Err(DecodeError::Checksum)
        );
    }
}

#[test]
fn outlay_has_its_own_account_and_approval_name() {
    // Checks: each category has its own ledger account, each provider is found by its name, and one approval request is
    // never taken for another action.
    assert_eq!(
        Outlay::Provider(LedgerProvider::Bank).account(),
        LedgerAccount::Provider(LedgerProvider::Bank)
    );
    assert_eq!(Outlay::OperatorFunds.account(), LedgerAccount::OperatorFunds);
    assert_eq!(Outlay::NetworkFees.account(), LedgerAccount::NetworkFees);
    for provider in LedgerProvider::ALL {
        assert_eq!(LedgerProvider::from_name(provider.name()), Some(provider));
    }
    assert_eq!(LedgerProvider::from_name("unknown"), None);
    let (transaction, evidence) = ("left#3".to_owned(), "seen".to_owned());
    let mut acts: Vec<ApprovableAction> = LedgerProvider::ALL
        .map(Outlay::Provider)
        .into_iter()
        .chain([Outlay::OperatorFunds, Outlay::NetworkFees])
        .map(|outlay| ApprovableAction::AttributeOutlay {
            transaction: transaction.clone(),
            outlay,
            evidence: evidence.clone(),
        })
        .collect();
    acts.push(ApprovableAction::AttributeLoss { transaction, evidence });
    let mut ids: Vec<_> = acts
        .iter()
        .map(|act| ApprovalId::for_action(act, Usdc::from_atomic(5)))
        .collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), acts.len());
}
