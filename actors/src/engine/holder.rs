//! What a wallet may do besides paying: sign in, hand itself a login link, refresh, look at a card, pause or close it.

use std::convert::Infallible;

use purser_storage::{StoreError, codec};

use super::{Engine, RACES};
use crate::account::{self, LinkCode, LinkGrant};
use crate::card::{self, Card};
use crate::gift_card;
use crate::id::{ApprovalId, CardId, SessionId, Wallet};
use crate::kernel::{Memo, Refusal, table};
use crate::operator::Act;
use crate::payment::NewSession;
use crate::port::Wish;
use crate::session::{self, Amr};

/// Why an identity or account operation did not happen.
#[derive(Debug)]
pub enum Denied<R, O = Infallible> {
    /// The entity refused.
    Rejected(R),
    /// Used before, or not there.
    Used,
    /// A reason that only this operation has; most have none.
    Own(O),
    /// Ask again later.
    Unavailable,
}

/// Another wallet has this address in lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collision;

/// It is too much for one operator, and waits for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waits(pub ApprovalId);

/// It is too much for one operator, and cannot be left to another as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMuch;

impl<R, O> From<Refusal<R>> for Denied<R, O> {
    fn from(refusal: Refusal<R>) -> Self {
        match refusal {
            Refusal::Rejected(r) => Self::Rejected(r),
            Refusal::Conflict | Refusal::Missing => Self::Used,
            Refusal::Unknown | Refusal::Quarantined => Self::Unavailable,
        }
    }
}

impl<R> Denied<R> {
    /// The same among the reasons of an operation that has some of its own.
    pub fn among<O>(self) -> Denied<R, O> {
        match self {
            Self::Rejected(r) => Denied::Rejected(r),
            Self::Used => Denied::Used,
            Self::Unavailable => Denied::Unavailable,
        }
    }
}

impl Engine {
    /// Signs a wallet in: its nonce is used up, its account exists, its session is open.
    ///
    /// # Errors
    /// [`Denied::Used`] when the nonce was used before, [`Collision`] for a look-alike Solana address.
    pub async fn sign_in(
        &self,
        wallet: Wallet,
        nonce: ([u8; 16], u64),
        session: NewSession,
    ) -> Result<(), Denied<account::Rejection, Collision>> {
        let used = table::nonce(nonce.1, &nonce.0);
        for _ in 0..RACES {
            if self.collides(&wallet).await.map_err(|_| Denied::Unavailable)? {
                return Err(Denied::Own(Collision));
            }
            let row = self.0.store.read(&used).await.map_err(|_| Denied::Unavailable)?;
            if row.is_some() {
                return Err(Denied::Used);
            }
            let command = account::Command::SignIn { nonce, session };
            match self.0.families.accounts.ask(wallet, command).await {
                Err(Refusal::Conflict) => {}
                told => return Ok(told?),
            }
        }
        Err(Denied::Unavailable)
    }

    /// Asks an account for something that only a batch of something else, refused before it, can bring into conflict.
    async fn ask_again(&self, wallet: Wallet, command: account::Command) -> Result<(), Denied<account::Rejection>> {
        for _ in 0..RACES {
            match self.0.families.accounts.ask(wallet, command.clone()).await {
                Err(Refusal::Conflict) => {}
                told => return Ok(told?),
            }
        }
        Err(Denied::Unavailable)
    }

    /// Makes a login link's code valid, a frozen account's too.
    ///
    /// # Errors
    /// When the account does not exist or the engine cannot answer.
    pub async fn offer_link(
        &self,
        wallet: Wallet,
        code: LinkCode,
        amr: Amr,
        maker: SessionId,
    ) -> Result<(), Denied<account::Rejection>> {
        self.ask_again(wallet, account::Command::OfferLink { code, amr, maker })
            .await
    }

