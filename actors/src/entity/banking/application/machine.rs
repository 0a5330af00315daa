//! State machine of a banking application.

use super::BankingApplicationView;
use super::{BankingApplication, Command, Document, DocumentType, Event, Job, MAX_DOCUMENTS, Rejection, Status};
use crate::id::{CardId, DocumentId, JobId, Wallet};
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, StateMachine as _, table};
use crate::port::Timestamp;
use crate::port::banking::ReviewDecision;

impl BankingApplication {
    fn at(self, status: Status, updated_at: Timestamp) -> Self {
        Self {
            status,
            updated_at,
            ..self
        }
    }

    /// Whether answers and documents are accepted.
    const fn is_open(&self) -> bool {
        matches!(self.status, Status::Incomplete | Status::Rejected(_))
    }

    /// Document that a new one replaces.
    fn replaced_by(&self, document: &Document) -> Option<&Document> {
        let same = |kept: &&Document| {
            kept.document_type == document.document_type && document.document_type != DocumentType::Other
        };
        self.documents.iter().find(same)
    }

    fn attach(&self, document: Document, sealed_key: Vec<u8>, context: &Context) -> Result<Decision<Self>, Rejection> {
        let replaced = self.replaced_by(&document);
        if replaced.is_none() && self.documents.len() >= MAX_DOCUMENTS {
            return Err(Rejection::TooManyDocuments);
        }
        let at = context.now;
        let decided = Decision::answer(replaced.map(|old| old.id))
            .put_new(table::vault(CardId(document.id.0)), sealed_key)
            .event(Event::DocumentAdded(Document { at, ..document }));
        // Without its key a document cannot be read, wherever copies of it are.
        Ok(match replaced {
            Some(old) => decided.delete(table::vault(CardId(old.id.0))),
            None => decided,
        })
    }

    fn submit(&self, wallet: &Wallet, context: &Context) -> Result<Decision<Self>, Rejection> {
        let missing = self.missing();
        if !missing.is_empty() {
            return Err(Rejection::Incomplete(missing));
        }
        let key = JobId(context.id());
        Ok(Decision::answer(None)
            .requires_present(table::verified(wallet))
            .event(Event::Submitted(key, context.now))
            .enqueue_as(key, Job::SubmitBankApplication(*wallet), context))
    }

    fn reviewed(&self, job: JobId, review: ReviewDecision, context: &Context) -> Decision<Self> {
        Decision::answer(None)
            .completes_job(job)
            .event(match review.truncated() {
                ReviewDecision::Approved { customer } => Event::Approved(customer, context.now),
                ReviewDecision::Rejected { reason } => Event::Rejected(reason, context.now),
                ReviewDecision::InformationRequested { what } => Event::InformationRequested(what, context.now),
            })
    }
}

impl Entity for BankingApplication {
    const KIND: EntityKind = EntityKind::BankingApplication;

    type Id = Wallet;
    type Command = Command;
    type Reply = Option<DocumentId>;
    type Rejection = Rejection;
    type Outcome = ();
    type View<'a> = BankingApplicationView<'a>;

    fn decide(
        this: Option<&Self>,
        wallet: &Wallet,
        command: Command,
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        let Some(application) = this else {
            return Err(Rejection::State("-"));
        };
        let done = Decision::answer(None);
        match (&application.status, command) {
            (_, Command::Update { answers, tax }) if application.is_open() => {
                let (last4, sealed) = tax.unzip();
                let decided = done.event(Event::Updated(answers, last4, context.now));
                Ok(match sealed {
                    Some(sealed) => decided.put(table::vault(CardId(application.id.0)), sealed),
                    None => decided,
                })
            }
            (_, Command::AddDocument { document, sealed_key }) if application.is_open() => {
                application.attach(document, sealed_key, context)
            }
            (Status::Incomplete, Command::Submit) => application.submit(wallet, context),
            (Status::Submitted(key), Command::RecordReview { job, review }) if *key == job => {
                Ok(application.reviewed(job, review, context))
            }
            (_, _) => Err(Rejection::State(application.status())),
        }
    }

    fn apply(this: Option<Self>, _: &Wallet, event: &Event) -> Result<Self, InvalidTransition> {
        let status = this.as_ref().map_or("-", Self::status);
        let broken = || InvalidTransition::new(status, event);
        let Some(application) = this else {
            return match event {
                Event::Opened(application) => Ok((**application).clone()),
                _ => Err(broken()),
            };
        };
        match (application.status.clone(), event) {
            (Status::Incomplete | Status::Rejected(_), Event::Updated(answers, last4, at)) => {
                let mut application = application.at(Status::Incomplete, *at);
                for (question, answer) in answers {
                    application.answers.retain(|(asked, _)| asked != question);
                    application.answers.push((*question, answer.clone()));
                }
                application.answers.sort_unstable();
                application.tax_last4 = last4.clone().or(application.tax_last4);
                Ok(application)
            }
            (Status::Incomplete | Status::Rejected(_), Event::DocumentAdded(document)) => {
                let replaced = application.replaced_by(document).map(|old| old.id);
                let mut application = application.at(Status::Incomplete, document.at);
                application.documents.retain(|kept| Some(kept.id) != replaced);
                application.documents.push(*document);
                Ok(application)
            }
            (Status::Incomplete, Event::Submitted(key, at)) => Ok(Self {
                submissions: application.submissions.saturating_add(1),
                requested_items: None,
                ..application.at(Status::Submitted(*key), *at)
            }),
            (Status::Submitted(_), Event::Approved(customer, at)) => {
                Ok(application.at(Status::Approved(customer.clone()), *at))
            }
            (Status::Submitted(_), Event::Rejected(reason, at)) => {
                Ok(application.at(Status::Rejected(reason.clone()), *at))
            }
            (Status::Submitted(_), Event::InformationRequested(what, at)) => Ok(Self {
                requested_items: Some(what.clone()),
                ..application.at(Status::Incomplete, *at)
            }),
            _ => Err(broken()),
        }
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    /// The status without answers, which only a request for the application returns.
    fn view(&self, _: &Wallet) -> BankingApplicationView<'_> {
        let reason = match &self.status {
            Status::Rejected(reason) => Some(reason.as_str()),
            _ => None,
        };
        BankingApplicationView {
            application_id: self.id,
            status: self.state(),
            rejection_reason: reason,
            requested_items: self.requested_items.as_deref(),
            submissions: self.submissions,
            created_at: self.created_at.into(),
            last_updated_at: self.updated_at.into(),
        }
    }

    fn outcome(&self) -> Option<()> {
        None
    }
}
