//! The texts of API keys, and what leads to one: signups that nothing is kept of until a person says yes.
//!
//! A key's secret is a MAC over its id, so that no row holds it and it can be shown again for as long as nobody has used
//! it. A signup is an id and an end; the token that asks after it and the page that claims it carry both under MACs of
//! different labels, so that neither opens what the other is for. The key that comes of a signup has its id.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use purser_actors::id::ApiKeyId;
use purser_actors::port::{Entropy, Timestamp};

use super::origin::Origin;
use super::secret::{Key32, MacKey, SecretText};

const PREFIX: &str = "ak_";
/// `ak_`, 32 hex digits of the id, a dot, 43 characters of base64url.
const LENGTH: usize = 3 + 32 + 1 + 43;

/// Writes and reads API keys.
#[derive(Clone, Debug)]
pub struct ApiKeyCodec {
    mac: MacKey,
}

impl ApiKeyCodec {
    /// With a key used for nothing else.
    pub fn new(key: &Key32) -> Self {
        Self { mac: MacKey::new(key) }
    }

    /// The key itself, for the one who asked for it.
    pub fn text(&self, id: ApiKeyId) -> SecretText {
        let secret = Key32::new(self.mac.tag(&[&id.0.to_be_bytes()]));
        let mut text = String::with_capacity(LENGTH);
        text.push_str(PREFIX);
        text.push_str(&hex::encode(id.0.to_be_bytes()));
        text.push('.');
        URL_SAFE_NO_PAD.encode_string(secret.expose(), &mut text);
        SecretText::new(text)
    }

    /// Which key this is, if it is one of ours. Whether it lives, the engine knows. Takes as long for a wrong secret as for
    /// the right one.
    pub fn read(&self, text: &str) -> Option<ApiKeyId> {
        let (id, secret) = text.strip_prefix(PREFIX)?.split_once('.')?;
        if text.len() != LENGTH {
            return None;
        }
        let id: ApiKeyId = format!("{}{id}", ApiKeyId::PREFIX).parse().ok()?;
        let mut tag = [0; 32];
        let whole = URL_SAFE_NO_PAD.decode_slice(secret, &mut tag) == Ok(32);
        (whole && self.mac.verify(&[&id.0.to_be_bytes()], &tag)).then_some(id)
    }

    /// What a list shows of a key: how it begins and its last four characters.
    pub fn hints(&self, id: ApiKeyId) -> (String, String) {
        let text = self.text(id);
        let text = text.expose();
        (text[..PREFIX.len() + 8].to_owned(), text[LENGTH - 4..].to_owned())
    }
}

/// 16 bytes of id, 8 of end, 32 of MAC, in base64url.
const PASS_LENGTH: usize = 75;
const TOKEN_PREFIX: &str = "st_";
/// Of the same length, since the parts of a MAC are joined without separators.
const POLL: &[u8; 4] = b"poll";
const PAGE: &[u8; 4] = b"page";
const CODE: &[u8; 4] = b"code";
/// Digits and capitals that nobody takes for another.
const CODE_ALPHABET: &[u8; 32] = b"23456789ABCDEFGHJKLMNPQRSTUVWXYZ";

/// An agent's wish for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signup {
    /// The key that comes of it.
    pub key: ApiKeyId,
    /// From this second on nobody can say yes any more.
    pub expires_s: u64,
}

impl Signup {
    /// Whether it is too late to say yes.
    pub const fn is_expired(&self, now: Timestamp) -> bool {
        now.seconds() >= self.expires_s
    }
}

/// Makes and recognises signups.
#[derive(Clone, Debug)]
pub struct SignupCodec {
    mac: MacKey,
    page: String,
}

impl SignupCodec {
    /// Under a key of their own, with the page at this origin.
    pub fn new(key: &Key32, dashboard: &Origin) -> Self {
        Self {
            mac: MacKey::new(key),
            page: format!("{}/claim?signup=", dashboard.as_str()),
        }
    }

    /// A new one that a person can claim for so long.
    pub fn start(now: Timestamp, life_s: u64, entropy: &dyn Entropy) -> Signup {
        Signup {
            key: ApiKeyId(entropy.random()),
            expires_s: now.seconds().saturating_add(life_s),
        }
    }

    fn mac_text(&self, label: &[u8; 4], signup: Signup) -> String {
        let (id, end) = (signup.key.0.to_be_bytes(), signup.expires_s.to_be_bytes());
        let tag = self.mac.tag(&[label, &id, &end]);
        URL_SAFE_NO_PAD.encode([&id[..], &end, &tag].concat())
    }

    fn verify(&self, label: &[u8; 4], pass: &str) -> Option<Signup> {
        let mut bytes = [0; 56];
        if pass.len() != PASS_LENGTH || URL_SAFE_NO_PAD.decode_slice(pass, &mut bytes) != Ok(56) {
            return None;
        }
        let (id, rest) = bytes.split_first_chunk::<16>()?;
        let (end, tag) = rest.split_first_chunk::<8>()?;
        self.mac.verify(&[label, id, end], tag).then_some(Signup {
            key: ApiKeyId(u128::from_be_bytes(*id)),
            expires_s: u64::from_be_bytes(*end),
        })
    }

