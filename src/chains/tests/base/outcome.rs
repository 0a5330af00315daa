//! Outcomes of the payments, by the movements that the follower found and by the token's balances.

use purser_chains::evm::node::{BlockTag, CallRequest};
use purser_chains::evm::usdc::{self, Authorization, Movement, MovementKind};
use purser_chains::evm::{Address, U256};

use crate::base::harness::{Harness, VALUE};

impl Harness {
    /// The movements that an authorization has caused.
    pub fn movements_of(&self, payment: usize) -> Vec<Movement> {
        let Authorization {
            from, to, value, nonce, ..
        } = self.payments[payment].authorization;
        let expected = MovementKind::Transfer {
            from,
            to,
            value,
            authorization: Some(nonce),
        };
        self.movements
            .values()
            .filter(|movement| movement.kind == expected)
            .copied()
            .collect()
    }

    pub async fn balance(&self, account: Address) -> U256 {
        let data = usdc::balance_call(account).into();
        let request = CallRequest {
            from: account,
            to: self.token.address(),
            data,
            gas: 100_000,
        };
        usdc::decode_balance(&self.node.call(&request, BlockTag::Latest).await.unwrap()).unwrap()
    }

    /// The treasury has the money of these payments, each by one movement, and no row is left once all is final.
    pub async fn assert_settled_once(&mut self, settled: &[usize]) {
        for payment in 0..self.payments.len() {
            let expected = usize::from(settled.contains(&payment));
            assert_eq!(self.movements_of(payment).len(), expected, "payment {payment}");
        }
        assert_eq!(
            self.balance(self.treasury).await,
            U256::from(VALUE * settled.len() as u64)
        );
        self.anvil.mine(12).await;
        self.step(60_000).await;
        self.step(60_000).await;
        assert!(self.rows.is_empty(), "{:?}", self.rows);
        assert_eq!((self.manager.gaps(), self.manager.in_flight()), (0, 0));
    }
}
