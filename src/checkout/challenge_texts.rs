//! Texts of a 402 that are equal for all callers that ask for the same at the same price. They are written once and
//! reused.
//!
//! The key of a text is everything that it was written from, so a caller never gets the text of another request, and
//! no text outlives a change: prices, rates, sales and fee payers are looked up for every request before. What differs
//! by request is not reused: the request's id, and the MPP challenge with its number, its expiry and its id, which is
//! good for one payment.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use bytes::Bytes;
use http::HeaderValue;
use parking_lot::Mutex;
use purser_actors::currency::Currency;
use purser_actors::quote::ExchangeRate;

use super::presented_payment::{ChallengeReason, exchange_rate_member};
use crate::edge::error::ApiError;
use crate::payment::challenge::{ChallengeInput, Resource, challenge};
use crate::payment::mpp::{BoundRequest, ChallengeTemplate, Mpp};
use crate::payment::{Terms, identifier};

/// Places for texts. Each has one, the last that was asked for of those that fall to it.
const PLACES: usize = 512;
/// Texts for longer requests are not kept: the request is in them five times. With [`PLACES`], this keeps them below
/// 4 MiB.
const MAX_KEPT_BYTES: usize = 8 * 1024;

/// The texts of a challenge.
pub(super) struct ChallengeTexts {
    /// Value of `PAYMENT-REQUIRED`.
    pub(super) header: HeaderValue,
    /// Without the members that differ by request.
    pub(super) body: Bytes,
    /// Where the id of the MPP challenge belongs in the body.
    pub(super) id_at: usize,
    /// `None` without an offer for MPP clients.
    pub(super) mpp: Option<ChallengeTemplate>,
}

/// All that the texts are written from, beside the service's constants and the reason of the 402.
pub(super) struct ChallengeSubject<'a> {
    /// Path and query as they were sent.
    pub(super) target: &'a str,
    pub(super) description: &'a str,
    /// Today's terms on each network.
    pub(super) terms: &'a [Terms],
    pub(super) request: BoundRequest<'a>,
    pub(super) exchange: Option<&'a ExchangeRate>,
    /// Of the amount that was asked for.
    pub(super) currency: Currency,
}

impl ChallengeSubject<'_> {
    /// Writes the texts. `public_url` is in front of the target.
    ///
    /// # Errors
    /// Never: base64 is a valid header.
    pub(super) fn write(
        &self,
        reason: &ChallengeReason,
        public_url: &str,
        mpp: &Mpp,
    ) -> Result<ChallengeTexts, ApiError> {
        let url = format!("{public_url}{}", self.target);
        let mut members = reason.problem.members(&reason.detail, None);
        let before_id = members.len();
        if let Some(exchange) = self.exchange {
            members.push_str(&exchange_rate_member(exchange, self.currency));
        }
        let challenge = challenge(&ChallengeInput {
            resource: Resource {
                url: &url,
                description: self.description,
                mime_type: "application/json",
            },
            terms: self.terms,
            error: reason.error,
            code: reason.code.as_str(),
            extensions: Some(identifier::CHALLENGE_EXTENSION),
            body_members: Some(&members),
        });
        Ok(ChallengeTexts {
            header: HeaderValue::from_maybe_shared(challenge.header).map_err(|_| ApiError::internal())?,
            body: challenge.body,
            // Behind the comma before the members.
            id_at: challenge.members_at + 1 + before_id,
            mpp: mpp.template(self.terms, &self.request, self.description),
        })
    }
}

/// Texts and what they were written from.
struct CachedText {
    target: Box<str>,
    description: Box<str>,
    terms: Box<[Terms]>,
    route: Box<str>,
    request: [u8; 32],
    exchange: Option<ExchangeRate>,
    currency: Currency,
    texts: Arc<ChallengeTexts>,
}

impl CachedText {
    fn new(subject: &ChallengeSubject<'_>, texts: Arc<ChallengeTexts>) -> Self {
        Self {
            target: subject.target.into(),
            description: subject.description.into(),
            terms: subject.terms.into(),
            route: subject.request.route.into(),
            request: *subject.request.request,
            exchange: subject.exchange.cloned(),
            currency: subject.currency,
            texts,
        }
    }