    /// `claim_token`: whoever has it is given the key.
    pub fn token(&self, signup: Signup) -> SecretText {
        SecretText::new(format!("{TOKEN_PREFIX}{}", self.mac_text(POLL, signup)))
    }

    /// The signup of a token.
    pub fn parse_token(&self, token: &str) -> Option<Signup> {
        self.verify(POLL, token.strip_prefix(TOKEN_PREFIX)?)
    }

    /// What the page's address names it by.
    pub fn claim_key(&self, signup: Signup) -> String {
        self.mac_text(PAGE, signup)
    }

    /// The signup that a page is about.
    pub fn parse_claim_key(&self, pass: &str) -> Option<Signup> {
        self.verify(PAGE, pass)
    }

    /// `claim_url`.
    pub fn url(&self, signup: Signup) -> String {
        format!("{}{}", self.page, self.claim_key(signup))
    }

    /// `claim_code`: eight characters that a person compares, so that a link from somebody else is noticed.
    pub fn code(&self, signup: Signup) -> String {
        let tag = self.mac.tag(&[CODE, &signup.key.0.to_be_bytes()]);
        let mut code: String = tag[..8]
            .iter()
            .map(|byte| char::from(CODE_ALPHABET[usize::from(byte % 32)]))
            .collect();
        code.insert(4, '-');
        code
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::identity::test_entropy::CountingEntropy;

    /// Aim: a key is read under its own house's key, whole and unchanged, and nothing else is one; what a list shows of it
    /// tells neither the secret nor another key's.
    #[test]
    fn an_api_key_is_one_text_of_one_house() {
        let keys = ApiKeyCodec::new(&Key32::new([1; 32]));
        let other = ApiKeyCodec::new(&Key32::new([2; 32]));
        let text = keys.text(ApiKeyId(7));
        let text = text.expose();
        assert_eq!((text.len(), keys.read(text)), (LENGTH, Some(ApiKeyId(7))));
        assert_eq!(other.read(text), None);
        assert_eq!(keys.read(other.text(ApiKeyId(7)).expose()), None);
        let moved = text.replace(&format!("{:032x}", 7), &format!("{:032x}", 8));
        for wrong in [
            "",
            "ak_",
            &text[1..],
            &text[..LENGTH - 1],
            &format!("{text}A"),
            &text.to_uppercase(),
            &moved,
        ] {
            assert_eq!(keys.read(wrong), None, "{wrong}");
        }
        for at in 0..LENGTH {
            let mut bytes = text.as_bytes().to_vec();
            bytes[at] = if bytes[at] == b'1' { b'2' } else { b'1' };
            assert_eq!(keys.read(std::str::from_utf8(&bytes).unwrap()), None, "character {at}");
        }
        let (prefix, last) = keys.hints(ApiKeyId(7));
        assert_eq!((&*prefix, last.len()), ("ak_00000000", 4));
        assert!(text.ends_with(&last));
    }

    /// Aim: the page's address cannot ask after the key, the token cannot claim it, and neither can be changed to say
    /// another key or a later end.
    #[test]
    fn token_and_page_open_only_their_own() {
        let origin = Origin::parse("https://d.example").unwrap();
        let signups = SignupCodec::new(&Key32::new([1; 32]), &origin);
        let other = SignupCodec::new(&Key32::new([2; 32]), &origin);
        let signup = SignupCodec::start(Timestamp(5_000), 60, &CountingEntropy::new(3));
        assert_eq!(signup.expires_s, 65);
        assert!(!signup.is_expired(Timestamp(64_999)) && signup.is_expired(Timestamp(65_000)));
        let (token, page) = (signups.token(signup), signups.claim_key(signup));
        let token = token.expose();
        assert_eq!(signups.parse_token(token), Some(signup));
        assert_eq!(signups.parse_claim_key(&page), Some(signup));
        assert_eq!(signups.url(signup), format!("https://d.example/claim?signup={page}"));
        assert_eq!(signups.parse_token(&page), None);
        assert_eq!(signups.parse_token(&format!("{TOKEN_PREFIX}{page}")), None);
        assert_eq!(signups.parse_claim_key(&token[TOKEN_PREFIX.len()..]), None);
        assert_eq!((other.parse_token(token), other.parse_claim_key(&page)), (None, None));
        for at in 0..page.len() {
            let mut bytes = page.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            assert_eq!(
                signups.parse_claim_key(std::str::from_utf8(&bytes).unwrap()),
                None,
                "character {at}"
            );
        }
        let later = Signup {
            expires_s: 66,
            ..signup
        };
        let code = signups.code(signup);
        assert_eq!((code.len(), &code, code.as_bytes()[4]), (9, &signups.code(later), b'-'));
        assert_ne!(code, other.code(signup));
        assert!(code.bytes().all(|b| b == b'-' || CODE_ALPHABET.contains(&b)), "{code}");
    }
}
