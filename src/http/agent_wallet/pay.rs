//! `agentX402Pay`.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::{HeaderValue, Method, header};
use purser_actors::entity::agent_wallet::{AgentWallet, WalletSpend};
use purser_actors::entity::wallet_payment::{PaymentMethod, WalletPaymentOrder};
use purser_actors::id::WalletPaymentId;
use purser_actors::kernel::idempotency::IdempotencySlot;
use purser_actors::money::Usdc;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::super::account::BearerClaims;
use super::super::approvals::approval_id;
use super::super::auth::AuthClaims;
use super::super::callable::require_spend_rights;
use super::super::error::{ApiError, ErrorCode};
use super::super::idempotency::{IdempotencyKey, RecordedReply, keyed_digest, keyed_fingerprint};
#[cfg(feature = "documents")]
use super::super::schemas;
#[cfg(feature = "documents")]
use super::payments::{AgentPaymentResult, ApprovalRequired};
use super::payments::{PaymentRunner, response_body};
use super::transfer::amount;
use super::{SharedState, address, agent, network, note, policy_filtered, seller_error};
use crate::agent_wallet::offer_selection::{OfferRejection, OwnAddresses, PaymentPins, SelectedOffer};
use crate::agent_wallet::{CallTarget, PaidHttpRequest};
use crate::http::app::App;
use crate::outbound::client::{OutboundError, OutboundResponse};
use crate::wallet::PaymentRequired;

/// Request of `agentX402Pay`.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct PayRequest {
    /// Paid route of this service, for example `/get-card`. Give this or `url`.
    route: Option<String>,
    /// HTTP or HTTPS URL at a public address.
    url: Option<String>,
    /// Query parameters: an object of texts, numbers and flags.
    #[cfg_attr(feature = "documents", schema(value_type = Option<Object>))]
    params: Option<Box<RawValue>>,
    /// `GET` (default), `POST`, `PUT`, `PATCH` or `DELETE`.
    #[cfg_attr(feature = "documents", schema(value_type = Option<schemas::CallMethod>))]
    method: Option<String>,
    /// JSON body, for every method except `GET`.
    #[cfg_attr(feature = "documents", schema(value_type = Option<Object>))]
    body: Option<Box<RawValue>>,
    /// Note of the agent, at most 200 characters.
    note: Option<String>,
    /// Maximum price of the call in USDC.
    #[cfg_attr(feature = "documents", schema(value_type = Option<schemas::ExactDecimal>))]
    max_amount_usdc: Option<Box<RawValue>>,
    /// Required token: the address of its contract or mint.
    expected_asset: Option<String>,
    /// Required network: `base`, `solana` or a CAIP-2 name.
    #[cfg_attr(feature = "documents", schema(value_type = Option<schemas::NetworkNameOrId>))]
    expected_network: Option<String>,
    /// Required recipient address.
    expected_pay_to: Option<String>,
    /// Approval of the account owner for this spend, from a 202.
    approval_id: Option<String>,
}

/// Covered by the idempotency fingerprint.
#[derive(Serialize)]
struct PayParams {
    target: CallTarget,
    method: String,
    body: Option<String>,
    note: Option<String>,
    max_amount: Option<u64>,
    asset: Option<String>,
    network: Option<&'static str>,
    pay_to: Option<String>,
}

/// A parsed call.
struct Pay {
    asked: PayParams,
    pins: PaymentPins,
    /// The approval that the agent names.
    named: Option<String>,
}

/// Call a paid URL and pay for it
///
/// Pays by x402 v2 from the managed wallet. The caps set by the account owner and the pins of this call both apply. A
/// pin can only tighten the caps. A call that asks for no payment is free. The signed payment is stored before it is
/// sent, and a crash sends the same one again: a call is paid at most once.
///
/// The wallet's addresses belong to the owner's account. A purchase from a `route` of this service belongs to the
/// owner, under the owner's caps, identity and links. It is read with the owner's token. The response contains no
/// tokens and no codes. An error shows the server's status (`sellerStatus`) and the beginning of its body
/// (`sellerBody`). An error of our own route shows its code (`reason`), message and hint, and its amount is available
/// again at once. Members of other servers' responses with names of tokens and codes (`auth`, `access_token`, `api_key`
/// …) are shown to this call only. Later reads show null.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/agentX402Pay", operation_id = "agentX402Pay", tag = "Agent wallet", security(("bearer" = [])), request_body = inline(PayRequest),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same data is answered as the first time, for 24 hours.")),
    responses((status = 200, description = "`status` (`settled`, `pending`, or `free` for what asked for no payment), `walletPayment`, `response`.", body = AgentPaymentResult),
        (status = 202, description = "`approval_required`: over a limit, and the account's owner wants to be asked. Nothing was signed or reserved. Make the same call again once the owner has approved.", body = ApprovalRequired<'static>),
        (status = 400, description = "A malformed member or key."), (status = 401, description = "No good token."),
        (status = 403, description = "`approval_declined`: the owner declined this spend. `policy_filtered`: a cap, a pin, an address that is not called, or (`reason` `own_terms`) another server's offer that pays this service; nothing was signed. Another account's `userId`, frozen, or a token issued for a payment."),
        (status = 404, description = "No wallet, or no such approval."),
        (status = 409, description = "`unsettled`: the payment was signed and did not settle. More than is available. The approval is another spend's, used or too old."),
        (status = 422, description = "The key was used for something else."),
        (status = 429, description = "Too many spending calls of the account in this minute, or too many requests."),
        (status = 502, description = "`fetch_failed`: no whole answer. `http_error`: an answer that is an error, with what was said."),
        (status = 503, description = "Not now."))))]
