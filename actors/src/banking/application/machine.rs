//! The application's state machine.

use super::{Application, Command, DOCUMENTS_MAX, Document, Event, Rejection, Shows, Status};
use crate::id::{CardId, EffectId, Wallet};
use crate::kernel::effect::Work;
use crate::kernel::entity::Move;
use crate::kernel::{Context, Decision, Entity, Kind, OutOfOrder, View, table};
use crate::port::Timestamp;
use crate::port::banking::Review;

impl Application {
    fn at(self, status: Status, updated_at: Timestamp) -> Self {
        Self {
            status,
            updated_at,
            ..self
        }
    }

    /// Whether answers and documents are taken.
    const fn is_open(&self) -> bool {
        matches!(self.status, Status::Collecting | Status::Rejected(_))
    }

    /// What a new document takes the place of.
    fn replaced_by(&self, document: &Document) -> Option<&Document> {
        let same = |kept: &&Document| kept.shows == document.shows && document.shows != Shows::Other;
        self.documents.iter().find(same)
    }

    fn attach(&self, document: Document, sealed_key: Vec<u8>, context: &Context) -> Result<Decision<Self>, Rejection> {
        let replaced = self.replaced_by(&document);
        if replaced.is_none() && self.documents.len() >= DOCUMENTS_MAX {
            return Err(Rejection::TooMany);
        }
        let at = context.now;
        let decided = Decision::answer(())
            .put_new(table::vault(CardId(document.id.0)), sealed_key)
            .event(Event::Attached(Document { at, ..document }));
        // Without its key a document is noise, wherever copies of it are.
        Ok(match replaced {
            Some(old) => decided.take(table::vault(CardId(old.id.0))),
            None => decided,
        })
    }

    fn submit(&self, wallet: &Wallet, context: &Context) -> Result<Decision<Self>, Rejection> {
        let missing = self.missing();
        if !missing.is_empty() {
            return Err(Rejection::Incomplete(missing));
        }
        let key = EffectId(context.id());
        Ok(Decision::answer(())
            .requires_present(table::verified(wallet))
            .event(Event::Submitted(key, context.now))
            .then_as(key, Work::ReviewApplication(*wallet), context))
    }

    fn reviewed(&self, effect: EffectId, review: Review, context: &Context) -> Decision<Self> {
        Decision::answer(()).completes(effect).event(match review.shortened() {
            Review::Approved { customer } => Event::Approved(customer, context.now),
            Review::Rejected { reason } => Event::Rejected(reason, context.now),
            Review::Wanted { what } => Event::GivenBack(what, context.now),
        })
    }
}

impl Entity for Application {
    const KIND: Kind = Kind::Application;
    const CHANGES: &'static [&'static str] = &["collecting", "submitted", "approved", "rejected"];
    const MOVES: &'static [Move] = &[
        ("-", "profile made", "collecting"),
        ("collecting", "complete, owner verified, submitted", "submitted"),
        ("submitted", "bank says yes", "approved"),
        ("submitted", "bank says no", "rejected"),
        ("submitted", "bank wants more", "collecting"),
        ("rejected", "answers or documents change", "collecting"),
    ];

    type Id = Wallet;
    type Command = Command;
    type Event = Event;
    type Answer = ();
    type Rejection = Rejection;
    type Outcome = ();

    fn decide(
        this: Option<&Self>,
        wallet: &Wallet,
        command: Command,
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        let Some(application) = this else {
            return Err(Rejection::State("-"));
        };
        let done = Decision::answer(());
        match (&application.status, command) {
            (_, Command::Answer { answers, tax }) if application.is_open() => {
                let (last4, sealed) = tax.unzip();
                let decided = done.event(Event::Answered(answers, last4, context.now));
                Ok(match sealed {
                    Some(sealed) => decided.put(table::vault(CardId(application.id.0)), sealed),
                    None => decided,
                })
            }
            (_, Command::Attach { document, sealed_key }) if application.is_open() => {
                application.attach(document, sealed_key, context)
            }
            (Status::Collecting, Command::Submit) => application.submit(wallet, context),
            (Status::Submitted(key), Command::Reviewed { effect, review }) if *key == effect => {
                Ok(application.reviewed(effect, review, context))
            }
            (_, _) => Err(Rejection::State(application.status())),
        }
    }

    fn apply(this: Option<Self>, _: &Wallet, event: &Event) -> Result<Self, OutOfOrder> {
        let status = this.as_ref().map_or("-", Self::status);
        let broken = || OutOfOrder::new(status, event);
        let Some(application) = this else {
            return match event {
                Event::Opened(application) => Ok((**application).clone()),
                _ => Err(broken()),
            };
        };
        match (application.status.clone(), event) {
            (Status::Collecting | Status::Rejected(_), Event::Answered(answers, last4, at)) => {
                let mut application = application.at(Status::Collecting, *at);
                for (question, answer) in answers {
                    application.answers.retain(|(asked, _)| asked != question);
                    application.answers.push((*question, answer.clone()));
                }
                application.answers.sort_unstable();
                application.tax_last4 = last4.clone().or(application.tax_last4);
                Ok(application)
            }
            (Status::Collecting | Status::Rejected(_), Event::Attached(document)) => {
                let replaced = application.replaced_by(document).map(|old| old.id);
                let mut application = application.at(Status::Collecting, document.at);
                application.documents.retain(|kept| Some(kept.id) != replaced);
                application.documents.push(*document);
                Ok(application)
            }
            (Status::Collecting, Event::Submitted(key, at)) => Ok(Self {
                tries: application.tries.saturating_add(1),
                wanted: None,
                ..application.at(Status::Submitted(*key), *at)
            }),
            (Status::Submitted(_), Event::Approved(customer, at)) => {
                Ok(application.at(Status::Approved(customer.clone()), *at))
            }
            (Status::Submitted(_), Event::Rejected(reason, at)) => {
                Ok(application.at(Status::Rejected(reason.clone()), *at))
            }
            (Status::Submitted(_), Event::GivenBack(what, at)) => Ok(Self {
                wanted: Some(what.clone()),
                ..application.at(Status::Collecting, *at)
            }),
            _ => Err(broken()),
        }
    }

    fn status(&self) -> &'static str {
        match self.status {
            Status::Collecting => "collecting",
            Status::Submitted(_) => "submitted",
            Status::Approved(_) => "approved",
            Status::Rejected(_) => "rejected",
        }
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    fn announces(event: &Event) -> Option<&'static str> {
        match event {
            Event::Opened(_) | Event::GivenBack(..) => Some("collecting"),
            Event::Answered(..) | Event::Attached(_) => None,
            Event::Submitted(..) => Some("submitted"),
            Event::Approved(..) => Some("approved"),
            Event::Rejected(..) => Some("rejected"),
        }
    }

    /// Where it stands and no answer: those are for whoever asks for the application itself.
    fn view(&self, _: &Wallet) -> View {
        let reason = match &self.status {
            Status::Rejected(reason) => Some(reason),
            _ => None,
        };
        View::new()
            .text("application_id", self.id)
            .text("status", self.status())
            .maybe("rejection_reason", reason)
            .maybe("requested", self.wanted.as_ref())
            .integer("submissions", u64::from(self.tries))
            .time("created_at", self.created_at)
            .time("last_updated_at", self.updated_at)
    }

    fn outcome(&self) -> Option<()> {
        None
    }
}
