//! Solana payments before they are compiled and signed, and changes of them.

use purser::payment::solana::address::{COMPUTE_BUDGET, LIGHTHOUSE, MEMO, Pubkey, TOKEN, associated_token_account};
use purser::payment::solana::{MAX_MICRO_LAMPORTS_PER_UNIT, MAX_UNITS};
use purser::payment::terms::SOLANA_USDC;
use purser::wallet::solana::{AccountMeta, Draft, DraftInstruction, Transfer};

use crate::input::{FuzzInput, change_bytes};
use crate::seller::{BLOCKHASH, PAY_TO_SOLANA, PRICE, buyer, fee_payer};

/// What the stock client would send.
pub(crate) fn valid_draft() -> Draft {
    let transfer = Transfer {
        fee_payer: fee_payer(),
        pay_to: PAY_TO_SOLANA,
        mint: SOLANA_USDC,
        amount: PRICE,
        blockhash: BLOCKHASH,
        memo: "00112233445566778899aabbccddeeff",
    };
    buyer().draft_transfer(&transfer).unwrap()
}

/// Payer, fee payer, their and our token accounts, and everything else that a payment can name.
pub(crate) fn keys() -> [Pubkey; 11] {
    let token_account = |owner| associated_token_account(&owner, &SOLANA_USDC).unwrap();
    let payer = buyer().solana_address();
    [
        payer,
        fee_payer(),
        token_account(payer),
        token_account(PAY_TO_SOLANA),
        SOLANA_USDC,
        TOKEN,
        COMPUTE_BUDGET,
        MEMO,
        LIGHTHOUSE,
        PAY_TO_SOLANA,
        [0xdd; 32],
    ]
}

/// One change: an instruction, an account or a number.
pub(crate) fn change_draft(draft: &mut Draft, dice: &mut FuzzInput<'_>) {
    let keys = keys();
    let kind = dice.byte() % 10;
    let count = draft.instructions.len();
    if kind == 0 || count == 0 {
        let data = vec![dice.byte(); dice.below(4)];
        let program = *dice.of(&keys);
        let added = DraftInstruction {
            program,
            accounts: Vec::new(),
            data,
        };
        draft.instructions.insert(dice.below(count + 1), added);
        return;
    }
    let at = dice.below(count);
    let other = dice.below(count);
    let instruction = &mut draft.instructions[at];
    let meta = AccountMeta {
        key: *dice.of(&keys),
        signer: dice.one_in(2),
        writable: dice.one_in(2),
    };
    let accounts = instruction.accounts.len();
    match kind {
        1 => draft.instructions.swap(at, other),
        2 => drop(draft.instructions.remove(at)),
        3 => change_bytes(&mut instruction.data, dice),
        4 if instruction.data.len() >= 9 => {
            let near = *dice.of(&[PRICE, MAX_MICRO_LAMPORTS_PER_UNIT]);
            let number = dice.number(near).to_le_bytes();
            instruction.data[1..9].copy_from_slice(&number);
        }
        4 if instruction.data.len() >= 5 => {
            let number = dice.number(u64::from(MAX_UNITS)) as u32;
            instruction.data[1..5].copy_from_slice(&number.to_le_bytes());
        }
        5 => instruction.program = meta.key,
        6 => instruction.accounts.insert(dice.below(accounts + 1), meta),
        7 if accounts > 0 => instruction.accounts[dice.below(accounts)] = meta,
        8 if accounts > 0 => instruction.accounts[dice.below(accounts)].writable = meta.writable,
        9 => draft.versioned = !draft.versioned,
        _ => draft.fee_payer = *dice.of(&keys),
    }
}
