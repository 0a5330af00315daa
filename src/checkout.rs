//! A paid call, from the request's headers to its answer: challenge, verify, claim, wait, render.
//!
//! The order of the checks is the contract's: parameters (the route's) → no payment 402 → two payments 400 → invalid
//! payment 402 → rate of the payer 429 → wrong wallet 403 → what only the account knows → settlement. Nothing after
//! the claim refuses.

mod answer;
mod bought;
mod calls;

use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use http::HeaderMap;
use purser_actors::account;
use purser_actors::engine::{Engine, PayError, PayRequest};
use purser_actors::money::{Cents, Usdc};
use purser_actors::payment::{Outcome, Status};
use purser_actors::port::{Authorization, Clock};
use purser_actors::product::{Line, Purchase, Requirement};
use rust_decimal::Decimal;
use sha2::{Digest, Sha256};

use crate::http::caller::Bearer;
use crate::http::error::ApiError;
use crate::http::rate::RateLimiter;
use crate::identity::credentials::Credentials;
use crate::payment::challenge::{ChallengeParts, PAYMENT_REQUIRED_ERROR, Resource, challenge};
use crate::payment::evm::Recovery;
use crate::payment::header::has_mpp_credential;
use crate::payment::{
    BasePayee, Payee, PaymentError, RecentBlockhash, Refusal, SolanaPayee, Terms, decode, payment_header, verify,
    verify_for_replay,
};
use crate::prices::{Asked, PriceBook, Quote};

pub use answer::Answers;
pub use calls::{Came, PaidCalls};

/// Where the hint for Solana clients comes from.
pub trait Blockhashes: Send + Sync {
    /// A blockhash that a transaction may name now.
    fn recent(&self) -> Arc<RecentBlockhash>;
}

/// Everything a paid call needs.
pub struct Checkout {
    /// Claims and settles.
    pub engine: Engine,
    /// Time of the verification.
    pub clock: Arc<dyn Clock>,
    /// Who is paid on Base.
    pub base: Arc<BasePayee>,
    /// Who is paid on Solana.
    pub solana: Arc<SolanaPayee>,
    /// Hint for Solana clients.
    pub blockhashes: Arc<dyn Blockhashes>,
    /// Prices of now and those still honoured.
    pub prices: Arc<PriceBook>,
    /// Counts verified payments per payer.
    pub limiter: Arc<RateLimiter>,
    /// For the caller whose claim wins.
    pub credentials: Arc<Credentials>,
    /// Counts what calls come to.
    pub calls: Arc<PaidCalls>,
    /// Writes the answers.
    pub answers: Answers,
    /// Which library recovers signers on Base.
    pub recovery: Recovery,
    /// Scheme, host and port that we are called by.
    pub public_url: String,
    /// Life of a quote, in seconds.
    pub max_timeout_seconds: u32,
    /// How long a call waits for its outcome before it answers 202.
    pub answer_timeout: Duration,
}

/// A paid request whose parameters are good.
pub struct Call<'a> {
    /// Its headers.
    pub headers: &'a HeaderMap,
    /// The verdict on its bearer token.
    pub bearer: &'a Bearer,
    /// Path and query as they were sent.
    pub target: &'a str,
    /// The route, without the query.
    pub route: &'static str,
    /// What is bought.
    pub purchase: Purchase,
    /// The product's own fee rate, where its line has products with rates of their own.
    pub fee_rate: Option<Decimal>,
    /// One short sentence for the challenge.
    pub description: String,
    /// Whether a page is wanted instead of JSON.
    pub html: bool,
}

impl Checkout {
    /// Answers a paid call.
    ///
    /// # Errors
    /// Everything but a challenge: those are answers.
    pub async fn run(&self, call: Call<'_>) -> Result<Response, ApiError> {
        let quotes = self.quotes(&call)?;
        let terms = self.terms(&quotes)?;
        let current = &terms[..2];
        let header = match payment_header(call.headers) {
            Ok(Some(header)) => header,
            Ok(None) if has_mpp_credential(call.headers) => {
                return Ok(self.challenge(&call, current, "this service takes x402 payments", "payment_invalid"));
            }
            Ok(None) => return Ok(self.challenge(&call, current, PAYMENT_REQUIRED_ERROR, "payment_required")),
            Err(PaymentError::Refused(refusal)) => {
                return Ok(self.challenge(&call, current, refusal.reason.as_str(), "payment_invalid"));
            }
            Err(error) => {
                self.calls.note(Came::Invalid);
                return Err(ambiguous(&error));
            }
        };
        match self.authorized(header, &terms).await {
            Ok(authorization) => self.pay(call, &quotes, authorization).await,
            Err(refusal) => {
                tracing::debug!(reason = refusal.reason.as_str(), message = %refusal.message, "a payment was refused");
                Ok(self.challenge(&call, current, refusal.reason.as_str(), "payment_invalid"))
            }
        }
    }

