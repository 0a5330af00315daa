//! An account: one wallet, what it may do, and the money we owe it.
//!
//! ```text
//! - --first sign-in or payment--> active <--operator--> frozen
//! ```
//!
//! Every purchase begins here: the claim checks whatever can refuse it, reserves its share of the daily caps and opens
//! the payment, in one batch. A reservation is freed by a proven refusal only, never by time.

use purser_storage::codec::{self, Stored};

use crate::id::{DepositId, EffectId, PaymentId, Wallet};
use crate::kernel::effect::{CreditCause, Share, Work};
use crate::kernel::entity::Move;
use crate::kernel::{Context, Decision, Entity, Kind, OutOfOrder, View, table};
use crate::ledger::{Place, Transaction};
use crate::money::{Cents, Usdc};
use crate::payment::{Claim, NewSession, Payment, Purchase};
use crate::port::{Authorization, Timestamp};
use crate::session::{Amr, Session};

/// An account's state.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Account {
    /// Its key.
    pub wallet: Wallet,
    /// Since when.
    pub created_at: Timestamp,
    /// What we owe its holder, held amounts included.
    pub balance: Usdc,
    /// Of that, what is reserved.
    pub held: Usdc,
    /// All that was ever credited.
    pub total_deposits: Usdc,
    /// Why it is frozen, if it is.
    pub frozen: Option<String>,
    /// The day that the next two count.
    day: u32,
    cards: u32,
    spent: Cents,
}

/// What one account may buy in a day (UTC).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Cards.
    pub cards: u32,
    /// Sum of their amounts.
    pub sum: Cents,
}

/// A purchase to be admitted.
#[derive(Clone, Debug)]
pub struct Admission {
    /// The payment's id.
    pub payment: PaymentId,
    /// The signed payment, verified.
    pub authorization: Authorization,
    /// What it buys.
    pub purchase: Purchase,
    /// Digest of the exact request.
    pub request: [u8; 32],
    /// For the caller whose claim wins.
    pub session: NewSession,
    /// In force now.
    pub caps: Caps,
}

/// A transfer to our treasury that no payment in the store claims: after a restore, everything since the backup.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Deposit {
    /// Who sent it.
    pub from: Wallet,
    /// How much.
    pub amount: Usdc,
    /// The chain's id of it.
    pub transaction: String,
}

impl Stored for Deposit {
    const SCHEMA: u16 = 43;
}

/// A one-time code for a login link.
#[derive(Clone, Copy, Debug)]
pub struct LinkCode {
    /// Hash of the code.
    pub hash: [u8; 32],
    /// Worthless from this second on.
    pub expires_s: u64,
}

/// Who a login link lets in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct LinkGrant {
    /// The account.
    pub wallet: Wallet,
    /// No more than the session that made the link.
    pub amr: Amr,
    /// Worthless from this second on.
    pub expires_s: u64,
}

impl Stored for LinkGrant {
    const SCHEMA: u16 = 42;
}

/// What may be asked.
#[derive(Clone, Debug)]
pub enum Command {
    /// The wallet has signed in.
    SignIn {
        /// The nonce it used, and the second from which nobody could use it anyway.
        nonce: ([u8; 16], u64),
        /// To be opened.
        session: NewSession,
    },
    /// Buy.
    Claim(Box<Admission>),
    /// Admit a payment again that was released.
    Readmit {
        /// Which.
        payment: PaymentId,
        /// What it buys.
        purchase: Purchase,
        /// In force now.
        caps: Caps,
    },
    /// A proven refusal.
    FreeShare {
        /// What says so.
        effect: EffectId,
        /// What was reserved.
        share: Share,
    },
    /// Money that could not be used for what it was paid.
    Credit {
        /// What says so.
        effect: EffectId,
        /// How much.
        amount: Usdc,
        /// Of what.
        cause: CreditCause,
    },
    /// A transfer that no payment claims: it is the sender's.
    Import(Deposit),
    /// Make a login link.
    OfferLink {
        /// Its code.
        code: LinkCode,
        /// Of the session that asks.
        amr: Amr,
    },
    /// Use a login link.
    UseLink {
        /// Hash of its code.
        code: [u8; 32],
        /// What it grants.
        amr: Amr,
        /// To be opened.
        session: NewSession,
    },
    /// Stop new purchases and all reading.
    Freeze {
        /// Shown to the holder.
        message: String,
    },
    /// Undo that.
    Unfreeze,
}