pub(super) async fn agent_x402_pay(
    State(state): SharedState,
    BearerClaims(claims): BearerClaims,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    let call = state.read_call::<PayRequest>(body).await?;
    let understood = state.parse_pay_request(&call.data)?;
    let pins = pins(&call.data)?;
    let named = call.data.approval_id.clone();
    state.admit(&claims, &call).await?;
    require_spend_rights(&claims)?;
    let (runner, again) = (state.payment_runner(claims.wallet), state.payment_runner(claims.wallet));
    // The request may contain secrets for the server, so its fingerprint is keyed and they are stored sealed.
    let print = keyed_fingerprint(&state.vault, &understood)?;
    let (running, caller) = (state.clone(), claims.clone());
    key.run_following(
        &state.engine,
        &claims,
        "/agentX402Pay",
        &print,
        move |place| async move {
            running
                .pay(
                    &caller,
                    Pay {
                        asked: understood,
                        pins,
                        named,
                    },
                    runner,
                    place,
                )
                .await
        },
        move |key| async move { again.follow(key).await },
    )
    .await
}

fn pins(request: &PayRequest) -> Result<PaymentPins, ApiError> {
    let max_amount = request.max_amount_usdc.as_ref();
    let (on, to) = (request.expected_network.as_deref(), request.expected_pay_to.as_deref());
    Ok(PaymentPins {
        max_amount: max_amount.map(|raw| amount("maxAmountUsdc", raw.get())).transpose()?,
        asset: request.expected_asset.clone(),
        network: on.map(|text| network("expectedNetwork", text)).transpose()?,
        pay_to: to.map(|text| address("expectedPayTo", text)).transpose()?,
    })
}

impl App {
    fn parse_pay_request(&self, request: &PayRequest) -> Result<PayParams, ApiError> {
        let invalid =
            |name: &'static str, error: &'static str| ApiError::parameter(ErrorCode::ParameterInvalid, name, error);
        let target = self.target(
            request.route.as_deref(),
            request.url.as_deref(),
            request.params.as_deref(),
        )?;
        let method = request.method.as_deref().unwrap_or("GET");
        if !["GET", "POST", "PUT", "PATCH", "DELETE"].contains(&method) {
            return Err(invalid(
                "method",
                "`method` must be one of: GET, POST, PUT, PATCH, DELETE.",
            ));
        }
        let body = request.body.as_ref().map(|body| body.get().to_owned());
        if body.is_some() && method == Method::GET {
            return Err(invalid("body", "A GET has no body."));
        }
        let pins = pins(request)?;
        Ok(PayParams {
            target,
            method: method.to_owned(),
            body,
            note: note(request.note.as_deref())?,
            max_amount: pins.max_amount.map(Usdc::atomic),
            asset: pins.asset,
            network: pins.network.map(purser_actors::id::Network::name),
            pay_to: pins.pay_to.map(|to| to.address()),
        })
    }