    /// The payment, if it fits a quote, or if it is good in itself and its money is under way or here already: who
    /// paid gets what was bought, however long ago the quote or the authorization ended.
    async fn authorized(&self, header: &[u8], terms: &[Terms]) -> Result<Authorization, Refusal> {
        let payment = decode(header)?;
        let refusal = match verify(&payment, terms, &[], self.clock.now(), self.recovery) {
            Ok(verified) => return Ok(verified.authorization),
            Err(refusal) => refusal,
        };
        let payees = [Payee::Base(self.base.clone()), Payee::Solana(self.solana.clone())];
        let Some(authorization) = verify_for_replay(&payment, &payees, self.recovery) else {
            return Err(refusal);
        };
        let id = self.engine.payment_id(&authorization);
        match self.engine.payment(&id).await {
            // What was refused or given back would be a new claim, and that needs a quote.
            Ok(Some(known))
                if !matches!(
                    known.status,
                    Status::Declined(..) | Status::Refused(_) | Status::Released
                ) =>
            {
                Ok(authorization)
            }
            _ => Err(refusal),
        }
    }

    async fn pay(&self, call: Call<'_>, quotes: &[Quote], authorization: Authorization) -> Result<Response, ApiError> {
        let payer = authorization.payer();
        let budget = self.limiter.count_payment(payer, self.clock.now());
        if !budget.allowed {
            self.calls.note(Came::Limited);
            return Err(ApiError::rate_limited(u64::from(budget.reset_seconds)));
        }
        if let Bearer::Known(claims) = call.bearer
            && claims.wallet != payer
        {
            self.calls.note(Came::Refused);
            return Err(ApiError::forbidden(
                "wrong_wallet",
                "The bearer token belongs to another wallet than the payment.",
            )
            .hint("Send the token of the paying wallet, or none."));
        }
        let request = PayRequest {
            purchase: call.purchase.clone(),
            worth: quoted(quotes, &authorization).worth,
            fee_rate: call.fee_rate.map(|rate| rate.normalize().to_string()),
            request: digest(call.route, &call.purchase),
            session: self.credentials.new_session(),
            authorization: authorization.clone(),
        };
        let id = self.engine.payment_id(&authorization);
        let paid = match tokio::time::timeout(self.answer_timeout, self.engine.pay(request)).await {
            Err(_) | Ok(Err(PayError::Unknown(_))) => {
                self.calls.note(Came::Pending);
                return Ok(self.answers.pending(id));
            }
            Ok(Err(error)) => {
                self.calls.note(Came::without_claim(&error));
                return Err(refused(error, call.purchase.line()));
            }
            Ok(Ok(paid)) => paid,
        };
        self.calls.note(Came::with_claim(&paid));
        let settlement = answer::Settlement {
            payment: id,
            authorization: &authorization,
        };
        match paid.outcome {
            Outcome::Pending => Ok(self.answers.pending(id)),
            Outcome::Unavailable => Err(ApiError::unavailable(
                "settlement_unavailable",
                "The network could not be reached. Nothing was charged.",
                5,
            )),
            Outcome::Declined(decline) => Ok(self.answers.declined(&settlement, &decline)),
            Outcome::Credited { amount, transaction } => Ok(self.answers.credited(&settlement, amount, &transaction)),
            Outcome::Fulfilled {
                product,
                transaction,
                session,
            } => {
                let winner = paid.won.then_some(session);
                self.answers
                    .fulfilled(&self.engine, &settlement, product, &transaction, winner, call.html)
                    .await
            }
        }
    }

    /// Today's price first, then those that are still honoured.
    fn quotes(&self, call: &Call<'_>) -> Result<Vec<Quote>, ApiError> {
        let (amount, currency) = call.purchase.amount();
        let asked = Asked {
            line: call.purchase.line(),
            amount,
            currency,
            fee_rate: call.fee_rate,
        };
        let quotes = self.prices.quotes(&asked, self.clock.now());
        if quotes.is_empty() {
            return Err(ApiError::internal());
        }
        Ok(quotes)
    }

    /// Each quote on both networks, in their order.
    fn terms(&self, quotes: &[Quote]) -> Result<Vec<Terms>, ApiError> {
        let mut terms = Vec::with_capacity(2 * quotes.len());
        for quote in quotes {
            let amount = Usdc::from_cents(quote.total).map_err(|_| ApiError::internal())?;
            terms.push(Terms::new(
                amount,
                self.max_timeout_seconds,
                Payee::Base(self.base.clone()),
            ));
            let solana = Terms::new(amount, self.max_timeout_seconds, Payee::Solana(self.solana.clone()));
            terms.push(Terms {
                recent: Some(self.blockhashes.recent()),
                ..solana
            });
        }
        Ok(terms)
    }

