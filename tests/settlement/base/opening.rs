//! What no port opens with, by the name of the setting.

use purser::settlement::evm::{BaseSettings, FinalityStep};
use purser_actors::money::Usdc;
use purser_chains::evm::blocks::Finality;
use serde_json::json;

use crate::base::harness::{Harness, hex, key};

async fn open_error(w: &Harness, settings: BaseSettings) -> String {
    match w.try_open(settings).await {
        Ok(_) => panic!("it has opened"),
        Err(error) => error.to_string(),
    }
}

fn step(up_to: u64, finality: Finality) -> FinalityStep {
    FinalityStep {
        up_to: Usdc::from_atomic(up_to),
        finality,
    }
}

type Change = fn(&mut BaseSettings);

/// What is changed of good settings, and how the refusal begins.
const INVALID_SETTINGS: [(Change, &str); 11] = [
    (|s| s.chain_id = 84_532, "`chain_id`: the endpoint"),
    (|s| s.endpoints = vec![], "`endpoints`: none"),
    (|s| s.gas_keys = vec![], "`gas_keys`: none"),
    (
        |s| s.gas_keys = vec![key("a"), key("a")],
        "`gas_keys`: one is given twice",
    ),
    (
        |s| s.gas_keys = vec![key("treasury")],
        "`gas_keys`: one is the treasury's",
    ),
    (|s| s.gas_keys = vec![key("poor")], "`gas_keys`: 0x"),
    (
        |s| s.finality = vec![step(2, Finality::Safe), step(1, Finality::Safe)],
        "`finality`: the amounts",
    ),
    (
        |s| s.finality = vec![step(1, Finality::Blocks(65))],
        "`finality`: more than 64",
    ),
    (|s| s.proof = Finality::Confirmed, "`proof`"),
    (
        |s| s.token.address = key("unused").address(),
        "`token`: there is no contract",
    ),
    (|s| s.token.name = "USDC".to_owned(), "`token`: the EIP-712 domain"),
];

// Checks: each bad setting is rejected before anything starts, and the error begins with its name.
#[tokio::test]
async fn a_port_does_not_open_with_a_bad_setting() {
    let Some(w) = Harness::closed(0).await else { return };
    for (change, expected) in INVALID_SETTINGS {
        let mut settings = w.settings();
        change(&mut settings);
        let refused = open_error(&w, settings).await;
        assert!(refused.starts_with(expected), "{refused}");
    }
    let multicall = purser_chains::evm::multicall::MULTICALL3;
    w.anvil.control("anvil_setCode", json!([hex(multicall), "0x"])).await;
    let refused = open_error(&w, w.settings()).await;
    assert!(refused.starts_with("`chain_id`: there is no contract"), "{refused}");
}
