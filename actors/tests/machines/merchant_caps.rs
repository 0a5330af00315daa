//! Caps of an agent wallet per merchant: what counts, from when, for whom, and until when.

use purser_actors::entity::agent_wallet::{
    AgentWallet, Command as Ask, Event as WalletEvent, MerchantCap, MerchantCaps, Rejection as No, UsableApproval,
    WalletCaps, WalletSpend,
};
use purser_actors::entity::spend_approval::{APPROVED_MS, ExceededLimit, SpendAgent, SpendLimit};
use purser_actors::entity::wallet_payment::{PaymentMethod, WalletPaymentOrder};
use purser_actors::id::{SpendApprovalId, Wallet, WalletPaymentId};
use purser_actors::kernel::{Decision, Entity, to_json};
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::{Timestamp, WalletAddresses};

use crate::fixtures::{DAY_MS, JOB, NOW, WALLET, at, event_names, fold};

const SHOP: &str = "shop.example.com:443";

fn dollars(dollars: u64) -> Usdc {
    Usdc::from_atomic(dollars * 1_000_000)
}

fn caps(hosts: &[(&str, u64)], others: Option<u64>) -> MerchantCaps {
    MerchantCaps {
        hosts: hosts
            .iter()
            .map(|(host, cap)| MerchantCap {
                host: (*host).to_owned(),
                per_day: Cents::new(cap * 100),
            })
            .collect(),
        others: others.map(|cap| Cents::new(cap * 100)),
    }
}

fn wallet(merchants: MerchantCaps, approvals: bool) -> AgentWallet {
    let made = WalletEvent::Created {
        addresses: WalletAddresses {
            base: [8; 20],
            solana: [9; 32],
        },
        caps: WalletCaps {
            per_call: Cents::new(100_000),
            per_day: None,
            approvals,
        },
        at: NOW,
    };
    fold(None, &WALLET, &[made, WalletEvent::MerchantCapsChanged(merchants)])
}

fn spend(id: u128, host: Option<&str>, amount: u64) -> WalletSpend {
    WalletSpend {
        payment: WalletPaymentId(id),
        order: WalletPaymentOrder {
            to: Wallet::Evm([5; 20]),
            amount: dollars(amount),
            note: None,
            method: match host {
                Some(host) => PaymentMethod::PaidCall { host: host.to_owned() },
                None => PaymentMethod::Transfer,
            },
        },
        call: vec![1],
        chain_balance: dollars(1_000_000),
        known_lines: None,
        agent: SpendAgent::default(),
        call_digest: [0; 32],
        purchase: None,
    }
}

fn hold(
    wallet: &AgentWallet,
    spend: WalletSpend,
    before: Usdc,
    approval: Option<UsableApproval>,
    now: Timestamp,
) -> Result<Decision<AgentWallet>, No> {
    let command = Ask::Hold {
        spend: Box::new(spend),
        spent_before: before,
        approval: approval.map(Box::new),
        key: None,
    };
    AgentWallet::decide(Some(wallet), &WALLET, command, &at(now))
}

fn paid(wallet: AgentWallet, id: u128, host: &str, amount: u64, now: Timestamp) -> AgentWallet {
    let decision = hold(&wallet, spend(id, Some(host), amount), Usdc::ZERO, None, now).unwrap();
    fold(Some(wallet), &WALLET, decision.events())
}

fn ended(wallet: AgentWallet, id: u128, is_paid: bool, now: Timestamp) -> AgentWallet {
    let command = Ask::SettleHold {
        job: JOB,
        payment: WalletPaymentId(id),
        paid: is_paid,
        key: None,
    };
    let decision = AgentWallet::decide(Some(&wallet), &WALLET, command, &at(now)).unwrap();
    fold(Some(wallet), &WALLET, decision.events())
}

const fn over(cap: u64, left: u64) -> No {
    No::OverLimit(ExceededLimit {
        limit: SpendLimit::MerchantPerDay,
        cap: Cents::new(cap * 100),
        left: Usdc::from_atomic(left * 1_000_000),
    })
}

#[test]
fn merchants_are_capped_by_their_exact_host() {
    // Checks: which cap applies to which call, for a payment of six dollars.
    let shop = [("shop.example.com", 5)];
    let table = [
        (caps(&[], None), Some(SHOP), None),
        (caps(&shop, None), Some(SHOP), Some(over(5, 5))),
        // All ports of a host count together, and a final dot is the same host.
        (caps(&shop, None), Some("shop.example.com:8443"), Some(over(5, 5))),
        (caps(&shop, None), Some("shop.example.com.:443"), Some(over(5, 5))),
        // Another host is another merchant, also below or above it.
        (caps(&shop, None), Some("example.com:443"), None),
        (caps(&shop, None), Some("www.shop.example.com:443"), None),
        (caps(&shop, None), Some("shop.example.com.evil.example:443"), None),
        (
            caps(&[("[2001:db8::1]", 5)], None),
            Some("[2001:db8::1]:443"),
            Some(over(5, 5)),
        ),
        // The others' cap is that of those without their own.
        (caps(&[], Some(4)), Some(SHOP), Some(over(4, 4))),
        (caps(&[], Some(0)), Some(SHOP), Some(over(0, 0))),
        (caps(&[("shop.example.com", 9)], Some(0)), Some(SHOP), None),
        (caps(&shop, Some(50)), Some(SHOP), Some(over(5, 5))),
        // This service has a cap only under its name, and a transfer has no merchant.
        (caps(&[], Some(0)), Some(PaymentMethod::OWN), None),
        (caps(&[("route", 5)], None), Some(PaymentMethod::OWN), Some(over(5, 5))),
        (caps(&[], Some(0)), None, None),
    ];
    for (caps, host, refusal) in table {
        let wallet = wallet(caps.clone(), false);
        let asked = hold(&wallet, spend(1, host, 6), Usdc::ZERO, None, NOW);
        assert_eq!(asked.err(), refusal, "{caps:?} {host:?}");
    }
}

