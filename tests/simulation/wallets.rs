//! Managed wallets, pretended. No plan has one yet: whoever calls is objected to.

use std::sync::Arc;

use purser_actors::port::{
    Authorization, BoxFuture, Custody, ErrorKind, PaidCalls, PortError, SealedKeys, SealedPart, Transfer,
};
use purser_actors::spend::Answer;

use crate::world::World;

pub(crate) struct NoWallets(pub(crate) Arc<World>);

type Told<'a, T> = BoxFuture<'a, Result<T, PortError>>;

impl NoWallets {
    fn uncalled<T: Send + 'static>(&self, operation: &'static str) -> Told<'_, T> {
        self.0.object("wallet.called", operation);
        Box::pin(std::future::ready(Err(PortError {
            kind: ErrorKind::Permanent,
            operation,
            message: "nobody has a managed wallet".into(),
        })))
    }
}

impl Custody for NoWallets {
    fn sign_transfer<'a>(&'a self, _: SealedKeys<'a>, _: &'a Transfer) -> Told<'a, Authorization> {
        self.uncalled("sign transfer")
    }

    fn sign_call<'a>(&'a self, _: SealedKeys<'a>, _: SealedPart<'a>) -> Told<'a, (Authorization, Vec<u8>)> {
        self.uncalled("sign call")
    }
}

impl PaidCalls for NoWallets {
    fn call<'a>(&'a self, _: SealedPart<'a>, _: &'a [u8]) -> Told<'a, (Answer, Vec<u8>)> {
        self.uncalled("paid call")
    }
}
