//! Text forms of API keys, and of the signups that lead to one. A signup has no stored row until a person approves it.
//!
//! A key's secret is a MAC over its id. No row holds it, and it can be shown again until it is first used. A signup is
//! an id and an expiry. The claim token polls for the key and the page claims it. Both carry id and expiry under MACs
//! with different labels, so neither can be used for the other. The key that a signup creates has the signup's id.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use purser_actors::id::ApiKeyId;
use purser_actors::port::{Entropy, Timestamp};

use super::origin::Origin;
use purser_host::secret::{Key32, MacKey, SecretText};

const PREFIX: &str = "ak_";
/// `ak_`, 32 hex digits of the id, a dot, 43 characters of base64url.
const LENGTH: usize = 3 + 32 + 1 + 43;

#[derive(Clone, Debug)]
pub struct ApiKeyCodec {
    mac: MacKey,
}

impl ApiKeyCodec {
    /// `key` must be used for nothing else.
    pub fn new(key: &Key32) -> Self {
        Self { mac: MacKey::new(key) }
    }

    /// The complete key, for the agent that requested it.
    pub fn text(&self, id: ApiKeyId) -> SecretText {
        let secret = Key32::new(self.mac.tag(&[&id.0.to_be_bytes()]));
        let mut text = String::with_capacity(LENGTH);
        text.push_str(PREFIX);
        text.push_str(&hex::encode(id.0.to_be_bytes()));
        text.push('.');
        URL_SAFE_NO_PAD.encode_string(secret.expose(), &mut text);
        SecretText::new(text)
    }

    /// The key's id, if the text is a key of this service. Whether the key is active, only the engine knows. Takes the
    /// same time for a wrong secret as for the right one.
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

    /// What a list shows of a key: its prefix and its last four characters.
    pub fn hints(&self, id: ApiKeyId) -> (String, String) {
        let text = self.text(id);
        let text = text.expose();
        (text[..PREFIX.len() + 8].to_owned(), text[LENGTH - 4..].to_owned())
    }
}

/// 16 bytes of id, 8 of expiry, 32 of MAC. The page's URL has the agent's name behind them.
const PASS_BYTES: usize = 56;
/// Bytes of the longest name that an agent gives itself: 80 characters.
const MAX_NAME_BYTES: usize = 320;
const TOKEN_PREFIX: &str = "st_";
/// All labels have the same length, because the parts of a MAC are joined without separators.
const POLL: &[u8; 4] = b"poll";
const PAGE: &[u8; 4] = b"page";
const CODE: &[u8; 4] = b"code";
/// Digits and capitals that are not easily confused.
const CODE_ALPHABET: &[u8; 32] = b"23456789ABCDEFGHJKLMNPQRSTUVWXYZ";

/// An agent's request for an API key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signup {
    /// Id of the key that the signup creates.
    pub key: ApiKeyId,
    /// From this second on, the signup can no longer be approved.
    pub expires_s: u64,
}

/// A signup as its page's URL has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimLink {
    pub signup: Signup,
    /// Name that the agent gave itself; empty for none.
    pub agent: String,
}

impl Signup {
    pub const fn is_expired(&self, now: Timestamp) -> bool {
        now.seconds() >= self.expires_s
    }
}

/// Creates and parses signups.
#[derive(Clone, Debug)]
pub struct SignupCodec {
    mac: MacKey,
    page: String,
}

impl SignupCodec {
    /// `key` must be used for nothing else. The claim page is at `dashboard`.
    pub fn new(key: &Key32, dashboard: &Origin) -> Self {
        Self {
            mac: MacKey::new(key),
            page: format!("{}/claim?signup=", dashboard.as_str()),
        }
    }

    /// Creates a signup that a person can claim for `life_s` seconds.
    pub fn start(now: Timestamp, life_s: u64, entropy: &dyn Entropy) -> Signup {
        Signup {
            key: ApiKeyId(entropy.random()),
            expires_s: now.seconds().saturating_add(life_s),
        }
    }

    /// The name is the last part, so the parts of the MAC are distinct without separators.
    fn mac_text(&self, label: &[u8; 4], signup: Signup, name: &str) -> String {
        let (id, end) = (signup.key.0.to_be_bytes(), signup.expires_s.to_be_bytes());
        let tag = self.mac.tag(&[label, &id, &end, name.as_bytes()]);
        URL_SAFE_NO_PAD.encode([&id[..], &end, &tag, name.as_bytes()].concat())
    }

