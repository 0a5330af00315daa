//! Solana transactions: the wire format, and the rules on drafts that are really signed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bolero::check;
use purser::payment::solana::address::{COMPUTE_BUDGET, LIGHTHOUSE, MEMO, Pubkey, TOKEN};
use purser::payment::solana::wire::{MAX_TRANSACTION_BYTES, Transaction};
use purser::payment::solana::{MAX_MICRO_LAMPORTS_PER_UNIT, MAX_UNITS, SolanaRequirements, verify};
use purser::payment::terms::SOLANA_USDC;
use purser::payment::{Payee, Terms};
use purser::wallet::solana::Draft;
use purser_actors::port::Authorization;

use crate::fuzz::payments::PaymentCorpus;
use crate::input::{FuzzInput, change_bytes};
use crate::seller::{BLOCKHASH, PRICE, buyer, solana, terms};
use crate::solana_drafts::{change_draft, keys, valid_draft};

/// The bytes of a transaction, from what was read of them. Three header bytes are the message's own.
fn written(transaction: &Transaction<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    push_length(&mut bytes, transaction.signatures.len());
    bytes.extend(transaction.signatures.concat());
    let versioned = transaction.message[0] == 0x80;
    bytes.extend(&transaction.message[..3 + usize::from(versioned)]);
    push_length(&mut bytes, transaction.keys.len());
    bytes.extend(transaction.keys.concat());
    bytes.extend(transaction.blockhash);
    push_length(&mut bytes, transaction.instructions.len());
    for instruction in &transaction.instructions {
        bytes.push(instruction.program);
        for part in [instruction.accounts, instruction.data] {
            push_length(&mut bytes, part.len());
            bytes.extend(part);
        }
    }
    bytes.extend(versioned.then_some(0));
    bytes
}

fn push_length(bytes: &mut Vec<u8>, mut length: usize) {
    while length > 0x7f {
        bytes.push(length as u8 | 0x80);
        length >>= 7;
    }
    bytes.push(length as u8);
}

fn read(bytes: &[u8]) {
    let Ok(transaction) = Transaction::parse(bytes) else {
        return;
    };
    assert!(bytes.len() <= MAX_TRANSACTION_BYTES);
    assert_eq!(written(&transaction), bytes, "one transaction has one spelling");
    for instruction in &transaction.instructions {
        // Each index was checked; none of these may reach beyond the keys.
        transaction.program(instruction);
        instruction
            .accounts
            .iter()
            .for_each(|at| _ = (transaction.key(*at), transaction.is_writable(*at)));
    }
}

#[test]
fn any_bytes_are_one_transaction_or_none() {
    // Checks: a parsed transaction is exactly its bytes, for changed recorded transactions and for random bytes.
    let shelf = PaymentCorpus::new();
    let recorded = shelf
        .documents
        .iter()
        .find_map(|d| d["payload"]["transaction"].as_str())
        .unwrap();
    let recorded = STANDARD.decode(recorded).unwrap();
    read(&recorded);
    check!().with_iterations(20_000).for_each(|bytes: &[u8]| {
        read(bytes);
        let mut dice = FuzzInput(bytes);
        let mut wire = recorded.clone();
        (0..1 + dice.below(3)).for_each(|_| change_bytes(&mut wire, &mut dice));
        read(&wire);
    });
}

