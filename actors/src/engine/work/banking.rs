//! What the effects of banking do. All of them are questions under one key, so a lost answer is asked for again.

use std::time::Duration;

use purser_storage::planted::{self, Bug};

use super::{Desk, Done, tell, unreadable, within};
use crate::banking::application::{self, Application, Question};
use crate::banking::profile::{Holder, Profile};
use crate::banking::{account, transfer};
use crate::engine::departures::gate::Shut;
use crate::id::{BankAccountId, BankTransferId, CardId, EffectId, PaymentId, Wallet};
use crate::kernel::{Effect, Failure, table};
use crate::port::banking::{AccountOrder, BankApplication, MoveOrder, Moved, Ruling, SealedDocument};
use crate::port::{EntryName, ErrorKind};
use crate::reconcile::{Source, Standing};

impl Desk {
    /// Submits an application and asks after it until the bank has decided, which may take days.
    pub(super) async fn review_application(&self, effect: &Effect, wallet: Wallet) -> Done {
        let read = self.families.applications.read(&wallet).await.map_err(unreadable)?;
        let Some((application, _)) = read else {
            return Err(Failure::temporary("the application is not there"));
        };
        if application.status != application::Status::Submitted(effect.id) {
            return Ok(());
        }
        let read = self.families.profiles.read(&wallet).await.map_err(unreadable)?;
        let Some((profile, _)) = read else {
            return Err(Failure::temporary("the profile is not there"));
        };
        let asked = self.application(effect, wallet, &profile, &application).await?;
        match within(self.bank_timeout(), self.ports.bank.review(&asked), "review").await {
            Ok(Ruling::Pending { retry_after_ms }) => Err(Failure::not_yet(retry_after_ms)),
            Ok(Ruling::Over(review)) => {
                let command = application::Command::Reviewed {
                    effect: effect.id,
                    review,
                };
                tell(&self.families.applications, wallet, command).await
            }
            // The same submission again is no second one; a bank that is away has decided nothing.
            Err(error) => Err(Failure::from(error).every_ms(self.settings.watch_every_ms)),
        }
    }

    async fn application(
        &self,
        effect: &Effect,
        wallet: Wallet,
        profile: &Profile,
        application: &Application,
    ) -> Result<BankApplication, Failure> {
        let mut answers = vec![
            ("type", profile.holder.name().to_owned()),
            ("first_name", profile.first_name.clone()),
            ("last_name", profile.last_name.clone()),
            ("email", profile.email.clone()),
            ("country", profile.country.to_string()),
        ];
        if let Holder::Business(name) = &profile.holder {
            answers.push(("business_name", name.clone()));
        }
        let given = |question: &Question| Some((question.name(), application.answer(*question)?.to_owned()));
        answers.extend(Question::ALL.iter().filter_map(given));
        let mut documents = Vec::with_capacity(application.documents.len());
        for paper in &application.documents {
            documents.push(SealedDocument {
                id: paper.id,
                shows: paper.shows.name(),
                media: paper.media.name(),
                sha256: paper.sha256,
                sealed_key: self.sealed_row(CardId(paper.id.0)).await?,
            });
        }
        let key = if planted::is(Bug::ReviewKeyOfTry) {
            EffectId(effect.id.0.wrapping_add(u128::from(effect.attempts)))
        } else {
            effect.id
        };
        Ok(BankApplication {
            key,
            id: application.id,
            wallet,
            answers,
            sealed_tax: self.sealed_row(CardId(application.id.0)).await?,
            documents,
        })
    }

    async fn sealed_row(&self, id: CardId) -> Result<Vec<u8>, Failure> {
        let row = self.store.read(&table::vault(id)).await;
        let row = row.map_err(|e| Failure::temporary(e.to_string()))?;
        row.map(|row| row.value.to_vec()).ok_or_else(|| Failure {
            kind: ErrorKind::Permanent,
            ..Failure::temporary("a sealed record is not there")
        })
    }

    /// Has an account opened, or asks after it.
    pub(super) async fn open_bank_account(&self, effect: &Effect, id: BankAccountId) -> Done {
        let read = self.families.bank_accounts.read(&id).await.map_err(unreadable)?;
        let Some((account, _)) = read else {
            return Err(Failure::temporary("the account is not there"));
        };
        if account.status != account::Status::Opening(effect.id) {
            return Ok(());
        }
        let order = AccountOrder {
            key: effect.id,
            account: id,
            customer: account.customer,
            ramp: account.ramp,
        };
        match within(self.bank_timeout(), self.ports.bank.open(&order), "open an account").await? {
            Ruling::Pending { retry_after_ms } => Err(Failure::not_yet(retry_after_ms)),
            Ruling::Over(opening) => {
                let command = account::Command::Opened {
                    effect: effect.id,
                    opening,
                };
                tell(&self.families.bank_accounts, id, command).await
            }
        }
    }

    /// Has money moved, or asks after it.
    pub(super) async fn move_bank_money(&self, effect: &Effect, id: BankTransferId) -> Done {
        let read = self.families.bank_transfers.read(&id).await.map_err(unreadable)?;
        let Some((asked, _)) = read else {
            return Err(Failure::temporary("the transfer is not there"));
        };
        if asked.status != transfer::Status::Pending(effect.id) {
            return Ok(());
        }
        if asked.way == transfer::Way::ToAccount
            && let Err(held) = self.pass(&asked.owner, Shut::Unexplained, PaymentId::NONE).await
            && !self.has_bank(effect.id).await?
        {
            return Err(held);
        }
        let order = MoveOrder {
            key: effect.id,
            transfer: id,
            account: asked.account,
            amount: asked.cents,
            to_account: asked.way == transfer::Way::ToAccount,
        };
        let asked = within(self.bank_timeout(), self.ports.bank.transfer(&order), "move money").await;
        let ruling = match asked {
            Err(error) if planted::is(Bug::BankTimeoutCredits) && error.kind == ErrorKind::Unknown => {
                let reason = error.message;
                Ruling::Over(Moved::Failed { reason })
            }
            asked => asked?,
        };
        match ruling {
            Ruling::Pending { retry_after_ms } => Err(Failure::not_yet(retry_after_ms)),
            Ruling::Over(moved) => {
                let command = transfer::Command::Moved {
                    effect: effect.id,
                    moved,
                };
                tell(&self.families.bank_transfers, id, command).await
            }
        }
    }

    /// Whether the bank has the order already: then asking again only tells what came of it.
    async fn has_bank(&self, key: EffectId) -> Result<bool, Failure> {
        let Some(list) = self.lists.providers.get(&Source::Bank) else {
            return Ok(false);
        };
        let entry = within(self.bank_timeout(), list.entry(&EntryName::of(key)), "entry").await;
        let entry = entry.map_err(|error| Failure::from(error).every_ms(self.settings.watch_every_ms))?;
        Ok(entry.is_some_and(|entry| entry.standing != Standing::NotAsked))
    }

    const fn bank_timeout(&self) -> Duration {
        Duration::from_millis(self.settings.payouts.timeout_ms)
    }
}