    fn verify(&self, label: &[u8; 4], pass: &str) -> Option<ClaimLink> {
        const MAX_LENGTH: usize = (PASS_BYTES + MAX_NAME_BYTES).div_ceil(3) * 4;
        if pass.len() > MAX_LENGTH {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(pass).ok()?;
        let (id, rest) = bytes.split_first_chunk::<16>()?;
        let (end, rest) = rest.split_first_chunk::<8>()?;
        let (tag, name) = rest.split_first_chunk::<32>()?;
        if !self.mac.verify(&[label, id, end, name], tag) {
            return None;
        }
        Some(ClaimLink {
            signup: Signup {
                key: ApiKeyId(u128::from_be_bytes(*id)),
                expires_s: u64::from_be_bytes(*end),
            },
            agent: String::from_utf8(name.to_vec()).ok()?,
        })
    }

    /// Claim token: grants the API key to its bearer.
    pub fn token(&self, signup: Signup) -> SecretText {
        SecretText::new(format!("{TOKEN_PREFIX}{}", self.mac_text(POLL, signup, "")))
    }

    /// The signup of a claim token.
    pub fn parse_token(&self, token: &str) -> Option<Signup> {
        let link = self.verify(POLL, token.strip_prefix(TOKEN_PREFIX)?)?;
        Some(link.signup)
    }

    /// The signup in the page's URL.
    pub fn claim_key(&self, link: &ClaimLink) -> String {
        self.mac_text(PAGE, link.signup, &link.agent)
    }

    /// The signup of a claim page.
    pub fn parse_claim_key(&self, pass: &str) -> Option<ClaimLink> {
        self.verify(PAGE, pass)
    }

    pub fn url(&self, link: &ClaimLink) -> String {
        format!("{}{}", self.page, self.claim_key(link))
    }

    /// Eight characters that a person compares, to notice a link from someone else.
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

    /// Checks: a key is accepted only whole, unchanged and under its own service's key. The hints of a list reveal
    /// neither the secret nor another key's.
    #[test]
    fn api_key_has_one_form_and_belongs_to_one_service() {
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

    /// Checks: the page's URL cannot poll for the key and the token cannot claim it. Neither can be changed to name
    /// another key, another agent or a later expiry.
    #[test]
    fn claim_token_and_page_match_only_their_own_signup() {
        let origin = Origin::parse("https://d.example").unwrap();
        let signups = SignupCodec::new(&Key32::new([1; 32]), &origin);
        let other = SignupCodec::new(&Key32::new([2; 32]), &origin);
        let signup = SignupCodec::start(Timestamp(5_000), 60, &CountingEntropy::new(3));
        assert_eq!(signup.expires_s, 65);
        assert!(!signup.is_expired(Timestamp(64_999)) && signup.is_expired(Timestamp(65_000)));
        let link = |agent: &str| ClaimLink {
            signup,
            agent: agent.to_owned(),
        };
        let (token, page) = (signups.token(signup), signups.claim_key(&link("")));
        let token = token.expose();
        assert_eq!(signups.parse_token(token), Some(signup));
        assert_eq!(signups.parse_claim_key(&page), Some(link("")));
        assert_eq!(signups.url(&link("")), format!("https://d.example/claim?signup={page}"));
        assert_eq!(signups.parse_token(&page), None);
        assert_eq!(signups.parse_token(&format!("{TOKEN_PREFIX}{page}")), None);
        assert_eq!(signups.parse_claim_key(&token[TOKEN_PREFIX.len()..]), None);
        assert_eq!((other.parse_token(token), other.parse_claim_key(&page)), (None, None));
        let named = signups.claim_key(&link("Courier é"));
        assert_eq!(signups.parse_claim_key(&named), Some(link("Courier é")));
        let longest = "\u{1f600}".repeat(MAX_NAME_BYTES / 4);
        let long = signups.claim_key(&link(&longest));
        assert_eq!(signups.parse_claim_key(&long), Some(link(&longest)));
        assert_eq!(signups.parse_claim_key(&(long + "AAAAAAAA")), None);
        for text in [&page, &named] {
            for at in 0..text.len() {
                let mut bytes = text.clone().into_bytes();
                bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
                assert_eq!(
                    signups.parse_claim_key(std::str::from_utf8(&bytes).unwrap()),
                    None,
                    "character {at}"
                );
            }
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
