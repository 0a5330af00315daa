//! Rules for providers that hold customers' money: the reloadable card issuer and the bank. They apply to any provider
//! that opens an account for everyone and approves a Lovelace.

use purser::provider::banking::{PlainApplication, PlainDocument};
use purser::provider::reloadable_cards::PlainOpenResult;
use purser::provider::{PlainCard, Providers};
use purser::secret::Secret;
use purser_actors::id::{
    BankAccountId, BankTransferId, BankingApplicationId, CardId, DocumentId, JobId, Wallet, WithdrawalId,
};
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::banking::{
    AccountNumbers, AccountType, BankDecision, BankTransferRequest, BankTransferResult, OpenAccountRequest,
    OpenAccountResult, ReviewDecision,
};
use purser_actors::port::{
    CardAction, CardActionRequest, CardDeposit, CardState, ErrorKind, HoldRequest, HoldResult, HoldStatus,
    IssuerAccountResult, OpenCardRequest, PortError,
};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use super::control::ProviderControl;
use super::suite::until;

pub(crate) async fn check_all_rules(providers: &Providers, control: &ProviderControl) {
    let account = funded(providers, control).await;
    cards(providers, account).await;
    card_actions(providers).await;
    reservations(providers, account).await;
    application(providers).await;
    let (on, off) = bank_accounts(providers).await;
    moves(providers, off).await;
    deposits(providers, control, on).await;
}

fn permanent<T: std::fmt::Debug>(result: Result<T, PortError>, what: &str) {
    assert_eq!(result.unwrap_err().kind, ErrorKind::Permanent, "{what}");
}

async fn balance_is(providers: &Providers, account: [u8; 20], cents: u64) {
    let expected = Usdc::from_cents(Cents::new(cents)).unwrap();
    let balance = providers.balances.balance(&account).await.unwrap();
    assert_eq!(balance, expected);
}

/// An account with 100 USDC, which were seen to count.
async fn funded(providers: &Providers, control: &ProviderControl) -> [u8; 20] {
    let holder = Wallet::Evm([0xC3; 20]);
    let account = until("an account", async || {
        match providers.accounts.open(&holder).await.unwrap() {
            IssuerAccountResult::Open { deposit_address } => Some(deposit_address),
            _ => None,
        }
    })
    .await;
    balance_is(providers, account, 0).await;
    let deposit = control.deposit(account, 10_000).await;
    until("the deposit to count", async || {
        let counts = providers.deposits.is_credited(&deposit).await.unwrap();
        counts.then_some(())
    })
    .await;
    let other = CardDeposit {
        amount: Usdc::from_atomic(1),
        ..deposit
    };
    assert!(!providers.deposits.is_credited(&other).await.unwrap(), "another amount");
    balance_is(providers, account, 10_000).await;
    account
}

fn card(key: u128, account: [u8; 20], cents: u64) -> OpenCardRequest {
    OpenCardRequest {
        key: JobId(key),
        card: CardId(key + 1_000),
        account,
        amount: Cents::new(cents),
        reusable: true,
    }
}

async fn ordered(providers: &Providers, order: &OpenCardRequest) -> PlainOpenResult {
    until("a reloadable card", async || {
        let result = providers.reloadable_cards.open(order).await.unwrap();
        (!matches!(result, PlainOpenResult::Pending { .. })).then_some(result)
    })
    .await
}

async fn opened(providers: &Providers, order: &OpenCardRequest) -> PlainCard {
    match ordered(providers, order).await {
        PlainOpenResult::Open { card } => card,
        result => panic!("{result:?}"),
    }
}

