//! `agentWalletTransfer`.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use purser_actors::entity::agent_wallet::WalletSpend;
use purser_actors::entity::wallet_payment::{PaymentMethod, WalletPaymentOrder};
use purser_actors::id::{Wallet, WalletPaymentId};
use purser_actors::money::Usdc;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::super::account::BearerClaims;
use super::super::approvals::approval_id;
use super::super::callable::require_spend_rights;
use super::super::error::{ApiError, ErrorCode};
use super::super::idempotency::IdempotencyKey;
use super::super::outgoing_holds::transfer_error;
#[cfg(feature = "documents")]
use super::super::schemas;
use super::address_book::record;
#[cfg(feature = "documents")]
use super::payments::{AgentPaymentResult, ApprovalRequired};
use super::{SharedState, address, agent, network, note};
use crate::http::app::App;

/// Request of `agentWalletTransfer`.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct TransferRequest {
    /// USDC, more than 0, at most 6 decimal places.
    #[cfg_attr(feature = "documents", schema(value_type = schemas::ExactDecimal))]
    amount_usdc: Box<RawValue>,
    /// Recipient address on either chain. Give this or `addressBookEntryId`.
    to_address: Option<String>,
    /// Recipient, as an entry of the address book.
    address_book_entry_id: Option<String>,
    /// `base`, `solana` or a CAIP-2 name. By default derived from the address.
    #[cfg_attr(feature = "documents", schema(value_type = Option<schemas::NetworkNameOrId>))]
    network: Option<String>,
    /// Note of the agent, at most 200 characters.
    note: Option<String>,
    /// Approval of the account owner for this spend, from a 202.
    approval_id: Option<String>,
}

/// Covered by the idempotency fingerprint.
#[derive(Serialize)]
struct TransferParams {
    amount: u64,
    /// An address or the id of an entry.
    to: String,
    on: Option<String>,
    note: Option<String>,
}

/// Send USDC from the managed wallet
///
/// Sends within the caps set by the account owner. The amount is reserved at once and sent on the chain of the address.
/// If the transfer can never settle, its amount is available again.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/agentWalletTransfer", operation_id = "agentWalletTransfer", tag = "Agent wallet", security(("bearer" = [])), request_body = inline(TransferRequest),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same data is answered as the first time, for 24 hours.")),
    responses((status = 200, description = "`status` (`settled` or `pending`), `walletPayment`; `response` is null.", body = AgentPaymentResult),
        (status = 202, description = "`approval_required`: over a limit, and the account's owner wants to be asked. Nothing was signed or reserved. Make the same call again once the owner has approved.", body = ApprovalRequired<'static>),
        (status = 400, description = "A malformed amount, address or key."), (status = 401, description = "No good token."),
        (status = 403, description = "`approval_declined`: the owner declined this spend. A cap (`policy_filtered`), another account's `userId`, frozen, or a token issued for a payment."),
        (status = 404, description = "No wallet, no such address, or no such approval."),
        (status = 409, description = "The approval is another spend's, used or too old. More than is available, an owner on Solana without a token account, or it could not be spent."),
        (status = 422, description = "The key was used for something else."),
        (status = 429, description = "Too many spending calls of the account in this minute, or too many requests."),
        (status = 503, description = "Not now."))))]
