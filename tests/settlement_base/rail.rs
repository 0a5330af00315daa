//! Base as the suite of all settlement ports sees it.

use std::sync::Arc;

use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::{Authorization, Settlement, TreasuryList};
use serde_json::json;

use crate::suite::{self, Rail};
use crate::world::{World, hex, key, treasury};

pub struct BaseRail {
    pub world: World,
    payers: u8,
    pub strangers: u64,
}

impl BaseRail {
    pub const fn new(world: World) -> Self {
        Self {
            world,
            payers: 0,
            strangers: 0,
        }
    }

    async fn signed(&mut self, amount: Usdc, funded: bool) -> Authorization {
        self.payers += 1;
        let name = format!("payer {}", self.payers);
        if funded {
            self.world.give(key(&name).address(), amount.atomic()).await;
        }
        let until = u64::from(u32::MAX) - 1_000;
        self.world
            .signed(&name, treasury(), amount.atomic(), until, self.payers)
    }
}

impl Rail for BaseRail {
    fn network(&self) -> Network {
        Network::Base
    }

    fn port(&self) -> Arc<dyn Settlement> {
        self.world.port().clone()
    }

    fn list(&self) -> Arc<dyn TreasuryList> {
        self.world.port().clone()
    }

    async fn payment(&mut self, amount: Usdc) -> Authorization {
        self.signed(amount, true).await
    }

    async fn empty_payment(&mut self, amount: Usdc) -> Authorization {
        self.signed(amount, false).await
    }

    async fn by_a_stranger(&mut self, authorization: &Authorization) {
        let data = self.world.calldata(authorization);
        let token = self.world.token.address();
        self.world.foreign("stranger", self.strangers, token, data).await;
        self.strangers += 1;
        self.world.anvil.mine(1).await;
    }

    async fn recipient(&mut self) -> Wallet {
        Wallet::Evm(key("recipient").address().into_array())
    }

    async fn fund_treasury(&mut self, amount: Usdc) {
        let holds = self.world.balance(treasury()).await;
        self.world.give(treasury(), holds + amount.atomic()).await;
        self.make_final().await;
    }

    async fn go_on(&mut self) {
        self.world.anvil.mine(1).await;
    }

    async fn make_final(&mut self) {
        self.world.anvil.mine(12).await;
        self.world.read().await;
    }

    async fn run_out(&mut self, authorization: &Authorization) {
        let Authorization::Evm(signed) = authorization else {
            panic!()
        };
        let end = hex(signed.valid_before);
        self.world
            .anvil
            .control("evm_setNextBlockTimestamp", json!([end]))
            .await;
        self.make_final().await;
    }

    async fn reopen(&mut self) {
        self.world.kill().await;
        self.world.open().await;
        self.world.read().await;
    }
}

#[tokio::test]
async fn the_port_for_base_does_what_every_settlement_port_must() {
    let Some(world) = World::start(0).await else { return };
    suite::all(&mut BaseRail::new(world)).await;
}