async fn cards(providers: &Providers, account: [u8; 20]) {
    let program = &providers.reloadable_cards;
    let dear = card(40, account, 10_001);
    for _ in 0..2 {
        let result = ordered(providers, &dear).await;
        assert!(matches!(result, PlainOpenResult::Insufficient), "{result:?}");
    }
    balance_is(providers, account, 10_000).await;
    let order = card(41, account, 4_050);
    let first = opened(providers, &order).await;
    let again = opened(providers, &order).await;
    assert_eq!(first.issuer_ref, again.issuer_ref, "one key is one card");
    assert_eq!(first.number.expose_secret(), again.number.expose_secret());
    balance_is(providers, account, 5_950).await;
    let other = OpenCardRequest {
        amount: Cents::new(4_051),
        ..order
    };
    permanent(program.open(&other).await, "a key has one content");
    // Two orders at once never share a cent.
    let (left, right) = (card(42, account, 4_000), card(43, account, 4_000));
    let (left, right) = tokio::join!(ordered(providers, &left), ordered(providers, &right));
    let is_open = |result: &PlainOpenResult| matches!(result, PlainOpenResult::Open { .. });
    assert!(is_open(&left) != is_open(&right), "{left:?} {right:?}");
    balance_is(providers, account, 1_950).await;
    assert!(matches!(
        program.cvv(&first.issuer_ref).await.unwrap().expose_secret().len(),
        3 | 4
    ));
    assert_eq!(program.available(&first.issuer_ref).await.unwrap(), Cents::new(4_050));
    for unknown in ["unknown", "../cards", "a/b?c=d"] {
        permanent(program.available(unknown).await, unknown);
        permanent(program.cvv(unknown).await, unknown);
    }
}

/// What the holder wants of the card of key 41.
async fn card_actions(providers: &Providers) {
    let program = &providers.reloadable_cards;
    let account = match providers.accounts.open(&Wallet::Evm([0xC3; 20])).await.unwrap() {
        IssuerAccountResult::Open { deposit_address } => deposit_address,
        result => panic!("{result:?}"),
    };
    let issuer_ref = opened(providers, &card(41, account, 4_050)).await.issuer_ref;
    let request = |key, action| CardActionRequest {
        key: JobId(key),
        card: CardId(1_041),
        issuer_ref: issuer_ref.clone(),
        action,
    };
    let mut last = 0;
    for (key, action, state) in [
        (51, CardAction::Pause, CardState::Paused),
        (52, CardAction::Resume, CardState::Open),
        // What was carried out is not carried out again, whatever came after it.
        (51, CardAction::Pause, CardState::Open),
        (53, CardAction::Close, CardState::Closed),
        (53, CardAction::Close, CardState::Closed),
        (54, CardAction::Resume, CardState::Closed),
    ] {
        let snapshot = program.apply_action(&request(key, action)).await.unwrap();
        assert_eq!(snapshot.state, state, "{key} {action:?}");
        assert!(snapshot.sequence >= last, "{key}");
        last = snapshot.sequence;
    }
    balance_is(providers, account, 6_000).await;
    let unknown = CardActionRequest {
        issuer_ref: "unknown".into(),
        ..request(55, CardAction::Pause)
    };
    permanent(program.apply_action(&unknown).await, "no such card");
    let events = program.events_after(0, 1_000).await.unwrap();
    assert!(events.windows(2).all(|pair| pair[0].position < pair[1].position));
    let newest = events.iter().rfind(|event| event.card == CardId(1_041)).unwrap();
    assert_eq!(
        (newest.snapshot.state, newest.snapshot.sequence),
        (CardState::Closed, last)
    );
    assert_eq!(
        program.events_after(events[0].position, 1_000).await.unwrap(),
        events[1..]
    );
    assert_eq!(program.events_after(0, 1).await.unwrap(), events[..1]);
    assert!(
        program
            .events_after(events.last().unwrap().position, 10)
            .await
            .unwrap()
            .is_empty()
    );
}

