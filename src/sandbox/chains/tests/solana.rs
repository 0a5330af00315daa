use base64::Engine as _;
use ed25519_dalek::{Signer as _, SigningKey};

use super::*;
use crate::chains::svm::{TOKEN_PROGRAM, USDC_MINT, pubkey, token_account};
use crate::chains::wire::Transaction;
use crate::keys::fee_payer;
use purser_settlement::chain::BlockhashSource as _;

const COMPUTE_BUDGET: &str = "ComputeBudget111111111111111111111111111111";
const MEMO: &str = "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr";
/// A payment by the stock client, co-signed: payer seed 22 × 32, fee payer seed 33 × 32, 5 USDC.
const STOCK: &str = concat!(
    "AqQhjHkdyGcqLYnc/rqKgA6wEY9vMvwXNRmONZcUHfhmSL3xnzcu/GSvUoovvMyDCqha+Yx/uqi2fbSbGrt78wqHdcylRiQ3I054JBwQ7jaFMUlM",
    "vl7HwG8hHw7MpOn39nZBiMImqVMpKcivCam+3NRyYfoDAW42uqOen96ZUrsDgAIBBAgXy3n7K0Eg8rHsZeQZjW4Iso6BP+sB5KQAg5uF4YCAzqCa",
    "pfR6Z1mAL/lV+NwtKhSlyZ0jvpf4ZBJ/+Tg0VaTwI+1SywetX4szU06fTsSbetmUiHhxRDRG2FeALlR+kKgBdJYC2P3ngAtLKWQ6m4QCPCiAqSS7",
    "q5xf7UqytvmDswMGRm/lIRcy/+ytunLDm+e8jOW7xfcSayxDmzpAAAAAxvp6877brTo9ZfNqq8l0MbG75MLS9uDkfKYCA0UvXWEFSlNamSkhBk0k",
    "6HFg2jh8fDW13bySu4HkH6hAQQVEjQbd9uHXZaGT2cvhRs7reawctIXtX1s3kTqM9YV+/wCpd3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3",
    "d3cEBAAFAiBOAAAEAAkDAQAAAAAAAAAHBAIFAwEKDEBLTAAAAAAABgYAIDQyY2RhNDA3NTgwNzFmMjA4MjY2ZWQwODdiOGI4NjM1AA==",
);

/// The parts of a valid payment that a test may change.
pub(in crate::chains) struct Draft {
    pub(in crate::chains) mint: [u8; 32],
    pub(in crate::chains) source: [u8; 32],
    pub(in crate::chains) destination: [u8; 32],
    pub(in crate::chains) amount: u64,
    pub(in crate::chains) transfers: usize,
    pub(in crate::chains) extra_program: Option<[u8; 32]>,
    pub(in crate::chains) memo: String,
    pub(in crate::chains) blockhash: [u8; 32],
}

pub(in crate::chains) fn payer() -> SigningKey {
    SigningKey::from_bytes(&[0x22; 32])
}

fn treasury_owner() -> [u8; 32] {
    match treasury(Network::Solana) {
        Wallet::Solana(owner) => owner,
        Wallet::Evm(_) => panic!("not a Solana treasury"),
    }
}

pub(in crate::chains) fn valid_draft(chains: &SandboxSettlement, amount: u64, memo: &str) -> Draft {
    let blockhash = chains.newest().unwrap().hash;
    Draft {
        mint: pubkey(USDC_MINT),
        source: token_account(&payer().verifying_key().to_bytes()),
        destination: token_account(&treasury_owner()),
        amount,
        transfers: 1,
        extra_program: None,
        memo: memo.into(),
        blockhash,
    }
}

