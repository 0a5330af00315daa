//! Customers' accounts at the card issuer, the deposits to them, and their balances: three small ports of one provider.

pub use self::accounts::RemoteIssuerAccounts;
pub use self::balances::{CardBalanceReader, RemoteCardBalances};
pub use self::deposits::RemoteCardDeposits;

pub mod accounts {
    use purser_actors::id::Wallet;
    use purser_actors::port::{ExternalText, IssuerAccountResult, IssuerAccounts};
    use serde::{Deserialize, Serialize};

    use crate::definition::provider;
    use crate::wire;

    provider! {
        port IssuerAccounts, client RemoteIssuerAccounts, tag "Issuer accounts";

        // The wallet is the key: each wallet has one account.
        fn open(holder: &'a Wallet) -> IssuerAccountResult {
            POST "/issuer-accounts" openIssuerAccount "Open an account at the issuer, or return the existing one";
            asks body it: IssuerAccountRequest = IssuerAccountRequest { wallet: *holder };
            calls (&it.wallet);
            answers IssuerAccountResponse { wallet = *holder; state } "Result of the request.";
        }
    }

    /// A request to open or find an account at the issuer. Each wallet has one permanent account.
    #[derive(Clone, Debug, Serialize, Deserialize)]
    #[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
    #[serde(deny_unknown_fields)]
    pub struct IssuerAccountRequest {
        /// Wallet of the account owner.
        #[cfg_attr(feature = "documents", schema(value_type = String))]
        wallet: Wallet,
    }

    /// Result of an account request.
    #[derive(Clone, Debug, Serialize, Deserialize)]
    #[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
    pub struct IssuerAccountResponse {
        /// Wallet of the request.
        #[cfg_attr(feature = "documents", schema(value_type = String))]
        wallet: Wallet,
        /// Status of the account.
        #[serde(flatten, with = "IssuerAccountStatus")]
        #[cfg_attr(feature = "documents", schema(value_type = IssuerAccountStatus))]
        state: IssuerAccountResult,
    }

    /// Status of an account at the issuer.
    #[derive(Serialize, Deserialize)]
    #[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
    #[serde(remote = "IssuerAccountResult", tag = "status", rename_all = "snake_case")]
    pub enum IssuerAccountStatus {
        /// The account is open.
        Open {
            /// The account's deposit address on Base, which receives USDC for its balance.
            #[serde(with = "wire::base_address")]
            #[cfg_attr(feature = "documents", schema(value_type = String))]
            deposit_address: [u8; 20],
        },
        /// Not open yet; query again after this time.
        Pending {
            /// Delay in milliseconds.
            retry_after_ms: u64,
        },
        /// Declined: there is no account.
        Declined {
            /// The issuer's reason.
            #[cfg_attr(feature = "documents", schema(value_type = String))]
            reason: ExternalText,
        },
    }
}

pub mod deposits {
    use purser_actors::money::Usdc;
    use purser_actors::port::{CardBalances, CardDeposit};
    use serde::{Deserialize, Serialize};

    use super::balances::{account, address_text};
    use crate::definition::provider;
    #[cfg(feature = "documents")]
    use crate::wire::UsdcAmount;

    provider! {
        port CardBalances, client RemoteCardDeposits, tag "Issuer accounts";

        // Another amount is another deposit, even with the same reference.
        fn is_credited(deposit: &'a CardDeposit) -> bool {
            GET "/issuer-accounts/{address}/deposits/{transaction}" getIssuerAccountDeposit "Return whether a transfer is credited to a balance";
            at address = address_text(&deposit.address), "The deposit address on Base.";
            at transaction = deposit.transaction, "The transaction on Base.";
            asks query it: DepositStatus = DepositStatus { amount: deposit.amount };
            calls (&CardDeposit { address: account(&address)?, transaction, amount: it.amount });
            answers IssuerDeposit {
                transaction = deposit.transaction.clone(), amount = deposit.amount; credited
            } "Whether the transfer is credited.";
        }
    }

    /// Query parameters of a transfer.
    #[derive(Clone, Copy, Debug, Serialize, Deserialize)]
    #[cfg_attr(feature = "documents", derive(utoipa::IntoParams))]
    #[cfg_attr(feature = "documents", into_params(parameter_in = Query))]
    #[serde(deny_unknown_fields)]
    pub struct DepositStatus {
        /// Amount of the transfer, in USDC.
        #[cfg_attr(feature = "documents", param(value_type = String))]
        amount: Usdc,
    }

    /// Whether a transfer is credited to a balance.
    #[derive(Clone, Debug, Serialize, Deserialize)]
    #[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
    pub struct IssuerDeposit {
        /// Transaction id on Base.
        transaction: String,
        /// Amount of the transfer, in USDC.
        #[cfg_attr(feature = "documents", schema(value_type = UsdcAmount))]
        amount: Usdc,
        /// Whether the transfer is credited now. If not, it may still be credited later.
        credited: bool,
    }
}

pub mod balances {
    use purser_actors::id::Wallet;
    use purser_actors::money::Usdc;
    use serde::{Deserialize, Serialize};

    use crate::definition::provider;
    use crate::server::{Failure, missing};
    use crate::wire;
    #[cfg(feature = "documents")]
    use crate::wire::UsdcAmount;

    provider! {
        /// Reads card balances at an issuer.
        trait CardBalanceReader, client RemoteCardBalances, tag "Issuer accounts";

        /// Current balance of a deposit address.
        fn balance(address: &'a [u8; 20]) -> Usdc {
            GET "/issuer-accounts/{address}" getIssuerAccountBalance "Return the current balance of a deposit address";
            at address = address_text(address), "The deposit address on Base.";
            calls (&account(&address)?);
            answers IssuerBalance { deposit_address = *address; balance } "The balance.";
        }
    }

    /// Current balance of a deposit address.
    #[derive(Clone, Debug, Serialize, Deserialize)]
    #[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
    pub struct IssuerBalance {
        /// Deposit address of the account.
        #[serde(with = "wire::base_address")]
        #[cfg_attr(feature = "documents", schema(value_type = String))]
        deposit_address: [u8; 20],
        /// Balance in USDC.
        #[cfg_attr(feature = "documents", schema(value_type = UsdcAmount))]
        balance: Usdc,
    }

    pub(super) fn address_text(address: &[u8; 20]) -> String {
        Wallet::Evm(*address).address()
    }

    pub(super) fn account(address: &str) -> Result<[u8; 20], Failure> {
        wire::base_address::parse(address).map_err(|_| missing("there is no such account"))
    }
}
