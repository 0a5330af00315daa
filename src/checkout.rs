//! A paid call, from the request's headers to its answer: challenge, verify, claim, wait, render.
//!
//! The order of the checks is the contract's: parameters (the route's) → no payment 402 → two payments 400 → invalid
//! payment 402 (the chain verifies the signature of a contract wallet here) → rate of the payer 429 →
//! wrong wallet 403 → what only the account knows → what the chain would decline 402 → claim → settlement.

mod answer;
mod bought;
mod calls;
mod contract;
mod joined;
mod judged;
mod presented;
mod refused;
mod solana;

use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use http::HeaderMap;
use purser_actors::engine::{Engine, Paid, PayError, PayRequest};
use purser_actors::id::PaymentId;
use purser_actors::money::{Cents, Usdc};
use purser_actors::payment::Outcome;
use purser_actors::port::{Authorization, Clock, Timestamp};
use purser_actors::product::Purchase;
use sha2::{Digest, Sha256};
use tokio::time::error::Elapsed;

use crate::http::caller::Bearer;
use crate::http::error::ApiError;
use crate::http::idempotency::marked_replayed;
use crate::http::rate::RateLimiter;
use crate::identity::credentials::Credentials;
use crate::payment::challenge::{ChallengeParts, Resource, challenge};
use crate::payment::evm::Recovery;
use crate::payment::mpp::{Bound, Mpp};
use crate::payment::{BasePayee, Payee, RecentBlockhash, Terms, identifier};
use crate::prices::{Asked, OwnRate, PriceBook, Quote};
use crate::settlement::chain::ContractWallets;
use judged::Unfit;
use presented::{Presented, Shown, Told, described, named};
use refused::{ambiguous, refused};

pub use answer::Answers;
pub use calls::{Came, PaidCalls};
pub(crate) use refused::{account_refused, collision, product_unavailable, rate_unavailable};
pub use solana::SolanaOffer;

