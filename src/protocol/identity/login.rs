//! Login links for people, and the session cookies they create.
//!
//! A link contains a one-time code. Opening it shows a page that posts the code back, which consumes it; a link preview
//! only reads. Only the code's hash is stored. The cookie is a session's id with an expiry and a MAC, so it needs no
//! row.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use purser_actors::id::SessionId;
use purser_actors::port::{Entropy, Timestamp};
use sha2::{Digest, Sha256};

use super::origin::Origin;
use purser_host::secret::{Key32, MacKey, SecretText};

/// Lifetime of a login code, in seconds (contract, Limits).
pub const LOGIN_CODE_LIFETIME_S: u64 = 900;
/// 128 bits in base64url.
const CODE_LENGTH: usize = 22;
/// 16 bytes of session, 8 of expiry, 32 of MAC, in base64url.
const COOKIE_LENGTH: usize = 75;
/// Maximum length of a `Cookie` header that is parsed, in bytes.
const MAX_COOKIE_HEADER: usize = 8 * 1024;

/// SHA-256 of a login code: the key under which the open login is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LoginCodeHash(pub [u8; 32]);

/// A new login code of 128 random bits, and the hash to store.
pub fn new_login_code(entropy: &dyn Entropy) -> (SecretText, LoginCodeHash) {
    let bytes = entropy.random().to_be_bytes();
    (
        SecretText::new(URL_SAFE_NO_PAD.encode(bytes)),
        LoginCodeHash(Sha256::digest(bytes).into()),
    )
}

/// The hash of a presented code, or `None` if the text does not have the form of one.
pub fn login_code_hash(code: &str) -> Option<LoginCodeHash> {
    let mut bytes = [0; 16];
    if code.len() != CODE_LENGTH {
        return None;
    }
    match URL_SAFE_NO_PAD.decode_slice(code, &mut bytes) {
        Ok(16) => Some(LoginCodeHash(Sha256::digest(bytes).into())),
        _ => None,
    }
}

/// Page of the dashboard that a login link opens. A link can't name another page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LandingPage {
    /// The first page of the dashboard.
    #[default]
    Home,
    /// The settings, at the identity verification.
    Identity,
}

impl LandingPage {
    /// The page that a query or form names. Anything that is not a name of a page stands for the first page.
    pub fn named_in(pairs: &str) -> Self {
        match pairs.split('&').any(|pair| pair == Self::IDENTITY) {
            true => Self::Identity,
            false => Self::Home,
        }
    }

    /// Path on the dashboard.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Home => "/dashboard",
            Self::Identity => "/dashboard/settings#identity",
        }
    }

    const IDENTITY: &str = "to=identity";
}

/// `auth_url` of `GET /get-auth-link`: the dashboard's login page with the code in its query.
pub fn login_url(dashboard: &Origin, code: &SecretText, landing: LandingPage) -> SecretText {
    let page = match landing {
        LandingPage::Home => "",
        LandingPage::Identity => "to=identity&",
    };
    SecretText::new(format!("{}/login?{page}code={}", dashboard.as_str(), code.expose()))
}

/// Writes and parses the session cookie of the dashboard.
#[derive(Clone, Debug)]
pub struct SessionCookies {
    mac: MacKey,
    secure: bool,
}

impl SessionCookies {
    /// `key` must be used for nothing else. The cookie is `Secure` unless the dashboard is on loopback without
    /// TLS, where browsers would drop it.
    pub fn new(key: &Key32, dashboard: &Origin) -> Self {
        Self {
            mac: MacKey::new(key),
            secure: dashboard.is_https() || !dashboard.is_loopback(),
        }
    }

