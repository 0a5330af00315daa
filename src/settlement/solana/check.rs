//! What must be true of the chain before the service may start with it.

use purser_chains::solana::Pubkey;
use purser_chains::solana::address::{TOKEN, base58};
use purser_chains::solana::node::NodeError;
use purser_chains::solana::status::Commitment;
use purser_chains::solana::token::{USDC_DECIMALS, mint_decimals};

use super::SolanaSettlement;

/// One thing that is not as the settings say.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// `endpoints`: an endpoint serves another chain.
    #[error("the endpoint {host} serves a chain with genesis hash {found}, not {expected}")]
    Genesis {
        /// Host of the endpoint.
        host: String,
        /// In base58.
        found: String,
        /// In base58.
        expected: String,
    },
    /// `mint`: no SPL Token mint with six decimals.
    #[error("{0} is not an SPL Token mint with 6 decimals")]
    Mint(String),
    /// `treasury`: it has no token account that can receive.
    #[error("the treasury {owner} has no usable token account {account}")]
    TreasuryAccount {
        /// The treasury.
        owner: String,
        /// Its token account.
        account: String,
    },
    /// `fee_payers`: one is below its floor.
    #[error("the fee payer {address} has {lamports} lamports, the floor is {floor}")]
    FeePayer {
        /// Its address.
        address: String,
        /// Its balance.
        lamports: u64,
        /// The setting.
        floor: u64,
    },
}

/// Why the chain is not fit for the settings.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CheckError {
    /// Everything that is wrong.
    #[error("{}", list(.0))]
    Unfit(Vec<Unfit>),
    /// No endpoint answered, so that nothing can be said.
    #[error("the chain cannot be read: {0}")]
    Unread(#[from] NodeError),
}

fn list(all: &[Unfit]) -> String {
    let texts: Vec<String> = all.iter().map(ToString::to_string).collect();
    texts.join("; ")
}

impl SolanaSettlement {
    /// Compares the chain with the settings: genesis hash of every endpoint that answers, mint, the treasury's token account,
    /// balances of the fee payers.
    ///
    /// # Errors
    /// See [`CheckError`].
    pub async fn check(&self) -> Result<(), CheckError> {
        let mut unfit = Vec::new();
        let hosts = self.node.pool().status();
        let (mut answered, mut failure) = (0, None);
        for (host, answer) in hosts.into_iter().zip(self.node.genesis_hash_each().await) {
            match answer {
                Ok(found) if found == self.genesis => answered += 1,
                Ok(found) => unfit.push(Unfit::Genesis {
                    host: host.host,
                    found: base58(&found),
                    expected: base58(&self.genesis),
                }),
                Err(error) => failure = Some(error),
            }
        }
        if let (0, Some(error), true) = (answered, failure, unfit.is_empty()) {
            return Err(error.into());
        }
        // What an endpoint of another chain says of accounts proves nothing.
        if unfit.is_empty() {
            self.check_accounts(&mut unfit).await?;
        }
        match unfit.is_empty() {
            true => Ok(()),
            false => Err(CheckError::Unfit(unfit)),
        }
    }

    async fn check_accounts(&self, unfit: &mut Vec<Unfit>) -> Result<(), NodeError> {
        let addresses: Vec<Pubkey> = [self.mint, self.treasury_account]
            .iter()
            .chain(&self.fee_payer_addresses)
            .copied()
            .collect();
        let (_, accounts) = self.node.accounts(&addresses, Commitment::Confirmed).await?;
        let mut accounts = accounts.into_iter();
        let (mint, treasury) = (accounts.next().flatten(), accounts.next().flatten());
        let is_usdc = mint.is_some_and(|mint| mint.owner == TOKEN && mint_decimals(&mint.data) == Some(USDC_DECIMALS));
        if !is_usdc {
            unfit.push(Unfit::Mint(base58(&self.mint)));
        }
        let state = treasury.and_then(|account| account.token_account());
        let usable =
            state.is_some_and(|state| !state.frozen && state.mint == self.mint && state.owner == self.treasury());
        if !usable {
            unfit.push(Unfit::TreasuryAccount {
                owner: base58(&self.treasury()),
                account: base58(&self.treasury_account),
            });
        }
        for (address, account) in self.fee_payer_addresses.iter().zip(accounts) {
            let lamports = account.map_or(0, |account| account.lamports);
            if lamports < self.floor_lamports {
                unfit.push(Unfit::FeePayer {
                    address: base58(address),
                    lamports,
                    floor: self.floor_lamports,
                });
            }
        }
        Ok(())
    }
}
