//! The link to the form of a payout's recipient. What opens it is a keyed hash of the payout's id: nothing to store, and
//! the payer can be shown it again. It is good for one card: afterwards the payout waits for none.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use purser_actors::id::PayoutId;

use super::secret::{Key32, MacKey, SecretText};

/// Makes and checks links.
#[derive(Clone, Debug)]
pub struct PayoutFormLinks {
    mac: MacKey,
    base: String,
}

impl PayoutFormLinks {
    /// Under a key of their own, at the service's address.
    pub fn new(key: &Key32, public_url: &str) -> Self {
        Self {
            mac: MacKey::new(key),
            base: public_url.to_owned(),
        }
    }

    /// `redemption_url`: whoever has it may say which card is paid.
    pub fn url(&self, payout: PayoutId) -> SecretText {
        let key = URL_SAFE_NO_PAD.encode(self.mac.tag(&[&payout.0.to_be_bytes()]));
        SecretText::new(format!("{}/redeem?payout_id={payout}&key={key}", self.base))
    }

    /// Whether this key opens the form of this payout. Takes as long for a wrong one as for the right one.
    pub fn verify(&self, payout: PayoutId, key: &str) -> bool {
        let mut tag = [0; 32];
        let whole = key.len() == 43 && URL_SAFE_NO_PAD.decode_slice(key, &mut tag) == Ok(32);
        whole && self.mac.verify(&[&payout.0.to_be_bytes()], &tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Aim: a link opens its own payout under its own key, whole and unchanged, and nothing else.
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
