//! Keys of agent wallets, and the servers that they pay. The fake chain has the true transfers.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use purser_actors::id::Wallet;
use purser_actors::port::{
    Authorization, BoxFuture, CallFailure, ErrorKind, EvmAuthorization, OutgoingTransferRequest, PaidHttpClient,
    PortError, SealedHttpPart, SealedKeys, ServerResponse, WalletAddresses, WalletSigner,
};

use super::ports::{FakeChain, error};

/// Behavior of a server for a paid call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SellerBehavior {
    /// Accepts the payment and responds.
    Success,
    /// Accepts the payment, but its response is lost.
    ResponseLost,
    /// Accepts the payment and responds with an error.
    ErrorResponse,
    /// Responds 402 and accepts nothing.
    Declined,
    Unreachable,
}

/// Every signed payment is different, so signing twice for one wallet payment could pay twice.
pub(crate) struct FakeSellers {
    chain: Arc<FakeChain>,
    signed: Mutex<Vec<Authorization>>,
    behaviors: Mutex<VecDeque<SellerBehavior>>,
    calls: AtomicU64,
}

impl FakeSellers {
    pub(crate) fn on_chain(chain: &Arc<FakeChain>) -> Self {
        Self {
            chain: chain.clone(),
            signed: Mutex::default(),
            behaviors: Mutex::default(),
            calls: AtomicU64::new(0),
        }
    }

    /// Sets the behaviors of the next calls; the last one applies to all later calls.
    pub(crate) fn set_behaviors(&self, served: &[SellerBehavior]) {
        *self.behaviors.lock() = served.iter().copied().collect();
    }

    /// Number of paid calls that reached a server.
    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }

    /// Every signed payment.
    pub(crate) fn signed(&self) -> Vec<Authorization> {
        self.signed.lock().clone()
    }

    fn sign(&self, key: u128, to: [u8; 20], value: purser_actors::money::Usdc) -> Authorization {
        let mut signed = self.signed.lock();
        let mut nonce = [7; 32];
        nonce[..16].copy_from_slice(&key.to_be_bytes());
        nonce[16..24].copy_from_slice(&(signed.len() as u64).to_be_bytes());
        let authorization = Authorization::Evm(EvmAuthorization {
            from: [8; 20],
            to,
            value,
            valid_after: 0,
            valid_before: u64::MAX,
            nonce,
            signature: [1; 65].into(),
        });
        signed.push(authorization.clone());
        authorization
    }
}

impl WalletSigner for FakeSellers {
    fn addresses(&self, _: &Wallet) -> Option<WalletAddresses> {
        None
    }

    fn sign_transfer<'a>(
        &'a self,
        keys: SealedKeys<'a>,
        transfer: &'a OutgoingTransferRequest,
    ) -> BoxFuture<'a, Result<Authorization, PortError>> {
        assert_eq!(keys.sealed, b"keys");
        let Wallet::Evm(to) = transfer.to else {
            panic!("this chain knows Base only")
        };
        Box::pin(async move { Ok(self.sign(transfer.key, to, transfer.amount)) })
    }

    fn sign_call<'a>(
        &'a self,
        keys: SealedKeys<'a>,
        call: SealedHttpPart<'a>,
    ) -> BoxFuture<'a, Result<(Authorization, Vec<u8>), PortError>> {
        assert_eq!((keys.sealed, call.sealed), (&b"keys"[..], &b"call"[..]));
        Box::pin(async move {
            let place = self.signed.lock().len();
            let value = purser_actors::money::Usdc::from_atomic(1_000_000);
            let authorization = self.sign(call.payment.0, [5; 20], value);
            Ok((authorization, place.to_be_bytes().to_vec()))
        })
    }
}

impl PaidHttpClient for FakeSellers {
    fn call<'a>(
        &'a self,
        call: SealedHttpPart<'a>,
        payment: &'a [u8],
    ) -> BoxFuture<'a, Result<(ServerResponse, Vec<u8>), PortError>> {
        assert_eq!(call.sealed, b"call");
        let place = payment.try_into().map(usize::from_be_bytes);
        let authorization = self.signed.lock()[place.expect("a known payment")].clone();
        let mut served = self.behaviors.lock();
        let now = match served.len() {
            0 => SellerBehavior::Success,
            1 => served[0],
            _ => served.pop_front().unwrap_or(SellerBehavior::Success),
        };
        let response = |http_status, failure| {
            let answer = ServerResponse {
                http_status,
                content_type: Some("application/json".into()),
                failure,
            };
            Ok((answer, b"answer".to_vec()))
        };
        if now != SellerBehavior::Unreachable {
            self.calls.fetch_add(1, Ordering::SeqCst);
        }
        if matches!(
            now,
            SellerBehavior::Success | SellerBehavior::ResponseLost | SellerBehavior::ErrorResponse
        ) {
            self.chain.settle(&authorization);
        }
        let answer = match now {
            SellerBehavior::Success => response(200, None),
            SellerBehavior::ResponseLost => Err(error(ErrorKind::Unknown, "paid call")),
            SellerBehavior::ErrorResponse => response(500, Some(CallFailure::HttpError)),
            SellerBehavior::Declined => response(402, Some(CallFailure::Unsettled)),
            SellerBehavior::Unreachable => Err(error(ErrorKind::Temporary, "paid call")),
        };
        Box::pin(std::future::ready(answer))
    }
}
