//! The end of all access to an account from before a recovery.

use crate::entity::passkey::Passkey;
use crate::entity::session::Session;
use crate::id::SessionId;
use crate::port::Timestamp;

/// All sessions from until this time have ended, with their tokens, login links and pages. Only the session that the
/// recovery opened goes on. Passkeys from until a completion serve nothing any more, although they are removed one by
/// one after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessCutoff {
    /// Time of the completion, or of the first start after a restore that lost it.
    pub at: Timestamp,
    /// Session of the recovery; `None` after a restore that lost it.
    session: Option<SessionId>,
}

impl AccessCutoff {
    /// Of a recovery that opened this session.
    pub const fn completed(at: Timestamp, session: SessionId) -> Self {
        Self {
            at,
            session: Some(session),
        }
    }

    /// Of a recovery in a history that a restore lost.
    pub const fn restored(at: Timestamp) -> Self {
        Self { at, session: None }
    }

    /// Whether it has ended this session.
    pub fn has_ended(&self, id: &SessionId, session: &Session) -> bool {
        session.created_at <= self.at && self.session != Some(*id)
    }

    /// Whether it has ended this passkey. After a restore that lost the completion, the log of revocations names the
    /// removed passkeys.
    pub fn has_ended_passkey(&self, passkey: &Passkey) -> bool {
        self.session.is_some() && passkey.created_at <= self.at
    }

    /// Revision of its row. Each cutoff of an account has another one: a recovery waits for a day.
    pub const fn revision(&self) -> u64 {
        self.at.0
    }

    /// The form in which the store has it.
    pub fn to_bytes(self) -> Vec<u8> {
        let mut bytes = self.at.0.to_be_bytes().to_vec();
        bytes.extend(self.session.iter().flat_map(|session| session.0.to_be_bytes()));
        bytes
    }

    /// Reverses [`AccessCutoff::to_bytes`]; `None` for anything else.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (at, session) = bytes.split_first_chunk::<8>()?;
        let at = Timestamp(u64::from_be_bytes(*at));
        if session.is_empty() {
            return Some(Self::restored(at));
        }
        let session = <[u8; 16]>::try_from(session).ok()?;
        Some(Self::completed(at, SessionId(u128::from_be_bytes(session))))
    }
}
