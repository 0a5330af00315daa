//! The table of all jobs, built from the list of entity kinds. A stored job is looked up by its kind and number.

use std::future::ready;

use super::work::{Inquiry, OperatorResolution, Summary, Work};
use super::{HandlerResult, JobHandlers};
use crate::engine::registries::{JOB_KINDS, Registries};
use crate::engine::{Engine, ResolveError};
use crate::jobs::{JobType, LineDependency, OperatorPolicy, OutgoingPurpose, Queue};
use crate::kernel::job::{AnyJob, JobFacts};
use crate::kernel::{AttemptFailure, EntityKind, OutboxJob};
use crate::port::BoxFuture;

/// Name of a job whose kind or number this program does not know.
const UNKNOWN: &str = "unknown_job";

/// The jobs of one entity kind, without their type.
pub(in crate::engine) struct JobKind {
    kind: EntityKind,
    types: &'static [JobType],
    run: for<'a> fn(&'a JobHandlers, &'a OutboxJob) -> BoxFuture<'a, HandlerResult>,
    summarize: for<'a> fn(&AnyJob, &'a Registries) -> BoxFuture<'a, Summary>,
    inquire: for<'a> fn(&OutboxJob, &'a Engine) -> BoxFuture<'a, Inquiry>,
    resolve: for<'a> fn(&AnyJob, &'a Engine, &'a OperatorResolution<'a>) -> BoxFuture<'a, Result<(), ResolveError>>,
}

impl JobKind {
    pub(in crate::engine) const fn of<J: Work>() -> Self {
        Self {
            kind: J::KIND,
            types: J::TYPES,
            run: |on, outbox_job| match outbox_job.job.typed::<J>() {
                Some(job) => job.run(on, outbox_job),
                None => Box::pin(ready(Err(unreadable(&outbox_job.job)))),
            },
            summarize: |job, all| match job.typed::<J>() {
                Some(job) => job.summarize(all),
                None => Box::pin(ready(Ok(None))),
            },
            inquire: |outbox_job, engine| match outbox_job.job.typed::<J>() {
                Some(job) => job.inquire(engine, outbox_job.id),
                None => Box::pin(ready(Ok(None))),
            },
            resolve: |job, engine, resolution| match job.typed::<J>() {
                Some(job) => job.resolve(engine, resolution),
                None => Box::pin(ready(Err(ResolveError::NotResolvable))),
            },
        }
    }
}

/// A job's entry in the table.
#[derive(Clone, Copy)]
struct Entry {
    kind: &'static JobKind,
    job_type: &'static JobType,
    /// Its position among all types, in the order of their numbers.
    index: usize,
}

/// Number of job types.
const COUNT: usize = {
    let (mut count, mut n) = (0, 0);
    while n < JOB_KINDS.len() {
        count += JOB_KINDS[n].types.len();
        n += 1;
    }
    count
};

/// Every type, by its number. Two jobs under one number do not compile.
static TABLE: [Option<Entry>; 256] = {
    let mut table = [None; 256];
    let mut n = 0;
    while n < JOB_KINDS.len() {
        let (kind, mut m) = (&JOB_KINDS[n], 0);
        while m < kind.types.len() {
            let job_type = &kind.types[m];
            assert!(table[job_type.op as usize].is_none(), "two jobs have the same number");
            let index = 0;
            table[job_type.op as usize] = Some(Entry { kind, job_type, index });
            m += 1;
        }
        n += 1;
    }
    let (mut index, mut op) = (0, 0);
    while op < table.len() {
        if let Some(entry) = &mut table[op] {
            entry.index = index;
            index += 1;
        }
        op += 1;
    }
    table
};

/// Name of every job type, in the order in which statistics list them.
pub static JOB_NAMES: [&str; COUNT] = {
    let mut names = [""; COUNT];
    let mut op = 0;
    while op < TABLE.len() {
        if let Some(entry) = &TABLE[op] {
            names[entry.index] = entry.job_type.name;
        }
        op += 1;
    }
    names
};

/// Every job type with the name of its entity kind, in the order of [`JOB_NAMES`].
pub fn job_types() -> impl Iterator<Item = (&'static str, &'static JobType)> {
    TABLE
        .iter()
        .flatten()
        .map(|entry| (entry.kind.kind.name(), entry.job_type))
}

fn find(job: &AnyJob) -> Option<&'static Entry> {
    TABLE[usize::from(job.op)]
        .as_ref()
        .filter(|entry| entry.kind.kind as u8 == job.kind)
}

