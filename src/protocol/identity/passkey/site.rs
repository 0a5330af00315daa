//! The ceremonies of one address: options with a challenge, and the answers to them.

use purser_actors::credential::Credential;
use purser_actors::port::{Entropy, Timestamp};
use purser_host::secret::MacKey;

use super::challenge::{Ceremony, PasskeyChallenges};
use super::options::{PasskeyCreationOptions, PasskeyRequestOptions, PasskeyUser};
use super::response::{AssertionResponse, RegistrationResponse};
use super::{Assertion, PasskeyError, RelyingParty};
use crate::identity::IdentityKeys;
use crate::identity::nonce::UsedNonceKey;
use crate::identity::origin::Origin;

/// Passkeys of the pages under one origin.
#[derive(Clone, Debug)]
pub struct PasskeySite {
    /// `None` where browsers offer no passkeys.
    relying_party: Option<RelyingParty>,
    challenges: PasskeyChallenges,
    users: MacKey,
}

/// What is asked, and by which session. A sign-in has no session yet and gives 0.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    pub ceremony: Ceremony,
    pub session: u128,
    pub now: Timestamp,
}

/// A verified answer, with the challenge that the caller must mark as used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer<T> {
    pub of: T,
    pub challenge: UsedNonceKey,
}

impl PasskeySite {
    /// Challenges from before `not_before` are rejected.
    pub fn new(origin: &Origin, keys: &IdentityKeys, not_before: Timestamp) -> Self {
        Self {
            relying_party: RelyingParty::of(origin),
            challenges: PasskeyChallenges::new(&keys.passkey_challenge, origin).not_before(not_before),
            users: MacKey::new(&keys.passkey_user),
        }
    }

    /// Whether browsers offer passkeys here.
    pub const fn is_available(&self) -> bool {
        self.relying_party.is_some()
    }

    fn relying_party(&self) -> Result<&RelyingParty, PasskeyError> {
        self.relying_party.as_ref().ok_or(PasskeyError::Unavailable)
    }

    /// Handle of a user in the authenticator: always the same, and it names no one.
    pub fn user_handle(&self, user: &[u8]) -> [u8; 32] {
        self.users.tag(&[user])
    }

    fn challenge(&self, question: Question, entropy: &dyn Entropy) -> [u8; 32] {
        let Question { ceremony, session, now } = question;
        self.challenges.issue(ceremony, session, now, entropy)
    }

    /// Options for a new passkey of a user who has these already.
    ///
    /// # Errors
    /// [`PasskeyError::Unavailable`].
    pub fn creation_options<'a>(
        &self,
        question: Question,
        user: &PasskeyUser<'_>,
        credential_ids: impl IntoIterator<Item = &'a [u8]>,
        entropy: &dyn Entropy,
    ) -> Result<PasskeyCreationOptions, PasskeyError> {
        let site = self.relying_party()?;
        let challenge = self.challenge(question, entropy);
        Ok(PasskeyCreationOptions::new(site, &challenge, user, credential_ids))
    }

    /// Options for a sign-in, without credential ids, or for a confirmation by one of these.
    ///
    /// # Errors
    /// [`PasskeyError::Unavailable`].
    pub fn request_options<'a>(
        &self,
        question: Question,
        credential_ids: impl IntoIterator<Item = &'a [u8]>,
        entropy: &dyn Entropy,
    ) -> Result<PasskeyRequestOptions, PasskeyError> {
        let site = self.relying_party()?;
        let challenge = self.challenge(question, entropy);
        Ok(PasskeyRequestOptions::new(site, &challenge, credential_ids))
    }

    fn answered(&self, challenge: &[u8], question: Question) -> Result<UsedNonceKey, PasskeyError> {
        let Question { ceremony, session, now } = question;
        let used = self.challenges.verify(challenge, ceremony, session, now);
        used.map_err(|_| PasskeyError::OtherChallenge)
    }

    /// Verifies a new passkey.
    ///
    /// # Errors
    /// [`PasskeyError`].
    pub fn register(
        &self,
        response: &RegistrationResponse,
        question: Question,
    ) -> Result<Answer<Credential>, PasskeyError> {
        let site = self.relying_party()?;
        let asked = response.challenge().ok_or(PasskeyError::OtherChallenge)?;
        let challenge = self.answered(&asked, question)?;
        let of = site.verify_registration(response, &asked)?;
        Ok(Answer { of, challenge })
    }

    /// Verifies an answer of a known passkey.
    ///
    /// # Errors
    /// [`PasskeyError`].
    pub fn verify(
        &self,
        response: &AssertionResponse,
        known: &Credential,
        question: Question,
    ) -> Result<Answer<Assertion>, PasskeyError> {
        let site = self.relying_party()?;
        let asked = response.challenge().ok_or(PasskeyError::OtherChallenge)?;
        let challenge = self.answered(&asked, question)?;
        let of = site.verify_assertion(response, &asked, known)?;
        Ok(Answer { of, challenge })
    }
}
