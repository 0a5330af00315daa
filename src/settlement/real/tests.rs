#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use purser_actors::money::Usdc;
use purser_chains::evm::U256;
use purser_chains::evm::blocks::Finality;
use purser_chains::evm::key::EvmKey;
use purser_chains::evm::node::FeePolicy;
use purser_chains::rpc::{EndpointSettings, EndpointUrl};
use purser_chains::solana::keypair::Keypair;
use zeroize::Zeroizing;

use super::*;
use crate::cctp::CctpSettings;
use crate::facilitator::Auth;
use purser_protocol::payment::{BaseChain, SolanaChain};

const HUNDRED: Usdc = Usdc::from_atomic(100_000_000);
const ALL: Usdc = Usdc::from_atomic(u64::MAX);

fn key(byte: u8) -> EvmKey {
    EvmKey::from_bytes(Zeroizing::new([byte; 32])).unwrap()
}

fn endpoints() -> Vec<EndpointSettings> {
    vec![EndpointSettings::new(
        EndpointUrl::parse("https://a.example/k").unwrap(),
    )]
}

fn facilitator() -> FacilitatorSettings {
    FacilitatorSettings {
        url: reqwest::Url::parse("https://f.example").unwrap(),
        auth: Auth::None,
        timeout: Duration::from_millis(1),
    }
}

fn chains() -> RealChains {
    RealChains {
        base: BaseConfig {
            chain: BaseChain::SEPOLIA,
            endpoints: endpoints(),
            treasury: key(1),
            gas_keys: vec![key(2)],
            fees: FeePolicy {
                min_priority_fee: 3,
                max_priority_fee: 4,
                max_fee: 5,
            },
            gas_floor: U256::from(6),
            finality: vec![(HUNDRED, Finality::Blocks(7)), (ALL, Finality::Finalized)],
            erc6492_factories: vec![Address::repeat_byte(7)],
            facilitators: Vec::new(),
        },
        solana: SolanaConfig {
            chain: SolanaChain::DEVNET,
            endpoints: endpoints(),
            treasury: Keypair::from_seed(&[1; 32]),
            fee_payers: vec![Keypair::from_seed(&[2; 32])],
            max_priority_fee: 8,
            fee_payer_floor: 9,
            account_rent_max: 10,
            finality: vec![(HUNDRED, AnyDepth::Blocks(11)), (ALL, AnyDepth::Finalized)],
            facilitators: Vec::new(),
        },
        bridge: BridgeConfig {
            used: false,
            cctp: CctpSettings {
                deployment: purser_chains::cctp::TESTNET,
                min_finality_threshold: purser_chains::cctp::THRESHOLD_STANDARD,
                max_fee: purser_chains::cctp::burn::FeeRate::ZERO,
            },
            iris: "https://iris.example".into(),
            timeout: Duration::from_secs(1),
        },
    }
}

// Checks: the ports open with the settings of both chains; transfers of managed wallets on Base are recorded from the
// start.
#[test]
fn the_ports_are_opened_with_what_the_settings_say() {
    let RealChains { base, solana, .. } = chains();
    let wallets = [Wallet::Evm([5; 20]), Wallet::Solana([5; 32])];
    let base = base_settings(base, &wallets);
    assert_eq!(base.check(), Ok(()));
    let token = (base.chain_id, base.token.address, base.token.name.as_str());
    let sepolia = BaseChain::SEPOLIA.token;
    assert_eq!(token, (84_532, Address::new(sepolia.asset), sepolia.name));
    let keys: Vec<Address> = base.gas_keys.iter().map(EvmKey::address).collect();
    assert_eq!(
        (base.treasury.address(), keys),
        (key(1).address(), vec![key(2).address()])
    );
    assert_eq!((base.fees.max_fee, base.gas_floor), (5, U256::from(6)));
    let of = |amount| base.finality_of(Usdc::from_atomic(amount));
    assert_eq!(
        (of(100_000_000), of(100_000_001)),
        (Finality::Blocks(7), Finality::Finalized)
    );
    assert_eq!(base.wallets, [Address::new([5; 20])]);
    assert_eq!(base.erc6492_factories, [Address::new([7; 20])]);
    let solana = solana_settings(solana);
    assert_eq!(solana.mint, SolanaChain::DEVNET.mint);
    let limits = solana.payer_limits;
    assert_eq!((limits.priority_fee_cap, limits.floor_lamports), (8, 9));
    assert_eq!(solana.account_rent_cap, 10);
    let of = |amount| solana.finality.depth_for(Usdc::from_atomic(amount));
    assert_eq!((of(100_000_000), of(100_000_001)), (Depth::Slots(11), Depth::Finalized));
}

// Checks: each network needs a key or a facilitator that pays for transactions. With a facilitator the port opens
// without a key.
#[test]
fn transactions_need_a_fee_payer() {
    assert!(unpaid(&chains()).is_ok());
    let mut keyless = chains();
    keyless.base.gas_keys.clear();
    keyless.solana.fee_payers.clear();
    let InvalidSetting(found) = unpaid(&keyless).unwrap_err();
    let keys: Vec<&str> = found.iter().map(|error| error.key().unwrap()).collect();
    assert_eq!(keys, ["chains.base.gas_keys", "chains.solana.fee_payers"]);
    keyless.base.facilitators.push(facilitator());
    keyless.solana.facilitators.push(facilitator());
    assert!(unpaid(&keyless).is_ok());
    let RealChains { base, solana, .. } = keyless;
    let base = base_settings(base, &[]);
    assert!(base.is_facilitated);
    assert_eq!(base.check(), Ok(()));
    assert!(solana_settings(solana).is_facilitated);
    let alone = chains();
    assert!(!base_settings(alone.base, &[]).is_facilitated && !solana_settings(alone.solana).is_facilitated);
}
