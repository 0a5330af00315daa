//! Bank applications, payouts from a balance to other people's accounts, and the bank's review.

use purser_actors::entity::account::{Account, BalancePayout, BankDebit};
use purser_actors::entity::banking::application::{
    BankingApplication, Document, DocumentType, MediaType, Question, Status,
};
use purser_actors::entity::banking::profile::{BankingProfile, CustomerType};
use purser_actors::entity::identity_verification::{self, IdentityVerification};
use purser_actors::entity::payout::{Payout, PayoutPlan, PayoutTarget};
use purser_actors::id::{DocumentId, PayoutId, Wallet};
use purser_actors::kernel::EntityKind;
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::banking::{BankApplicationRequest, ReviewDecision};
use purser_actors::port::{Entropy as _, Timestamp};
use purser_actors::quote::QuoteFacts;

use crate::account_steps::durable;
use crate::bank::SimBank;
use crate::clients::{Clients, payment_of_amount, wallet};
use crate::environment::Environment;
use crate::recipients::{destination, registered};

/// From this number on, the plan has the fault plans of payouts from a balance.
pub(crate) const BANKED: u32 = 1 << 20;
/// What those are worth, in cents, is less than any payment.
const MIN_FUNDS: u64 = 100;
/// Our fee for one, in cents.
const FEE: u64 = 50;

/// The number of the fault plan for an order to a rail.
pub(crate) fn fault_plan_number(amount: Cents) -> u32 {
    match amount.get() {
        cents @ 0..500 => BANKED + (cents - MIN_FUNDS) as u32,
        _ => payment_of_amount(amount),
    }
}

/// What a person in the U.S. must answer, by the contract.
const REQUIRED_QUESTIONS: &[(Question, &str)] = &[
    (Question::DateOfBirth, "1815-12-10"),
    (Question::Phone, "+15550100"),
    (Question::AddressLine1, "1 Main Street"),
    (Question::City, "Springfield"),
    (Question::State, "IL"),
    (Question::PostalCode, "62701"),
    (Question::Occupation, "Engineer"),
    (Question::SourceOfFunds, "Work"),
];

impl Clients {
    pub(crate) async fn applies(&self, number: u8) -> String {
        let owner = wallet(number);
        let profile = BankingProfile {
            owner,
            customer_type: CustomerType::Individual,
            first_name: "Ada".into(),
            last_name: "Lovelace".into(),
            email: "ada@example.com".into(),
            country: "US".parse().unwrap(),
            created_at: Timestamp::default(),
        };
        let result = self.engine.create_banking_profile(owner, profile, None).await;
        let stored: Option<BankingApplication> =
            durable(&self.environment, EntityKind::BankingApplication, &owner.key());
        if result.is_ok() && stored.is_none() && !self.environment.is_crashed() {
            self.environment
                .report_violation("answer.early", format!("{owner} has no application durably"));
        }
        format!("{result:?}")
    }

    /// All answers, or one too few, and a paper.
    pub(crate) async fn answers(&self, number: u8, nth: u32) -> String {
        let (world, owner) = (&self.environment, wallet(number));
        let from = usize::from(nth.is_multiple_of(4));
        let answers = REQUIRED_QUESTIONS[from..]
            .iter()
            .map(|(asked, answer)| (*asked, (*answer).to_owned()));
        let tax = Some(("6789".to_owned(), vec![nth as u8; 40]));
        let result = self
            .engine
            .update_banking_application(owner, answers.collect(), tax, None)
            .await;
        let document = Document {
            id: DocumentId(world.random()),
            document_type: DocumentType::ProofOfAddress,
            media: MediaType::Pdf,
            bytes: 1_000,
            sha256: [nth as u8; 32],
            at: Timestamp::default(),
        };
        let attached = self
            .engine
            .add_banking_document(owner, document, vec![nth as u8; 40], None)
            .await;
        format!("{result:?}, {attached:?}")
    }

    pub(crate) async fn submits(&self, number: u8) -> String {
        let result = self.engine.submit_banking_application(wallet(number), None).await;
        format!("{result:?}")
    }

