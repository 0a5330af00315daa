//! Merges the four layers into one table. The defaults define which names exist and their types.

use toml::{Table, Value};

use super::ConfigError;
use crate::suggest::closest_match;

/// `config.toml`, compiled in.
pub const DEFAULTS: &str = include_str!("../../config.toml");

/// Tables whose keys the operator chooses; their values have the type of this value.
const OPEN_TABLES: [(&str, Value); 3] = [
    ("products.push_to_card.countries_by_currency", Value::Array(Vec::new())),
    ("products.app_payment.countries_by_platform", Value::Array(Vec::new())),
    ("rates.usd_per_unit", Value::String(String::new())),
];

/// The layers above the defaults.
#[derive(Clone, Debug, Default)]
pub struct ConfigSources {
    /// The operator's file: its name for messages, and its text.
    pub file: Option<(String, String)>,
    /// The process environment; only `PURSER_…` is used.
    pub env: Vec<(String, String)>,
    /// Command line: dotted name and value.
    pub flags: Vec<(String, String)>,
}

/// The layers as one table, without their invalid parts.
///
/// # Errors
/// None; all problems are added to `wrong`.
pub(super) fn merge(sources: &ConfigSources, wrong: &mut Vec<ConfigError>) -> Table {
    let mut settings = parse("config.toml", DEFAULTS, wrong);
    if let Some((name, text)) = &sources.file {
        let file = parse(name, text, wrong);
        apply_layer(&mut settings, file, (name, ""), wrong);
    }
    for (name, text) in &sources.env {
        let Some(key) = env_key(name) else { continue };
        let set = set(&mut settings, &key, text, &format!("environment variable {name}"));
        wrong.extend(set.err());
    }
    for (key, text) in &sources.flags {
        wrong.extend(set(&mut settings, key, text, "command line").err());
    }
    settings
}

fn parse(origin: &str, text: &str, wrong: &mut Vec<ConfigError>) -> Table {
    let parsed = text.parse().map_err(|e: toml::de::Error| ConfigError::Syntax {
        origin: origin.to_owned(),
        reason: e.to_string(),
    });
    parsed.unwrap_or_else(|error| {
        wrong.push(error);
        Table::new()
    })
}

/// Whether a layer sets this, even to the default.
pub(super) fn is_set(sources: &ConfigSources, key: &str) -> bool {
    let in_file = || {
        let (_, text) = sources.file.as_ref()?;
        let file: Table = text.parse().ok()?;
        let (sections, name) = key.rsplit_once('.').unwrap_or(("", key));
        let mut table = &file;
        for section in sections.split('.').filter(|s| !s.is_empty()) {
            table = table.get(section)?.as_table()?;
        }
        Some(table.contains_key(name))
    };
    sources.flags.iter().any(|(flag, _)| flag == key)
        || sources
            .env
            .iter()
            .any(|(name, _)| env_key(name).as_deref() == Some(key))
        || in_file().is_some_and(|is_there| is_there)
}

/// Resets the value at this path, or the smallest part around it that the defaults have. Returns whether that changed
/// anything.
pub(super) fn reset(settings: &mut Table, path: &str) -> bool {
    let defaults = parse("config.toml", DEFAULTS, &mut Vec::new());
    // List items have no default of their own.
    let path = path.split('[').next().unwrap_or_default();
    let names: Vec<&str> = path.trim_end_matches('.').split('.').collect();
    reset_to_default(settings, &defaults, &names)
}

fn reset_to_default(settings: &mut Table, defaults: &Table, path: &[&str]) -> bool {
    let [name, rest @ ..] = path else { return false };
    match (settings.get_mut(*name), defaults.get(*name)) {
        (Some(Value::Table(inner)), Some(Value::Table(by_default))) if !rest.is_empty() => {
            reset_to_default(inner, by_default, rest)
        }
        (Some(now), Some(by_default)) if now == by_default => false,
        (Some(now), Some(by_default)) => {
            *now = by_default.clone();
            true
        }
        // A name that the operator chose.
        (Some(_), None) => settings.remove(*name).is_some(),
        (None, _) => false,
    }
}

/// `PURSER_SERVER__LISTEN` is `server.listen`. Without a double underscore only the two settings outside
/// sections are recognised; other names (`PURSER_CONFIG`, `PURSER_LOG`) belong to the command line.
fn env_key(name: &str) -> Option<String> {
    let rest = name.strip_prefix("PURSER_")?;
    match rest {
        "MODE" | "DATA_DIR" => Some(rest.to_ascii_lowercase()),
        _ if rest.contains("__") => Some(rest.to_ascii_lowercase().replace("__", ".")),
        _ => None,
    }
}

fn apply_layer(onto: &mut Table, from: Table, (origin, path): (&str, &str), wrong: &mut Vec<ConfigError>) {
    let open = OPEN_TABLES.into_iter().find(|(open, _)| *open == path);
    if open.is_some() {
        // A table with the operator's own names replaces the default's; it does not add to it.
        onto.clear();
    }
    for (name, value) in from {
        let key = if path.is_empty() {
            name.clone()
        } else {
            format!("{path}.{name}")
        };
        if let Some((_, like)) = &open {
            match typed(&key, like, value, origin) {
                Ok(value) => drop(onto.insert(name, value)),
                Err(error) => wrong.push(error),
            }
            continue;
        }
        let Some(current) = onto.get_mut(&name) else {
            wrong.push(unknown_key(onto, &name, key, origin));
            continue;
        };
        match (current, value) {
            (Value::Table(inner), Value::Table(value)) => apply_layer(inner, value, (origin, &key), wrong),
            (current, value) => match typed(&key, current, value, origin) {
                Ok(value) => *current = value,
                Err(error) => wrong.push(error),
            },
        }
    }
}

fn unknown_key(among: &Table, name: &str, key: String, origin: &str) -> ConfigError {
    let hint = closest_match(name, among.keys().map(String::as_str)).map(|n| format!("; did you mean `{n}`?"));
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
        expected: describe_type(like),
    })
}

fn describe_type(like: &Value) -> &'static str {
    match like {
        Value::String(_) => "text in quotes (amounts and rates too)",
        Value::Integer(_) => "a whole number",
        Value::Boolean(_) => "true or false",
        Value::Array(_) => "a list",
        Value::Table(_) => "a section",
        Value::Float(_) | Value::Datetime(_) => "of another type",
    }
}

/// Sets one dotted name from plain text, parsed as the type of the default.
fn set(settings: &mut Table, key: &str, text: &str, origin: &str) -> Result<(), ConfigError> {
    let (sections, name) = key.rsplit_once('.').unwrap_or(("", key));
    let mut table = settings;
    for section in sections.split('.').filter(|s| !s.is_empty()) {
        let missing = unknown_key(table, section, key.to_owned(), origin);
        let Some(Value::Table(inner)) = table.get_mut(section) else {
            return Err(missing);
        };
        table = inner;
    }
    let missing = unknown_key(table, name, key.to_owned(), origin);
    let current = table.get_mut(name).ok_or(missing)?;
    *current = read(key, current, text, origin)?;
    Ok(())
}

fn read(key: &str, like: &Value, text: &str, origin: &str) -> Result<Value, ConfigError> {
    let wrong = || ConfigError::Type {
        origin: origin.to_owned(),
        key: key.to_owned(),
        expected: describe_type(like),
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
