//! The payment of the stock client (`@x402/svm` 2.27.0 with `@solana/kit` 5.5.1), from the repository's vectors: built byte
//! by byte, verified and co-signed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use purser_chains::solana::address::{USDC_MAINNET, base58, parse};
use purser_chains::solana::draft::Draft;
use purser_chains::solana::fees::{Fees, fees_for};
use purser_chains::solana::keypair::Keypair;
use purser_chains::solana::message::Version;
use purser_chains::solana::token::{
    PaymentInstruction, TransferChecked, memo, set_compute_unit_limit, set_compute_unit_price,
};
use purser_chains::solana::transaction::{Transaction, co_sign, sign_partially};
use serde_json::Value;

const VECTOR: &str = include_str!("../../../tests/vectors/x402-v2-svm.json");

#[test]
fn the_stock_clients_payment_is_reproduced_and_co_signed() {
    let vector: Value = serde_json::from_str(VECTOR).unwrap();
    let text = |pointer: &str| vector.pointer(pointer).unwrap().as_str().unwrap().to_owned();
    let (client, fee) = (Keypair::from_seed(&[0x22; 32]), Keypair::from_seed(&[0x33; 32]));
    assert_eq!(base58(&client.address()), text("/keys/svm/address"));
    assert_eq!(base58(&fee.address()), text("/keys/feePayer/address"));
    let wire = STANDARD.decode(text("/output/decoded/payload/transaction")).unwrap();

    let transaction = Transaction::parse_without_tables(&wire).unwrap();
    let message = &transaction.message;
    assert!(transaction.verifies(1) && transaction.id().is_none() && !message.names_fee_payer());
    let fees = Fees {
        base: 10_000,
        priority: 1,
        rent: 0,
    };
    assert_eq!(fees_for(message), Ok(fees));
    // The client makes up the memo.
    let PaymentInstruction::Memo(nonce) = PaymentInstruction::decode(
        message.program(&message.instructions[3]).unwrap(),
        &[],
        message.instructions[3].data,
    )
    .unwrap() else {
        panic!("the fourth instruction is the memo")
    };
    let pay_to = parse(&text("/keys/payTo")).unwrap();
    let transfer = TransferChecked::between(&client.address(), &pay_to, &USDC_MAINNET, 5_000_000).unwrap();
    let draft = Draft {
        fee_payer: fee.address(),
        blockhash: parse(&text("/rpcStub/blockhash")).unwrap(),
        instructions: vec![
            set_compute_unit_limit(20_000),
            set_compute_unit_price(1),
            transfer.instruction(),
            memo(std::str::from_utf8(nonce).unwrap()),
        ],
        version: Version::V0,
    };
    assert_eq!(sign_partially(&draft, &[&client]).unwrap(), wire);
    let signed = co_sign(&wire, &fee).unwrap();
    assert!(Transaction::parse(&signed.bytes).unwrap().verifies_except(None));
}