/// Nothing but the price leaves the buyer, all of it comes to us, and it costs our fee payer no more than we allow.
fn pays_us_and_costs_little(draft: &Draft) -> bool {
    let [payer, fee_payer, source, destination, ..] = keys();
    let [limit, price, transfer, rest @ ..] = draft.instructions.as_slice() else {
        return false;
    };
    let number = |data: &[u8]| {
        data.iter()
            .rev()
            .fold(0u64, |number, byte| number << 8 | u64::from(*byte))
    };
    let accounts: Vec<Pubkey> = transfer.accounts.iter().map(|account| account.key).collect();
    let used = draft
        .instructions
        .iter()
        .any(|i| i.program == fee_payer || i.accounts.iter().any(|a| a.key == fee_payer));
    let others_sign = draft
        .instructions
        .iter()
        .flat_map(|i| &i.accounts)
        .any(|a| a.signer && a.key != payer);
    draft.fee_payer == fee_payer
        && !used
        && !others_sign
        && rest.len() <= 4
        && rest.iter().all(|i| [MEMO, LIGHTHOUSE].contains(&i.program))
        && (limit.program, limit.data.len(), limit.data[0]) == (COMPUTE_BUDGET, 5, 2)
        && number(&limit.data[1..]) <= u64::from(MAX_UNITS)
        && (price.program, price.data.len(), price.data[0]) == (COMPUTE_BUDGET, 9, 3)
        && number(&price.data[1..]) <= MAX_MICRO_LAMPORTS_PER_UNIT
        && transfer.program == TOKEN
        && accounts == [source, SOLANA_USDC, destination, payer]
        && (transfer.data.len(), transfer.data[0], transfer.data[9]) == (10, 12, 6)
        && number(&transfer.data[1..9]) == PRICE
}

#[test]
fn a_signed_transaction_that_is_accepted_pays_us_and_costs_little() {
    // Checks: for drafts of every shape, compiled and signed, each accepted one satisfies a second implementation of
    // the rules on the draft itself.
    let Terms {
        payee: Payee::Solana(payee),
        amount,
        ..
    } = terms(PRICE, solana(None))
    else {
        panic!("Solana")
    };
    let demand = SolanaRequirements { payee: &payee, amount };
    let good = valid_draft();
    assert!(verify(&buyer().sign_draft(&good), &demand).is_ok());
    check!()
        .with_iterations(4_000)
        .with_max_len(192)
        .for_each(|bytes: &[u8]| {
            let mut dice = FuzzInput(bytes);
            let mut draft = good.clone();
            (0..dice.below(4)).for_each(|_| change_draft(&mut draft, &mut dice));
            let wire = buyer().sign_draft(&draft);
            read(&wire);
            let Ok(found) = verify(&wire, &demand) else { return };
            assert!(pays_us_and_costs_little(&draft), "{draft:?}");
            let Authorization::Solana(transfer) = &found else {
                panic!("Solana")
            };
            assert_eq!(
                (transfer.payer, transfer.value, transfer.blockhash),
                (buyer().solana_address(), amount, BLOCKHASH)
            );
            assert_eq!(transfer.transaction, wire);
        });
}

#[test]
fn signed_bytes_of_any_shape_are_parsed_faithfully() {
    // Checks: with changed message bytes under a valid signature, an accepted transaction still moves the price from
    // the buyer's account to ours.
    let Terms {
        payee: Payee::Solana(payee),
        amount,
        ..
    } = terms(PRICE, solana(None))
    else {
        panic!("Solana")
    };
    let demand = SolanaRequirements { payee: &payee, amount };
    let shelf = crate::seller::pay(&crate::seller::offers(), purser_actors::id::Network::Solana);
    let wire = STANDARD
        .decode(shelf["payload"]["transaction"].as_str().unwrap())
        .unwrap();
    let message = 1 + 2 * 64;
    check!()
        .with_iterations(3_000)
        .with_max_len(64)
        .for_each(|bytes: &[u8]| {
            let mut dice = FuzzInput(bytes);
            let mut changed = wire[message..].to_vec();
            (0..dice.below(4)).for_each(|_| change_bytes(&mut changed, &mut dice));
            let signature = buyer().sign_message(&changed);
            let wire = [&wire[..65], &signature, &changed].concat();
            let Ok(found) = verify(&wire, &demand) else { return };
            let read = Transaction::parse(&wire).unwrap();
            let transfer = read.instructions[2];
            let [source, mint, destination, authority] = [0, 1, 2, 3].map(|at| *read.key(transfer.accounts[at]));
            let [payer, _, from, to, ..] = keys();
            assert_eq!((source, mint, destination, authority), (from, SOLANA_USDC, to, payer));
            assert_eq!(transfer.data, [&[12][..], &PRICE.to_le_bytes(), &[6]].concat());
            assert_eq!(found.payer(), buyer().account(purser_actors::id::Network::Solana));
        });
}
