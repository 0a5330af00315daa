//! A paid call, from the request's headers to its response: challenge, verify, claim, wait, render.
//!
//! The order of the checks is the contract's: parameters (the route's) → no payment 402 → two payments 400 → invalid
//! payment 402 (the chain verifies the signature of a contract wallet here) → rate limit of the payer
//! 429 → wrong wallet 403 → checks of account state → what the chain would decline 402 → claim → settlement.

mod challenge_texts;
mod contract;
mod errors;
mod fingerprint;
mod metrics;
mod pages;
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
use purser_actors::entity::Purchase;
use purser_actors::entity::payment::{Outcome, SessionSeed};
use purser_actors::id::{ApiKeyId, PaymentId};
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::{Authorization, Clock, Timestamp};
use tokio::time::error::Elapsed;

use crate::edge::auth::BearerAuth;
use crate::edge::error::{ApiError, ErrorCode};
use crate::edge::headers::marked_replayed;
use crate::edge::rate_limit::RateLimiter;
use crate::identity::credentials::CredentialIssuer;
use crate::page::is_browser;
use crate::payment::evm::SignatureRecovery;
use crate::payment::mpp::{BoundRequest, Mpp};
use crate::payment::{BasePayee, Payee, RecentBlockhash, Terms};
use crate::prices::{PriceBook, PriceQuery, ProductFeeRate, Quote};
use crate::settlement::chain::ContractWallets;
use challenge_texts::ChallengeSubject;
use errors::{claim_error, multiple_payments};
use fingerprint::request_fingerprint;
use presented_payment::{ChallengeReason, PaymentHeader, PresentedPayment, challenge_description};
use response::ChallengeForm;
use verification::PaymentRejected;

pub use challenge_texts::ChallengeCache;
pub(crate) use errors::{account_error, product_unavailable, rate_unavailable, user_id_collision};
pub use metrics::{PaidCallCounters, PaidCallResult};
pub use presented_payment::QuotedExchangeRate;
pub use purchase_response::{
    AppPaymentPurchaseResponse, BankPaymentPurchaseResponse, CardPurchaseResponse, GiftCardPurchaseResponse,
    IntlOrderPurchaseResponse, PayoutDestination, PushToCardPurchaseResponse, TopUpPurchaseResponse,
};
pub use response::{PendingPayment, ResponseWriter};
pub use solana::SolanaOffer;

/// Source of the blockhash hint for Solana clients.
pub trait BlockhashProvider: Send + Sync {
    /// A blockhash that a transaction may use now; `None` while none with enough lifetime is known.
    fn recent(&self) -> Option<Arc<RecentBlockhash>>;
}

/// Everything a paid call needs.
pub struct Checkout {
    /// Claims and settles.
    pub engine: Engine,
    /// The service's time.
    pub clock: Arc<dyn Clock>,
    /// The time by which wallets sign. It differs from the service's where that was moved.
    pub wallet_clock: Arc<dyn Clock>,
    /// Whether clients can move the service's time: in a sandbox whose providers follow it too.
    pub clock_adjustable: bool,
    pub base: Arc<BasePayee>,
    /// The payee on Solana, and the fee payer that a challenge names.
    pub solana: SolanaOffer,
    /// Verifies the signatures of contract wallets.
    pub contract_wallets: Arc<dyn ContractWallets>,
    /// Challenges for MPP clients.
    pub mpp: Arc<Mpp>,
    /// Texts of challenges that were asked for before.
    pub challenges: ChallengeCache,
    /// Hint for Solana clients.
    pub blockhashes: Arc<dyn BlockhashProvider>,
    /// Current prices and those still honoured.
    pub prices: Arc<PriceBook>,
    /// Counts verified payments per payer.
    pub limiter: Arc<RateLimiter>,
    /// Issues tokens to the caller whose claim wins.
    pub credentials: Arc<CredentialIssuer>,
    /// Counts call results.
    pub calls: Arc<PaidCallCounters>,
    pub response_writer: ResponseWriter,
    /// Library that recovers signers on Base.
    pub recovery: SignatureRecovery,
    /// Scheme, host and port under which clients reach the service.
    pub public_url: String,
    /// Lifetime of a quote, in seconds.
    pub max_timeout_seconds: u32,
    /// How long a call waits for its result before it responds with 202.
    pub response_timeout: Duration,
}

/// A paid request whose parameters are valid.
pub struct PaidCall<'a> {
    pub headers: &'a HeaderMap,
    /// The result of checking its bearer token.
    pub bearer: &'a BearerAuth,
    /// Path and query as they were sent.
    pub target: &'a str,
    /// The route, without the query.
    pub route: &'static str,
    pub purchase: Purchase,
    /// The product's own fee rates, today's first. For lines whose products have their own rates.
    pub fee_rate: Option<Vec<ProductFeeRate>>,
    /// One short sentence for the challenge.
    pub description: String,
    /// Whether the client requested a page instead of JSON.
    pub html: bool,
}