/// What may happen.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// It began.
    Opened(Timestamp),
    /// A share of the caps was reserved.
    Reserved(Share),
    /// A share was given back.
    Freed(Share),
    /// Money came in.
    Credited {
        /// How much.
        amount: Usdc,
        /// Of what.
        cause: CreditCause,
    },
    /// Frozen.
    Frozen(String),
    /// No longer frozen.
    Unfrozen,
}

/// Why a command was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The account is frozen.
    Frozen {
        /// For the holder.
        message: String,
    },
    /// Too many cards today.
    CardsPerDay {
        /// The cap.
        cap: u32,
    },
    /// Too much money today.
    SumPerDay {
        /// The cap.
        cap: Cents,
    },
    /// An amount does not fit.
    Overflow,
    /// There is nothing to be asked that of.
    Nothing,
}

impl Stored for Account {
    const SCHEMA: u16 = 40;
}

impl Stored for Event {
    const SCHEMA: u16 = 41;
}

impl Account {
    /// What the holder can use: posted less held.
    pub fn available(&self) -> Usdc {
        self.balance.minus(self.held).unwrap_or(Usdc::ZERO)
    }

    fn new(wallet: Wallet, created_at: Timestamp) -> Self {
        Self {
            wallet,
            created_at,
            balance: Usdc::ZERO,
            held: Usdc::ZERO,
            total_deposits: Usdc::ZERO,
            frozen: None,
            day: 0,
            cards: 0,
            spent: Cents::ZERO,
        }
    }

    /// Used of today's caps.
    fn used(&self, day: u32) -> (u32, Cents) {
        if self.day == day {
            (self.cards, self.spent)
        } else {
            (0, Cents::ZERO)
        }
    }
}

fn day_of(at: Timestamp) -> u32 {
    // Fits until the year 11,761,191.
    u32::try_from(at.seconds() / 86_400).unwrap_or(u32::MAX)
}

/// Everything that can refuse a purchase and that only the account knows.
fn admit(this: Option<&Account>, purchase: &Purchase, caps: Caps, context: &Context) -> Result<Share, Rejection> {
    if let Some(message) = this.and_then(|a| a.frozen.clone()) {
        return Err(Rejection::Frozen { message });
    }
    let day = day_of(context.now);
    let (cards, spent) = this.map_or((0, Cents::ZERO), |a| a.used(day));
    if cards >= caps.cards {
        return Err(Rejection::CardsPerDay { cap: caps.cards });
    }
    let cents = purchase.capped();
    if spent.plus(cents).map_err(|_| Rejection::Overflow)? > caps.sum {
        return Err(Rejection::SumPerDay { cap: caps.sum });
    }
    Ok(Share { day, cents })
}

/// An account comes into being with the first thing it does. A Solana address also takes its lowercased form, which
/// another address may already have: then the batch is refused.
fn born(this: Option<&Account>, wallet: &Wallet, decision: Decision<Account>, context: &Context) -> Decision<Account> {
    if this.is_some() {
        return decision;
    }
    let decision = decision.event(Event::Opened(context.now));
    match wallet {
        Wallet::Evm(_) => decision,
        Wallet::Solana(_) => decision.put_new(table::user(&wallet.user_id()), wallet.key()),
    }
}

fn opened(
    decision: Decision<Account>,
    wallet: &Wallet,
    amr: Amr,
    session: NewSession,
    context: &Context,
) -> Result<Decision<Account>, Rejection> {
    let opening = Session::open(session.id, *wallet, amr, session.first, session.life_ms, context);
    Ok(decision.open(opening.map_err(|_| Rejection::Nothing)?))
}