    /// Uses a login link's code up and opens a session.
    ///
    /// # Errors
    /// [`Denied::Used`] when the code is unknown, used or too old, or the session that made it has ended.
    pub async fn use_link(&self, code: [u8; 32], session: NewSession) -> Result<LinkGrant, Denied<account::Rejection>> {
        for _ in 0..RACES {
            let row = self.0.store.read(&table::link(&code)).await;
            let row = row.map_err(|_| Denied::Unavailable)?.ok_or(Denied::Used)?;
            let grant: LinkGrant = codec::decode(&row.value).map_err(|_| Denied::Unavailable)?;
            if grant.expires_s <= self.0.clock.now().seconds() {
                return Err(Denied::Used);
            }
            // A link made by a thief ends with the session it was made by.
            let maker = self.session(&grant.maker).await.map_err(|_| Denied::Unavailable)?;
            let ended = match maker {
                Some(maker) => self.has_ended(&maker).await.map_err(|_| Denied::Unavailable)?,
                None => true,
            };
            if ended {
                return Err(Denied::Used);
            }
            let command = account::Command::UseLink {
                code,
                amr: grant.amr,
                session,
            };
            match self.0.families.accounts.ask(grant.wallet, command).await {
                Err(Refusal::Conflict) => {}
                told => return Ok(told.map(|()| grant)?),
            }
        }
        Err(Denied::Unavailable)
    }

    /// Exchanges a refresh token, by its hash.
    ///
    /// # Errors
    /// When the session has ended or was refreshed since the caller read it.
    pub async fn refresh(
        &self,
        session: SessionId,
        command: session::Command,
    ) -> Result<session::Answer, Denied<session::Rejection>> {
        Ok(self.0.families.sessions.ask(session, command).await?)
    }

    /// Sessions whose id_tokens must no longer count, though some could still be alive.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn revoked_sessions(&self) -> Result<Vec<SessionId>, StoreError> {
        let rows = self.0.store.scan(&[table::REVOKED], None, usize::MAX).await?;
        let id = |key: &[u8]| key.last_chunk::<16>().map(|b| SessionId(u128::from_be_bytes(*b)));
        Ok(rows.iter().filter_map(|(key, _)| id(key)).collect())
    }

    /// Freezes or unfreezes an account, and writes down who said so.
    ///
    /// # Errors
    /// When the engine cannot answer.
    pub async fn set_frozen(
        &self,
        wallet: Wallet,
        message: Option<String>,
        act: Option<Act>,
    ) -> Result<(), Denied<account::Rejection>> {
        let command = |act| match message.clone() {
            Some(message) => account::Command::Freeze { message, act },
            None => account::Command::Unfreeze { act },
        };
        let account = (&self.0.families.accounts, wallet);
        self.act_or_ask(account, (act.as_ref(), None), command).await
    }

    /// Writes down that the owner is shown a card's number.
    ///
    /// # Errors
    /// When the card is neither ready nor paused.
    pub async fn reveal(&self, card: CardId) -> Result<(), Denied<card::Rejection>> {
        self.0.families.cards.ask(card, card::Command::Reveal).await?;
        Ok(())
    }

    /// Asks the issuer for news of a card, which come by themselves; the answer is remembered if there is a memo.
    ///
    /// # Errors
    /// When the card is not ready, is being asked after already, or was asked after too often; [`Denied::Used`] when the
    /// memo's place was taken in between.
    pub async fn refresh_card(&self, card: CardId, memo: Option<Memo<Card>>) -> Result<(), Denied<card::Rejection>> {
        let cards = &self.0.families.cards;
        self.ask_once(cards, card, card::Command::Refresh, memo).await.map(drop)
    }

    /// Brings a holder's wish for a prepaid card on its way, and says whether the issuer is asked: if not, it is so already.
    /// The answer is remembered if there is a memo.
    ///
    /// # Errors
    /// When the card is neither ready nor paused, or another wish is not answered yet; [`Denied::Used`] as above.
    pub async fn steer_card(
        &self,
        card: CardId,
        wish: Wish,
        memo: Option<Memo<Card>>,
    ) -> Result<bool, Denied<card::Rejection>> {
        let cards = &self.0.families.cards;
        self.ask_once(cards, card, card::Command::Steer(wish), memo).await
    }

    /// Writes down that the owner is shown how to redeem a gift card.
    ///
    /// # Errors
    /// When it is not completed.
    pub async fn reveal_gift_card(&self, gift: CardId) -> Result<(), Denied<gift_card::Rejection>> {
        let gifts = &self.0.families.gift_cards;
        Ok(gifts.ask(gift, gift_card::Command::Reveal).await?)
    }
}
