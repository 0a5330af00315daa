//! Checks before a claim, and payers that are contracts.

use purser::payment::evm::keccak;
use purser::settlement::chain::{Acceptance, ContractWallets as _};
use purser::settlement::evm::BaseSettings;
use purser_actors::port::{Authorization, ChainStatus, EvmSignature, Preparation, Settlement as _, SubmitResult};
use purser_chains::evm::contract_wallet::Undeployed;
use purser_chains::evm::node::{BlockTag, CallRequest};
use purser_chains::evm::{Address, Bytes};
use serde_json::{Value, json};

use crate::base::harness::{Harness, VALUE, hex, key, payer, treasury, until};

const LATE: u64 = u32::MAX as u64;

async fn declined_reason(w: &Harness, payment: &Authorization) -> Option<String> {
    let decline = w.port().precheck(payment).await;
    decline.map(|decline| decline.reason.to_string())
}

async fn accepts(w: &Harness, payment: &Authorization) -> Acceptance {
    let Authorization::Evm(signed) = payment else { panic!() };
    w.port().accepts(signed).await.unwrap()
}

fn with_signature(payment: &Authorization, signature: &[u8]) -> Authorization {
    let Authorization::Evm(mut signed) = payment.clone() else {
        panic!()
    };
    signed.signature = EvmSignature::new(signature).unwrap();
    Authorization::Evm(signed)
}

fn runtime(contract: &str) -> Value {
    let contracts = include_str!("../../../src/chains/tests/anvil/contracts.json");
    let contracts: Value = serde_json::from_str(contracts).unwrap();
    contracts["runtime"][contract].clone()
}

/// Makes this address a wallet of `owner`, in a new block.
async fn becomes_wallet(w: &Harness, address: Address, code: &Value) {
    w.anvil.control("anvil_setCode", json!([hex(address), code])).await;
    let owner = format!("{:#x}", key("owner").address().into_word());
    w.anvil
        .control("anvil_setStorageAt", json!([hex(address), "0x0", owner]))
        .await;
    w.anvil.mine(1).await;
}

async fn settles(w: &Harness, payment: &Authorization) -> String {
    assert!(matches!(w.prepare(payment).await, Preparation::Ready(_)));
    match w.mined(w.submit(payment)).await {
        SubmitResult::Settled { transaction, .. } => transaction,
        SubmitResult::Declined(decline) => panic!("{decline:?}"),
    }
}

// Checks (case 88): a payment of an empty wallet is declined before its claim, and settles when the wallet has the
// money; preparing uses the check before the claim, but only once, so that a wallet that is drained in between costs
// gas at most once.
#[tokio::test]
async fn case_88_empty_wallet_is_declined_before_the_claim() {
    let Some(w) = Harness::start(2).await else { return };
    let (good, short) = (w.payment(0), w.payment(1));
    w.send_usdc(payer(1), VALUE - 1).await;
    w.anvil.mine(1).await;
    assert_eq!(declined_reason(&w, &short).await.as_deref(), Some("insufficient_funds"));
    w.send_usdc(payer(1), VALUE).await;
    w.anvil.mine(1).await;
    until("it has the money", async || {
        declined_reason(&w, &short).await.is_none().then_some(())
    })
    .await;

    // Once more if the check was too old by the time of the second.
    until("it is prepared as it was checked", async || {
        w.send_usdc(payer(0), VALUE).await;
        w.anvil.mine(1).await;
        let checked = declined_reason(&w, &good).await.is_none();
        w.send_usdc(payer(0), 0).await;
        w.anvil.mine(1).await;
        (checked && matches!(w.prepare(&good).await, Preparation::Ready(_))).then_some(())
    })
    .await;
    let Preparation::Declined(decline) = w.prepare(&good).await else {
        panic!("checked again")
    };
    assert_eq!(decline.reason, "insufficient_funds");
    w.send_usdc(payer(0), VALUE).await;
    w.anvil.mine(1).await;
    settles(&w, &good).await;
    assert_eq!(declined_reason(&w, &good).await, None, "on the chain");
    settles(&w, &short).await;
    w.assert_settled_once(&[0, 1]).await;
}

// Checks (case 14): a contract (ERC-1271) and an account that delegates to one (EIP-7702) accept their signatures and
// no others, before and after the payment is on the chain; an address without a contract accepts none.
#[tokio::test]
async fn case_14_contracts_and_delegated_accounts_verify_their_signatures() {
    let Some(w) = Harness::start(4).await else { return };
    let implementation = Address::repeat_byte(0x77);
    becomes_wallet(&w, implementation, &runtime("SmartWallet")).await;
    let delegation = json!(format!("0xef0100{}", hex::encode(implementation)));
    for (n, code) in [(0, runtime("SmartWallet")), (1, delegation)] {
        becomes_wallet(&w, payer(n), &code).await;
        let nonce = 10 + u8::try_from(n).unwrap();
        let by = |name: &str| w.signed_for(name, payer(n), treasury(), VALUE, LATE, nonce);
        let (good, bad) = (by("owner"), by("payer 3"));
        let long = with_signature(&good, &[7; 200]);
        assert_eq!(accepts(&w, &bad).await, Acceptance::NotAccepted, "{n}");
        assert_eq!(accepts(&w, &long).await, Acceptance::NotAccepted, "{n}");
        assert_eq!(accepts(&w, &good).await, Acceptance::Accepted, "{n}");
        assert_eq!(
            accepts(&w, &bad).await,
            Acceptance::NotAccepted,
            "{n}: with the valid one in the cache"
        );
        let dearer = w.signed_for("payer 3", payer(n), treasury(), 2 * VALUE, LATE, nonce);
        assert_eq!(accepts(&w, &dearer).await, Acceptance::NotAccepted, "{n}");
        assert_eq!(declined_reason(&w, &good).await, None, "{n}");
        settles(&w, &good).await;
        // Not from the cache: preparing took the entry.
        assert_eq!(accepts(&w, &good).await, Acceptance::Accepted, "{n}: used");
        assert_eq!(accepts(&w, &bad).await, Acceptance::NotAccepted, "{n}: used");
        assert!(matches!(w.lookup(&good).await, ChainStatus::Confirmed { .. }), "{n}");
    }
    let plain = with_signature(&w.payment(2), &[7; 80]);
    for _ in 0..2 {
        assert_eq!(accepts(&w, &plain).await, Acceptance::NotAContract);
    }
    let own = with_signature(&w.signed_for("payer 3", payer(2), treasury(), VALUE, LATE, 9), &[7; 65]);
    assert_eq!(accepts(&w, &own).await, Acceptance::NotAContract);
    assert_eq!(w.balance(treasury()).await, 2 * VALUE);
}