/// A job that no later attempt of this program can run.
fn unreadable(job: &AnyJob) -> AttemptFailure {
    AttemptFailure::permanent(match find(job) {
        Some(entry) => format!("the bytes of this {} job cannot be read", entry.job_type.name),
        None => format!("there is no job {} of entity kind {}", job.op, job.kind),
    })
}

impl AnyJob {
    /// Its type. `None` if this program does not know its kind or number.
    pub fn job_type(&self) -> Option<&'static JobType> {
        find(self).map(|entry| entry.job_type)
    }

    /// Name in logs, metrics and the operator API.
    pub fn name(&self) -> &'static str {
        self.job_type().map_or(UNKNOWN, |known| known.name)
    }

    /// Position in [`JOB_NAMES`]. `None` if its type is unknown.
    pub fn index(&self) -> Option<usize> {
        find(self).map(|entry| entry.index)
    }

    /// Id of the job's subject, for the operator API.
    pub fn subject(&self) -> String {
        let known = self.job_type().and_then(|known| (known.subject_text)(&self.subject));
        known.unwrap_or_else(|| hex::encode(&self.subject))
    }

    /// Line whose provider executes the job.
    pub(in crate::engine) fn line(&self) -> LineDependency {
        self.job_type().map_or(LineDependency::None, |known| known.policy.line)
    }

    /// Purpose of the money that the job moves out. `None` for jobs that move none.
    pub(in crate::engine) fn outgoing_purpose(&self) -> Option<OutgoingPurpose> {
        self.job_type()?
            .policy
            .outgoing
            .and_then(|purpose| purpose(&self.subject))
    }

    /// What an operator may record of the job, if anything.
    pub(in crate::engine) fn operator_policy(&self) -> Option<&'static OperatorPolicy> {
        self.job_type()?.policy.operator.as_ref()
    }

    /// The outcomes that an operator may record once the job is dead-lettered: completed, and not completed.
    pub fn resolvable_outcomes(&self) -> (bool, bool) {
        self.operator_policy().map_or((false, false), OperatorPolicy::outcomes)
    }

    /// Whether an operator can have the owner credited: the job was not executed, or is itself a withheld credit.
    pub fn is_creditable(&self) -> bool {
        self.operator_policy().is_some_and(OperatorPolicy::is_creditable)
    }

    /// What the outbox must know about it.
    pub(super) fn facts(&self) -> JobFacts {
        let Some(entry) = find(self) else {
            return JobFacts {
                name: UNKNOWN,
                index: COUNT,
                waits_for_provider: false,
                partition: None,
            };
        };
        JobFacts {
            name: entry.job_type.name,
            index: entry.index,
            waits_for_provider: entry.job_type.policy.line.waits(),
            partition: match entry.job_type.policy.queue {
                Queue::OfKind => None,
                Queue::Partition(partition) => partition(self),
            },
        }
    }
}

/// Runs a job by its entity's handler.
pub(super) fn run<'a>(on: &'a JobHandlers, outbox_job: &'a OutboxJob) -> BoxFuture<'a, HandlerResult> {
    match find(&outbox_job.job) {
        Some(entry) => (entry.kind.run)(on, outbox_job),
        None => Box::pin(ready(Err(unreadable(&outbox_job.job)))),
    }
}

/// Subject of a job.
pub(in crate::engine) fn summarize<'a>(job: &AnyJob, all: &'a Registries) -> BoxFuture<'a, Summary> {
    match find(job) {
        Some(entry) => (entry.kind.summarize)(job, all),
        None => Box::pin(ready(Ok(None))),
    }
}

/// What the executor of a job reports.
pub(in crate::engine) fn inquire<'a>(outbox_job: &OutboxJob, engine: &'a Engine) -> BoxFuture<'a, Inquiry> {
    match find(&outbox_job.job) {
        Some(entry) => (entry.kind.inquire)(outbox_job, engine),
        None => Box::pin(ready(Ok(None))),
    }
}

/// Records an operator's outcome of a job.
pub(in crate::engine) fn resolve<'a>(
    job: &AnyJob,
    engine: &'a Engine,
    resolution: &'a OperatorResolution<'a>,
) -> BoxFuture<'a, Result<(), ResolveError>> {
    match find(job) {
        Some(entry) => (entry.kind.resolve)(job, engine, resolution),
        None => Box::pin(ready(Err(ResolveError::NotResolvable))),
    }
}
