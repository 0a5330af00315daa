//! What an authenticator states and signs (WebAuthn, 6.1), and the object around it at registration (6.5).

use super::cbor::Reader;
use super::{MAX_CREDENTIAL_ID, MAX_PUBLIC_KEY, PasskeyError};

const USER_PRESENT: u8 = 1;
const USER_VERIFIED: u8 = 1 << 2;
const BACKUP_ELIGIBLE: u8 = 1 << 3;
const BACKED_UP: u8 = 1 << 4;
const HAS_CREDENTIAL: u8 = 1 << 6;
const HAS_EXTENSIONS: u8 = 1 << 7;

#[derive(Clone, Copy, Debug)]
pub(super) struct AuthenticatorData<'a> {
    pub(super) rp_id_hash: &'a [u8; 32],
    flags: u8,
    pub(super) counter: u32,
    pub(super) credential: Option<Credential<'a>>,
}

/// A new credential.
#[derive(Clone, Copy, Debug)]
pub(super) struct Credential<'a> {
    pub(super) id: &'a [u8],
    /// COSE key, exactly its bytes.
    pub(super) public_key: &'a [u8],
}

impl<'a> AuthenticatorData<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, PasskeyError> {
        let short = || PasskeyError::Malformed("its authenticator data is too short");
        let (rp_id_hash, rest) = bytes.split_first_chunk::<32>().ok_or_else(short)?;
        let ([flags], rest) = rest.split_first_chunk::<1>().ok_or_else(short)?;
        let (counter, mut rest) = rest.split_first_chunk::<4>().ok_or_else(short)?;
        let mut credential = None;
        if flags & HAS_CREDENTIAL != 0 {
            // The model of the authenticator, which is not evaluated.
            let (_, after) = rest.split_first_chunk::<16>().ok_or_else(short)?;
            let (length, after) = after.split_first_chunk::<2>().ok_or_else(short)?;
            let length = usize::from(u16::from_be_bytes(*length));
            let (id, after) = after.split_at_checked(length).ok_or_else(short)?;
            let mut reader = Reader::new(after);
            reader.skip()?;
            let key_length = after.len() - reader.rest().len();
            if !(1..=MAX_CREDENTIAL_ID).contains(&length) || key_length > MAX_PUBLIC_KEY {
                return Err(PasskeyError::Malformed("its credential is too long"));
            }
            let public_key = &after[..key_length];
            credential = Some(Credential { id, public_key });
            rest = reader.rest();
        }
        if flags & HAS_EXTENSIONS != 0 {
            let mut reader = Reader::new(rest);
            reader.clone().map()?;
            reader.skip()?;
            rest = reader.rest();
        }
        if !rest.is_empty() {
            return Err(PasskeyError::Malformed("its authenticator data is too long"));
        }
        Ok(Self {
            rp_id_hash,
            flags: *flags,
            counter: u32::from_be_bytes(*counter),
            credential,
        })
    }

    pub(super) const fn is_user_present(&self) -> bool {
        self.flags & USER_PRESENT != 0
    }

    pub(super) const fn is_user_verified(&self) -> bool {
        self.flags & USER_VERIFIED != 0
    }

    pub(super) const fn is_backup_eligible(&self) -> bool {
        self.flags & BACKUP_ELIGIBLE != 0
    }

    pub(super) const fn is_backed_up(&self) -> bool {
        self.flags & BACKED_UP != 0
    }
}

/// The authenticator data of an attestation object. Its statement is passed over.
pub(super) fn of_attestation_object<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], PasskeyError> {
    let (mut format, mut statement, mut data) = (None, None, None);
    let malformed = PasskeyError::Malformed("its attestation object has other members");
    for _ in 0..reader.map()? {
        let repeated = match reader.text()? {
            "fmt" => format.replace(reader.text()?).is_some(),
            "attStmt" => {
                reader.skip()?;
                statement.replace(()).is_some()
            }
            "authData" => data.replace(reader.bytes()?).is_some(),
            _ => return Err(malformed),
        };
        if repeated {
            return Err(malformed);
        }
    }
    reader.end()?;
    match (format, statement, data) {
        (Some(_), Some(()), Some(data)) => Ok(data),
        _ => Err(malformed),
    }
}
