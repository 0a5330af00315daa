//! Solana as the suite of all settlement ports sees it.

use std::sync::Arc;
use std::time::Duration;

use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::{Authorization, Settlement, TreasuryList};
use purser_chains::solana::transaction::co_sign;

use crate::house::{House, until, wallet};
use crate::suite::{self, Rail};

/// Roles from this one on are payers.
const FIRST_PAYER: u8 = 100;
const RECIPIENT: u8 = 99;

pub struct SolanaRail {
    pub house: House,
    payers: u8,
}

impl SolanaRail {
    pub const fn new(house: House) -> Self {
        Self {
            house,
            payers: FIRST_PAYER,
        }
    }

    async fn signed(&mut self, amount: Usdc, holds: u64) -> Authorization {
        self.payers += 1;
        let payer = self.house.another(self.payers);
        self.house.chain.set_usdc(&payer.address(), holds, false).await;
        let fee_payer = self.house.fee_payer().address();
        let text = format!("payer {}", self.payers);
        self.house.payment_by(&payer, &fee_payer, amount.atomic(), &text).await
    }
}

impl Rail for SolanaRail {
    fn network(&self) -> Network {
        Network::Solana
    }

    fn port(&self) -> Arc<dyn Settlement> {
        self.house.port.clone()
    }

    fn list(&self) -> Arc<dyn TreasuryList> {
        self.house.port.clone()
    }

    async fn payment(&mut self, amount: Usdc) -> Authorization {
        self.signed(amount, amount.atomic()).await
    }

    async fn empty_payment(&mut self, amount: Usdc) -> Authorization {
        self.signed(amount, 0).await
    }

    /// With the fee payer's key, which another history of ours has too.
    async fn by_a_stranger(&mut self, authorization: &Authorization) {
        let Authorization::Solana(transfer) = authorization else {
            panic!()
        };
        let signed = co_sign(&transfer.transaction, &self.house.fee_payer()).unwrap();
        self.house.node().send_each(&signed.bytes).await;
    }

    async fn recipient(&mut self) -> Wallet {
        let recipient = self.house.another(RECIPIENT);
        if self.house.usdc(&recipient.address()).await.is_none() {
            self.house.chain.set_usdc(&recipient.address(), 0, false).await;
        }
        wallet(&recipient)
    }

    async fn fund_treasury(&mut self, amount: Usdc) {
        let treasury = self.house.treasury().address();
        let holds = self.house.usdc(&treasury).await.unwrap_or(0);
        self.house
            .chain
            .set_usdc(&treasury, holds + amount.atomic(), false)
            .await;
    }

    async fn go_on(&mut self) {
        // The chain goes on by itself.
        tokio::time::sleep(Duration::from_millis(50)).await;
    }

    async fn make_final(&mut self) {
        let port = self.house.port.clone();
        let seen = port.status().slot;
        until("all of it is read as final", || async {
            (port.status().covered_slot > seen).then_some(())
        })
        .await;
    }

    async fn run_out(&mut self, _: &Authorization) {
        /// A blockhash is good for so many blocks.
        const LIFE: u64 = 150;
        let signed = self.house.blockhash().await.last_valid_block_height;
        until("the blockhash is dead", || async {
            let now = self.house.blockhash().await.last_valid_block_height;
            (now > signed + LIFE).then_some(())
        })
        .await;
        self.make_final().await;
    }

    async fn reopen(&mut self) {
        self.house.kill().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_port_for_solana_does_what_every_settlement_port_must() {
    let Some(house) = House::open(82).await else { return };
    suite::all(&mut SolanaRail::new(house)).await;
}