    fn challenge(&self, call: &Call<'_>, terms: &[Terms], error: &str, code: &str) -> Response {
        let url = format!("{}{}", self.public_url, call.target);
        let asked = code == "payment_required";
        self.calls.note(if asked { Came::Challenged } else { Came::Invalid });
        let challenge = challenge(&ChallengeParts {
            resource: Resource {
                url: &url,
                description: &call.description,
                mime_type: "application/json",
            },
            terms,
            error,
            code,
            extensions: None,
            body_members: None,
        });
        answer::challenge(challenge)
    }
}

/// The quote that was paid. A payment that fits none was made for an older one and joins what it bought then: what is
/// found here says nothing any more.
fn quoted(quotes: &[Quote], authorization: &Authorization) -> Quote {
    let paid = |quote: &&Quote| Usdc::from_cents(quote.total) == Ok(authorization.value());
    let none = Quote {
        total: Cents::ZERO,
        worth: Cents::ZERO,
    };
    quotes.iter().find(paid).or(quotes.first()).copied().unwrap_or(none)
}

/// The exact request, in canonical form: how parameters were written or ordered does not matter, what is bought does.
fn digest(route: &str, purchase: &Purchase) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(route);
    hash.update([0]);
    // Encoding plain data into memory has no failing case.
    hash.update(bincode::encode_to_vec(purchase, bincode::config::standard()).unwrap_or_default());
    hash.finalize().into()
}

fn ambiguous(error: &PaymentError) -> ApiError {
    ApiError::new(http::StatusCode::BAD_REQUEST, error.code(), error.to_string()).hint("Send exactly one payment.")
}

fn refused(error: PayError, line: Line) -> ApiError {
    let cap = |most: String| {
        let what = match line.budget() {
            Line::UsaCard => "prepaid cards",
            _ => line.name(),
        };
        ApiError::forbidden("cap_exceeded", format!("An account buys {what} at most {most} a day."))
            .hint("The cap counts from midnight UTC. Nothing was charged.")
    };
    match error {
        PayError::Frozen { message } => ApiError::frozen(message),
        PayError::Collision => collision(),
        PayError::Missing(requirement) => missing(requirement),
        PayError::CountPerDay { cap: n } => cap(format!("{n} times")),
        PayError::SumPerDay { cap: usd } => cap(format!("for {usd} USD")),
        PayError::AlreadyUsed => ApiError::new(
            http::StatusCode::CONFLICT,
            "payment_already_used",
            "This payment was made for another request.",
        )
        .hint("Sign a new payment for this request."),
        PayError::Overloaded(full) => ApiError::unavailable(
            "overloaded",
            "Too many paid calls are in flight. Nothing was charged.",
            full.retry_after_s,
        ),
        PayError::Unavailable => ApiError::unavailable(
            "unavailable",
            "The service could not take the payment. Nothing was charged.",
            2,
        ),
        PayError::Unknown(_) => ApiError::internal(),
    }
}

/// What the payer must bring along, and how. Nothing was charged.
fn missing(requirement: Requirement) -> ApiError {
    let failed = |code, what: &'static str, hint: &'static str| {
        ApiError::new(http::StatusCode::PRECONDITION_FAILED, code, what).hint(format!("{hint} Nothing was charged."))
    };
    match requirement {
        Requirement::Verified => failed(
            "identity_required",
            "This product needs the account owner's verified identity.",
            "GET /get-kyc-link gives a link for the owner.",
        ),
        Requirement::Linked => failed(
            "issuer_not_linked",
            "This product needs an account at the card issuer, linked by the account owner.",
            "GET /get-auth-link gives a link for the owner, who links the account on the page behind it.",
        ),
        Requirement::Destination(_) => {
            ApiError::not_found("destination_unknown", "The account has no such bank destination.")
                .hint("GET /bank-recipients lists them. Nothing was charged.")
        }
        Requirement::InStock => ApiError::new(
            http::StatusCode::CONFLICT,
            "out_of_stock",
            "The gift card is not in stock now, or not for this amount.",
        )
        .hint("GET /search-gift-cards lists what is. Nothing was charged."),
    }
}

/// 409: two Solana addresses that are equal in lower case never share a `user_id`.
pub(crate) fn collision() -> ApiError {
    let error = "Another wallet already has this address in lower case as its user_id.";
    ApiError::new(http::StatusCode::CONFLICT, "wallet_id_collision", error).hint("Use another wallet.")
}

/// What an account refuses outside a purchase.
pub(crate) fn account_refused(rejection: account::Rejection) -> ApiError {
    match rejection {
        account::Rejection::Frozen { message } => ApiError::frozen(message),
        _ => ApiError::not_found("account_unknown", "There is no such account."),
    }
}