async fn reservations(providers: &Providers, account: [u8; 20]) {
    let program = &providers.reloadable_cards;
    let part = |key: u128, cents| HoldRequest {
        key: JobId(key),
        withdrawal: WithdrawalId(key + 1_000),
        account,
        amount: Cents::new(cents),
    };
    let set_aside = async |order: HoldRequest| {
        until("a reservation", async || {
            let result = program.hold(&order).await.unwrap();
            (!matches!(result, HoldResult::Pending { .. })).then_some(result)
        })
        .await
    };
    assert_eq!(set_aside(part(61, 7_000)).await, HoldResult::InsufficientBalance);
    for _ in 0..2 {
        assert_eq!(set_aside(part(62, 2_000)).await, HoldResult::Held);
        balance_is(providers, account, 4_000).await;
    }
    permanent(program.hold(&part(62, 2_001)).await, "a key has one content");
    for _ in 0..2 {
        program.settle_hold(JobId(62), true).await.unwrap();
    }
    permanent(program.settle_hold(JobId(62), false).await, "it was paid");
    assert_eq!(
        set_aside(part(62, 2_000)).await,
        HoldResult::AlreadySettled { paid: true }
    );
    assert_eq!(
        program.hold_status(JobId(62)).await.unwrap(),
        HoldStatus::Settled { paid: true }
    );
    assert_eq!(program.hold_status(JobId(69)).await.unwrap(), HoldStatus::NotFound);
    permanent(program.settle_hold(JobId(69), true).await, "nothing was held");
    assert_eq!(set_aside(part(63, 4_000)).await, HoldResult::Held);
    assert_eq!(program.hold_status(JobId(63)).await.unwrap(), HoldStatus::Held);
    balance_is(providers, account, 0).await;
    for _ in 0..2 {
        program.settle_hold(JobId(63), false).await.unwrap();
        balance_is(providers, account, 4_000).await;
    }
    assert_eq!(
        program.hold_status(JobId(63)).await.unwrap(),
        HoldStatus::Settled { paid: false }
    );
    assert_eq!(
        set_aside(part(61, 7_000)).await,
        HoldResult::InsufficientBalance,
        "a no stays one"
    );
}

fn application_with(key: u128, bytes: &[u8], tax: &str) -> PlainApplication {
    PlainApplication {
        key: JobId(key),
        id: BankingApplicationId(1 << 100),
        wallet: Wallet::Evm([0xC3; 20]),
        answers: vec![
            ("first_name".into(), "Ada".into()),
            ("last_name".into(), "Lovelace".into()),
        ],
        tax_id: Secret::new(tax.to_owned()),
        documents: vec![PlainDocument {
            id: DocumentId(key + 1_000),
            document_type: "proof_of_address".into(),
            media_type: "application/pdf".into(),
            sha256: Sha256::digest(b"%PDF paper").into(),
            bytes: Zeroizing::new(bytes.to_vec()),
        }],
    }
}

async fn application(providers: &Providers) {
    let bank = &providers.bank;
    let decided = async || {
        until("a review", async || {
            match bank
                .review(application_with(71, b"%PDF paper", "987654321"))
                .await
                .unwrap()
            {
                BankDecision::Final(review) => Some(review),
                BankDecision::Pending { .. } => None,
            }
        })
        .await
    };
    let review = decided().await;
    assert!(
        matches!(&review, ReviewDecision::Approved { customer } if !customer.is_empty()),
        "{review:?}"
    );
    assert_eq!(decided().await, review, "one key is one submission");
    permanent(
        bank.review(application_with(71, b"%PDF paper", "987654322")).await,
        "a key has one content",
    );
    permanent(
        bank.review(application_with(72, b"%PDF other", "987654321")).await,
        "not the document that was announced",
    );
}

