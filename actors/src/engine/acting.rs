//! How the house acts: one operator at a time, each act in the audit log behind the one before, by the batch that does it.

use purser_storage::{Batch, CommitError, Condition, Write};
use tokio::sync::MutexGuard;

use super::{Denied, Engine, RACES};
use crate::kernel::memo::{Aside, Note};
use crate::kernel::{Effect, Entity, Family, Memo, Refusal, audit};
use crate::operator::{Act, Audit, Beside, Deed, Link};

/// The right to act, until it is dropped.
pub(super) type Acting<'a> = MutexGuard<'a, ()>;

/// What is written down of an act.
pub(super) struct Words<'a> {
    /// Who.
    pub(super) act: &'a Act,
    /// What, for example `effect.retry`.
    pub(super) what: &'static str,
    /// To which.
    pub(super) subject: String,
    /// In the operator's own words.
    pub(super) words: Option<String>,
    /// What comes with it.
    pub(super) beside: Beside,
}

impl<'a> Words<'a> {
    /// About a piece of work.
    pub(super) fn of(act: &'a Act, what: &'static str, effect: &Effect, words: Option<String>) -> Self {
        let Effect { id, work, .. } = effect;
        Self {
            act,
            what,
            subject: format!("{id} {} {}", work.name(), work.subject()),
            words,
            beside: Beside::default(),
        }
    }
}

impl Engine {
    /// Waits until nobody else acts.
    pub(super) async fn acting(&self) -> Acting<'_> {
        self.0.operating.lock().await
    }

    /// The next place in the audit log. Somebody who went away while acting may still take it: then the batch conflicts.
    async fn next_link<R>(&self) -> Result<Link, Refusal<R>> {
        audit::next(&*self.0.store).await.map_err(|error| {
            tracing::error!(%error, "the end of the audit log could not be read");
            Refusal::Unknown
        })
    }

    /// Asks an entity for what an operator wants; the entity writes it down.
    ///
    /// # Errors
    /// The entity's; [`Refusal::Conflict`] when something other than the log stands against it.
    pub(super) async fn act<E: Entity>(
        &self,
        one: &Acting<'_>,
        to: (&Family<E>, E::Id),
        act: &Act,
        command: impl Fn(Deed) -> E::Command + Send + Sync,
    ) -> Result<E::Answer, Refusal<E::Rejection>> {
        self.act_beside(one, to, (act, &Beside::default()), command).await
    }

    /// The same with what comes with it.
    ///
    /// # Errors
    /// As [`Engine::act`]; [`Refusal::Conflict`] too when what comes with it stands against it.
    pub(super) async fn act_beside<E: Entity>(
        &self,
        _one: &Acting<'_>,
        (family, id): (&Family<E>, E::Id),
        (act, beside): (&Act, &Beside),
        command: impl Fn(Deed) -> E::Command + Send + Sync,
    ) -> Result<E::Answer, Refusal<E::Rejection>> {
        for _ in 0..RACES {
            let link = self.next_link().await?;
            let (act, beside) = (act.clone(), Box::new(beside.clone()));
            match family.ask(id, command(Deed { act, link, beside })).await {
                Err(Refusal::Conflict) => {}
                told => return told,
            }
        }
        Err(Refusal::Conflict)
    }

    /// The same for what holders ask for too: then nobody is written down, and the answer is remembered if there is a memo.
    ///
    /// # Errors
    /// As [`Engine::ask_once`].
    pub(super) async fn act_or_ask<E: Entity>(
        &self,
        (family, id): (&Family<E>, E::Id),
        (by, memo): (Option<&Act>, Option<Memo<E>>),
        command: impl Fn(Option<Deed>) -> E::Command + Send + Sync,
    ) -> Result<E::Answer, Denied<E::Rejection>>
    where
        E::Command: Clone,
    {
        let Some(act) = by else {
            return self.ask_once(family, id, command(None), memo).await;
        };
        let one = self.acting().await;
        match self.act(&one, (family, id), act, |deed| command(Some(deed))).await {
            Err(Refusal::Conflict) => Err(Denied::Unavailable),
            told => Ok(told?),
        }
    }

    /// Tells an entity what otherwise only somebody outside tells it. It knows of no operator: what is written down is added to
    /// its batch.
    ///
    /// # Errors
    /// As [`Engine::act`].
    pub(super) async fn act_for<E: Entity>(
        &self,
        _one: &Acting<'_>,
        (family, id): (&Family<E>, E::Id),
        words: &Words<'_>,
        command: impl Fn() -> E::Command + Send + Sync,
    ) -> Result<E::Answer, Refusal<E::Rejection>> {
        for _ in 0..RACES {
            let note = self.note(words, self.next_link().await?);
            match family.ask_aside(id, command(), Some(Aside::Note(note))).await {
                Err(Refusal::Conflict) => {}
                told => return told,
            }
        }
        Err(Refusal::Conflict)
    }

    /// Does what no entity decides.
    ///
    /// # Errors
    /// When the store refuses it; [`CommitError::Condition`] when something other than the log stands against it.
    pub(super) async fn act_alone(
        &self,
        _one: &Acting<'_>,
        words: &Words<'_>,
        conditions: Vec<Condition>,
        writes: Vec<Write>,
    ) -> Result<(), CommitError> {
        let mut refused = CommitError::Stopped;
        for _ in 0..RACES {
            let link = self.next_link::<()>().await.map_err(|_| CommitError::Stopped)?;
            let note = self.note(words, link);
            let batch = Batch {
                conditions: [conditions.clone(), note.conditions].concat(),
                writes: [writes.clone(), note.writes].concat(),
                ..Batch::default()
            };
            match super::commit(&*self.0.store, batch).await {
                Err(CommitError::Condition(which)) => refused = CommitError::Condition(which),
                told => return told,
            }
        }
        Err(refused)
    }

    /// Writes down what was done beside the engine.
    ///
    /// # Errors
    /// When the store refuses it.
    pub async fn write_down(
        &self,
        act: &Act,
        what: &'static str,
        subject: String,
        words: String,
    ) -> Result<(), CommitError> {
        let one = self.acting().await;
        let words = Words {
            act,
            what,
            subject,
            words: Some(words),
            beside: Beside::default(),
        };
        self.act_alone(&one, &words, Vec::new(), Vec::new()).await
    }

    fn note(&self, words: &Words<'_>, link: Link) -> Note {
        let act = Audit {
            link,
            at: self.0.clock.now(),
            act: words.act.clone(),
            what: words.what.to_owned(),
            subject: words.subject.clone(),
            words: words.words.clone(),
        };
        let (conditions, writes) = audit::written(act, &words.beside);
        Note { conditions, writes }
    }
}
