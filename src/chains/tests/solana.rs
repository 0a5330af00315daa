//! The Solana parts together, against a real runtime: Agave inside surfpool.
//!
//! The runtime differs from mainnet in two ways that the tests allow for: `getEpochInfo` gives the newest block whatever
//! commitment is asked for, and there are no forks. Its two endpoints are two addresses of the same process.

#[path = "surfpool/follower.rs"]
mod follower;
#[path = "surfpool/runtime.rs"]
mod runtime;

use self::runtime::{Chain, SLOT_MS};
use purser_chains::solana::address::{USDC_MAINNET, associated_token_account};
use purser_chains::solana::draft::{Draft, Instruction};
use purser_chains::solana::fees::{Fees, fees_for};
use purser_chains::solana::keypair::Keypair;
use purser_chains::solana::lifecycle::{Evidence, Lifecycle, Pacing, Prepared, Stage, StatusAnswer};
use purser_chains::solana::message::Version;
use purser_chains::solana::node::movements::{ChainTransaction, Direction};
use purser_chains::solana::node::{Blockhash, Node, SendOutcome};
use purser_chains::solana::payers::{FeeOutcome, PayerLimits, Payers};
use purser_chains::solana::status::{Commitment, TOKEN_ACCOUNT_FROZEN};
use purser_chains::solana::token::{
    TOKEN_ACCOUNT_BYTES, TransferChecked, create_associated_token_account, memo, set_compute_unit_limit,
    set_compute_unit_price,
};
use purser_chains::solana::transaction::{Signed, Transaction, co_sign, sign, sign_partially};
use purser_chains::solana::{Pubkey, Signature};

/// Keys of one test: fee payer, client and treasury.
struct TestKeys {
    fee: Keypair,
    client: Keypair,
    treasury: Keypair,
}

impl TestKeys {
    /// Funds fresh wallets: 1 SOL for the fee payer, 100 USDC for the client, an empty token account for the treasury.
    async fn fund_on(chain: &Chain, test: u8) -> Self {
        let key = |role: u8| {
            let mut seed = [test; 32];
            seed[0] = role;
            Keypair::from_seed(&seed)
        };
        let cast = Self {
            fee: key(1),
            client: key(2),
            treasury: key(3),
        };
        chain.set_lamports(&cast.fee.address(), 1_000_000_000).await;
        chain.set_usdc(&cast.client.address(), 100_000_000, false).await;
        chain.set_usdc(&cast.treasury.address(), 0, false).await;
        cast
    }

    fn treasury_account(&self) -> Pubkey {
        associated_token_account(&self.treasury.address(), &USDC_MAINNET).unwrap()
    }

    fn transfer(&self, amount: u64) -> Instruction {
        let (from, to) = (self.client.address(), self.treasury.address());
        TransferChecked::between(&from, &to, &USDC_MAINNET, amount)
            .unwrap()
            .instruction()
    }

    /// What a client sends: signed by the client, with slot 0 for the fee payer.
    fn payment(&self, blockhash: &Blockhash, transfers: Vec<Instruction>, text: &str) -> Vec<u8> {
        let mut instructions = vec![set_compute_unit_limit(60_000), set_compute_unit_price(50_000)];
        instructions.extend(transfers);
        instructions.push(memo(text));
        sign_partially(&draft(&self.fee, blockhash, instructions), &[&self.client]).unwrap()
    }
}

fn draft(fee: &Keypair, blockhash: &Blockhash, instructions: Vec<Instruction>) -> Draft {
    Draft {
        fee_payer: fee.address(),
        blockhash: blockhash.hash,
        instructions,
        version: Version::V0,
    }
}

fn fees(bytes: &[u8]) -> Fees {
    fees_for(&Transaction::parse(bytes).unwrap().message).unwrap()
}

async fn blockhash(node: &Node) -> Blockhash {
    node.latest_blockhash(Commitment::Confirmed).await.unwrap()
}

async fn lamports(node: &Node, address: &Pubkey) -> u64 {
    let (_, accounts) = node.accounts(&[*address], Commitment::Processed).await.unwrap();
    accounts[0].as_ref().map_or(0, |account| account.lamports)
}