async fn bank_accounts(providers: &Providers) -> (BankAccountId, BankAccountId) {
    let order = |key: u128, ramp| OpenAccountRequest {
        key: JobId(key),
        account: BankAccountId((key << 100) + key),
        customer: "customer".into(),
        account_type: ramp,
    };
    let opened = async |order: OpenAccountRequest| -> AccountNumbers {
        until("a bank account", async || {
            match providers.bank.open(&order).await.unwrap() {
                BankDecision::Final(OpenAccountResult::Open(at)) => Some(at),
                BankDecision::Final(refused) => panic!("{refused:?}"),
                BankDecision::Pending { .. } => None,
            }
        })
        .await
    };
    let on = opened(order(81, AccountType::OnRamp)).await;
    assert_eq!(on.routing_number.len(), 9);
    assert_eq!(
        opened(order(81, AccountType::OnRamp)).await,
        on,
        "one key is one account"
    );
    permanent(
        providers.bank.open(&order_as(order(81, AccountType::OnRamp))).await,
        "a key has one content",
    );
    let off = opened(order(82, AccountType::OffRamp)).await;
    assert_ne!(off.account_number, on.account_number);
    (
        order(81, AccountType::OnRamp).account,
        order(82, AccountType::OffRamp).account,
    )
}

/// The same order for another account.
fn order_as(order: OpenAccountRequest) -> OpenAccountRequest {
    OpenAccountRequest {
        account: BankAccountId(7),
        ..order
    }
}

async fn moves(providers: &Providers, off: BankAccountId) {
    let bank = &providers.bank;
    let order = |key: u128, cents, to_account| BankTransferRequest {
        key: JobId(key),
        transfer: BankTransferId(key + 1_000),
        account: off,
        amount: Cents::new(cents),
        to_account,
    };
    let moved = async |order: BankTransferRequest| {
        until("a move", async || match bank.transfer(&order).await.unwrap() {
            BankDecision::Final(moved) => Some(moved),
            BankDecision::Pending { .. } => None,
        })
        .await
    };
    assert_eq!(bank.balance(off).await.unwrap(), Cents::ZERO);
    permanent(bank.balance(BankAccountId(6)).await, "no such account");
    let done = moved(order(91, 5_000, true)).await;
    assert!(
        matches!(&done, BankTransferResult::Complete { reference } if !reference.is_empty()),
        "{done:?}"
    );
    assert_eq!(moved(order(91, 5_000, true)).await, done, "one key moves once");
    assert_eq!(bank.balance(off).await.unwrap(), Cents::new(5_000));
    permanent(bank.transfer(&order(91, 5_001, true)).await, "a key has one content");
    permanent(bank.transfer(&order(91, 5_000, false)).await, "a key has one direction");
    assert!(matches!(
        moved(order(92, 2_000, false)).await,
        BankTransferResult::Complete { .. }
    ));
    for _ in 0..2 {
        let failed = moved(order(93, 3_001, false)).await;
        assert!(matches!(failed, BankTransferResult::Failed { .. }), "{failed:?}");
    }
    assert_eq!(bank.balance(off).await.unwrap(), Cents::new(3_000));
}

async fn deposits(providers: &Providers, control: &ProviderControl, on: BankAccountId) {
    let bank = &providers.bank;
    assert!(bank.incoming(0, 10).await.unwrap().is_empty());
    for (cents, reference) in [(1_234, "wire-1"), (1, "wire-2"), (1_234, "wire-1"), (1_234, "wire-3")] {
        control.pay_in(on, cents, reference).await;
    }
    let events = bank.incoming(0, 1_000).await.unwrap();
    assert!(events.windows(2).all(|pair| pair[0].position < pair[1].position));
    let mut named: Vec<_> = events
        .iter()
        .map(|one| (&*one.reference, one.amount.get(), one.account))
        .collect();
    named.sort_unstable();
    named.dedup();
    assert_eq!(named, [("wire-1", 1_234, on), ("wire-2", 1, on), ("wire-3", 1_234, on)]);
    assert_eq!(bank.incoming(events[0].position, 1_000).await.unwrap(), events[1..]);
    assert_eq!(bank.incoming(0, 1).await.unwrap(), events[..1]);
    assert!(
        bank.incoming(events.last().unwrap().position, 10)
            .await
            .unwrap()
            .is_empty()
    );
}
