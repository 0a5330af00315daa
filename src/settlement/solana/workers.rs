//! Background workers: the follower, the sender, and the readers of blockhashes and balances. Each is an actor; their
//! supervisor restarts them.

use std::sync::Arc;
use std::time::Duration;

use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, SpawnErr, SupervisionEvent};

use super::SolanaSettlement;

/// Delay before a failed worker is replaced.
const RESTART: Duration = Duration::from_secs(1);

/// The task of one actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Reads the treasury's transactions.
    Follow,
    /// Sends transactions in flight and queries their outcome.
    Drive,
    /// Reads a recent blockhash.
    Blockhash,
    /// Reads the fee payers' balances.
    Balances,
}

const ROLES: [Role; 4] = [Role::Blockhash, Role::Balances, Role::Follow, Role::Drive];

/// The running workers of one port. They stop when this is dropped.
pub struct Workers(ActorRef<Replace>);

impl Workers {
    /// Starts the workers, under `root` if there is one.
    ///
    /// # Errors
    /// When the runtime is shutting down.
    pub async fn start(port: Arc<SolanaSettlement>, root: Option<ActorCell>) -> Result<Self, SpawnErr> {
        let supervisor = Supervisor(port);
        let (supervisor, _) = match root {
            Some(root) => Actor::spawn_linked(None, supervisor, (), root).await?,
            None => Actor::spawn(None, supervisor, ()).await?,
        };
        Ok(Self(supervisor))
    }

    /// Stops the workers and returns when they have ended. Each of their writes is then either durable or absent.
    pub async fn stop(self) {
        let _ = self.0.stop_and_wait(None, None).await;
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.0.stop(None);
    }
}

struct Supervisor(Arc<SolanaSettlement>);

/// Starts a worker, initially or as a replacement.
struct Replace(Role);

impl Actor for Supervisor {
    type Msg = Replace;
    type State = Vec<(ActorCell, Role)>;
    type Arguments = ();

    async fn pre_start(&self, myself: ActorRef<Replace>, (): ()) -> Result<Self::State, ActorProcessingErr> {
        for role in ROLES {
            drop(myself.cast(Replace(role)));
        }
        Ok(Vec::new())
    }

    async fn handle(
        &self,
        myself: ActorRef<Replace>,
        Replace(role): Replace,
        children: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        let worker = Worker(Arc::clone(&self.0), role);
        match Actor::spawn_linked(None, worker, (), myself.get_cell()).await {
            Ok((child, _)) => children.push((child.get_cell(), role)),
            Err(error) => {
                tracing::error!(?role, %error, "a worker of the Solana port could not start and is tried again");
                drop(myself.send_after(RESTART, move || Replace(role)));
            }
        }
        Ok(())
    }

    async fn post_stop(&self, _: ActorRef<Replace>, children: &mut Self::State) -> Result<(), ActorProcessingErr> {
        for (child, _) in children.drain(..) {
            let _ = child.kill_and_wait(None).await;
        }
        Ok(())
    }

    /// ractor's default stops the supervisor when a child ends.
    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<Replace>,
        event: SupervisionEvent,
        children: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        let (gone, error) = match event {
            SupervisionEvent::ActorFailed(child, error) => (child, error.to_string()),
            SupervisionEvent::ActorTerminated(child, ..) => (child, "it was killed".to_owned()),
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => return Ok(()),
        };
        let Some(index) = children.iter().position(|(child, _)| child.get_id() == gone.get_id()) else {
            return Ok(());
        };
        let (_, role) = children.swap_remove(index);
        tracing::error!(?role, error, "a worker of the Solana port failed and is replaced");
        drop(myself.send_after(RESTART, move || Replace(role)));
        Ok(())
    }
}

struct Worker(Arc<SolanaSettlement>, Role);

struct Step;

impl Worker {
    async fn step(&self) -> Result<(), String> {
        match self.1 {
            Role::Follow => self.0.follow().await,
            Role::Blockhash => self.0.refresh_blockhash().await,
            Role::Balances => self.0.refresh_balances().await,
            Role::Drive => {
                self.0.drive();
                Ok(())
            }
        }
    }

    fn pause(&self) -> Duration {
        let pace = &self.0.pace;
        let ms = match self.1 {
            Role::Follow => pace.follow_ms,
            Role::Drive => pace.tick_ms,
            Role::Blockhash => pace.blockhash_ms,
            Role::Balances => pace.balance_ms,
        };
        Duration::from_millis(ms.max(1))
    }
}

impl Actor for Worker {
    type Msg = Step;
    type State = Option<String>;
    type Arguments = ();

    async fn pre_start(&self, myself: ActorRef<Step>, (): ()) -> Result<Option<String>, ActorProcessingErr> {
        drop(myself.cast(Step));
        Ok(None)
    }

    async fn handle(
        &self,
        myself: ActorRef<Step>,
        _: Step,
        failing: &mut Option<String>,
    ) -> Result<(), ActorProcessingErr> {
        // Failures are external: the next step tries again. They are logged when they begin, not at each step.
        let failed = self.step().await.err().map(|error| error.to_string());
        match &failed {
            Some(error) if failing.is_none() => {
                tracing::warn!(role = ?self.1, error, "a step of the Solana port failed; it is tried again");
            }
            Some(error) => tracing::debug!(role = ?self.1, error, "a step of the Solana port failed"),
            None if failing.is_some() => tracing::info!(role = ?self.1, "a step of the Solana port works again"),
            None => {}
        }
        *failing = failed;
        drop(myself.send_after(self.pause(), || Step));
        Ok(())
    }
}