async fn usdc(node: &Node, owner: &Pubkey) -> Option<u64> {
    let account = associated_token_account(owner, &USDC_MAINNET).unwrap();
    let state = node.token_account(&account, Commitment::Processed).await.unwrap();
    state.map(|state| state.amount)
}

fn lifecycle(node: &Node, signed: &Signed, blockhash: &Blockhash) -> Lifecycle {
    let prepared = Prepared {
        id: signed.id,
        last_valid_block_height: blockhash.last_valid_block_height,
        not_before_slot: blockhash.slot,
    };
    let pacing = Pacing {
        resend_ms: 5 * SLOT_MS,
        status_ms: SLOT_MS,
        final_ms: 5 * SLOT_MS,
        proof_ms: 5 * SLOT_MS,
    };
    Lifecycle::new(prepared, node.endpoints(), pacing)
}

/// Does what is due until `end` holds; gives every stage on the way.
async fn drive(node: &Node, life: &mut Lifecycle, bytes: &[u8], end: impl Fn(&Stage) -> bool) -> Vec<Stage> {
    let began = std::time::Instant::now();
    let mut stages = Vec::new();
    while !end(life.stage()) {
        assert!(began.elapsed().as_secs() < 120, "no end in sight: {stages:?}");
        let due = life.due(began.elapsed().as_millis() as u64);
        let mut transitions = Vec::new();
        if due.send {
            node.send_each(bytes).await;
            transitions.push(life.sent());
        }
        for endpoint in 0..node.endpoints() {
            if due.status {
                let (context_slot, found) = node.statuses_on(endpoint, &[life.prepared().id], false).await.unwrap();
                let found = found.into_iter().next().flatten();
                transitions.push(life.status(endpoint, StatusAnswer { context_slot, found }));
                let position = node.position_on(endpoint, Commitment::Processed).await.unwrap();
                life.block_height(position.block_height);
            }
        }
        if due.proof {
            for (endpoint, evidence) in node.evidence_each(&life.prepared().id).await.into_iter().enumerate() {
                transitions.push(life.evidence(endpoint, evidence.unwrap()));
            }
        }
        stages.extend(transitions.into_iter().flatten().map(|transition| transition.to));
        tokio::time::sleep(std::time::Duration::from_millis(SLOT_MS / 2)).await;
    }
    stages
}

async fn transaction(node: &Node, id: &Signature, account: &Pubkey) -> ChainTransaction {
    loop {
        let found = node
            .transaction(id, account, &USDC_MAINNET, Commitment::Confirmed)
            .await
            .unwrap();
        if let Some(found) = found {
            return found;
        }
        tokio::time::sleep(std::time::Duration::from_millis(SLOT_MS)).await;
    }
}

