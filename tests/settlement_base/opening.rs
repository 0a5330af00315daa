//! What no port opens with, by the name of the setting.

use purser::settlement::evm::{BaseSettings, FinalityStep, TokenSettings};
use purser_actors::money::Usdc;
use purser_chains::evm::blocks::Finality;
use serde_json::json;

use crate::world::{World, hex, key};

async fn refusal(w: &World, settings: BaseSettings) -> String {
    match w.try_open(settings).await {
        Ok(_) => panic!("it has opened"),
        Err(error) => error.to_string(),
    }
}

// Checks: each bad setting is refused before anything begins, and its name comes first.
#[tokio::test]
async fn a_port_does_not_open_with_a_bad_setting() {
    let Some(w) = World::closed(0).await else { return };
    let good = || w.settings();
    let step = |up_to, finality| FinalityStep {
        up_to: Usdc::from_atomic(up_to),
        finality,
    };
    let falling = vec![step(2, Finality::Safe), step(1, Finality::Safe)];
    let token = |address, name: &str| TokenSettings {
        address,
        name: name.to_owned(),
        version: "2".to_owned(),
    };
    let usdc = w.token.address();
    let table = [
        (
            BaseSettings {
                chain_id: 84_532,
                ..good()
            },
            "`chain_id`: the endpoint",
        ),
        (
            BaseSettings {
                endpoints: vec![],
                ..good()
            },
            "`endpoints`: none",
        ),
        (
            BaseSettings {
                gas_keys: vec![],
                ..good()
            },
            "`gas_keys`: none",
        ),
        (
            BaseSettings {
                gas_keys: vec![key("a"), key("a")],
                ..good()
            },
            "`gas_keys`: one is given twice",
        ),
        (
            BaseSettings {
                gas_keys: vec![key("treasury")],
                ..good()
            },
            "`gas_keys`: one is the treasury's",
        ),
        (
            BaseSettings {
                gas_keys: vec![key("poor")],
                ..good()
            },
            "`gas_keys`: 0x",
        ),
        (
            BaseSettings {
                finality: falling,
                ..good()
            },
            "`finality`: the amounts",
        ),
        (
            BaseSettings {
                finality: vec![step(1, Finality::Blocks(65))],
                ..good()
            },
            "`finality`: more than 64",
        ),
        (
            BaseSettings {
                proof: Finality::Confirmed,
                ..good()
            },
            "`proof`",
        ),
        (
            BaseSettings {
                token: token(key("nobody").address(), "USD Coin"),
                ..good()
            },
            "`token`: there is no contract",
        ),
        (
            BaseSettings {
                token: token(usdc, "USDC"),
                ..good()
            },
            "`token`: the EIP-712 domain",
        ),
    ];
    for (settings, expected) in table {
        let refused = refusal(&w, settings).await;
        assert!(refused.starts_with(expected), "{refused}");
    }
    let multicall = purser_chains::evm::multicall::MULTICALL3;
    w.anvil.control("anvil_setCode", json!([hex(multicall), "0x"])).await;
    let refused = refusal(&w, good()).await;
    assert!(refused.starts_with("`chain_id`: there is no contract"), "{refused}");
}