    /// Requests the price, decides whether to pay, and pays.
    async fn pay(
        self: Arc<Self>,
        claims: &AuthClaims,
        call: Pay,
        runner: PaymentRunner,
        place: Option<IdempotencySlot>,
    ) -> Result<RecordedReply, ApiError> {
        let Pay { asked, pins, named } = call;
        self.count_wallet_call(claims.wallet)?;
        let wallet = self.load_owned_wallet(&claims.wallet).await?;
        let host = match &asked.target {
            CallTarget::Route(_) => PaymentMethod::OWN.to_owned(),
            CallTarget::Url(url) => self.paid_http_client.host(url).map_err(|e| not_sent(&e))?,
        };
        let mut request = PaidHttpRequest {
            caller: PaidHttpRequest::from_purchase(&claims.wallet),
            target: asked.target,
            method: asked.method,
            body: asked.body,
            terms: None,
        };
        let answered = self
            .paid_http_client
            .request_price(&request, None)
            .await
            .map_err(|e| not_sent(&e))?;
        let own = matches!(request.target, CallTarget::Route(_));
        if answered.status != 402 {
            return not_paid(&answered, own);
        }
        let (header, required) = payment_terms(&answered)?;
        let offers = self.select_offers(own, &pins, &required, &wallet)?;
        let (offer, holds) = self.select_affordable(&wallet, offers).await?;
        request.terms = Some((header, offer.index));
        let payment = WalletPaymentId::mint(claims.wallet.shard(), self.entropy.random());
        let spend = WalletSpend {
            payment,
            order: WalletPaymentOrder {
                to: offer.to,
                amount: offer.amount,
                note: asked.note,
                method: PaymentMethod::PaidCall { host },
            },
            call: request.seal(&self.vault, payment).map_err(|_| ApiError::internal())?,
            chain_balance: holds,
            known_lines: Some(wallet.statement_line_count()),
            agent: agent(claims),
            call_digest: keyed_digest(&self.vault, &(&request.target, &request.method, &request.body))?,
            purchase: request.target.purchase(),
        };
        let named = named.as_deref().map(approval_id).transpose()?;
        runner.start_payment(spend, named, place).await
    }

    /// Offers that may be accepted. Another server could resell our own offers and learn the result. Our own terms are
    /// accepted only from our own routes, under every name of the service.
    fn select_offers(
        &self,
        own: bool,
        pins: &PaymentPins,
        required: &PaymentRequired,
        wallet: &AgentWallet,
    ) -> Result<Vec<SelectedOffer>, ApiError> {
        let none = OwnAddresses::default();
        let refused = if own { &none } else { &self.own_addresses };
        let token = self.wallets.token();
        let found = pins.select(required, &wallet.addresses, refused, &token);
        found.map_err(|no| {
            let error = policy_filtered(no.to_string());
            match (no, no.reason()) {
                (OfferRejection::Domain(name), _) => error.hint(format!(
                    "Nothing was signed. This wallet pays servers whose terms name `{name}` in `extra.name`, with its version."
                )),
                (_, Some(reason)) => error.reason(reason),
                (_, None) => error,
            }
        })
    }

    /// The first offer that the wallet can pay, or else the first offer, with the wallet's balance on its network.
    async fn select_affordable(
        &self,
        wallet: &AgentWallet,
        offers: Vec<SelectedOffer>,
    ) -> Result<(SelectedOffer, Usdc), ApiError> {
        let mut first = None;
        for offer in offers {
            let network = offer.to.network();
            let holds = self.wallet_balance(&wallet.addresses.on(network)).await?;
            let available = holds.checked_sub(wallet.held(network)).unwrap_or(Usdc::ZERO);
            if offer.amount <= available {
                return Ok((offer, holds));
            }
            first.get_or_insert((offer, holds));
        }
        first.ok_or_else(ApiError::internal)
    }
}

/// The server's terms: the header value and the parsed terms.
fn payment_terms(answered: &OutboundResponse) -> Result<(String, PaymentRequired), ApiError> {
    let value = answered.headers.get("payment-required").map(HeaderValue::as_bytes);
    let read = value.and_then(|value| {
        let required = PaymentRequired::from_header(value).ok()?;
        Some((String::from_utf8(value.to_vec()).ok()?, required))
    });
    read.ok_or_else(|| policy_filtered("The server asks for a payment, and its terms are not x402 v2."))
}

/// Response of a server that asked for no payment.
fn not_paid(answered: &OutboundResponse, own: bool) -> Result<RecordedReply, ApiError> {
    if !(200..300).contains(&answered.status) {
        let error = format!("The server answered {} and asks for no payment.", answered.status);
        let error = ApiError::new(ErrorCode::HttpError, error).hint("Nothing was signed.");
        return Err(seller_error::with_seller_response(
            error,
            own,
            answered.status,
            &answered.body,
        ));
    }
    let kind = answered.headers.get(header::CONTENT_TYPE);
    response_body(
        answered.status,
        kind.and_then(|kind| kind.to_str().ok()),
        &answered.body,
    )
}

/// The first call failed. A block by the address filter is `policy_filtered`. Nothing was signed in either case.
fn not_sent(error: &OutboundError) -> ApiError {
    match error {
        OutboundError::Blocked(why) => {
            policy_filtered(format!("That URL cannot be called: {why}{}.", why.allowlist_hint())).param("url")
        }
        error => {
            let error = format!("The server gave no answer that can be used: {error}.");
            ApiError::new(ErrorCode::FetchFailed, error).hint("Nothing was signed.")
        }
    }
}