#[test]
fn merchant_cap_is_reserved_and_released_by_the_day() {
    // Checks: reservations count at once and per merchant; one that is not paid is released on its own day only; a new
    // day begins with nothing; what a lost history spent counts for every merchant.
    let mut now = wallet(caps(&[("shop.example.com", 10)], Some(7)), false);
    now = paid(now, 1, SHOP, 6, NOW);
    now = paid(now, 2, "other.example:443", 7, NOW);
    let refused =
        |wallet: &AgentWallet, host, amount, at| hold(wallet, spend(9, Some(host), amount), Usdc::ZERO, None, at).err();
    assert_eq!(refused(&now, SHOP, 5, NOW), Some(over(10, 4)));
    assert_eq!(refused(&now, SHOP, 4, NOW), None);
    assert_eq!(refused(&now, "other.example:443", 1, NOW), Some(over(7, 0)));
    assert_eq!(refused(&now, "third.example:443", 7, NOW), None);
    let after_loss = hold(&now, spend(9, Some(SHOP), 4), dollars(1), None, NOW);
    assert_eq!(after_loss.err(), Some(over(10, 3)));
    let used = |wallet: &AgentWallet, host, at| wallet.used_at(host, at).atomic() / 1_000_000;
    assert_eq!(
        (used(&now, "shop.example.com", NOW), used(&now, "other.example", NOW)),
        (6, 7)
    );
    let settled = ended(now.clone(), 1, true, NOW);
    assert_eq!(used(&settled, "shop.example.com", NOW), 6);
    let released = ended(now.clone(), 1, false, NOW);
    assert_eq!(used(&released, "shop.example.com", NOW), 0);
    assert_eq!(refused(&released, SHOP, 10, NOW), None);
    let tomorrow = Timestamp(NOW.0 + DAY_MS);
    assert_eq!(used(&now, "shop.example.com", tomorrow), 0);
    let next = paid(now, 3, SHOP, 8, tomorrow);
    assert_eq!(
        (
            used(&next, "shop.example.com", tomorrow),
            next.merchants_on(tomorrow).count()
        ),
        (8, 1)
    );
    let late = ended(next.clone(), 1, false, tomorrow);
    assert_eq!(
        used(&late, "shop.example.com", tomorrow),
        8,
        "yesterday's share is yesterday's"
    );
}

#[test]
fn merchant_cap_waits_for_the_owner_as_other_limits_do() {
    // Checks: with approvals the spend waits; the approval passes the merchant's cap only if the owner saw it; the spend
    // counts. The caps can be read, and setting the same ones changes nothing.
    let asked = wallet(caps(&[("shop.example.com", 5)], None), true);
    let call = || spend(1, Some(SHOP), 6);
    assert_eq!(
        hold(&asked, call(), Usdc::ZERO, None, NOW).err(),
        Some(No::ApprovalRequired)
    );
    let given = |limit| UsableApproval {
        id: SpendApprovalId(61),
        terms: call().terms(),
        limits: vec![limit],
        expires_at: Timestamp(NOW.0 + APPROVED_MS),
    };
    let unseen = hold(&asked, call(), Usdc::ZERO, Some(given(SpendLimit::PerDay)), NOW);
    assert_eq!(unseen.err(), Some(No::ApprovalRequired));
    let passed = hold(&asked, call(), Usdc::ZERO, Some(given(SpendLimit::MerchantPerDay)), NOW).unwrap();
    let after = fold(Some(asked.clone()), &WALLET, passed.events());
    assert_eq!(after.used_at("shop.example.com", NOW), dollars(6));
    let view = to_json(&asked.view(&WALLET));
    assert!(
        view.contains(
            r#""merchants":{"hosts":[{"host":"shop.example.com","per_day_usd":5}],"others_per_day_usd":null}"#
        ),
        "{view}"
    );
    assert!(!to_json(&wallet(MerchantCaps::default(), true).view(&WALLET)).contains("merchants"));
    let set = |caps| {
        let decision = AgentWallet::decide(Some(&asked), &WALLET, Ask::SetMerchantCaps(caps), &at(NOW)).unwrap();
        event_names(&decision)
    };
    assert_eq!(set(asked.merchant_caps.clone()), "=");
    assert_eq!(set(MerchantCaps::default()), "MerchantCapsChanged");
}

#[test]
fn many_merchants_of_a_day_open_no_cap() {
    // Checks: once no more merchants are counted, a merchant with a cap is refused, one without is paid, and those that
    // are counted go on.
    let most = AgentWallet::MAX_MERCHANTS_A_DAY;
    let fill = |caps: MerchantCaps| {
        (0..most).fold(wallet(caps, false), |wallet, nth| {
            let full = paid(wallet, nth as u128, &format!("m{nth}.example:443"), 1, NOW);
            ended(full, nth as u128, true, NOW)
        })
    };
    let free = fill(caps(&[], None));
    assert_eq!(free.merchants_on(NOW).count(), most);
    let more = paid(free, 1_000, "more.example:443", 1, NOW);
    let more = ended(more, 1_000, false, NOW);
    assert_eq!(
        (more.merchants_on(NOW).count(), more.used_on(NOW)),
        (most, dollars(most as u64))
    );
    let capped = fill(caps(&[], Some(3)));
    let asked = |host| hold(&capped, spend(1_000, Some(host), 2), Usdc::ZERO, None, NOW).err();
    assert_eq!(asked("more.example:443"), Some(over(3, 0)));
    assert_eq!(asked("m7.example:443"), None);
}