pub(super) async fn agent_wallet_transfer(
    State(state): SharedState,
    BearerClaims(claims): BearerClaims,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    let call = state.read_call::<TransferRequest>(body).await?;
    let amount = amount("amountUsdc", call.data.amount_usdc.get())?;
    let note = note(call.data.note.as_deref())?;
    let asked = state.transfer_recipient(&call.data)?;
    state.admit(&claims, &call).await?;
    require_spend_rights(&claims)?;
    let understood = TransferParams {
        amount: amount.atomic(),
        to: match &asked {
            TransferRecipient::Address(to) => to.address(),
            TransferRecipient::Entry(id) => id.clone(),
        },
        on: call.data.network.clone(),
        note: note.clone(),
    };
    let id = WalletPaymentId::mint(claims.wallet.shard(), state.entropy.random());
    let (owner, agent) = (claims.wallet, agent(&claims));
    let (runner, again) = (state.payment_runner(owner), state.payment_runner(owner));
    let running = state.clone();
    key.run_following(
        &state.engine,
        &claims,
        "/agentWalletTransfer",
        &understood,
        move |place| async move {
            running.count_wallet_call(owner)?;
            let wallet = running.load_owned_wallet(&owner).await?;
            let to = match asked {
                TransferRecipient::Address(to) => to,
                TransferRecipient::Entry(text) => {
                    let to = record(&wallet, &text)?.address;
                    running.check_can_receive(&to, call.data.network.as_deref(), "addressBookEntryId")?;
                    to
                }
            };
            let from = wallet.addresses.on(to.network());
            if to == from {
                let error = "The address is the wallet's own.";
                return Err(ApiError::parameter(ErrorCode::ParameterInvalid, "toAddress", error));
            }
            let asked = running.engine.check_can_receive(&to).await;
            asked.map_err(|why| transfer_error(why, "toAddress"))?;
            let spend = WalletSpend {
                payment: id,
                order: WalletPaymentOrder {
                    to,
                    amount,
                    note,
                    method: PaymentMethod::Transfer,
                },
                call: Vec::new(),
                chain_balance: running.wallet_balance(&from).await?,
                known_lines: Some(wallet.statement_line_count()),
                agent,
                call_digest: [0; 32],
                purchase: None,
            };
            let named = call.data.approval_id.as_deref().map(approval_id).transpose()?;
            runner.start_payment(spend, named, place).await
        },
        move |key| async move { again.follow(key).await },
    )
    .await
}

/// The recipient, as requested.
enum TransferRecipient {
    Address(Wallet),
    /// The id of an entry. Its address is read when the transfer starts.
    Entry(String),
}

impl App {
    fn transfer_recipient(&self, request: &TransferRequest) -> Result<TransferRecipient, ApiError> {
        let named = request.network.as_deref();
        match (&request.to_address, &request.address_book_entry_id) {
            (Some(text), None) => {
                let to = address("toAddress", text)?;
                self.check_can_receive(&to, named, "toAddress")?;
                Ok(TransferRecipient::Address(to))
            }
            (None, Some(id)) => {
                named.map(|text| network("network", text)).transpose()?;
                Ok(TransferRecipient::Entry(id.clone()))
            }
            (None, None) => Err(ApiError::parameter(
                ErrorCode::ParameterMissing,
                "toAddress",
                "`toAddress` or `addressBookEntryId` says who receives it.",
            )),
            (Some(_), Some(_)) => Err(ApiError::parameter(
                ErrorCode::ParameterInvalid,
                "toAddress",
                "Give `toAddress` or `addressBookEntryId`, not both.",
            )),
        }
    }

    /// Checks that the address can receive transfers on the named network.
    pub(super) fn check_can_receive(
        &self,
        to: &Wallet,
        named: Option<&str>,
        param: &'static str,
    ) -> Result<(), ApiError> {
        if let Some(named) = named
            && network("network", named)? != to.network()
        {
            let error = "The address is on the other network.";
            return Err(ApiError::parameter(ErrorCode::ParameterInvalid, "network", error));
        }
        if self.own_addresses.has(to) {
            let error = "The address is the service's own.";
            return Err(ApiError::parameter(ErrorCode::ParameterInvalid, param, error)
                .hint("To buy something, pay for its route with agentX402Pay."));
        }
        Ok(())
    }
}

/// Parses a JSON number by its digits, or the same text as a string.
pub(super) fn amount(name: &'static str, json: &str) -> Result<Usdc, ApiError> {
    let inside = json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match Usdc::parse(inside.unwrap_or(json)) {
        Ok(amount) if amount > Usdc::ZERO => Ok(amount),
        _ => {
            let error = format!("`{name}` must be a plain decimal number above 0 with at most 6 places.");
            Err(ApiError::parameter(ErrorCode::AmountInvalid, name, error))
        }
    }
}
