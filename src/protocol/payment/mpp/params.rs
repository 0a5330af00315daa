//! Parses `WWW-Authenticate` as a client does (RFC 9110, section 11): schemes, each with its parameters.

use std::collections::BTreeMap;

/// Maximum length of a field.
pub const MAX_FIELD_BYTES: usize = 32 * 1024;

/// A challenge of any scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthChallenge {
    /// As written; compare case-insensitively.
    pub scheme: String,
    /// By name in lower case.
    pub params: BTreeMap<String, String>,
}

/// All challenges of one field. `None` if any part cannot be parsed: unknown syntax, a duplicate parameter, an open
/// quote, a token68 (which no payment scheme uses).
pub fn challenges(field: &str) -> Option<Vec<AuthChallenge>> {
    if field.len() > MAX_FIELD_BYTES {
        return None;
    }
    let mut all: Vec<AuthChallenge> = Vec::new();
    let mut rest = field;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        if rest.is_empty() {
            return (!all.is_empty()).then_some(all);
        }
        let (name, after) = token(rest)?;
        match after.trim_start_matches([' ', '\t']).strip_prefix('=') {
            Some(value) => {
                let (value, after) = value_of(value.trim_start_matches([' ', '\t']))?;
                let params = &mut all.last_mut()?.params;
                if params.insert(name.to_ascii_lowercase(), value).is_some() {
                    return None;
                }
                rest = ended(after)?;
            }
            None => {
                all.push(AuthChallenge {
                    scheme: name.to_owned(),
                    params: BTreeMap::new(),
                });
                rest = after;
                if !rest.is_empty() && !rest.starts_with([' ', '\t', ',']) {
                    return None;
                }
            }
        }
    }
}

/// A parameter ends with a comma or with the field.
fn ended(rest: &str) -> Option<&str> {
    let rest = rest.trim_start_matches([' ', '\t']);
    (rest.is_empty() || rest.starts_with(',')).then_some(rest)
}

fn token(text: &str) -> Option<(&str, &str)> {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    let end = text.find(|c| !is_token(c)).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// A token or a quoted string, and the rest of the text.
fn value_of(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        return token(text).map(|(value, rest)| (value.to_owned(), rest));
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    loop {
        match characters.next()? {
            (at, '"') => return Some((value, &quoted[at + 1..])),
            (_, '\\') => value.push(characters.next()?.1),
            (_, c) if c.is_control() && c != '\t' => return None,
            (_, c) => value.push(c),
        }
    }
}