/// The wire form as the payer sends it: slot 0 is empty.
pub(in crate::chains) fn wire(draft: &Draft) -> Vec<u8> {
    let keys = [
        fee_payer(),
        payer().verifying_key().to_bytes(),
        draft.source,
        draft.destination,
        pubkey(COMPUTE_BUDGET),
        pubkey(TOKEN_PROGRAM),
        pubkey(MEMO),
        draft.mint,
        draft.extra_program.unwrap_or([7; 32]),
    ];
    let mut message = vec![0x80, 2, 1, 5, 9];
    message.extend(keys.concat());
    message.extend(draft.blockhash);
    let extra = u8::from(draft.extra_program.is_some());
    message.push(3 + u8::try_from(draft.transfers).unwrap() + extra);
    message.extend([4, 0, 5, 2, 0x20, 0x4e, 0, 0]);
    message.extend([4, 0, 9, 3, 1, 0, 0, 0, 0, 0, 0, 0]);
    for _ in 0..draft.transfers {
        message.extend([5, 4, 2, 7, 3, 1, 10, 12]);
        message.extend(draft.amount.to_le_bytes());
        message.push(6);
    }
    if extra == 1 {
        message.extend([8, 0, 0]);
    }
    message.extend([6, 0, u8::try_from(draft.memo.len()).unwrap()]);
    message.extend(draft.memo.as_bytes());
    message.push(0);
    let mut wire = vec![2];
    wire.extend([0; 64]);
    wire.extend(payer().sign(&message).to_bytes());
    wire.extend(message);
    wire
}

pub(in crate::chains) fn authorization(draft: &Draft) -> Authorization {
    let transaction = wire(draft);
    let parsed = Transaction::parse(&transaction).unwrap();
    Authorization::Solana(SolanaTransfer {
        transaction,
        message_hash: svm::message_hash(&parsed),
        payer: payer().verifying_key().to_bytes(),
        value: Usdc::from_atomic(draft.amount),
        blockhash: draft.blockhash,
        not_before_slot: 0,
    })
}

async fn received(harness: &Harness) -> u64 {
    harness
        .chains
        .balance(&treasury(Network::Solana))
        .await
        .unwrap()
        .atomic()
}

// The stock client's transaction is parsed, its signatures verify, and its source is the account that we derive.
#[test]
fn a_stock_transaction_is_understood() {
    let wire = base64::engine::general_purpose::STANDARD.decode(STOCK).unwrap();
    let transaction = Transaction::parse(&wire).unwrap();
    assert_eq!(transaction.wire(), wire);
    assert_eq!(svm::check_signatures(&transaction), Ok(()));
    let transfer = svm::read_transfer(&transaction).unwrap();
    assert_eq!(transfer.authority, payer().verifying_key().to_bytes());
    assert_eq!(transfer.source, token_account(&transfer.authority));
    assert_eq!(
        transfer.destination,
        token_account(&pubkey("4So8kA2BCfQD4zhvfYVqhWiyrXBgRPNRuoicJdh9G36c"))
    );
    assert_eq!(transfer.amount.atomic(), 5_000_000);
    let id = "4HKz5boJka2drfn75bdAaFGQHbMn2RxAfNM8kJFYES8b65zDHorPdFKLDhK24SMmBwxkbfjUiUiLRkNBcXNtgqys";
    assert_eq!(svm::transaction_id(&transaction), id);
}

// case_15: for every prefix and every single changed byte of a transaction, the parser only fails with its own error.
#[test]
fn case_15_any_bytes_are_parsed_or_refused() {
    let wire = base64::engine::general_purpose::STANDARD.decode(STOCK).unwrap();
    for cut in 0..wire.len() {
        assert!(Transaction::parse(&wire[..cut]).is_err(), "cut at {cut}");
    }
    for at in 0..wire.len() {
        for bit in 0..8 {
            let mut changed = wire.clone();
            changed[at] ^= 1 << bit;
            let signed = Transaction::parse(&changed).is_ok_and(|t| svm::check_signatures(&t).is_ok());
            assert!(!signed, "bit {bit} of byte {at}");
        }
    }
    assert!(Transaction::parse(&[wire, vec![0]].concat()).is_err(), "trailing byte");
}

// A payment settles under the id known before sending, once, however often it is sent, also after a kill.
#[tokio::test]
async fn prepared_payment_settles_once_under_its_id() {
    let harness = Harness::new();
    let payment = authorization(&valid_draft(&harness.chains, 5_000_000, "one"));
    let prepared = ready(harness.chains.prepare(&payment).await);
    assert_eq!(ready(harness.chains.prepare(&payment).await), prepared);
    assert_eq!(harness.chains.prepare_locally(&payment).as_ref(), Some(&prepared));
    assert_eq!(
        harness.chains.lookup(&payment, None).await.unwrap(),
        ChainStatus::Pending
    );
    assert_eq!(
        settled(harness.chains.submit(&payment, &prepared).await),
        prepared.transaction
    );
    let after = harness.restart_after_kill();
    for harness in [&harness, &after] {
        assert_eq!(
            settled(harness.chains.submit(&payment, &prepared).await),
            prepared.transaction
        );
        let landed = ChainStatus::Confirmed {
            transaction: prepared.transaction.clone(),
            finality: Finality::Final,
        };
        assert_eq!(harness.chains.lookup(&payment, None).await.unwrap(), landed);
        assert_eq!(received(harness).await, 5_000_000);
    }
}