fn claim(
    this: Option<&Account>,
    wallet: &Wallet,
    admission: Admission,
    context: &Context,
) -> Result<Decision<Account>, Rejection> {
    let share = admit(this, &admission.purchase, admission.caps, context)?;
    let Admission {
        payment,
        authorization,
        purchase,
        request,
        session,
        ..
    } = admission;
    let claim = Claim {
        authorization,
        purchase,
        request,
        session,
        share,
        at: context.now,
    };
    let opening = Payment::claim(payment, claim, context).map_err(|_| Rejection::Nothing)?;
    let decision = born(this, wallet, Decision::answer(()), context);
    Ok(decision
        .event(Event::Reserved(share))
        .open(opening)
        .then(Work::Settle(payment), context))
}

fn credit(
    account: &Account,
    effect: EffectId,
    amount: Usdc,
    cause: CreditCause,
    context: &Context,
) -> Result<Decision<Account>, Rejection> {
    // Checked here so that `apply` cannot fail: the sum of all USDC fits many times over.
    account
        .balance
        .plus(amount)
        .and_then(|_| account.total_deposits.plus(amount))
        .map_err(|_| Rejection::Overflow)?;
    let booked =
        Transaction::new(context.now, cause.name()).book(Place::Suspense, Place::Holder(account.wallet), amount);
    let decision = Decision::answer(())
        .completes(effect)
        .event(Event::Credited { amount, cause })
        .post(&booked, context);
    Ok(match cause {
        CreditCause::Payment(payment) => decision.then(Work::ConfirmCredit(payment), context),
        CreditCause::Card(_) | CreditCause::Deposit(_) => decision,
    })
}

/// Credits an unclaimed transfer once: the row that says so is the token, here and for the payment that would settle by
/// the same transfer.
fn import(
    this: Option<&Account>,
    wallet: &Wallet,
    deposit: &Deposit,
    context: &Context,
) -> Result<Decision<Account>, Rejection> {
    let balance = this.map_or(Usdc::ZERO, |a| a.total_deposits.max(a.balance));
    balance.plus(deposit.amount).map_err(|_| Rejection::Overflow)?;
    let network = wallet.network();
    let id = DepositId::of(network, &deposit.transaction);
    let booked =
        Transaction::new(context.now, id).book(Place::Treasury(network), Place::Holder(*wallet), deposit.amount);
    let decision = born(this, wallet, Decision::answer(()), context);
    Ok(decision
        .put_new(table::deposit(id), codec::encode(deposit))
        .event(Event::Credited {
            amount: deposit.amount,
            cause: CreditCause::Deposit(id),
        })
        .post(&booked, context))
}

