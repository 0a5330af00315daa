//! Base as the suite of all settlement ports sees it.

use std::sync::Arc;

use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::{Authorization, Settlement, TreasuryList};
use serde_json::json;

use crate::base::harness::{Harness, hex, key, treasury};
use crate::suite::{self, Rail};

pub struct BaseRail {
    pub harness: Harness,
    payers: u8,
    pub external_payers: u64,
}

impl BaseRail {
    pub const fn new(harness: Harness) -> Self {
        Self {
            harness,
            payers: 0,
            external_payers: 0,
        }
    }

    async fn signed(&mut self, amount: Usdc, funded: bool) -> Authorization {
        self.payers += 1;
        let name = format!("payer {}", self.payers);
        if funded {
            self.harness.send_usdc(key(&name).address(), amount.atomic()).await;
        }
        let until = u64::from(u32::MAX) - 1_000;
        self.harness
            .signed(&name, treasury(), amount.atomic(), until, self.payers)
    }
}

impl Rail for BaseRail {
    fn network(&self) -> Network {
        Network::Base
    }

    fn port(&self) -> Arc<dyn Settlement> {
        self.harness.port().clone()
    }

    fn list(&self) -> Arc<dyn TreasuryList> {
        self.harness.port().clone()
    }

    async fn payment(&mut self, amount: Usdc) -> Authorization {
        self.signed(amount, true).await
    }

    async fn empty_payment(&mut self, amount: Usdc) -> Authorization {
        self.signed(amount, false).await
    }

    async fn submit_externally(&mut self, authorization: &Authorization) {
        let data = self.harness.calldata(authorization);
        let token = self.harness.token.address();
        self.harness
            .submit_foreign("stranger", self.external_payers, token, data)
            .await;
        self.external_payers += 1;
        self.harness.anvil.mine(1).await;
    }

    async fn recipient(&mut self) -> Wallet {
        Wallet::Evm(key("recipient").address().into_array())
    }

    async fn fund_treasury(&mut self, amount: Usdc) {
        let holds = self.harness.balance(treasury()).await;
        self.harness.send_usdc(treasury(), holds + amount.atomic()).await;
        self.make_final().await;
    }

    async fn advance(&mut self) {
        self.harness.anvil.mine(1).await;
    }

    async fn make_final(&mut self) {
        self.harness.anvil.mine(12).await;
        self.harness.read().await;
    }

    async fn expire(&mut self, authorization: &Authorization) {
        let Authorization::Evm(signed) = authorization else {
            panic!()
        };
        let end = hex(signed.valid_before);
        self.harness
            .anvil
            .control("evm_setNextBlockTimestamp", json!([end]))
            .await;
        self.make_final().await;
    }

    async fn reopen(&mut self) {
        self.harness.kill().await;
        self.harness.open().await;
        self.harness.read().await;
    }
}

#[tokio::test]
async fn base_port_passes_the_settlement_suite() {
    let Some(world) = Harness::start(0).await else { return };
    suite::run_suite(&mut BaseRail::new(world)).await;
}