// Checks: a contract's signature is valid although its low balance leads to a decline.
#[tokio::test]
async fn an_empty_contract_has_a_valid_signature_and_is_declined() {
    let Some(w) = Harness::start(1).await else { return };
    becomes_wallet(&w, payer(0), &runtime("SmartWallet")).await;
    let payment = w.signed_for("owner", payer(0), treasury(), 2 * VALUE, LATE, 3);
    assert_eq!(accepts(&w, &payment).await, Acceptance::Accepted);
    assert_eq!(
        declined_reason(&w, &payment).await.as_deref(),
        Some("insufficient_funds")
    );
}

fn word(bytes: &[u8]) -> [u8; 32] {
    let mut word = [0; 32];
    word[32 - bytes.len()..].copy_from_slice(bytes);
    word
}

/// Calldata of one of the factory's functions, which take an owner and a salt.
fn factory_call(function: &str, owner: Address) -> Bytes {
    let selector = &keccak(format!("{function}(address,uint256)").as_bytes())[..4];
    [selector, word(owner.as_slice()).as_slice(), word(&[5]).as_slice()]
        .concat()
        .into()
}

// Checks (case 14): a wallet that is not deployed pays (ERC-6492): a listed factory deploys it in the transaction of
// its payment, which has no other payment; it pays again when it is deployed. Another factory or a wrong signature is
// declined.
#[tokio::test]
async fn case_14_smart_account_is_deployed_with_its_first_payment() {
    let Some(mut w) = Harness::closed(2).await else { return };
    let (factory, owner) = (Address::repeat_byte(0x66), key("owner").address());
    let code = runtime("SmartWalletFactory");
    w.anvil.control("anvil_setCode", json!([hex(factory), code])).await;
    w.anvil.mine(1).await;
    let request = CallRequest {
        from: owner,
        to: factory,
        data: factory_call("addressOf", owner),
        gas: 100_000,
    };
    let returned = w.node.call(&request, BlockTag::Latest).await.unwrap();
    let wallet = Address::from_slice(&returned[12..32]);
    w.send_usdc(wallet, 2 * VALUE).await;
    w.anvil.mine(1).await;
    let wrapped = |factory: Address, by: &str, nonce: u8| {
        let payment = w.signed_for(by, wallet, treasury(), VALUE, LATE, nonce);
        let Authorization::Evm(signed) = &payment else { panic!() };
        let undeployed = Undeployed {
            factory,
            call: factory_call("deploy", owner),
            signature: signed.signature.as_bytes().to_vec().into(),
        };
        with_signature(&payment, &undeployed.wrap())
    };
    let (first, second) = (wrapped(factory, "owner", 1), wrapped(factory, "owner", 2));
    let (forged, foreign) = (wrapped(factory, "payer 1", 3), wrapped(payer(0), "owner", 4));
    let settings = BaseSettings {
        erc6492_factories: vec![factory],
        ..w.settings()
    };
    let port = w.try_open(settings).await.unwrap();
    w.port = Some(std::sync::Arc::new(port));
    w.read().await;

    assert_eq!(accepts(&w, &forged).await, Acceptance::NotAccepted);
    assert_eq!(accepts(&w, &foreign).await, Acceptance::NotAccepted, "not listed");
    assert!(matches!(w.prepare(&foreign).await, Preparation::Declined(_)));
    assert_eq!(accepts(&w, &first).await, Acceptance::Accepted);
    assert_eq!(declined_reason(&w, &first).await, None);
    assert_eq!(w.node.have_code(&[wallet]).await.unwrap(), [false], "nothing was sent");

    let plain = w.payment(0);
    for payment in [&first, &plain] {
        assert!(matches!(w.prepare(payment).await, Preparation::Ready(_)));
    }
    let submitted = [w.submit(&first), w.submit(&plain)];
    let mut transactions = Vec::new();
    for submitted in submitted {
        match w.mined(submitted).await {
            SubmitResult::Settled { transaction, .. } => transactions.push(transaction),
            SubmitResult::Declined(decline) => panic!("{decline:?}"),
        }
    }
    assert_ne!(transactions[0], transactions[1], "it goes alone");
    assert_eq!(w.node.have_code(&[wallet]).await.unwrap(), [true]);
    assert_eq!(w.balance(wallet).await, VALUE);
    assert_eq!(accepts(&w, &first).await, Acceptance::Accepted, "used");
    settles(&w, &second).await;
    assert_eq!(w.balance(wallet).await, 0);
    assert_eq!(w.balance(treasury()).await, 3 * VALUE);
}