    /// Pays another person's account out of the balance.
    pub(crate) async fn pays_out(&self, number: u8, nth: u32) -> String {
        let (world, owner) = (&self.environment, wallet(number));
        let amount = Cents::new(MIN_FUNDS + u64::from(nth));
        let id = PayoutId(u128::from(number) << 64 | u128::from(nth) << 8 | 3);
        let quoted = QuoteFacts {
            fee_rate: "0".into(),
            min_fee: Cents::new(FEE).to_string(),
            exchange: None,
        };
        let payout = BalancePayout {
            id,
            plan: PayoutPlan {
                target: PayoutTarget::Bank(destination(number), registered(owner).details),
                terms: self.engine.bank_payment_terms(),
                quoted: Some(quoted),
            },
            amount,
            charged: Usdc::from_cents(Cents::new(amount.get() + FEE)).unwrap(),
            cap: None,
        };
        let result = self
            .engine
            .debit_for_bank(owner, BankDebit::Payout(Box::new(payout)), None)
            .await;
        let stored: Option<Payout> = durable(world, EntityKind::Payout, &id.0.to_be_bytes());
        if result.is_ok() && stored.is_none() && !world.is_crashed() {
            world.report_violation("answer.early", format!("{id} was paid for and is not durable"));
        }
        format!("{result:?}")
    }
}

/// The bank's name of a customer.
pub(crate) fn customer(owner: &Wallet) -> String {
    format!("customer {owner}")
}

/// The customer that a wallet's approved application has made it, if it has one.
pub(crate) fn approved(world: &Environment, owner: &Wallet) -> Option<String> {
    let application: Option<BankingApplication> = durable(world, EntityKind::BankingApplication, &owner.key());
    match application?.status {
        Status::Approved(customer) => Some(customer),
        _ => None,
    }
}

/// Whether the owner has signed in, which banking requires.
pub(crate) fn has_account(world: &Environment, owner: &Wallet) -> bool {
    durable::<Account>(world, EntityKind::Account, &owner.key()).is_some()
}

impl SimBank {
    /// Nothing is given to the bank that is not durably submitted, whole, and of a person who is known.
    pub(crate) fn check_application(&self, asked: &BankApplicationRequest) {
        let world = &self.0;
        let stored: Option<BankingApplication> = durable(world, EntityKind::BankingApplication, &asked.wallet.key());
        let known = world.bank.lock().reviews.contains_key(&asked.key);
        let submitted = stored.as_ref().is_some_and(|stored| match stored.status {
            Status::Submitted(key) => stored.id == asked.id && key == asked.key,
            // An older try of a submission that has been decided.
            _ => known,
        });
        let given = |name: &str| asked.answers.iter().any(|(of, text)| *of == name && !text.is_empty());
        let whole = REQUIRED_QUESTIONS.iter().all(|(question, _)| given(question.name()));
        let person: Option<IdentityVerification> = durable(world, EntityKind::Identity, &asked.wallet.key());
        let verified =
            person.is_some_and(|person| matches!(person.status, identity_verification::Status::Verified { .. }));
        if !submitted || !verified || !whole || asked.sealed_tax.is_empty() || asked.documents.is_empty() {
            world.report_violation(
                "application.early",
                format!("{asked:?}, verified: {verified}, and durable is {stored:?}"),
            );
        }
    }

    /// The bank's final decision about a submission.
    pub(crate) fn reviewed(&self, asked: &BankApplicationRequest) -> ReviewDecision {
        let review = match self.0.below(5) {
            0 => ReviewDecision::Rejected { reason: "no".into() },
            1 => ReviewDecision::InformationRequested { what: "more".into() },
            _ => ReviewDecision::Approved {
                customer: customer(&asked.wallet),
            },
        };
        let mut vaults = self.0.bank.lock();
        vaults
            .reviews
            .entry(asked.key)
            .or_insert((asked.wallet, review))
            .1
            .clone()
    }
}
