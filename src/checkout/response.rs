//! The responses of a paid call.

use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, StatusCode, header};
use purser_actors::answer::rfc3339;
use purser_actors::engine::Engine;
use purser_actors::entity::PurchasedProduct;
use purser_actors::entity::session::AuthMethod;
use purser_actors::id::{ApiKeyId, PaymentId, SessionId, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::{Authorization, Decline, Timestamp};

use serde::Serialize;

use super::challenge_texts::{ChallengeSubject, ChallengeTexts};
use super::pages::{card_page, challenge_page};
use super::purchase_response::{CreditedPurchase, PurchaseContext, PurchasedRecord};
use crate::edge::error::{ApiError, with_members, with_members_and, with_prebuilt_body};
use crate::edge::json;
use crate::identity::credentials::CredentialIssuer;
use crate::identity::payout_form_link::PayoutFormLinks;
use crate::page::PageFrame;
use crate::payment::header::{PAYMENT_RECEIPT, PAYMENT_REQUIRED, PAYMENT_RESPONSE, X_PAYMENT_RESPONSE};
use crate::payment::mpp::IssuedChallenge;
use crate::payment::mpp::receipt::Receipt;
use crate::payment::receipt::{FailedReceipt, INSUFFICIENT_FUNDS, SettledReceipt, contract_reason};
use crate::statuses::{CreditedStatus, SettlementPendingStatus};

/// Seconds until a client should poll an unknown outcome.
const RETRY_AFTER_S: u64 = 2;

/// A payment whose outcome is not known yet.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct PendingPayment {
    /// `settlement_pending` in every case.
    status: SettlementPendingStatus,
    /// Id for `GET /get-payment`.
    payment_id: PaymentId,
    /// URL to poll.
    status_url: String,
    /// Delay before the next poll.
    retry_after_seconds: u64,
}

/// The payment of a response.
pub struct SettlementContext<'a> {
    pub payment: PaymentId,
    /// Account that owns the result.
    pub account: Wallet,
    pub authorization: &'a Authorization,
    /// API key whose token came with it.
    pub presented_key: Option<ApiKeyId>,
    /// Id of the MPP challenge that it answered, and when it settled.
    pub challenge: Option<(&'a str, Timestamp)>,
}

pub struct ResponseWriter {
    /// For the caller whose claim won.
    pub credentials: Arc<CredentialIssuer>,
    /// For the recipients of the winner's payouts.
    pub form_links: PayoutFormLinks,
    /// Base of status URLs.
    pub public_url: String,
    /// Frame of the pages for browsers.
    pub frame: PageFrame,
}

impl ResponseWriter {
    /// 202: the outcome is not known yet. Never a challenge, or a client would pay twice.
    pub fn pending(&self, payment: PaymentId) -> Response {
        let body = PendingPayment {
            status: SettlementPendingStatus::SettlementPending,
            payment_id: payment,
            status_url: format!("{}/get-payment?payment_id={payment}", self.public_url),
            retry_after_seconds: RETRY_AFTER_S,
        };
        let mut response = json::private(json::with_status(StatusCode::ACCEPTED, &body));
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, HeaderValue::from(RETRY_AFTER_S));
        response
    }

    /// 402 of the contract with `success: false` and no challenge header, or some clients would pay again
    /// automatically.
    pub fn declined(&self, settlement: &SettlementContext<'_>, decline: &Decline) -> Response {
        let so_far = format!(
            "Nothing was charged so far. {}",
            settlement_guidance(settlement.authorization)
        );
        unsettled(settlement.authorization, decline, &so_far)
    }

    /// The same for a payment that was not claimed: nothing was sent.
    pub fn declined_unclaimed(&self, authorization: &Authorization, decline: &Decline) -> Response {
        unsettled(
            authorization,
            decline,
            "Nothing was charged, and nothing was sent to the chain.",
        )
    }

    /// 200: paid, not bought, credited to the payer's balance.
    pub fn credited(&self, settlement: &SettlementContext<'_>, amount: Usdc, transaction: &str) -> Response {
        let body = CreditedPurchase {
            status: CreditedStatus::Credited,
            user_id: settlement.account.into(),
            payment_id: settlement.payment,
            credited_amount: amount.into(),
            note: "The product could not be delivered. The whole charge is on the account balance.",
        };
        self.settled(settlement, transaction, json::ok(&body))
    }

    /// 200 with the purchase. Includes credentials for the caller whose claim won, if its own wallet paid.
    pub async fn fulfilled(
        &self,
        engine: &Engine,
        settlement: &SettlementContext<'_>,
        product: PurchasedProduct,
        transaction: &str,
        winner: Option<SessionId>,
        html: bool,
    ) -> Result<Response, ApiError> {
        let bought = PurchasedRecord::read(engine, product).await?;
        if html && let PurchasedRecord::Card(id, _) = &bought {
            let page = self.frame.render(card_page(id, &self.public_url));
            return Ok(self.settled(settlement, transaction, page));
        }
        let account = settlement.account;
        let (amr, key) = (AuthMethod::Payment(settlement.payment), settlement.presented_key);
        let context = PurchaseContext {
            auth: winner.map(|session| self.credentials.issue_with_key(&account, session, amr, key, 0)),
            user_id: account.into(),
            payment_id: settlement.payment,
        };
        Ok(self.settled(settlement, transaction, bought.response(context, self)))
    }

    fn settled(&self, settlement: &SettlementContext<'_>, transaction: &str, response: Response) -> Response {
        let mut response = json::private(response);
        let settled = SettledReceipt {
            transaction,
            network: settlement.authorization.network(),
            payer: &settlement.authorization.payer(),
            amount: settlement.authorization.value(),
        };
        receipt(&mut response, settled.header());
        if let Some((challenge, at)) = settlement.challenge {
            let receipt = Receipt {
                transaction,
                challenge,
                at,
            };
            insert_header(&mut response, PAYMENT_RECEIPT, receipt.header());
        }
        response
    }
}

