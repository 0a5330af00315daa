//! The sandbox's Base through the same suite: the test double keeps the rules of the production port.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use purser::payment::terms::Token;
use purser::sandbox::chains::SandboxSettlement;
use purser::sandbox::keys::treasury;
use purser::sandbox::store::{DIRECTORY, SMALL_SEGMENTS, SandboxStore};
use purser::wallet::TestWallet;
use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::{
    Authorization, Clock, Entropy, EvmAuthorization, EvmSignature, Preparation, Settlement, Timestamp, TreasuryList,
};
use tempfile::TempDir;

use crate::suite::{self, Rail};

/// What each wallet starts with: one payment of the suite.
const GRANT: Usdc = Usdc::from_atomic(1_000_000);

struct TestClock(AtomicU64);

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

struct Counter;

impl Entropy for Counter {
    fn random(&self) -> u128 {
        7_919
    }
}

struct SandboxRail {
    folder: TempDir,
    clock: Arc<TestClock>,
    chains: Arc<SandboxSettlement>,
    payers: u8,
}

fn open(folder: &TempDir, clock: &Arc<TestClock>) -> Arc<SandboxSettlement> {
    Arc::new(
        SandboxSettlement::open(
            &SandboxStore::open(folder.path(), SMALL_SEGMENTS).unwrap(),
            GRANT,
            clock.clone(),
            &Counter,
        )
        .unwrap(),
    )
}

impl SandboxRail {
    fn signed(&self, nonce: u8, amount: Usdc) -> Authorization {
        let wallet = TestWallet::from_bytes(&[self.payers; 32], &[self.payers; 32]).unwrap();
        let Wallet::Evm(to) = treasury(Network::Base) else {
            panic!()
        };
        let mut signed = EvmAuthorization {
            from: wallet.evm_address(),
            to,
            value: amount,
            valid_after: 0,
            valid_before: u64::from(u32::MAX),
            nonce: [nonce; 32],
            signature: EvmSignature::ecdsa([0; 65]),
        };
        wallet.sign_transfer(&Token::SANDBOX.domain(), &mut signed);
        Authorization::Evm(signed)
    }

    async fn bring(&self, authorization: &Authorization) {
        let Preparation::Ready(prepared) = self.chains.prepare(authorization).await.unwrap() else {
            panic!()
        };
        self.chains.submit(authorization, &prepared).await.unwrap();
    }
}

impl Rail for SandboxRail {
    fn network(&self) -> Network {
        Network::Base
    }

    fn port(&self) -> Arc<dyn Settlement> {
        self.chains.clone()
    }

    fn list(&self) -> Arc<dyn TreasuryList> {
        self.chains.clone()
    }

    async fn payment(&mut self, amount: Usdc) -> Authorization {
        self.payers += 1;
        self.signed(self.payers, amount)
    }

    async fn empty_payment(&mut self, amount: Usdc) -> Authorization {
        let first = self.payment(GRANT).await;
        self.bring(&first).await;
        self.signed(self.payers + 100, amount)
    }

    async fn submit_externally(&mut self, authorization: &Authorization) {
        self.bring(authorization).await;
    }

    async fn recipient(&mut self) -> Wallet {
        Wallet::Evm([0x77; 20])
    }

    async fn fund_treasury(&mut self, amount: Usdc) {
        let funded = self.chains.fund(treasury(Network::Base), amount).await.unwrap();
        assert!(funded.is_ok(), "{funded:?}");
    }

    async fn advance(&mut self) {
        self.clock.0.fetch_add(1, Ordering::SeqCst);
    }

    async fn make_final(&mut self) {}

    async fn expire(&mut self, authorization: &Authorization) {
        let Authorization::Evm(signed) = authorization else {
            panic!()
        };
        self.clock.0.store(signed.valid_before * 1_000, Ordering::SeqCst);
    }

    // As after `kill -9`: another instance on a copy of the disk's present content.
    async fn reopen(&mut self) {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join(DIRECTORY);
        std::fs::create_dir(&store).unwrap();
        let files = std::fs::read_dir(self.folder.path().join(DIRECTORY)).unwrap();
        for file in files.map(Result::unwrap) {
            // The journal without its snapshots.
            if file.path().extension().is_some_and(|end| end == "seg") {
                std::fs::copy(file.path(), store.join(file.file_name())).unwrap();
            }
        }
        self.chains = open(&folder, &self.clock);
        self.folder = folder;
    }
}

#[tokio::test]
async fn sandbox_passes_the_settlement_suite() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(TestClock(AtomicU64::new(1_768_473_000_000)));
    let chains = open(&folder, &clock);
    let mut rail = SandboxRail {
        folder,
        clock,
        chains,
        payers: 0,
    };
    suite::run_suite(&mut rail).await;
}