/// Where the hint for Solana clients comes from.
pub trait Blockhashes: Send + Sync {
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
    pub wallets: Arc<dyn Clock>,
    /// Whether whoever is told to wait can move the service's time: in a sandbox whose providers go by it too.
    pub time_moves: bool,
    /// Who is paid on Base.
    pub base: Arc<BasePayee>,
    /// Who is paid on Solana, and which fee payer a challenge names.
    pub solana: SolanaOffer,
    /// Verifies the signatures of contract wallets.
    pub contract_wallets: Arc<dyn ContractWallets>,
    /// Challenges for MPP clients.
    pub mpp: Arc<Mpp>,
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
    /// The product's own fee rates, where its line has products with rates of their own: today's first.
    pub fee_rate: Option<Vec<OwnRate>>,
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
        let quotes = self.quotes(&call);
        let terms = self.terms(&quotes)?;
        let presented = match presented::presented(call.headers) {
            Ok(Some(presented)) => presented,
            Ok(None) => return self.challenge(&call, (&quotes, &terms), &Told::required()),
            Err(error) => {
                self.calls.note(Came::Invalid);
                return Err(ambiguous(&error));
            }
        };
        let judged = match presented {
            Presented::X402(header) => self.authorized(header, &call, &terms).await,
            Presented::Mpp(credential) => self.answered(credential, &call, &terms).await,
        };
        match judged {
            Ok(payment) => self.pay(call, &quotes, payment).await,
            Err(Unfit::Refused(error)) => {
                self.calls.note(Came::Invalid);
                Err(error)
            }
            Err(Unfit::Unavailable(error)) => {
                self.calls.note(Came::Unavailable);
                Err(error)
            }
            Err(Unfit::Declined(authorization, decline)) => {
                self.calls.note(Came::Declined);
                Ok(self.answers.declined_unclaimed(&authorization, &decline))
            }
            Err(Unfit::Told(told)) => {
                tracing::debug!(reason = told.error, detail = %told.detail, "a payment was refused");
                self.challenge(&call, (&quotes, &terms), &told)
            }
        }
    }

    async fn pay(&self, call: Call<'_>, quotes: &[Quote], shown: Shown) -> Result<Response, ApiError> {
        let Shown {
            authorization,
            answers,
            identifier,
            follows,
        } = shown;
        // Whose account it is: a managed wallet's payment is its owner's.
        let account = self.engine.account_of(&authorization.payer());
        let budget = self.limiter.count_payment(account, self.clock.now());
        if !budget.allowed {
            self.calls.note(Came::Limited);
            return Err(ApiError::rate_limited(u64::from(budget.reset_seconds)));
        }
        if let Bearer::Known(claims) = call.bearer
            && claims.wallet != account
        {
            self.calls.note(Came::Refused);
            return Err(ApiError::forbidden(
                "wrong_wallet",
                "The bearer token belongs to another wallet than the payment.",
            )
            .hint("Send the token of the paying wallet, or none."));
        }
        let mut request = self.request(&call, quoted(quotes, &authorization), &authorization, answers.as_ref());
        request.identifier = identifier;
        let (paid, told) = self.paid_or_joined(request).await;
        let follows = follows || paid != authorization;
        let answer = self.told(call, &paid, answers.as_ref(), told).await?;
        Ok(if follows { marked_replayed(answer) } else { answer })
    }

    /// The answer, by what the payment came to.
    async fn told(
        &self,
        call: Call<'_>,
        authorization: &Authorization,
        answers: Option<&presented::Answers>,
        told: Result<Result<Paid, PayError>, Elapsed>,
    ) -> Result<Response, ApiError> {
        let id = self.engine.payment_id(authorization);
        let paid = match told {
            Err(_) | Ok(Err(PayError::Unknown(_))) => {
                self.calls.note(Came::Pending);
                return Ok(self.answers.pending(id));
            }
            Ok(Err(PayError::Declined(decline))) => {
                self.calls.note(Came::Declined);
                return Ok(self.answers.declined_unclaimed(authorization, &decline));
            }
            Ok(Err(error)) => {
                self.calls.note(Came::without_claim(&error));
                return Err(refused(error, call.purchase.line(), self.time_moves));
            }
            Ok(Ok(paid)) => paid,
        };
        self.calls.note(Came::with_claim(&paid));
        let challenge = match answers {
            Some(answers) => Some((answers.challenge.as_str(), self.changed_at(&id).await)),
            None => None,
        };
        let settlement = answer::Settlement {
            payment: id,
            account: self.engine.account_of(&authorization.payer()),
            authorization,
            challenge,
        };
        match paid.outcome {
            Outcome::Pending => Ok(self.answers.pending(id)),
            Outcome::Unavailable => Err(refused::unreached()),
            Outcome::Resolved(resolution) => Err(refused::resolved(id, resolution)),
            Outcome::Declined(decline) => Ok(self.answers.declined(&settlement, &decline)),
            Outcome::Credited { amount, transaction } => Ok(self.answers.credited(&settlement, amount, &transaction)),
            Outcome::Fulfilled {
                product,
                transaction,
                session,
            } => {
                let winner = session.filter(|_| paid.won);
                self.answers
                    .fulfilled(&self.engine, &settlement, product, &transaction, winner, call.html)
                    .await
            }
        }
    }

    /// Of a payment that fits no quote the claim is there already, and what is asked here says nothing any more.
    fn request(
        &self,
        call: &Call<'_>,
        quote: Option<&Quote>,
        authorization: &Authorization,
        answers: Option<&presented::Answers>,
    ) -> PayRequest {
        let own = quote.filter(|_| call.purchase.keeps_its_quote());
        PayRequest {
            purchase: call.purchase.clone(),
            worth: quote.map_or(Cents::ZERO, |quote| quote.worth),
            quoted: own.map(|quote| Box::new(quote.facts())),
            request: digest(call.route, &call.purchase),
            session: self.credentials.new_session(),
            authorization: authorization.clone(),
            // Remembered until it ends by the wallets' time, which the engine does not know.
            once: answers.map(|answers| (answers.once.0, answers.once.1.saturating_add(self.ahead_s()))),
            identifier: None,
        }
    }

    fn ahead_s(&self) -> u64 {
        self.clock.now().seconds().saturating_sub(self.wallets.now().seconds())
    }

    /// When the payment came to what it is: a replay is told the same time.
    async fn changed_at(&self, id: &PaymentId) -> Timestamp {
        let known = self.engine.payment(id).await.ok().flatten();
        known.map_or_else(|| self.clock.now(), |payment| payment.updated_at)
    }

    /// Today's price first, then those that are still honoured.
    fn quotes(&self, call: &Call<'_>) -> Vec<Quote> {
        let (amount, currency) = call.purchase.amount();
        let asked = Asked {
            line: call.purchase.line(),
            amount,
            currency,
            own: call.fee_rate.as_deref(),
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
        call: &Call<'_>,
        (quotes, terms): (&[Quote], &[Terms]),
        told: &Told,
    ) -> Result<Response, ApiError> {
        // Before anybody signs: what is not sold has no price.
        if let Err(not_sold) = self.engine.sells(call.purchase.line()) {
            self.calls.note(Came::Unavailable);
            return Err(product_unavailable(not_sold));
        }
        let (_, currency) = call.purchase.amount();
        let (Some(quote), Some(current), true) = (
            quotes.first(),
            terms
                .get(..terms.len() / quotes.len().max(1))
                .filter(|current| !current.is_empty()),
            self.prices.sells_in(currency, self.clock.now()),
        ) else {
            self.calls.note(Came::Unavailable);
            return Err(rate_unavailable());
        };
        let described = described(call, quote);
        let url = format!("{}{}", self.public_url, call.target);
        let asked = told.code == "payment_required";
        self.calls.note(if asked { Came::Challenged } else { Came::Invalid });
        let request = digest(call.route, &call.purchase);
        let bound = Bound {
            route: call.route,
            request: &request,
        };
        let issued = self.mpp.issue(current, &bound, &described, self.wallets.now());
        let mut members = told
            .problem
            .members(&told.detail, issued.as_ref().map(|issued| issued.id.as_str()));
        if let Some(exchange) = &quote.exchange {
            members.push_str(&named(exchange, currency));
        }
        let challenge = challenge(&ChallengeParts {
            resource: Resource {
                url: &url,
                description: &described,
                mime_type: "application/json",
            },
            terms: current,
            error: told.error,
            code: told.code,
            extensions: Some(identifier::ADVERTISED),
            body_members: Some(&members),
        });
        Ok(answer::challenge(challenge, issued, told.to_mpp))
    }
}

/// The quote that was paid. A payment that fits none was made for an older one and joins what it bought then: what is
/// found here says nothing any more.
fn quoted<'a>(quotes: &'a [Quote], authorization: &Authorization) -> Option<&'a Quote> {
    let paid = |quote: &&Quote| Usdc::from_cents(quote.total) == Ok(authorization.value());
    quotes.iter().find(paid).or(quotes.first())
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