fn unsettled(authorization: &Authorization, decline: &Decline, so_far: &str) -> Response {
    let next = match contract_reason(&decline.reason, &decline.message) {
        INSUFFICIENT_FUNDS => {
            "Make sure that the wallet has the amount plus fee in USDC on this network, then sign a new payment."
        }
        _ => "Call the route again without a payment for a fresh challenge.",
    };
    let failed = FailedReceipt {
        network: authorization.network(),
        payer: &authorization.payer(),
        decline,
        guidance: Some(&format!("{so_far} {next}")),
    };
    let mut response = json::bytes_as_json(with_members(&failed.body()));
    *response.status_mut() = StatusCode::PAYMENT_REQUIRED;
    no_store(&mut response);
    receipt(&mut response, failed.header());
    with_prebuilt_body(response)
}

/// A declined payment can still settle while it is valid: the payer must know until when.
fn settlement_guidance(authorization: &Authorization) -> String {
    let until = match authorization {
        Authorization::Evm(evm) => {
            let end = Timestamp(evm.valid_before.saturating_mul(1_000));
            format!("Until {},", rfc3339(end))
        }
        Authorization::Solana(_) => "While its blockhash is valid, a minute or two,".to_owned(),
    };
    format!("{until} this transfer may still settle; if it settles, it is credited to the account's balance.")
}

/// Form of a challenge's body.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ChallengeForm {
    /// Stock x402 clients only read bodies with the exact type of JSON.
    Json,
    /// For MPP clients.
    Problem,
    /// For a person's browser.
    Page,
}

impl ResponseWriter {
    /// 402 with the challenges in headers and body. A browser gets a page that contains the body of other clients.
    pub(super) fn challenge(
        &self,
        subject: &ChallengeSubject<'_>,
        texts: &ChallengeTexts,
        issued: Option<IssuedChallenge>,
        form: ChallengeForm,
    ) -> Response {
        // The id is base64url, which JSON does not escape.
        let id = issued
            .as_ref()
            .map(|issued| [",\"challengeId\":\"", issued.id.as_str(), "\""]);
        let members: &[&str] = id.as_ref().map_or(&[], |id| id.as_slice());
        let json = with_members_and(&texts.body, texts.id_at, members);
        let mut response = match form {
            ChallengeForm::Json | ChallengeForm::Problem => json::bytes_as_json(json),
            ChallengeForm::Page => {
                let page = challenge_page(subject, &self.public_url, &String::from_utf8_lossy(&json));
                self.frame.render(page)
            }
        };
        *response.status_mut() = StatusCode::PAYMENT_REQUIRED;
        no_store(&mut response);
        let headers = response.headers_mut();
        headers.insert(HeaderName::from_static(PAYMENT_REQUIRED), texts.header.clone());
        if let Some(issued) = issued {
            insert_header(&mut response, "www-authenticate", issued.header);
        }
        if form == ChallengeForm::Problem {
            let kind = HeaderValue::from_static("application/problem+json");
            response.headers_mut().insert(header::CONTENT_TYPE, kind);
        }
        with_prebuilt_body(response)
    }
}

fn receipt(response: &mut Response, value: Bytes) {
    insert_header(response, PAYMENT_RESPONSE, value.clone());
    insert_header(response, X_PAYMENT_RESPONSE, value);
}

/// The values are visible ASCII, which every header accepts.
fn insert_header(response: &mut Response, name: &'static str, value: Bytes) {
    if let Ok(value) = HeaderValue::from_maybe_shared(value) {
        response.headers_mut().insert(HeaderName::from_static(name), value);
    }
}

fn no_store(response: &mut Response) {
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
}
