//! A paid call, from the request's headers to its answer: challenge, verify, claim, wait, render.
//!
//! The order of the checks is the contract's: parameters (the route's) → no payment 402 → two payments 400 → invalid
//! payment 402 (the chain verifies the signature of a contract wallet here) → rate of the payer 429 →
//! wrong wallet 403 → what only the account knows → what the chain would decline 402 → claim → settlement.

mod contract;
mod errors;
mod metrics;
mod presented_payment;
mod purchase_response;
mod replay;
mod response;
mod solana;
mod verification;

use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use http::HeaderMap;
use purser_actors::engine::{ClaimError, Engine, PaymentRequest, PaymentResult};
use purser_actors::id::PaymentId;
use purser_actors::money::{Cents, Usdc};
use purser_actors::payment::Outcome;
use purser_actors::port::{Authorization, Clock, Timestamp};
use purser_actors::product::Purchase;
use sha2::{Digest, Sha256};
use tokio::time::error::Elapsed;

use crate::http::auth::BearerAuth;
use crate::http::error::ApiError;
use crate::http::idempotency::marked_replayed;
use crate::http::rate_limit::RateLimiter;
use crate::identity::credentials::CredentialIssuer;
use crate::payment::challenge::{ChallengeInput, Resource, challenge};
use crate::payment::evm::SignatureRecovery;
use crate::payment::mpp::{BoundRequest, Mpp};
use crate::payment::{BasePayee, Payee, RecentBlockhash, Terms, identifier};
use crate::prices::{PriceBook, PriceQuery, ProductFeeRate, Quote};
use crate::settlement::chain::ContractWallets;
use errors::{claim_error, multiple_payments};
use presented_payment::{
    ChallengeReason, PaymentHeader, PresentedPayment, challenge_description, exchange_rate_member,
};
use verification::PaymentRejected;

pub(crate) use errors::{account_error, product_unavailable, rate_unavailable, user_id_collision};
pub use metrics::{PaidCallCounters, PaidCallResult};
pub use response::ResponseWriter;
pub use solana::SolanaOffer;

/// Where the hint for Solana clients comes from.
pub trait BlockhashProvider: Send + Sync {
    /// A blockhash that a transaction may name now; `None` while none is known that lives long enough.
    fn recent(&self) -> Option<Arc<RecentBlockhash>>;
}

/// Everything a paid call needs.
pub struct Checkout {
    /// Claims and settles.
    pub engine: Engine,
    /// The service's time.
    pub clock: Arc<dyn Clock>,
    /// The time by which wallets sign: another than the service's where that was moved.
    pub wallet_clock: Arc<dyn Clock>,
    /// Whether whoever is told to wait can move the service's time: in a sandbox whose providers go by it too.
    pub clock_adjustable: bool,
    /// Who is paid on Base.
    pub base: Arc<BasePayee>,
    /// Who is paid on Solana, and which fee payer a challenge names.
    pub solana: SolanaOffer,
    /// Verifies the signatures of contract wallets.
    pub contract_wallets: Arc<dyn ContractWallets>,
    /// Challenges for MPP clients.
    pub mpp: Arc<Mpp>,
    /// Hint for Solana clients.
    pub blockhashes: Arc<dyn BlockhashProvider>,
    /// Prices of now and those still honoured.
    pub prices: Arc<PriceBook>,
    /// Counts verified payments per payer.
    pub limiter: Arc<RateLimiter>,
    /// For the caller whose claim wins.
    pub credentials: Arc<CredentialIssuer>,
    /// Counts what calls come to.
    pub calls: Arc<PaidCallCounters>,
    /// Writes the answers.
    pub response_writer: ResponseWriter,
    /// Which library recovers signers on Base.
    pub recovery: SignatureRecovery,
    /// Scheme, host and port that we are called by.
    pub public_url: String,
    /// Life of a quote, in seconds.
    pub max_timeout_seconds: u32,
    /// How long a call waits for its outcome before it answers 202.
    pub response_timeout: Duration,
}

