//! Redemption data of the sandbox's gift cards, derived from the order's key: not stored, and always the same for the
//! same order.

use purser_actors::id::JobId;
use sha2::{Digest as _, Sha256};

use super::catalog::RedemptionKind;
use crate::gift_cards::RedemptionDetails;
use purser_host::secret::Secret;

/// Without characters that are easily confused.
const ALPHABET: &[u8; 32] = b"23456789ABCDEFGHJKLMNPQRSTUVWXYZ";

pub(super) fn redemption(how: RedemptionKind, key: JobId) -> RedemptionDetails {
    let url = || Secret::new(format!("https://redeem.example/{}", text(b"url", key, 24)));
    let code = || {
        let code = text(b"code", key, 16);
        Secret::new(format!(
            "{}-{}-{}-{}",
            &code[..4],
            &code[4..8],
            &code[8..12],
            &code[12..]
        ))
    };
    let pin = || {
        Secret::new(
            digest(b"pin", key)
                .iter()
                .take(4)
                .map(|b| char::from(b'0' + b % 10))
                .collect(),
        )
    };
    let (url, code, pin) = match how {
        RedemptionKind::Url => (Some(url()), None, None),
        RedemptionKind::Code => (None, Some(code()), None),
        RedemptionKind::CodeAndPin => (None, Some(code()), Some(pin())),
    };
    RedemptionDetails {
        redemption_url: url,
        redemption_code: code,
        pin_code: pin,
    }
}

fn digest(what: &[u8], key: JobId) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(b"purser SANDBOX gift card");
    hash.update(what);
    hash.update(key.0.to_be_bytes());
    hash.finalize().into()
}

/// At most 32 characters.
fn text(what: &[u8], key: JobId, letters: usize) -> String {
    let bytes = digest(what, key);
    bytes
        .iter()
        .take(letters)
        .map(|b| char::from(ALPHABET[usize::from(b % 32)]))
        .collect()
}
