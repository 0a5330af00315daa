//! `agentWalletTransfer`.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use purser_actors::id::{Wallet, WalletPaymentId};
use purser_actors::money::Usdc;
use purser_actors::wallet_payment::{PaymentMethod, WalletPaymentOrder};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::super::account::BearerClaims;
use super::super::callable::require_spend_rights;
use super::super::error::ApiError;
use super::super::idempotency::IdempotencyKey;
use super::super::outgoing_holds::transfer_error;
use super::super::schemas;
use super::address_book::record;
use super::{AgentWalletState, SharedState, address, network, note};

/// What `agentWalletTransfer` takes.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct TransferRequest {
    /// USDC, more than 0, at most 6 decimal places.
    #[schema(value_type = schemas::ExactDecimal)]
    amount_usdc: Box<RawValue>,
    /// Who receives it, on either chain; this or `addressBookEntryId`.
    to_address: Option<String>,
    /// Who receives it, as the address book keeps it.
    address_book_entry_id: Option<String>,
    /// `base` or `solana`; the address says which.
    network: Option<String>,
    /// The agent's own words, at most 200 characters.
    note: Option<String>,
}

/// What was understood of it: what an idempotency key stands for.
#[derive(Serialize)]
struct TransferParams {
    amount: u64,
    /// An address, or the name of an entry.
    to: String,
    on: Option<String>,
    note: Option<String>,
}

/// Send USDC from the managed wallet
///
/// Within the caps that a person has set. It is reserved at once and sent on the chain of the address; a transfer that can
/// never land is not spent, and its amount is available again.
#[utoipa::path(post, path = "/agentWalletTransfer", tag = "Managed wallet", security(("bearer" = [])), request_body = inline(TransferRequest),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same data is answered as the first time, for 24 hours.")),
    responses((status = 200, description = "`status` (`settled` or `pending`), `walletPayment`; `response` is null.", body = schemas::AgentPaymentResult),
        (status = 400, description = "A malformed amount, address or key."), (status = 401, description = "No good token."),
        (status = 403, description = "A cap (`policy_filtered`), another account's `userId`, frozen, or a token born of a payment."),
        (status = 404, description = "No wallet, or no such address."),
        (status = 409, description = "More than is available, an owner on Solana without a token account, or it could not be spent."),
        (status = 422, description = "The key was used for something else."),
        (status = 429, description = "Too many spending calls of the account in this minute, or too many requests."),
        (status = 503, description = "Not now.")))]
pub(super) async fn agent_wallet_transfer(
    State(room): SharedState,
    BearerClaims(claims): BearerClaims,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    let call = room.callables.read::<TransferRequest>(body).await?;
    let amount = amount("amountUsdc", call.data.amount_usdc.get())?;
    let note = note(call.data.note.as_deref())?;
    let asked = room.recipient(&call.data)?;
    room.callables.admit(&claims, &call).await?;
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
    let id = WalletPaymentId(room.entropy.random());
    let owner = claims.wallet;
    let (spender, again) = (room.payment_runner(owner), room.payment_runner(owner));
    let running = room.clone();
    key.run_following(
        &room.callables.engine,
        &claims,
        "/agentWalletTransfer",
        &understood,
        move |place| async move {
            running.count(owner)?;
            let wallet = running.load_owned(&owner).await?;
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
                return Err(ApiError::parameter("parameter_invalid", "toAddress", error));
            }
            let asked = running.callables.engine.check_can_receive(&to).await;
            asked.map_err(|why| transfer_error(why, "toAddress"))?;
            let order = WalletPaymentOrder {
                to,
                amount,
                note,
                method: PaymentMethod::Transfer,
            };
            let holds = running.wallet_balance(&from).await?;
            spender.start_payment(id, (order, Vec::new()), holds, place).await
        },
        move |key| async move { again.follow(key).await },
    )
    .await
}

/// Who is to receive it, as it was asked.
enum TransferRecipient {
    Address(Wallet),
    /// The name of an entry, whatever is kept under it.
    Entry(String),
}

impl AgentWalletState {
    fn recipient(&self, wanted: &TransferRequest) -> Result<TransferRecipient, ApiError> {
        let named = wanted.network.as_deref();
        match (&wanted.to_address, &wanted.address_book_entry_id) {
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
                "parameter_missing",
                "toAddress",
                "`toAddress` or `addressBookEntryId` says who receives it.",
            )),
            (Some(_), Some(_)) => Err(ApiError::parameter(
                "parameter_invalid",
                "toAddress",
                "Give `toAddress` or `addressBookEntryId`, not both.",
            )),
        }
    }

    /// Whether money can go there, on the network that was named.
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
            return Err(ApiError::parameter("parameter_invalid", "network", error));
        }
        if self.own_addresses.has(to) {
            let error = "The address is the service's own.";
            return Err(ApiError::parameter("parameter_invalid", param, error)
                .hint("To buy something, pay for its route with agentX402Pay."));
        }
        Ok(())
    }
}

/// A JSON number by its own text, or the same text as a string.
pub(super) fn amount(name: &'static str, json: &str) -> Result<Usdc, ApiError> {
    let inside = json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match Usdc::parse(inside.unwrap_or(json)) {
        Ok(amount) if amount > Usdc::ZERO => Ok(amount),
        _ => {
            let error = format!("`{name}` must be a plain decimal number above 0 with at most 6 places.");
            Err(ApiError::parameter("amount_invalid", name, error))
        }
    }
}