// A transaction can execute while its block hash is at most 150 slots old. It is impossible only once that is final.
#[tokio::test]
async fn payment_expires_with_its_blockhash() {
    let harness = Harness::new();
    let early = authorization(&valid_draft(&harness.chains, 1, "early"));
    let late = authorization(&valid_draft(&harness.chains, 1, "late"));
    let prepared = ready(harness.chains.prepare(&late).await);
    harness.clock.advance(150 * 400);
    settled(harness.pay(&early).await);
    harness.clock.advance(400);
    assert_eq!(
        declined(harness.chains.submit(&late, &prepared).await),
        "invalid_exact_svm_transaction_failed"
    );
    assert_eq!(harness.chains.lookup(&late, None).await.unwrap(), ChainStatus::Pending);
    harness.clock.advance(31 * 400);
    assert_eq!(harness.chains.lookup(&late, None).await.unwrap(), ChainStatus::Pending);
    harness.clock.advance(400);
    assert_eq!(
        harness.chains.lookup(&late, None).await.unwrap(),
        ChainStatus::Impossible
    );
    assert!(matches!(
        harness.chains.lookup(&early, None).await.unwrap(),
        ChainStatus::Confirmed { .. }
    ));
}

// case_13: two transfers, an unknown program, another mint, a look-alike source or destination: nothing moves.
#[tokio::test]
async fn case_13_only_one_plain_usdc_transfer_settles() {
    let harness = Harness::new();
    let changes: [fn(&mut Draft); 6] = [
        |d| d.transfers = 2,
        |d| d.transfers = 0,
        |d| d.extra_program = Some([8; 32]),
        |d| d.mint = [3; 32],
        |d| d.source = [4; 32],
        |d| d.destination = [5; 32],
    ];
    for (number, change) in changes.iter().enumerate() {
        let mut draft = valid_draft(&harness.chains, 5_000_000, "x");
        change(&mut draft);
        let outcome = harness.pay(&authorization(&draft)).await;
        assert_eq!(
            declined(outcome),
            "invalid_exact_svm_transaction_failed",
            "change {number}"
        );
    }
    let rich = authorization(&valid_draft(&harness.chains, DEFAULT_GRANT.atomic() + 1, "rich"));
    assert_eq!(declined(harness.pay(&rich).await), "insufficient_funds");
    assert_eq!(received(&harness).await, 0);
}

// A forged payer signature fails every check of the chain, even if the caller has verified it.
#[tokio::test]
async fn a_forged_payer_signature_is_refused() {
    let harness = Harness::new();
    let Authorization::Solana(mut transfer) = authorization(&valid_draft(&harness.chains, 1, "f")) else {
        panic!("not Solana");
    };
    transfer.transaction[70] ^= 1;
    let forged = Authorization::Solana(transfer);
    assert_eq!(
        declined(harness.pay(&forged).await),
        "invalid_exact_svm_payload_signature_invalid"
    );
}

// A payment with an external fee payer, or with false contents, can never be sent.
#[tokio::test]
async fn only_our_own_fee_slot_is_signed() {
    let harness = Harness::new();
    let Authorization::Solana(good) = authorization(&valid_draft(&harness.chains, 1, "f")) else {
        panic!("not Solana");
    };
    let mut other_payer = good.clone();
    other_payer.transaction[1 + 128 + 5] ^= 1;
    let mut other_hash = good.clone();
    other_hash.message_hash[0] ^= 1;
    let mut no_transaction = good;
    no_transaction.transaction.truncate(100);
    for bad in [other_payer, other_hash, no_transaction] {
        let bad = Authorization::Solana(bad);
        let error = harness.chains.prepare(&bad).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Permanent);
        assert_eq!(harness.chains.prepare_locally(&bad), None);
    }
}