/// The API key whose token came with the payment.
fn presented_key(call: &PaidCall<'_>) -> Option<ApiKeyId> {
    match call.bearer {
        BearerAuth::Valid(claims) => claims.key,
        BearerAuth::Absent | BearerAuth::Invalid(_) => None,
    }
}

impl Checkout {
    /// Answers a paid call.
    ///
    /// # Errors
    /// Everything except a challenge, which is a normal response.
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
            Err(PaymentRejected::Challenge(reason)) => {
                tracing::debug!(reason = reason.error, detail = %reason.detail, "a payment was rejected");
                self.challenge(&call, (&quotes, &terms), &reason)
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
        // The account is the owner's if an agent wallet pays.
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
            return Err(ApiError::new(
                ErrorCode::WrongWallet,
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
        let (paid, result) = self.claim_or_replay(request).await;
        let follows = follows || paid != authorization;
        let answer = self.respond(call, &paid, answers.as_ref(), result).await?;
        Ok(if follows { marked_replayed(answer) } else { answer })
    }

    /// The response for the result of the payment.
    async fn respond(
        &self,
        call: PaidCall<'_>,
        authorization: &Authorization,
        answers: Option<&presented_payment::AnsweredChallenge>,
        result: Result<Result<PaymentResult, ClaimError>, Elapsed>,
    ) -> Result<Response, ApiError> {
        let pending = |id| {
            self.calls.record(PaidCallResult::Pending);
            Ok(self.response_writer.pending(id))
        };
        let paid = match result {
            Err(_) => return pending(self.engine.payment_id(authorization)),
            Ok(Err(ClaimError::OutcomeUnknown(id))) => return pending(id),
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
        let id = paid.payment;
        let challenge = match answers {
            Some(answers) => Some((answers.challenge.as_str(), self.settled_at(&id).await)),
            None => None,
        };
        let settlement = response::SettlementContext {
            payment: id,
            account: self.engine.account_of(&authorization.payer()),
            authorization,
            presented_key: presented_key(&call),
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

    /// What the engine claims. A payment that matches no quote already has its claim, whose price holds. The request's
    /// parameters still make the fingerprint that decides whether the payment joins it or is a 409.
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
            session: SessionSeed {
                presented_key: presented_key(call),
                ..self.credentials.new_session(&authorization.payer())
            },
            authorization: authorization.clone(),
            // Stored until it expires by the wallets' time, which the engine does not know.
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

    /// When the payment got its current status: a replay returns the same time.
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

    /// Each quote on both networks, in order. Base only while Solana has no fee payer.
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

    /// The payee on each offered network.
    fn payees(&self) -> Vec<Payee> {
        let base = Payee::Base(self.base.clone());
        std::iter::once(base)
            .chain(self.solana.payee().map(Payee::Solana))
            .collect()
    }

    /// Status 402 with the current price, for x402 and MPP clients.
    ///
    /// # Errors
    /// 503 when the product or its currency is not sold now.
    fn challenge(
        &self,
        call: &PaidCall<'_>,
        (quotes, terms): (&[Quote], &[Terms]),
        reason: &ChallengeReason,
    ) -> Result<Response, ApiError> {
        // Before anything is signed: a product that is not sold has no price.
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
        let asked = reason.code == ErrorCode::PaymentRequired;
        self.calls.record(if asked {
            PaidCallResult::Challenged
        } else {
            PaidCallResult::Invalid
        });
        let request = request_fingerprint(call.route, &call.purchase);
        let asked_for = ChallengeSubject {
            target: call.target,
            description: &described,
            terms: current,
            request: BoundRequest {
                route: call.route,
                request: &request,
            },
            exchange: quote.exchange.as_ref(),
            currency,
        };
        // A rejected payment's reason is its own.
        let texts = if asked {
            let write = || asked_for.write(reason, &self.public_url, &self.mpp);
            self.challenges.texts(&asked_for, write)?
        } else {
            Arc::new(asked_for.write(reason, &self.public_url, &self.mpp)?)
        };
        let now = self.wallet_clock.now();
        let issued = texts.mpp.as_ref().map(|template| self.mpp.issue_from(template, now));
        let form = match reason.to_mpp {
            true => ChallengeForm::Problem,
            false if asked && is_browser(call.headers) => ChallengeForm::Page,
            false => ChallengeForm::Json,
        };
        Ok(self.response_writer.challenge(&asked_for, &texts, issued, form))
    }
}

/// The quote that was paid. A payment that matches none was made for an older one and joins its purchase. Current
/// quotes do not matter then.
fn quote_paid<'a>(quotes: &'a [Quote], authorization: &Authorization) -> Option<&'a Quote> {
    let paid = |quote: &&Quote| Usdc::from_cents(quote.total) == Ok(authorization.value());
    quotes.iter().find(paid).or(quotes.first())
}
