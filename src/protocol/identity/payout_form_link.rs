//! The link to the form for a payout's recipient. Its key is a keyed hash of the payout's id. Nothing is stored, and
//! the payer can be shown it again. It works for one card: afterwards the payout no longer expects one.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use purser_actors::id::PayoutId;

use purser_host::secret::{Key32, MacKey, SecretText};

#[derive(Clone, Debug)]
pub struct PayoutFormLinks {
    mac: MacKey,
    base: String,
}

impl PayoutFormLinks {
    /// `key` must be used for nothing else.
    pub fn new(key: &Key32, public_url: &str) -> Self {
        Self {
            mac: MacKey::new(key),
            base: public_url.to_owned(),
        }
    }

    /// `redemption_url`: its bearer may choose the card that is paid.
    pub fn url(&self, payout: PayoutId) -> SecretText {
        let key = URL_SAFE_NO_PAD.encode(self.mac.tag(&[&payout.0.to_be_bytes()]));
        SecretText::new(format!("{}/redeem?payout_id={payout}&key={key}", self.base))
    }

    /// Whether this key opens the form of this payout. Takes the same time for a wrong key as for the right one.
    pub fn verify(&self, payout: PayoutId, key: &str) -> bool {
        let mut tag = [0; 32];
        let whole = key.len() == 43 && URL_SAFE_NO_PAD.decode_slice(key, &mut tag) == Ok(32);
        whole && self.mac.verify(&[&payout.0.to_be_bytes()], &tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Checks: a link opens only its own payout, under its own key, whole and unchanged.
    #[test]
    fn a_link_opens_its_own_form_only() {
        let links = PayoutFormLinks::new(&Key32::new([1; 32]), "http://here");
        let other = PayoutFormLinks::new(&Key32::new([2; 32]), "http://here");
        let url = links.url(PayoutId(7));
        let key = url.expose().rsplit('=').next().unwrap_or_default();
        assert!(url.expose().starts_with("http://here/redeem?payout_id=po_"));
        assert!(links.verify(PayoutId(7), key));
        assert!(!links.verify(PayoutId(8), key));
        assert!(!other.verify(PayoutId(7), key));
        for wrong in ["", &key[..42], &key[..22], &format!("{key}A"), &key.to_uppercase()] {
            assert!(!links.verify(PayoutId(7), wrong), "{wrong}");
        }
    }
}