/// A paid request whose parameters are good.
pub struct PaidCall<'a> {
    /// Its headers.
    pub headers: &'a HeaderMap,
    /// The verdict on its bearer token.
    pub bearer: &'a BearerAuth,
    /// Path and query as they were sent.
    pub target: &'a str,
    /// The route, without the query.
    pub route: &'static str,
    /// What is bought.
    pub purchase: Purchase,
    /// The product's own fee rates, where its line has products with rates of their own: today's first.
    pub fee_rate: Option<Vec<ProductFeeRate>>,
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
    pub async fn handle(&self, call: PaidCall<'_>) -> Result<Response, ApiError> {
        let quotes = self.quotes(&call);
        let terms = self.terms(&quotes)?;
        let presented = match presented_payment::find_payment_header(call.headers) {
            Ok(Some(presented)) => presented,
            Ok(None) => return self.challenge(&call, (&quotes, &terms), &ChallengeReason::required()),
            Err(error) => {
                self.calls.record(PaidCallResult::Invalid);
                return Err(multiple_payments(&error));
            }
        };
        let judged = match presented {
            PaymentHeader::X402(header) => self.verify_x402(header, &call, &terms).await,
            PaymentHeader::Mpp(credential) => self.verify_mpp(credential, &call, &terms).await,
        };
        match judged {
            Ok(payment) => self.pay(call, &quotes, payment).await,
            Err(PaymentRejected::Error(error)) => {
                self.calls.record(PaidCallResult::Invalid);
                Err(error)
            }
            Err(PaymentRejected::Unavailable(error)) => {
                self.calls.record(PaidCallResult::Unavailable);
                Err(error)
            }
            Err(PaymentRejected::Declined(authorization, decline)) => {
                self.calls.record(PaidCallResult::Declined);
                Ok(self.response_writer.declined_unclaimed(&authorization, &decline))
            }
            Err(PaymentRejected::Challenge(told)) => {
                tracing::debug!(reason = told.error, detail = %told.detail, "a payment was refused");
                self.challenge(&call, (&quotes, &terms), &told)
            }
        }
    }

    async fn pay(&self, call: PaidCall<'_>, quotes: &[Quote], shown: PresentedPayment) -> Result<Response, ApiError> {
        let PresentedPayment {
            authorization,
            answered_challenge: answers,
            identifier,
            is_identifier_replay: follows,
        } = shown;
        // Whose account it is: a managed wallet's payment is its owner's.
        let account = self.engine.account_of(&authorization.payer());
        let budget = self.limiter.count_payment(account, self.clock.now());
        if !budget.allowed {
            self.calls.record(PaidCallResult::RateLimited);
            return Err(ApiError::rate_limited(u64::from(budget.reset_seconds)));
        }
        if let BearerAuth::Valid(claims) = call.bearer
            && claims.wallet != account
        {
            self.calls.record(PaidCallResult::Rejected);
            return Err(ApiError::forbidden(
                "wrong_wallet",
                "The bearer token belongs to another wallet than the payment.",
            )
            .hint("Send the token of the paying wallet, or none."));
        }
        let mut request = self.request(
            &call,
            quote_paid(quotes, &authorization),
            &authorization,
            answers.as_ref(),
        );
        request.identifier = identifier;
        let (paid, told) = self.claim_or_replay(request).await;
        let follows = follows || paid != authorization;
        let answer = self.respond(call, &paid, answers.as_ref(), told).await?;
        Ok(if follows { marked_replayed(answer) } else { answer })
    }

    /// The answer, by what the payment came to.
    async fn respond(
        &self,
        call: PaidCall<'_>,
        authorization: &Authorization,
        answers: Option<&presented_payment::AnsweredChallenge>,
        told: Result<Result<PaymentResult, ClaimError>, Elapsed>,
    ) -> Result<Response, ApiError> {
        let id = self.engine.payment_id(authorization);
        let paid = match told {
            Err(_) | Ok(Err(ClaimError::OutcomeUnknown(_))) => {
                self.calls.record(PaidCallResult::Pending);
                return Ok(self.response_writer.pending(id));
            }
            Ok(Err(ClaimError::Declined(decline))) => {
                self.calls.record(PaidCallResult::Declined);
                return Ok(self.response_writer.declined_unclaimed(authorization, &decline));
            }
            Ok(Err(error)) => {
                self.calls.record(PaidCallResult::from_claim_error(&error));
                return Err(claim_error(error, call.purchase.line(), self.clock_adjustable));
            }
            Ok(Ok(paid)) => paid,
        };
        self.calls.record(PaidCallResult::from_payment(&paid));
        let challenge = match answers {
            Some(answers) => Some((answers.challenge.as_str(), self.settled_at(&id).await)),
            None => None,
        };
        let settlement = response::SettlementContext {
            payment: id,
            account: self.engine.account_of(&authorization.payer()),
            authorization,
            challenge,
        };
        match paid.outcome {
            Outcome::Pending => Ok(self.response_writer.pending(id)),
            Outcome::Unavailable => Err(errors::unreached()),
            Outcome::Resolved(resolution) => Err(errors::resolved(id, resolution)),
            Outcome::Declined(decline) => Ok(self.response_writer.declined(&settlement, &decline)),
            Outcome::Credited { amount, transaction } => {
                Ok(self.response_writer.credited(&settlement, amount, &transaction))
            }
            Outcome::Fulfilled {
                product,
                transaction,
                session,
            } => {
                let winner = session.filter(|_| paid.won);
                self.response_writer
                    .fulfilled(&self.engine, &settlement, product, &transaction, winner, call.html)
                    .await
            }
        }
    }

    /// Of a payment that fits no quote the claim is there already, and what is asked here says nothing any more.
    fn request(
        &self,
        call: &PaidCall<'_>,
        quote: Option<&Quote>,
        authorization: &Authorization,
        answers: Option<&presented_payment::AnsweredChallenge>,
    ) -> PaymentRequest {
        let own = quote.filter(|_| call.purchase.stores_quote());
        PaymentRequest {
            purchase: call.purchase.clone(),
            worth: quote.map_or(Cents::ZERO, |quote| quote.worth),
            quoted: own.map(|quote| Box::new(quote.facts())),
            request: request_fingerprint(call.route, &call.purchase),
            session: self.credentials.new_session(),
            authorization: authorization.clone(),
            // Remembered until it ends by the wallets' time, which the engine does not know.
            challenge: answers.map(|answers| {
                (
                    answers.single_use_key.0,
                    answers.single_use_key.1.saturating_add(self.clock_offset_s()),
                )
            }),
            identifier: None,
        }
    }

    fn clock_offset_s(&self) -> u64 {
        self.clock
            .now()
            .seconds()
            .saturating_sub(self.wallet_clock.now().seconds())
    }

    /// When the payment came to what it is: a replay is told the same time.
    async fn settled_at(&self, id: &PaymentId) -> Timestamp {
        let known = self.engine.payment(id).await.ok().flatten();
        known.map_or_else(|| self.clock.now(), |payment| payment.updated_at)
    }

    /// Today's price first, then those that are still honoured.
    fn quotes(&self, call: &PaidCall<'_>) -> Vec<Quote> {
        let (amount, currency) = call.purchase.amount();
        let asked = PriceQuery {
            line: call.purchase.line(),
            amount,
            currency,
            product_rates: call.fee_rate.as_deref(),
        };
        self.prices.quotes(&asked, self.clock.now())
    }

    /// Each quote on both networks, in their order; on Base alone while there is no fee payer for Solana.
    fn terms(&self, quotes: &[Quote]) -> Result<Vec<Terms>, ApiError> {
        let mut terms = Vec::with_capacity(2 * quotes.len());
        let payee = self.solana.payee();
        for quote in quotes {
            let amount = Usdc::from_cents(quote.total).map_err(|_| ApiError::internal())?;
            terms.push(Terms::new(
                amount,
                self.max_timeout_seconds,
                Payee::Base(self.base.clone()),
            ));
            let Some(payee) = payee.clone() else { continue };
            terms.push(Terms {
                recent: self.blockhashes.recent(),
                fee_payer: self.solana.fee_payer(),
                ..Terms::new(amount, self.max_timeout_seconds, Payee::Solana(payee))
            });
        }
        Ok(terms)
    }

    /// Who is paid, on each network that something is offered on.
    fn payees(&self) -> Vec<Payee> {
        let base = Payee::Base(self.base.clone());
        std::iter::once(base)
            .chain(self.solana.payee().map(Payee::Solana))
            .collect()
    }

    /// 402 with what is wanted now, for both kinds of client.
    ///
    /// # Errors
    /// 503 when the product is not sold now, or nothing is in that currency.
    fn challenge(
        &self,
        call: &PaidCall<'_>,
        (quotes, terms): (&[Quote], &[Terms]),
        told: &ChallengeReason,
    ) -> Result<Response, ApiError> {
        // Before anybody signs: what is not sold has no price.
        if let Err(not_sold) = self.engine.check_line(call.purchase.line()) {
            self.calls.record(PaidCallResult::Unavailable);
            return Err(product_unavailable(not_sold));
        }
        let (_, currency) = call.purchase.amount();
        let (Some(quote), Some(current), true) = (
            quotes.first(),
            terms
                .get(..terms.len() / quotes.len().max(1))
                .filter(|current| !current.is_empty()),
            self.prices.has_rate_for(currency, self.clock.now()),
        ) else {
            self.calls.record(PaidCallResult::Unavailable);
            return Err(rate_unavailable());
        };
        let described = challenge_description(call, quote);
        let url = format!("{}{}", self.public_url, call.target);
        let asked = told.code == "payment_required";
        self.calls.record(if asked {
            PaidCallResult::Challenged
        } else {
            PaidCallResult::Invalid
        });
        let request = request_fingerprint(call.route, &call.purchase);
        let bound = BoundRequest {
            route: call.route,
            request: &request,
        };
        let issued = self.mpp.issue(current, &bound, &described, self.wallet_clock.now());
        let mut members = told
            .problem
            .members(&told.detail, issued.as_ref().map(|issued| issued.id.as_str()));
        if let Some(exchange) = &quote.exchange {
            members.push_str(&exchange_rate_member(exchange, currency));
        }
        let challenge = challenge(&ChallengeInput {
            resource: Resource {
                url: &url,
                description: &described,
                mime_type: "application/json",
            },
            terms: current,
            error: told.error,
            code: told.code,
            extensions: Some(identifier::CHALLENGE_EXTENSION),
            body_members: Some(&members),
        });
        Ok(response::challenge(challenge, issued, told.to_mpp))
    }
}

/// The quote that was paid. A payment that fits none was made for an older one and joins what it bought then: what is
/// found here says nothing any more.
fn quote_paid<'a>(quotes: &'a [Quote], authorization: &Authorization) -> Option<&'a Quote> {
    let paid = |quote: &&Quote| Usdc::from_cents(quote.total) == Ok(authorization.value());
    quotes.iter().find(paid).or(quotes.first())
}

/// The exact request, in canonical form: how parameters were written or ordered does not matter, what is bought does.
fn request_fingerprint(route: &str, purchase: &Purchase) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(route);
    hash.update([0]);
    // Encoding plain data into memory has no failing case.
    hash.update(bincode::encode_to_vec(purchase, bincode::config::standard()).unwrap_or_default());
    hash.finalize().into()
}