    /// The cookie's name. The `__Host-` prefix (RFC 6265bis) prevents sibling subdomains from setting it.
    pub const fn name(&self) -> &'static str {
        if self.secure { "__Host-purser" } else { "purser" }
    }

    /// The `Set-Cookie` value that opens a session in the browser for `lifetime_s` seconds.
    pub fn set(&self, session: SessionId, now: Timestamp, lifetime_s: u64) -> SecretText {
        let end = now.seconds().saturating_add(lifetime_s).to_be_bytes();
        let session = session.0.to_be_bytes();
        let value = [&session[..], &end, &self.mac.tag(&[&session, &end])].concat();
        SecretText::new(self.with_attributes(&URL_SAFE_NO_PAD.encode(value), lifetime_s))
    }

    /// The `Set-Cookie` value that removes the cookie.
    pub fn clear(&self) -> String {
        self.with_attributes("", 0)
    }

    fn with_attributes(&self, value: &str, max_age_s: u64) -> String {
        let secure = if self.secure { "; Secure" } else { "" };
        format!(
            "{}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={max_age_s}{secure}",
            self.name()
        )
    }

    /// Whether a `Cookie` header has a cookie of this name, valid or not.
    pub fn is_in(&self, header: &str) -> bool {
        let mut names = header.split(';').filter_map(|pair| pair.trim().split_once('='));
        names.any(|(name, _)| name == self.name())
    }

    /// The session in a `Cookie` header, if the cookie is ours and has not expired. A header with the cookie twice is
    /// rejected: one of the two was planted. Whether the session is active, only the engine knows.
    pub fn read(&self, header: &str, now: Timestamp) -> Option<SessionId> {
        if header.len() > MAX_COOKIE_HEADER {
            return None;
        }
        let mut values = header
            .split(';')
            .filter_map(|pair| pair.trim().split_once('='))
            .filter(|(name, _)| *name == self.name());
        let (_, value) = values.next()?;
        if values.next().is_some() || value.len() != COOKIE_LENGTH {
            return None;
        }
        let mut bytes = [0; 56];
        let Ok(56) = URL_SAFE_NO_PAD.decode_slice(value, &mut bytes) else {
            return None;
        };
        let (session, rest) = bytes.split_first_chunk::<16>()?;
        let (end, tag) = rest.split_first_chunk::<8>()?;
        let valid = self.mac.verify(&[session, end], tag) && now.seconds() < u64::from_be_bytes(*end);
        valid.then_some(SessionId(u128::from_be_bytes(*session)))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::identity::test_entropy::CountingEntropy;

    fn cookies(key: u8, dashboard: &str) -> SessionCookies {
        SessionCookies::new(&Key32::new([key; 32]), &Origin::parse(dashboard).unwrap())
    }

    fn pair(set_cookie: &SecretText) -> String {
        set_cookie.expose().split(';').next().unwrap().to_owned()
    }

    /// Checks (case 47): the link's code matches its stored hash and no other, and only its exact form is accepted.
    #[test]
    fn case_47_a_login_code_is_found_by_its_hash_only() {
        let entropy = CountingEntropy::new(3);
        let (code, stored) = new_login_code(&entropy);
        assert_eq!(login_code_hash(code.expose()), Some(stored));
        assert_ne!(login_code_hash(new_login_code(&entropy).0.expose()), Some(stored));
        for text in [
            "",
            "AAAA",
            &format!("{}=", code.expose()),
            &code.expose()[1..],
            "AAAAAAAAAAAAAAAAAAAAAB",
        ] {
            assert_eq!(login_code_hash(text), None, "{text}");
        }
        let dashboard = Origin::parse("https://d.example").unwrap();
        let url = login_url(&dashboard, &code, LandingPage::Home);
        assert_eq!(url.expose(), format!("https://d.example/login?code={}", code.expose()));
        let url = login_url(&dashboard, &code, LandingPage::Identity);
        let (_, query) = url.expose().split_once("/login?").unwrap();
        assert_eq!(query, format!("to=identity&code={}", code.expose()));
        assert_eq!(LandingPage::named_in(query), LandingPage::Identity);
    }

    /// Checks: a link opens a page of the dashboard, whatever page it names.
    #[test]
    fn a_link_can_name_only_pages_of_the_dashboard() {
        for named in [
            "",
            "to=",
            "to=//evil.example",
            "to=/desk",
            "to=identity2",
            "xto=identity",
            "to=Identity",
        ] {
            assert_eq!(LandingPage::named_in(named).path(), "/dashboard", "{named}");
        }
        assert_eq!(
            LandingPage::named_in("to=identity").path(),
            "/dashboard/settings#identity"
        );
    }

    /// Checks: the browser hides the cookie from scripts, other sites and plain connections.
    #[test]
    fn the_cookie_is_secure_outside_loopback() {
        let set = cookies(1, "https://d.example").set(SessionId(7), Timestamp(0), 60);
        let (name, attributes) = (pair(&set), set.expose().split_once("; ").unwrap().1);
        assert!(name.starts_with("__Host-purser="));
        assert_eq!(attributes, "Path=/; HttpOnly; SameSite=Strict; Max-Age=60; Secure");
        assert!(cookies(1, "http://d.example").clear().ends_with("; Secure"));
        assert_eq!(
            cookies(1, "http://127.0.0.1:80").clear(),
            "purser=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"
        );
    }

    /// Checks: our cookie opens its session until its expiry, also among other cookies.
    #[test]
    fn a_cookie_opens_its_session_until_its_end() {
        let cookies = cookies(1, "https://d.example");
        let header = format!(
            "theme=dark; {}; x=y",
            pair(&cookies.set(SessionId(7), Timestamp(5000), 60))
        );
        assert_eq!(cookies.read(&header, Timestamp(64_999)), Some(SessionId(7)));
        assert_eq!(cookies.read(&header, Timestamp(65_000)), None);
    }

    /// Checks: a cookie of another server, with a changed character, duplicated or of another name opens nothing.
    #[test]
    fn other_cookies_open_nothing() {
        let ours = cookies(1, "https://d.example");
        let good = pair(&ours.set(SessionId(7), Timestamp(0), 60));
        let now = Timestamp(1000);
        assert_eq!(ours.read(&good, now), Some(SessionId(7)));
        assert_eq!(cookies(2, "https://d.example").read(&good, now), None);
        assert_eq!(cookies(1, "http://127.0.0.1").read(&good, now), None);
        assert_eq!(ours.read(&format!("{good}; {good}"), now), None);
        assert_eq!(ours.read(&good.to_lowercase(), now), None);
        assert_eq!(ours.read("", now), None);
        let value_at = good.find('=').unwrap() + 1;
        for at in value_at..good.len() {
            let mut bytes = good.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            assert_eq!(
                ours.read(std::str::from_utf8(&bytes).unwrap(), now),
                None,
                "character {at}"
            );
        }
    }
}
