//! Result of a payment: x402's `SettlementResponse`, for `PAYMENT-RESPONSE` and `X-PAYMENT-RESPONSE`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use purser_actors::answer::NetworkId;
use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::Decline;
use serde::Serialize;

use super::evm::checksummed;

/// The contract's reason for a balance that is too low, which clients branch on.
pub const INSUFFICIENT_FUNDS: &str = "insufficient_funds";

/// `code` of the response to a failed settlement.
pub const SETTLEMENT_FAILED: &str = "settlement_failed";

/// A settled payment.
#[derive(Clone, Copy, Debug)]
pub struct SettledReceipt<'a> {
    /// Transaction id on the chain.
    pub transaction: &'a str,
    pub network: Network,
    pub payer: &'a Wallet,
    pub amount: Usdc,
}

/// Receipt of a settled payment.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct PaymentReceipt {
    /// Always true on success.
    success: bool,
    /// Transaction id on the chain.
    transaction: String,
    /// Network as a CAIP-2 name.
    network: NetworkId,
    /// Address of the payer.
    payer: String,
    /// Amount in atomic USDC.
    amount: String,
}

/// A payment that the chain declined. Nothing was charged so far; the signed payment may still settle while it is
/// valid.
#[derive(Clone, Copy, Debug)]
pub struct FailedReceipt<'a> {
    pub network: Network,
    pub payer: &'a Wallet,
    /// See [`contract_reason`] for the published reason.
    pub decline: &'a Decline,
    /// The contract's `x_service_guidance`: what to do now.
    pub guidance: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SettlementResponse<'a> {
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_message: Option<&'a str>,
    transaction: &'a str,
    network: &'a str,
    payer: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    amount: Option<String>,
    #[serde(rename = "x_service_guidance", skip_serializing_if = "Option::is_none")]
    guidance: Option<&'a str>,
}

/// Whether another server's `PAYMENT-RESPONSE` reports that its payment did not settle. An unreadable value reports
/// nothing.
pub fn reports_unpaid(header: &[u8]) -> bool {
    #[derive(serde::Deserialize)]
    struct UnpaidResponse {
        success: bool,
    }
    let json = STANDARD.decode(header.trim_ascii()).unwrap_or_default();
    serde_json::from_slice(&json).is_ok_and(|settlement: UnpaidResponse| !settlement.success)
}

impl SettledReceipt<'_> {
    /// Value of both response headers of a paid response: padded standard base64.
    pub fn header(&self) -> Bytes {
        encode(&SettlementResponse {
            success: true,
            error: None,
            code: None,
            error_reason: None,
            error_message: None,
            transaction: self.transaction,
            network: self.network.caip2(),
            payer: display(self.payer),
            amount: Some(self.amount.atomic().to_string()),
            guidance: None,
        })
    }
}

impl SettledReceipt<'_> {
    /// The same as a member of a response body.
    pub fn view(&self) -> PaymentReceipt {
        PaymentReceipt {
            success: true,
            transaction: self.transaction.to_owned(),
            network: self.network.into(),
            payer: display(self.payer),
            amount: self.amount.atomic().to_string(),
        }
    }
}

impl FailedReceipt<'_> {
    fn response(&self) -> SettlementResponse<'_> {
        SettlementResponse {
            success: false,
            error: None,
            code: None,
            error_reason: Some(contract_reason(&self.decline.reason, &self.decline.message)),
            error_message: Some(&self.decline.message),
            transaction: "",
            network: self.network.caip2(),
            payer: display(self.payer),
            amount: None,
            guidance: self.guidance,
        }
    }

    /// Value of both response headers.
    pub fn header(&self) -> Bytes {
        encode(&self.response())
    }

    /// Body of the 402: the contract's settlement failure. It is sent without a challenge header, or clients would pay
    /// again automatically.
    pub fn body(&self) -> Bytes {
        let response = SettlementResponse {
            error: Some("The payment could not be settled. Nothing was charged so far."),
            code: Some(SETTLEMENT_FAILED),
            ..self.response()
        };
        json(&response)
    }
}

/// The contract's reason for a reason of a chain or facilitator. Every spelling of "balance too low" becomes
/// `insufficient_funds`; everything else is unchanged.
///
/// A failed Solana simulation can have many causes; it counts as a low balance only if its message says so.
pub fn contract_reason<'a>(reason: &'a str, message: &str) -> &'a str {
    match reason {
        "invalid_exact_evm_insufficient_balance" | "insufficient_balance" | "insufficient_funds" => INSUFFICIENT_FUNDS,
        "invalid_exact_svm_transaction_simulation_failed" | "invalid_exact_evm_transaction_simulation_failed"
            if mentions_balance(message) =>
        {
            INSUFFICIENT_FUNDS
        }
        other => other,
    }
}

/// The token program's own text, its error 1, and ERC-20's usual revert reason.
fn mentions_balance(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    let token_error_1 = message
        .split("custom program error: 0x1")
        .nth(1)
        .is_some_and(|rest| !rest.starts_with(|following: char| following.is_ascii_hexdigit()));
    token_error_1 || message.contains("insufficient funds") || message.contains("exceeds balance")
}

/// EIP-55 for Ethereum, as clients send it; base58 for Solana.
fn display(wallet: &Wallet) -> String {
    match wallet {
        Wallet::Evm(address) => checksummed(address),
        Wallet::Solana(_) => wallet.address(),
    }
}

fn encode(response: &SettlementResponse<'_>) -> Bytes {
    Bytes::from(STANDARD.encode(json(response)))
}

fn json(response: &SettlementResponse<'_>) -> Bytes {
    // Strings, a bool and no map: serde_json cannot fail here.
    Bytes::from(serde_json::to_vec(response).unwrap_or_default())
}
