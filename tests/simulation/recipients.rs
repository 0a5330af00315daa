//! Recipients of payouts and the accounts that save them: forms, saved recipients, bank destinations.

use std::time::Duration;

use purser_actors::currency::Currency;
use purser_actors::entity::bank_destination::{BankDestination, BankRecipient, DestinationType};
use purser_actors::entity::payment_recipient::PaymentRecipient;
use purser_actors::entity::payout::{AppPaymentPurchase, BankPaymentPurchase, Payout, PushToCardPurchase, Status};
use purser_actors::entity::{Purchase, PurchasedProduct};
use purser_actors::id::BankDestinationId;
use purser_actors::id::BankRecipientId;
use purser_actors::id::PaymentRecipientId;
use purser_actors::id::PayoutId;
use purser_actors::id::Wallet;
use purser_actors::kernel::EntityKind;
use purser_actors::kernel::table;
use purser_actors::port::payouts::{AppPayee, BankDetails, Platform};
use purser_storage::codec;

use crate::account_steps::durable;
use crate::clients::{Clients, product, wallet};
use crate::environment::Environment;
use crate::plan::WALLETS;

/// What an owner does with a saved recipient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecipientStep {
    Rename,
    Archive,
    Restore,
    Delete,
}

/// The sixth payments, from the fourth on, are payouts; which rail, the run says.
pub(crate) const fn is_payout(payment: u32) -> bool {
    payment % 6 == 3
}

/// The bank destination of a wallet.
pub(crate) const fn destination(wallet: u8) -> BankDestinationId {
    BankDestinationId(100 + wallet as u128)
}

/// Parameters of a payout. Occasionally its destination is another account's.
pub(crate) fn purchase(world: &Environment, payment: u32, payer: u8, amount: purser_actors::money::Cents) -> Purchase {
    let nth = payment / 6 + world.plan.seed as u32;
    match nth % 3 {
        0 => Purchase::PushToCard(PushToCardPurchase {
            amount,
            currency: if payment % 4 == 1 {
                "EUR".parse().unwrap()
            } else {
                Currency::USD
            },
            message: (payment % 3 == 1).then(|| format!("Payment {payment}")),
        }),
        1 => Purchase::BankPayment(BankPaymentPurchase {
            amount,
            destination: destination(if nth % 12 == 1 {
                (payer + 1) % WALLETS as u8
            } else {
                payer
            }),
        }),
        _ => Purchase::AppPayment(AppPaymentPurchase {
            amount,
            platform: Some(Platform::ALL[payment as usize % 2]),
            payee: Box::new(AppPayee {
                recipient: "@ada".into(),
                first_name: "Ada".into(),
                last_name: "Lovelace".into(),
                email: "ada@example.com".into(),
            }),
        }),
    }
}

pub(crate) fn registered(owner: Wallet) -> BankDestination {
    BankDestination {
        owner,
        recipient: BankRecipient {
            id: BankRecipientId(1),
            name: "Ada Lovelace".into(),
            address: String::new(),
        },
        scheme: DestinationType::FiatUs,
        details: BankDetails {
            name: "Rent".into(),
            bank_name: "First Bank".into(),
            account_holder_name: "Ada Lovelace".into(),
            last4: "6789".into(),
            routing_number: "021000021".into(),
        },
        created_at: Default::default(),
        active: true,
    }
}

impl Clients {
    /// Every wallet has a destination, and every second one verifies its identity early. A later process keeps them.
    pub(crate) fn set_up_recipients(&self) {
        for n in 0..WALLETS as u8 {
            let this = self.clone();
            self.spawn(async move {
                let result = this
                    .engine
                    .register_destination(destination(n), registered(wallet(n)), vec![n; 40], None)
                    .await;
                this.environment
                    .trace(|| format!("destination of wallet {n}: {result:?}"));
            });
            if self.environment.plan.seed.wrapping_add(u64::from(n)).is_multiple_of(2) {
                let this = self.clone();
                self.spawn(async move {
                    this.start_identity(n);
                    tokio::time::sleep(Duration::from_millis(700)).await;
                    this.answer_identity(n, true, 1);
                });
            }
        }
    }

    /// The payout that a payment is known to have bought.
    fn payout_of(&self, payment: u32) -> Option<PayoutId> {
        let notes = self.environment.client_log.lock();
        notes.calls.iter().find_map(|call| match &call.response {
            Some((_, Ok(paid))) if call.payment == payment => match product(&paid.outcome) {
                Some(PurchasedProduct::Payout(id)) => Some(id),
                _ => None,
            },
            _ => None,
        })
    }

    /// The recipient of a payout waits for the link, and enters a card.
    pub(crate) fn form(&self, payment: u32) {
        let this = self.clone();
        self.spawn(async move {
            let world = &this.environment;
            let mut id = this.payout_of(payment);
            for _ in 0..6 {
                if id.is_some() {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(700)).await;
                id = this.payout_of(payment);
            }
            let Some(id) = id else { return };
            let result = this.engine.submit_payout_details(id, "4242".into(), vec![9; 40]).await;
            if world.is_crashed() {
                return;
            }
            world.trace(|| format!("form of {id}: {result:?}"));
            let stored: Option<Payout> = durable(world, EntityKind::Payout, &id.0.to_be_bytes());
            let waits = stored.is_none_or(|payout| matches!(payout.status, Status::AwaitingDetails));
            if result.is_ok() && waits {
                world.report_violation("form.early", format!("{id} has no card durably"));
            }
        });
    }

    /// An owner tidies the list of recipients up.
    pub(crate) fn change_recipient(&self, wallet_no: u8, keeps: RecipientStep) {
        let owner = wallet(wallet_no);
        let saved = recipients(&self.environment)
            .into_iter()
            .find(|(_, saved)| saved.owner == owner);
        let Some((id, _)) = saved else { return };
        let this = self.clone();
        self.spawn(async move {
            let engine = &this.engine;
            let result = match keeps {
                RecipientStep::Rename => {
                    engine
                        .update_recipient(id, Some("Someone Else".into()), None, None)
                        .await
                }
                RecipientStep::Archive => engine.update_recipient(id, None, Some(true), None).await,
                RecipientStep::Restore => engine.update_recipient(id, None, Some(false), None).await,
                RecipientStep::Delete => engine.delete_recipient(id, None).await,
            };
            this.environment.trace(|| format!("{keeps:?} of {id}: {result:?}"));
        });
    }
}

/// Every recipient that is durably saved.
pub(crate) fn recipients(world: &Environment) -> Vec<(PaymentRecipientId, PaymentRecipient)> {
    let shadow = world.reference.lock();
    let prefix = [table::ENTITY, EntityKind::PaymentRecipient as u8];
    let rows = shadow.rows.iter().filter(|(key, _)| key.starts_with(&prefix));
    rows.map(|(key, row)| {
        let id = key[2..].try_into().map(u128::from_be_bytes).unwrap();
        (PaymentRecipientId(id), codec::decode(&row.value).unwrap())
    })
    .collect()
}