    fn is_for(&self, subject: &ChallengeSubject<'_>) -> bool {
        // A field that is added to the subject must be compared here.
        let ChallengeSubject {
            target,
            description,
            terms,
            request: BoundRequest { route, request },
            exchange,
            currency,
        } = subject;
        *self.target == **target
            && self.request == **request
            && *self.route == **route
            && *self.description == **description
            && self.currency == *currency
            && self.exchange.as_ref() == *exchange
            && self.terms.len() == terms.len()
            && self.terms.iter().zip(*terms).all(|(own, other)| own.is_same(other))
    }
}

/// The texts for a first 402 (`payment_required`) that were asked for lately.
pub struct ChallengeCache {
    places: Box<[Mutex<Option<CachedText>>]>,
    hasher: RandomState,
}

impl Default for ChallengeCache {
    fn default() -> Self {
        Self {
            places: (0..PLACES).map(|_| Mutex::default()).collect(),
            hasher: RandomState::new(),
        }
    }
}

impl ChallengeCache {
    /// The texts for a subject, which `write` writes if they are not here.
    ///
    /// # Errors
    /// That of `write`.
    pub(super) fn texts(
        &self,
        subject: &ChallengeSubject<'_>,
        write: impl FnOnce() -> Result<ChallengeTexts, ApiError>,
    ) -> Result<Arc<ChallengeTexts>, ApiError> {
        // Fee payers take turns: each has its own place.
        let fee_payers = subject.terms.iter().map(|terms| terms.fee_payer);
        let hash = self.hasher.hash_one((subject.target, fee_payers.collect::<Vec<_>>()));
        let place = usize::try_from(hash % PLACES as u64)
            .ok()
            .and_then(|n| self.places.get(n));
        let place = place.ok_or_else(ApiError::internal)?;
        if let Some(kept) = place.lock().as_ref().filter(|kept| kept.is_for(subject)) {
            return Ok(kept.texts.clone());
        }
        let texts = Arc::new(write()?);
        if texts.header.len() + texts.body.len() <= MAX_KEPT_BYTES {
            *place.lock() = Some(CachedText::new(subject, texts.clone()));
        }
        Ok(texts)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::cell::Cell;

    use purser_actors::money::Usdc;
    use purser_actors::port::Timestamp;

    use super::*;
    use crate::payment::{BasePayee, Payee, RecentBlockhash, SolanaChain, SolanaPayee};
    use crate::secret::{Key32, MacKey};

    struct Fixture {
        cache: ChallengeCache,
        mpp: Mpp,
        written: Cell<u32>,
    }

    impl Fixture {
        fn new() -> Self {
            Self {
                cache: ChallengeCache::default(),
                mpp: Mpp::new("shop.example", MacKey::new(&Key32::new([1; 32])), None, 7),
                written: Cell::new(0),
            }
        }

        fn texts(&self, subject: &ChallengeSubject<'_>) -> Arc<ChallengeTexts> {
            let write = || {
                self.written.set(self.written.get() + 1);
                subject.write(&ChallengeReason::required(), "https://shop.example", &self.mpp)
            };
            self.cache.texts(subject, write).unwrap()
        }
    }

    fn terms(atomic: u64) -> Vec<Terms> {
        let solana = SolanaPayee::on(&SolanaChain::MAINNET, [3; 32], &[[1; 32], [2; 32]], None).unwrap();
        [
            Payee::Base(Arc::new(BasePayee::usdc([5; 20]))),
            Payee::Solana(Arc::new(solana)),
        ]
        .map(|payee| Terms::new(Usdc::from_atomic(atomic), 300, payee))
        .into()
    }

    fn rate() -> ExchangeRate {
        ExchangeRate {
            usd_per_unit: "1.17".into(),
            source: "bank".into(),
            as_of: Timestamp(5),
        }
    }

    fn subject<'a>(terms: &'a [Terms], request: &'a [u8; 32]) -> ChallengeSubject<'a> {
        ChallengeSubject {
            target: "/get-card?amount=5",
            description: "USA prepaid card, 5 USD",
            terms,
            request: BoundRequest {
                route: "/get-card",
                request,
            },
            exchange: None,
            currency: Currency::USD,
        }
    }

    // Checks: the same texts are written once. Each single difference in what they are written from has texts of its own,
    // which are those of a cache that never saw another.
    #[test]
    fn texts_are_shared_only_by_equal_subjects() {
        let fixture = Fixture::new();
        let (usual, print) = (terms(5_000_000), [9; 32]);
        let first = fixture.texts(&subject(&usual, &print));
        assert!(Arc::ptr_eq(&first, &fixture.texts(&subject(&usual, &print))));
        assert_eq!(fixture.written.get(), 1);

        let dearer = terms(5_000_001);
        let with = |change: fn(&mut Terms)| {
            let mut changed = usual.clone();
            change(&mut changed[1]);
            changed
        };
        let hinted = with(|solana| solana.recent = Some(Arc::new(RecentBlockhash::new([4; 32], 9))));
        let other_fee_payer = with(|solana| solana.fee_payer = Some([2; 32]));
        let shorter = with(|solana| solana.max_timeout_seconds = 60);
        let other_payee = [usual[0].clone(), terms(5_000_000)[1].clone()];
        let (euro, euros) = (rate(), "EUR".parse().unwrap());
        let own = || subject(&usual, &print);
        let others = [
            subject(&dearer, &print),
            subject(&hinted, &print),
            subject(&other_fee_payer, &print),
            subject(&shorter, &print),
            subject(&other_payee, &print),
            subject(&usual[..1], &print),
            subject(&usual, &[8; 32]),
            ChallengeSubject {
                target: "/get-card?amount=5.0",
                ..own()
            },
            ChallengeSubject {
                description: "USA prepaid card for Ada",
                ..own()
            },
            ChallengeSubject {
                exchange: Some(&euro),
                ..own()
            },
            ChallengeSubject {
                currency: euros,
                ..own()
            },
            ChallengeSubject {
                request: BoundRequest {
                    route: "/order-gift-card",
                    request: &print,
                },
                ..own()
            },
        ];
        for (n, other) in others.iter().enumerate() {
            fixture.texts(&own());
            let written = fixture.written.get();
            let texts = fixture.texts(other);
            assert_eq!(fixture.written.get(), written + 1, "subject {n} has texts of its own");
            let alone = Fixture::new().texts(other);
            assert_eq!((&texts.header, &texts.body), (&alone.header, &alone.body), "{n}");
            assert!(Arc::ptr_eq(&texts, &fixture.texts(other)), "{n}");
        }
    }

    // Checks: the MPP challenges of one template have ids of their own, which only this service could have given.
    #[test]
    fn no_two_callers_get_the_same_mpp_challenge() {
        let fixture = Fixture::new();
        let (usual, print) = (terms(5_000_000), [9; 32]);
        let texts = fixture.texts(&subject(&usual, &print));
        let template = texts.mpp.as_ref().unwrap();
        let issue = || fixture.mpp.issue_from(template, Timestamp(1_000));
        assert_ne!(issue().id, issue().id);
        let bound = subject(&usual, &print).request;
        // The next number of an issuer that has no template yet.
        let fresh = Mpp::new("shop.example", MacKey::new(&Key32::new([1; 32])), None, 9);
        let fresh = fresh.issue(&usual, &bound, "USA prepaid card, 5 USD", Timestamp(1_000));
        assert_eq!(Some(issue()), fresh);
    }

    // Checks: however many requests are asked for, and however long, a bounded number of bytes is kept.
    #[test]
    fn cache_is_bounded() {
        let fixture = Fixture::new();
        let (usual, print) = (terms(5_000_000), [9; 32]);
        for n in 0..4 * PLACES {
            let target = format!("/get-card?amount={n}");
            fixture.texts(&ChallengeSubject {
                target: &target,
                ..subject(&usual, &print)
            });
        }
        let long = format!("/get-card?amount={}", "0".repeat(4_000));
        for _ in 0..2 {
            let written = fixture.written.get();
            fixture.texts(&ChallengeSubject {
                target: &long,
                ..subject(&usual, &print)
            });
            assert_eq!(fixture.written.get(), written + 1);
        }
        let kept = fixture.cache.places.iter().filter_map(|place| {
            let kept = place.lock();
            kept.as_ref()
                .map(|kept| kept.texts.header.len() + kept.texts.body.len())
        });
        assert!(kept.sum::<usize>() <= PLACES * MAX_KEPT_BYTES);
    }
}
