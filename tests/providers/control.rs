//! What happens to a provider from outside its protocol: USDC that reaches a holder's account on Base, money that is
//! paid into an on-ramp.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Query, State};
use axum::routing::{get, post};
use purser::provider::sandbox::bank::SandboxBank;
use purser::provider::sandbox::card_balances::deposit_watcher::{DepositSource, IncomingUsdc};
use purser::sandbox::chains::SandboxSettlement;
use purser::sandbox::chains::remote::ChainRpcRequest;
use purser::system::SystemClock;
use purser_actors::id::{BankAccountId, Wallet};
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::{BoxFuture, CardDeposit, Clock as _, PortError};
use serde_json::{Value, json};

/// A Base on which nothing but deposits happens.
#[derive(Clone, Default)]
pub(crate) struct DepositChain(Arc<Mutex<Vec<IncomingUsdc>>>);

impl DepositChain {
    fn deposit(&self, to: [u8; 20], amount: Usdc) -> String {
        let mut arrived = self.0.lock().unwrap();
        let position = arrived.len() as u64 + 1;
        let transaction = format!("0x{position:064x}");
        arrived.push(IncomingUsdc {
            position,
            transaction: transaction.clone(),
            to,
            amount,
            at: SystemClock.now(),
        });
        transaction
    }

    fn behind(&self, after: u64, limit: usize) -> Vec<IncomingUsdc> {
        let arrived = self.0.lock().unwrap();
        let rest = arrived.iter().filter(|one| one.position > after);
        rest.take(limit).cloned().collect()
    }

    /// Shows it as a service's sandbox does, with chains that a bridge acts on. Returns that service's URL.
    pub(crate) async fn serve(&self, chains: SandboxSettlement) -> String {
        #[derive(serde::Deserialize)]
        struct Page {
            after: u64,
            limit: usize,
        }
        async fn transfers(State(chain): State<DepositChain>, Query(page): Query<Page>) -> axum::Json<Value> {
            let listed = chain.behind(page.after, page.limit).into_iter().map(|one| {
                json!({"position": one.position, "id": one.transaction, "to": Wallet::Evm(one.to).address(),
                    "amount": one.amount.atomic(), "at": one.at.0, "reorged": false})
            });
            axum::Json(json!({"transfers": listed.collect::<Vec<_>>(), "has_more": false}))
        }
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().route("/sandbox/transfers", get(transfers));
        let router = router.with_state(self.clone());
        let chains = Arc::new(chains);
        let asked = async move |axum::Json(question): axum::Json<ChainRpcRequest>| {
            let response = question.execute(&chains).await.expect("a question");
            axum::Json(response)
        };
        let router = router.route("/sandbox/chain-rpc", post(asked));
        tokio::spawn(async move { axum::serve(listener, router).await });
        url
    }
}

impl DepositSource for DepositChain {
    fn deposits_after(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<IncomingUsdc>, PortError>> {
        Box::pin(async move { Ok(self.behind(after, limit)) })
    }
}

/// Who can make such things happen at a provider.
pub(crate) enum ProviderControl {
    Here {
        chain: DepositChain,
        bank: Arc<SandboxBank>,
    },
    Sandbox {
        chain: DepositChain,
        url: String,
    },
    Stub {
        url: String,
    },
}

impl ProviderControl {
    /// USDC reaches a holder's account.
    pub(crate) async fn deposit(&self, address: [u8; 20], cents: u64) -> CardDeposit {
        let amount = Usdc::from_cents(Cents::new(cents)).unwrap();
        let transaction = match self {
            Self::Here { chain, .. } | Self::Sandbox { chain, .. } => chain.deposit(address, amount),
            Self::Stub { url } => {
                let (address, amount) = (Wallet::Evm(address).address(), Cents::new(cents).to_string());
                let body = json!({"address": address, "amount": amount});
                let response = posted(&format!("{url}/control/deposits"), &body).await;
                response["transaction"].as_str().unwrap().to_owned()
            }
        };
        CardDeposit {
            address,
            transaction,
            amount,
        }
    }

    /// A sender pays into an on-ramp.
    pub(crate) async fn pay_in(&self, account: BankAccountId, cents: u64, reference: &str) {
        let amount = Cents::new(cents);
        let body = json!({"account_id": account.to_string(), "amount": amount.to_string(), "reference": reference});
        match self {
            Self::Here { bank, .. } => {
                let named = ("Sender".to_owned(), reference.to_owned());
                bank.deposit(account, amount, named).await.unwrap();
            }
            Self::Sandbox { url, .. } => drop(posted(&format!("{url}/sandbox/bank-deposits"), &body).await),
            Self::Stub { url } => drop(posted(&format!("{url}/control/bank-deposits"), &body).await),
        }
    }
}

async fn posted(url: &str, body: &Value) -> Value {
    let client = purser::outbound::client().no_proxy().build().unwrap();
    let answer = client.post(url).json(body).send().await.unwrap();
    assert_eq!(answer.status(), 200, "{url}");
    serde_json::from_str(&answer.text().await.unwrap()).unwrap()
}
