//! An agent with a wallet that signs payments and signs in as stock clients do.

use purser::payment::decode;
use purser::payment::decode::Payload;
use purser::payment::solana::wire::Transaction;
use purser::system::{SystemClock, SystemEntropy};
use purser::wallet::payment::SigningContext;
use purser::wallet::{PaymentRequired, TestWallet};
use purser_actors::id::Network;
use purser_actors::port::{Clock as _, Timestamp};
use sha2::{Digest as _, Sha256};

use super::http::{Response, ServiceClient};

/// A wallet on one of its two chains.
pub(crate) struct Agent {
    pub(crate) wallet: TestWallet,
    pub(crate) network: Network,
}

impl Agent {
    /// A new wallet.
    pub(crate) fn new(network: Network) -> Self {
        Self {
            wallet: TestWallet::create(&SystemEntropy).unwrap(),
            network,
        }
    }

    /// The wallet derived from this number.
    pub(crate) fn seeded(network: Network, seed: u64, number: usize) -> Self {
        let key = |chain: &str| Sha256::digest(format!("{chain} {seed} {number}")).into();
        Self {
            wallet: TestWallet::from_bytes(&key("base"), &key("solana")).unwrap(),
            network,
        }
    }

    pub(crate) fn address(&self) -> String {
        self.wallet.address(self.network)
    }

    pub(crate) async fn challenge(site: &ServiceClient<'_>, path: &str) -> PaymentRequired {
        let answer = site.get(path, &[]).await;
        assert_eq!(answer.status, 402, "{}", answer.text);
        required(&answer)
    }

    /// Signs a payment for a challenge at the current time.
    pub(crate) fn sign(&self, required: &PaymentRequired) -> String {
        self.sign_at(required, SystemClock.now())
    }

    /// Signs a payment with another timestamp.
    pub(crate) fn sign_at(&self, required: &PaymentRequired, now: Timestamp) -> String {
        let offer = required.choose(Some(self.network)).unwrap();
        let circumstances = SigningContext {
            now,
            entropy: &SystemEntropy,
            blockhash: None,
        };
        self.wallet.pay(required, &offer, &circumstances).unwrap()
    }

    pub(crate) async fn payment(&self, site: &ServiceClient<'_>, path: &str) -> String {
        self.sign(&Self::challenge(site, path).await)
    }

    pub(crate) async fn pay(site: &ServiceClient<'_>, path: &str, payment: &str) -> Response {
        site.get(path, &[("payment-signature", payment)]).await
    }

    /// Requests the challenge, signs it and pays.
    pub(crate) async fn buy(&self, site: &ServiceClient<'_>, path: &str) -> Response {
        let payment = self.payment(site, path).await;
        Self::pay(site, path, &payment).await
    }

    /// Signs the sign-in challenge.
    pub(crate) async fn proof(&self, site: &ServiceClient<'_>) -> String {
        let path = format!("/auth?network={}", self.network.name());
        let info = required(&site.get(&path, &[]).await).sign_in().unwrap();
        self.wallet.sign_in(&info, self.network).unwrap()
    }

    /// Signs in and returns the response with the tokens.
    pub(crate) async fn sign_in(&self, site: &ServiceClient<'_>) -> Response {
        let proof = self.proof(site).await;
        let answer = site.get("/auth", &[("sign-in-with-x", &proof)]).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer
    }

    /// Signs in and returns the `id_token`.
    pub(crate) async fn token(&self, site: &ServiceClient<'_>) -> String {
        let answer = self.sign_in(site).await;
        answer.body["auth"]["id_token"].as_str().unwrap().to_owned()
    }
}

/// The challenge of a 402 response.
pub(crate) fn required(answer: &Response) -> PaymentRequired {
    let header = answer.header("payment-required").expect("no challenge");
    PaymentRequired::from_header(header.as_bytes()).unwrap()
}

/// The payment's identity in the sandbox chains' lists: the EIP-3009 nonce or the message hash.
pub(crate) fn chain_key(payment: &str) -> String {
    match decode(payment.as_bytes()).unwrap().payload {
        Payload::Evm(evm) => evm.authorization.nonce.trim_start_matches("0x").to_owned(),
        Payload::Solana(wire) => hex::encode(Sha256::digest(Transaction::parse(&wire).unwrap().message)),
        Payload::Unsupported(kind) => panic!("{kind}"),
    }
}
