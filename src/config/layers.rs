//! The four layers become one table. The defaults say which names exist and of which type they are.

use toml::{Table, Value};

use super::ConfigError;
use crate::nearest::nearest;

/// `config.toml`, compiled in.
pub const DEFAULTS: &str = include_str!("../../config.toml");

/// Tables whose keys are the operator's to choose, with a value of the type that theirs have.
const OPEN_TABLES: [(&str, Value); 3] = [
    ("products.push_to_card.countries_by_currency", Value::Array(Vec::new())),
    ("products.app_payment.countries_by_platform", Value::Array(Vec::new())),
    ("rates.usd_per_unit", Value::String(String::new())),
];

/// What comes on top of the defaults.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The operator's file: its name for messages, and its text.
    pub file: Option<(String, String)>,
    /// The process environment; only `PURSER_…` is looked at.
    pub env: Vec<(String, String)>,
    /// Command line: dotted name and value.
    pub flags: Vec<(String, String)>,
}

pub(super) fn merge(sources: &Sources) -> Result<Table, ConfigError> {
    let mut settings = parse("config.toml", DEFAULTS)?;
    if let Some((name, text)) = &sources.file {
        overlay(&mut settings, parse(name, text)?, name, "")?;
    }
    for (name, text) in &sources.env {
        let Some(key) = env_key(name) else { continue };
        set(&mut settings, &key, text, &format!("environment variable {name}"))?;
    }
    for (key, text) in &sources.flags {
        set(&mut settings, key, text, "command line")?;
    }
    Ok(settings)
}

fn parse(origin: &str, text: &str) -> Result<Table, ConfigError> {
    text.parse().map_err(|e: toml::de::Error| ConfigError::Syntax {
        origin: origin.to_owned(),
        reason: e.to_string(),
    })
}

/// `PURSER_SERVER__LISTEN` is `server.listen`. Without a double underscore only the two settings outside
/// sections are meant; other names (`PURSER_CONFIG`, `PURSER_LOG`) belong to the command line.
fn env_key(name: &str) -> Option<String> {
    let rest = name.strip_prefix("PURSER_")?;
    match rest {
        "MODE" | "DATA_DIR" => Some(rest.to_ascii_lowercase()),
        _ if rest.contains("__") => Some(rest.to_ascii_lowercase().replace("__", ".")),
        _ => None,
    }
}

fn overlay(onto: &mut Table, from: Table, origin: &str, path: &str) -> Result<(), ConfigError> {
    let open = OPEN_TABLES.into_iter().find(|(open, _)| *open == path);
    if open.is_some() {
        // A list of names the operator chose replaces the default's, it does not add to them.
        onto.clear();
    }
    for (name, value) in from {
        let key = if path.is_empty() {
            name.clone()
        } else {
            format!("{path}.{name}")
        };
        if let Some((_, like)) = &open {
            onto.insert(name, typed(&key, like, value, origin)?);
            continue;
        }
        let Some(current) = onto.get_mut(&name) else {
            return Err(unknown(onto, &name, key, origin));
        };
        match (current, value) {
            (Value::Table(inner), Value::Table(value)) => overlay(inner, value, origin, &key)?,
            (current, value) => *current = typed(&key, current, value, origin)?,
        }
    }
    Ok(())
}

fn unknown(among: &Table, name: &str, key: String, origin: &str) -> ConfigError {
    let hint = nearest(name, among.keys().map(String::as_str)).map(|n| format!("; did you mean `{n}`?"));
    ConfigError::Unknown {
        origin: origin.to_owned(),
        key,
        hint: hint.unwrap_or_default(),
    }
}

fn typed(key: &str, like: &Value, value: Value, origin: &str) -> Result<Value, ConfigError> {
    if like.same_type(&value) {
        return Ok(value);
    }
    Err(ConfigError::Type {
        origin: origin.to_owned(),
        key: key.to_owned(),
        wanted: in_words(like),
    })
}

fn in_words(like: &Value) -> &'static str {
    match like {
        Value::String(_) => "text in quotes (amounts and rates too)",
        Value::Integer(_) => "a whole number",
        Value::Boolean(_) => "true or false",
        Value::Array(_) => "a list",
        Value::Table(_) => "a section",
        Value::Float(_) | Value::Datetime(_) => "of another type",
    }
}

/// Sets one dotted name from bare text, read as the type the default has.
fn set(settings: &mut Table, key: &str, text: &str, origin: &str) -> Result<(), ConfigError> {
    let (sections, name) = key.rsplit_once('.').unwrap_or(("", key));
    let mut table = settings;
    for section in sections.split('.').filter(|s| !s.is_empty()) {
        let missing = unknown(table, section, key.to_owned(), origin);
        let Some(Value::Table(inner)) = table.get_mut(section) else {
            return Err(missing);
        };
        table = inner;
    }
    let missing = unknown(table, name, key.to_owned(), origin);
    let current = table.get_mut(name).ok_or(missing)?;
    *current = read(key, current, text, origin)?;
    Ok(())
}

fn read(key: &str, like: &Value, text: &str, origin: &str) -> Result<Value, ConfigError> {
    let wrong = || ConfigError::Type {
        origin: origin.to_owned(),
        key: key.to_owned(),
        wanted: in_words(like),
    };
    match like {
        Value::String(_) => Ok(Value::String(text.to_owned())),
        Value::Integer(_) => text.parse().map(Value::Integer).map_err(|_| wrong()),
        Value::Boolean(_) => text.parse().map(Value::Boolean).map_err(|_| wrong()),
        _ => {
            let mut line: Table = format!("value = {text}").parse().map_err(|_| wrong())?;
            typed(key, like, line.remove("value").ok_or_else(wrong)?, origin)
        }
    }
}
