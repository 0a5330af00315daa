//! Settings: the operator's file and the environment.

use bolero::check;
use purser::config::{Config, ConfigSources, DEFAULTS, InvalidSetting};
use toml::{Table, Value};

use crate::input::{FuzzInput, change_bytes};

fn load(file: Option<String>, env: Vec<(String, String)>) -> Result<String, InvalidSetting> {
    let file = file.map(|text| ("purser.toml".to_owned(), text));
    let sources = ConfigSources {
        file,
        env,
        ..ConfigSources::default()
    };
    Config::load(&sources).map(|config| format!("{config:?}"))
}

/// Every setting that is text, a number or a switch: section, name, default.
fn settings() -> Vec<(String, String, Value)> {
    let table: Table = DEFAULTS.parse().unwrap();
    let sections = table
        .iter()
        .filter_map(|(section, value)| Some((section, value.as_table()?)));
    let all = sections.flat_map(|(section, values)| values.iter().map(move |(name, value)| (section, name, value)));
    all.filter(|(.., value)| !value.is_table() && !value.is_array())
        .map(|(section, name, value)| (section.clone(), name.clone(), value.clone()))
        .collect()
}

#[test]
fn changed_file_is_loaded_or_rejected_by_name() {
    // Checks: no text panics the loader. A rejection names its layer or setting.
    let plain: String = DEFAULTS
        .lines()
        .filter(|line| !line.starts_with('#'))
        .collect::<Vec<_>>()
        .join("\n");
    assert!(load(Some(plain.clone()), vec![]).is_ok());
    check!().with_iterations(300).with_max_len(64).for_each(|bytes: &[u8]| {
        let mut dice = FuzzInput(bytes);
        let mut text = plain.clone().into_bytes();
        (0..1 + dice.below(3)).for_each(|_| change_bytes(&mut text, &mut dice));
        let Err(error) = load(Some(String::from_utf8_lossy(&text).into_owned()), vec![]) else {
            return;
        };
        let message = error.to_string();
        assert!(message.contains("purser.toml") || message.contains('`'), "{message}");
    });
}

#[test]
fn file_and_environment_give_the_same_settings() {
    // Checks: any value of any setting means the same in both layers or is rejected in both. A rejected setting does
    // not let others pass.
    let all = settings();
    assert!(all.len() > 50);
    check!().with_iterations(300).with_max_len(48).for_each(|bytes: &[u8]| {
        let mut dice = FuzzInput(bytes);
        let (section, name, default) = dice.of(&all).clone();
        let value = match &default {
            Value::Integer(number) => Value::Integer(dice.number(*number as u64) as i64),
            Value::Boolean(_) => Value::Boolean(dice.one_in(2)),
            text => {
                let mut bytes = text.as_str().unwrap().as_bytes().to_vec();
                (0..dice.below(3)).for_each(|_| change_bytes(&mut bytes, &mut dice));
                Value::String(String::from_utf8_lossy(&bytes).into_owned())
            }
        };
        let bare = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let variable = format!("PURSER_{}__{}", section.to_uppercase(), name.to_uppercase());
        let by_file = load(Some(format!("[{section}]\n{name} = {value}\n")), vec![]);
        let by_env = load(None, vec![(variable, bare)]);
        assert_eq!(
            by_file.as_ref().ok(),
            by_env.as_ref().ok(),
            "{section}.{name} = {value}: {by_file:?} {by_env:?}"
        );
    });
}