fn succeeded_at(stages: &[Stage], commitment: Commitment) -> bool {
    stages
        .iter()
        .any(|stage| matches!(stage, Stage::Succeeded { level, .. } if *level == commitment))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_is_co_signed_simulated_sent_confirmed_and_final() {
    let Some(chain) = Chain::ready() else { return };
    let (node, cast) = (chain.node(), TestKeys::fund_on(&chain, 10).await);
    let mut payers = Payers::new(&[cast.fee.address()], PayerLimits::default());
    let before = lamports(&node, &cast.fee.address()).await;
    payers.set_balance(&cast.fee.address(), before);
    assert_eq!(payers.choose(), Some(cast.fee.address()));

    let hash = blockhash(&node).await;
    assert!(
        node.is_blockhash_valid(&hash.hash, Commitment::Processed)
            .await
            .unwrap()
            .0
    );
    let wire = cast.payment(&hash, vec![cast.transfer(1_500_000)], "payment");
    let fees = fees(&wire);
    assert_eq!((fees.base, fees.priority), (10_000, 3_000));
    let reservation = payers.reserve(&cast.fee.address(), fees).unwrap();
    let signed = co_sign(&wire, &cast.fee).unwrap();
    let simulation = node.simulate(&signed.bytes, Commitment::Processed).await.unwrap();
    assert_eq!(simulation.error, None, "{:?}", simulation.logs);
    assert!(simulation.units.unwrap() > 0 && usdc(&node, &cast.treasury.address()).await == Some(0));

    let mut life = lifecycle(&node, &signed, &hash);
    let stages = drive(&node, &mut life, &signed.bytes, Stage::is_final).await;
    assert_eq!(stages[0], Stage::Sent);
    assert!(
        succeeded_at(&stages, Commitment::Confirmed) && succeeded_at(&stages, Commitment::Finalized),
        "{stages:?}"
    );
    payers.settle(reservation, FeeOutcome::Spent);
    assert_eq!(
        Some(lamports(&node, &cast.fee.address()).await),
        payers.status()[0].lamports
    );
    assert_eq!(lamports(&node, &cast.fee.address()).await, before - fees.charged());

    let found = transaction(&node, &signed.id, &cast.treasury_account()).await;
    let [movement] = found.movements.as_slice() else {
        panic!("{found:?}")
    };
    assert_eq!((movement.direction, movement.amount), (Direction::In, 1_500_000));
    assert_eq!(movement.other_owner, Some(cast.client.address()));
    assert_eq!(movement.reference.instruction.to_string(), "2");
    assert_eq!(
        (found.fee_payer, found.blockhash, found.unexplained),
        (cast.fee.address(), hash.hash, 0)
    );
    assert_eq!(usdc(&node, &cast.treasury.address()).await, Some(1_500_000));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_duplicate_moves_nothing() {
    let Some(chain) = Chain::ready() else { return };
    let (node, cast) = (chain.node(), TestKeys::fund_on(&chain, 11).await);
    let hash = blockhash(&node).await;
    let signed = co_sign(&cast.payment(&hash, vec![cast.transfer(7)], "once"), &cast.fee).unwrap();
    let mut life = lifecycle(&node, &signed, &hash);
    let confirmed = |stage: &Stage| matches!(stage, Stage::Succeeded { level, .. } if *level >= Commitment::Confirmed);
    drive(&node, &mut life, &signed.bytes, confirmed).await;
    let Stage::Succeeded { slot, .. } = life.stage().clone() else {
        panic!("{:?}", life.stage())
    };
    let spent = lamports(&node, &cast.fee.address()).await;
    for _ in 0..3 {
        for outcome in node.send_each(&signed.bytes).await {
            assert!(
                matches!(outcome, SendOutcome::Accepted | SendOutcome::AlreadyProcessed),
                "{outcome:?}"
            );
        }
        tokio::time::sleep(std::time::Duration::from_millis(3 * SLOT_MS)).await;
    }
    let error = node.simulate(&signed.bytes, Commitment::Processed).await.unwrap().error;
    assert!(error.is_some_and(|error| error.is_already_processed()));
    assert_eq!(usdc(&node, &cast.treasury.address()).await, Some(7));
    assert_eq!(lamports(&node, &cast.fee.address()).await, spent);
    assert_eq!(
        transaction(&node, &signed.id, &cast.treasury_account()).await.slot,
        slot
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_blockhash_leads_to_the_expiry_proof() {
    let Some(chain) = Chain::ready() else { return };
    let (node, cast) = (chain.node(), TestKeys::fund_on(&chain, 12).await);
    let hash = blockhash(&node).await;
    let signed = co_sign(&cast.payment(&hash, vec![cast.transfer(7)], "too late"), &cast.fee).unwrap();
    while node.position(Commitment::Finalized).await.unwrap().block_height <= hash.last_valid_block_height {
        tokio::time::sleep(std::time::Duration::from_millis(5 * SLOT_MS)).await;
    }
    assert!(
        !node
            .is_blockhash_valid(&hash.hash, Commitment::Processed)
            .await
            .unwrap()
            .0
    );
    let error = node.simulate(&signed.bytes, Commitment::Processed).await.unwrap().error;
    assert!(error.is_some_and(|error| error.is_blockhash_not_found()));
    let mut life = lifecycle(&node, &signed, &hash);
    let stages = drive(&node, &mut life, &signed.bytes, Stage::is_final).await;
    assert_eq!(stages, [Stage::Sent, Stage::Expired]);
    assert_eq!(usdc(&node, &cast.treasury.address()).await, Some(0));

    // One endpoint alone never proves it.
    let alone = chain.node_with(1);
    let mut unknown = self::lifecycle(&alone, &signed, &hash);
    unknown.sent();
    for _ in 0..3 {
        let Ok(Evidence::Absent(absence)) = alone.evidence_on(0, &signed.id).await else {
            panic!("absent")
        };
        assert!(absence.proves_expiry_of(unknown.prepared()));
        unknown.record_absence(0, absence);
    }
    assert!(unknown.stage() == &Stage::Sent && unknown.awaits_proof());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_payer_costs_a_fee_only_if_it_is_sent() {
    let Some(chain) = Chain::ready() else { return };
    let (node, cast) = (chain.node(), TestKeys::fund_on(&chain, 13).await);
    chain.set_usdc(&cast.client.address(), 50, true).await;
    let account = associated_token_account(&cast.client.address(), &USDC_MAINNET).unwrap();
    assert!(
        node.token_account(&account, Commitment::Processed)
            .await
            .unwrap()
            .unwrap()
            .frozen
    );
    let hash = blockhash(&node).await;
    let signed = co_sign(&cast.payment(&hash, vec![cast.transfer(7)], "frozen"), &cast.fee).unwrap();
    let error = node
        .simulate(&signed.bytes, Commitment::Processed)
        .await
        .unwrap()
        .error
        .unwrap();
    assert_eq!((error.instruction, error.custom), (Some(2), Some(TOKEN_ACCOUNT_FROZEN)));

    let before = lamports(&node, &cast.fee.address()).await;
    let mut life = lifecycle(&node, &signed, &hash);
    let stages = drive(&node, &mut life, &signed.bytes, Stage::is_final).await;
    let Some(Stage::Failed { error, .. }) = stages.last() else {
        panic!("{stages:?}")
    };
    assert_eq!(error.custom, Some(TOKEN_ACCOUNT_FROZEN));
    assert_eq!(
        lamports(&node, &cast.fee.address()).await,
        before - fees(&signed.bytes).charged()
    );
    let found = transaction(&node, &signed.id, &cast.treasury_account()).await;
    assert!(found.movements.is_empty() && found.error.is_some() && found.unexplained == 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_withdrawal_creates_the_token_account_and_pays_its_rent() {
    let Some(chain) = Chain::ready() else { return };
    let (node, cast) = (chain.node(), TestKeys::fund_on(&chain, 14).await);
    chain.set_usdc(&cast.treasury.address(), 1_000, false).await;
    let owner = Keypair::from_seed(&[200; 32]).address();
    assert_eq!(usdc(&node, &owner).await, None);
    let rent = node.rent_exemption(TOKEN_ACCOUNT_BYTES).await.unwrap();
    for (amount, rent) in [(300, rent), (200, 0)] {
        let before = lamports(&node, &cast.fee.address()).await;
        let hash = blockhash(&node).await;
        let transfer = TransferChecked::between(&cast.treasury.address(), &owner, &USDC_MAINNET, amount).unwrap();
        let withdrawal = draft(
            &cast.fee,
            &hash,
            vec![
                set_compute_unit_limit(60_000),
                set_compute_unit_price(1_000),
                create_associated_token_account(&cast.fee.address(), &owner, &USDC_MAINNET).unwrap(),
                transfer.instruction(),
            ],
        );
        let signed = sign(&withdrawal, &[&cast.fee, &cast.treasury]).unwrap();
        let mut life = lifecycle(&node, &signed, &hash);
        let seen = |stage: &Stage| matches!(stage, Stage::Succeeded { level, .. } if *level >= Commitment::Confirmed);
        drive(&node, &mut life, &signed.bytes, seen).await;
        let spent = before - lamports(&node, &cast.fee.address()).await;
        assert_eq!(spent, fees(&signed.bytes).charged() + rent, "rent is paid once");
        let found = transaction(&node, &signed.id, &cast.treasury_account()).await;
        let [movement] = found.movements.as_slice() else {
            panic!("{found:?}")
        };
        assert_eq!(
            (movement.direction, movement.amount, movement.other_owner),
            (Direction::Out, amount, Some(owner))
        );
    }
    assert_eq!(usdc(&node, &owner).await, Some(500));
    assert_eq!(usdc(&node, &cast.treasury.address()).await, Some(500));
}