impl Entity for Account {
    const KIND: Kind = Kind::Account;
    const MOVES: &'static [Move] = &[
        ("-", "first sign-in or payment", "active"),
        ("active", "operator freezes", "frozen"),
        ("frozen", "operator unfreezes", "active"),
    ];
    const SELF_BORN: bool = true;

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
        let done = Decision::answer(());
        match (this, command) {
            (
                this,
                Command::SignIn {
                    nonce: (nonce, expires_s),
                    session,
                },
            ) => {
                let decision = born(
                    this,
                    wallet,
                    done.put_new(table::nonce(expires_s, &nonce), Vec::new()),
                    context,
                );
                opened(decision, wallet, Amr::Wallet, session, context)
            }
            (this, Command::Claim(admission)) => claim(this, wallet, *admission, context),
            (
                this,
                Command::Readmit {
                    payment,
                    purchase,
                    caps,
                },
            ) => {
                let share = admit(this, &purchase, caps, context)?;
                let decision = born(this, wallet, done, context).event(Event::Reserved(share));
                Ok(decision.then(Work::Readmit { payment, share }, context))
            }
            (this, Command::Import(deposit)) => import(this, wallet, &deposit, context),
            (Some(_), Command::FreeShare { effect, share }) => Ok(done.completes(effect).event(Event::Freed(share))),
            (Some(account), Command::Credit { effect, amount, cause }) => {
                credit(account, effect, amount, cause, context)
            }
            (
                Some(Self {
                    frozen: Some(message), ..
                }),
                Command::OfferLink { .. } | Command::UseLink { .. },
            ) => Err(Rejection::Frozen {
                message: message.clone(),
            }),
            (Some(_), Command::OfferLink { code, amr }) => {
                let grant = LinkGrant {
                    wallet: *wallet,
                    amr,
                    expires_s: code.expires_s,
                };
                Ok(done.put_new(table::link(&code.hash), codec::encode(&grant)))
            }
            (Some(_), Command::UseLink { code, amr, session }) => {
                let decision = done.take(table::link(&code));
                opened(decision, wallet, amr, session, context)
            }
            (this, Command::Freeze { message }) => match this.and_then(|a| a.frozen.as_ref()) {
                Some(_) => Ok(done),
                None => Ok(born(this, wallet, done, context).event(Event::Frozen(message))),
            },
            (Some(Self { frozen: Some(_), .. }), Command::Unfreeze) => Ok(done.event(Event::Unfrozen)),
            (_, Command::Unfreeze) => Ok(done),
            (None, _) => Err(Rejection::Nothing),
        }
    }

    fn apply(this: Option<Self>, wallet: &Wallet, event: &Event) -> Result<Self, OutOfOrder> {
        let status = this.as_ref().map_or("-", Self::status);
        let broken = || OutOfOrder::new(status, event);
        match (this, event) {
            (None, Event::Opened(at)) => Ok(Self::new(*wallet, *at)),
            (Some(a), Event::Reserved(share)) => {
                let (cards, spent) = a.used(share.day);
                let spent = spent.plus(share.cents).map_err(|_| broken())?;
                let cards = cards.checked_add(1).ok_or_else(broken)?;
                Ok(Self {
                    day: share.day,
                    cards,
                    spent,
                    ..a
                })
            }
            // A share of a day that is over needs no giving back.
            (Some(a), Event::Freed(share)) if share.day != a.day => Ok(a),
            (Some(a), Event::Freed(share)) => {
                let spent = Cents::new(a.spent.get().saturating_sub(share.cents.get()));
                Ok(Self {
                    cards: a.cards.saturating_sub(1),
                    spent,
                    ..a
                })
            }
            (Some(a), Event::Credited { amount, .. }) => Ok(Self {
                balance: a.balance.plus(*amount).map_err(|_| broken())?,
                total_deposits: a.total_deposits.plus(*amount).map_err(|_| broken())?,
                ..a
            }),
            (Some(a), Event::Frozen(message)) => Ok(Self {
                frozen: Some(message.clone()),
                ..a
            }),
            (Some(a), Event::Unfrozen) => Ok(Self { frozen: None, ..a }),
            (_, _) => Err(broken()),
        }
    }

    fn status(&self) -> &'static str {
        if self.frozen.is_some() { "frozen" } else { "active" }
    }

    fn owner(&self) -> Wallet {
        self.wallet
    }

    fn announces(event: &Event) -> Option<&'static str> {
        match event {
            Event::Opened(_) => Some("opened"),
            Event::Reserved(_) | Event::Freed(_) => None,
            Event::Credited { .. } => Some("balance.credited"),
            Event::Frozen(_) => Some("frozen"),
            Event::Unfrozen => Some("unfrozen"),
        }
    }

    fn view(&self, _: &Wallet) -> View {
        View::new()
            .text("user_id", self.wallet.user_id())
            .text("status", self.status())
            .number("balance", self.balance.decimal())
            .number("available", self.available().decimal())
            .number("held", self.held.decimal())
            .number("total_deposits", self.total_deposits.decimal())
            .time("created_at", self.created_at)
    }

    fn outcome(&self) -> Option<()> {
        None
    }
}
