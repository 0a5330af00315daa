//! Solana as the suite of all settlement ports sees it.

use std::sync::Arc;
use std::time::Duration;

use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::{Authorization, Settlement, TreasuryList};
use purser_chains::solana::transaction::co_sign;

use crate::solana::harness::{Harness, until, wallet};
use crate::suite::{self, Rail};

/// Roles from this one on are payers.
const FIRST_PAYER: u8 = 100;
const RECIPIENT: u8 = 99;

pub struct SolanaRail {
    pub harness: Harness,
    payers: u8,
}

impl SolanaRail {
    pub const fn new(harness: Harness) -> Self {
        Self {
            harness,
            payers: FIRST_PAYER,
        }
    }

    async fn signed(&mut self, amount: Usdc, holds: u64) -> Authorization {
        self.payers += 1;
        let payer = self.harness.another(self.payers);
        self.harness.chain.set_usdc(&payer.address(), holds, false).await;
        let fee_payer = self.harness.fee_payer().address();
        let text = format!("payer {}", self.payers);
        self.harness
            .payment_by(&payer, &fee_payer, amount.atomic(), &text)
            .await
    }
}

impl Rail for SolanaRail {
    fn network(&self) -> Network {
        Network::Solana
    }

    fn port(&self) -> Arc<dyn Settlement> {
        self.harness.port.clone()
    }

    fn list(&self) -> Arc<dyn TreasuryList> {
        self.harness.port.clone()
    }

    async fn payment(&mut self, amount: Usdc) -> Authorization {
        self.signed(amount, amount.atomic()).await
    }

    async fn empty_payment(&mut self, amount: Usdc) -> Authorization {
        self.signed(amount, 0).await
    }

    /// Uses the fee payer's key, as a restored copy of the service would.
    async fn submit_externally(&mut self, authorization: &Authorization) {
        let Authorization::Solana(transfer) = authorization else {
            panic!()
        };
        let signed = co_sign(&transfer.transaction, &self.harness.fee_payer()).unwrap();
        self.harness.node().send_each(&signed.bytes).await;
    }

    async fn recipient(&mut self) -> Wallet {
        let recipient = self.harness.another(RECIPIENT);
        if self.harness.usdc(&recipient.address()).await.is_none() {
            self.harness.chain.set_usdc(&recipient.address(), 0, false).await;
        }
        wallet(&recipient)
    }

    async fn fund_treasury(&mut self, amount: Usdc) {
        let treasury = self.harness.treasury().address();
        let holds = self.harness.usdc(&treasury).await.unwrap_or(0);
        self.harness
            .chain
            .set_usdc(&treasury, holds + amount.atomic(), false)
            .await;
    }

    async fn advance(&mut self) {
        // The chain goes on by itself.
        tokio::time::sleep(Duration::from_millis(50)).await;
    }

    async fn make_final(&mut self) {
        let port = self.harness.port.clone();
        let seen = port.status().slot;
        until("all of it is read as final", || async {
            (port.status().covered_slot > seen).then_some(())
        })
        .await;
    }

    async fn expire(&mut self, _: &Authorization) {
        /// Blocks for which a blockhash is valid.
        const LIFE: u64 = 150;
        let signed = self.harness.blockhash().await.last_valid_block_height;
        until("the blockhash is dead", || async {
            let now = self.harness.blockhash().await.last_valid_block_height;
            (now > signed + LIFE).then_some(())
        })
        .await;
        self.make_final().await;
    }

    async fn reopen(&mut self) {
        self.harness.kill().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn solana_port_passes_the_settlement_suite() {
    let Some(harness) = Harness::open(82).await else { return };
    suite::run_suite(&mut SolanaRail::new(harness)).await;
}
