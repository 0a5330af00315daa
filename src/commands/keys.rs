//! `purser keys`: creates the keys for `mode = "production"` and prints their addresses.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use purser_actors::id::Wallet;
use purser_actors::port::{Clock as _, Entropy};
use purser_chains::solana::keypair::Keypair;
use serde_json::json;
use zeroize::Zeroizing;

use crate::cli::{CliError, terminal};
use crate::identity::key_file;
use crate::identity::operator_token::{hash_of, is_token, new_token};
use crate::private_file;
use crate::settlement::settings::parse_evm_key;
use crate::system::{SystemClock, SystemEntropy};
use crate::vault::Vault;

/// Create the keys that production needs
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The keys command
    #[command(subcommand)]
    pub act: KeysCommand,
}

/// Commands for keys.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum KeysCommand {
    /// Create a treasury key and a fee-paying key for each chain, the token and vault keys, and an administrator token,
    /// each in a file of mode 0600; existing files are kept. Print the addresses and the settings that name the files
    Create(CreateArgs),
}

/// Arguments of `purser keys create`.
#[derive(Clone, Debug, clap::Args)]
pub struct CreateArgs {
    /// Directory of the files; created if missing
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Print JSON instead of text
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
///
/// # Errors
/// [`CliError::Io`] when a file cannot be created or read, [`CliError::Usage`] for an existing file that is not such a
/// key.
pub fn run(args: &Args) -> Result<(), CliError> {
    let KeysCommand::Create(args) = &args.act;
    let keys = ProductionKeys::create(&args.directory, &SystemEntropy)?;
    if args.json {
        return terminal::json(&keys.addresses(), true);
    }
    keys.settings().lines().try_for_each(terminal::result)
}

/// The files, with the addresses of keys that have one.
struct ProductionKeys {
    directory: PathBuf,
    base: [Wallet; 2],
    solana: [Wallet; 2],
    /// SHA-256 of the administrator's token, in hexadecimal.
    operator: String,
}

const IDENTITY: &str = "identity.keys";
const VAULT: &str = "vault.keys";
const OPERATOR: &str = "operator.token";
/// The treasury key and the gas key.
const BASE: [&str; 2] = ["base-treasury.key", "base-gas.key"];
const SOLANA: [&str; 2] = ["solana-treasury.json", "solana-fee-payer.json"];

impl ProductionKeys {
    fn create(directory: &Path, entropy: &'static dyn Entropy) -> Result<Self, CliError> {
        let at = |source| io_error(directory, source);
        std::fs::create_dir_all(directory).map_err(at)?;
        let directory = directory.canonicalize().map_err(at)?;
        let wrong = |error: &dyn std::fmt::Display| CliError::Usage(error.to_string());
        key_file::load_or_create(&directory.join(IDENTITY), SystemClock.now(), entropy).map_err(|e| wrong(&e))?;
        Vault::from_file(&directory.join(VAULT), true, Arc::new(SystemEntropy)).map_err(|e| wrong(&e))?;
        let key = |name: &str, make: fn(&dyn Entropy) -> Zeroizing<String>| -> Result<Zeroizing<String>, CliError> {
            let path = directory.join(name);
            let secret = make(entropy);
            private_file::create(&path, secret.as_bytes()).map_err(|source| io_error(&path, source))?;
            private_file::read_secret(&path).map_err(CliError::Usage)
        };
        let base = |name: &str| -> Result<Wallet, CliError> {
            let own = parse_evm_key(&key(name, evm_text)?);
            let own = own.ok_or_else(|| CliError::Usage(format!("{name} is no private key of Base")))?;
            Ok(Wallet::Evm(own.address().into()))
        };
        let solana = |name: &str| -> Result<Wallet, CliError> {
            let own = Keypair::parse(&key(name, solana_text)?);
            let own = own.map_err(|error| CliError::Usage(format!("{name}: {error}")))?;
            Ok(Wallet::Solana(own.address()))
        };
        let operator = key(OPERATOR, |entropy| {
            Zeroizing::new(new_token(entropy).expose_secret().clone())
        })?;
        if !is_token(operator.trim()) {
            return Err(CliError::Usage(format!("{OPERATOR} is no token of an operator")));
        }
        Ok(Self {
            operator: hex::encode(hash_of(operator.trim())),
            base: [base(BASE[0])?, base(BASE[1])?],
            solana: [solana(SOLANA[0])?, solana(SOLANA[1])?],
            directory,
        })
    }

    fn addresses(&self) -> serde_json::Value {
        let chain = |[treasury, fees]: &[Wallet; 2]| json!({"treasury": treasury.address(), "fees": fees.address()});
        json!({
            "directory": self.directory.display().to_string(),
            "base": chain(&self.base),
            "solana": chain(&self.solana),
        })
    }

    fn settings(&self) -> String {
        let file = |name: &str| toml::Value::String(self.directory.join(name).display().to_string());
        let reference = |name: &str| toml::Value::String(format!("file:{}", self.directory.join(name).display()));
        let [base, gas] = self.base.each_ref().map(Wallet::address);
        let [solana, fee_payer] = self.solana.each_ref().map(Wallet::address);
        format!(
            "mode = \"production\"

# Send ether on Base to {gas} (gas), SOL to {fee_payer} (fees). Create the USDC token account of
# {solana} (the treasury on Solana): any transfer of USDC to it does. Back these files up: no backup of the data has them.
[identity]
signing_key_file = {}
vault_key_file = {}

[operator]
tokens = [{{ name = \"first\", role = \"administrator\", sha256 = \"{}\" }}]

[settlement]
kind = \"chains\"

[payment.pay_to]
base = \"{base}\"
solana = \"{solana}\"

[chains.base]
treasury_key = {}
gas_keys = [{}]

[chains.solana]
treasury_key = {}
fee_payers = [{}]",
            file(IDENTITY),
            file(VAULT),
            self.operator,
            reference(BASE[0]),
            reference(BASE[1]),
            reference(SOLANA[0]),
            reference(SOLANA[1]),
        )
    }
}

fn io_error(path: &Path, source: std::io::Error) -> CliError {
    let what = path.display().to_string();
    CliError::Io { what, source }
}

fn random(entropy: &dyn Entropy) -> Zeroizing<[u8; 32]> {
    let mut seed = Zeroizing::new([0; 32]);
    seed[..16].copy_from_slice(&entropy.random().to_be_bytes());
    seed[16..].copy_from_slice(&entropy.random().to_be_bytes());
    seed
}

/// Hexadecimal. A random number that is no valid secp256k1 key (one in 2^128) is rejected when it is read back.
fn evm_text(entropy: &dyn Entropy) -> Zeroizing<String> {
    Zeroizing::new(hex::encode(random(entropy).as_slice()))
}

/// The array of `solana-keygen`: seed and public key.
fn solana_text(entropy: &dyn Entropy) -> Zeroizing<String> {
    let seed = random(entropy);
    let bytes = seed
        .iter()
        .chain(&Keypair::from_seed(&seed).address())
        .map(u8::to_string)
        .collect::<Vec<_>>();
    Zeroizing::new(format!("[{}]", bytes.join(",")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    // Checks: production starts with the printed settings; a second call changes no key.
    #[test]
    fn keys_are_made_once_and_named_by_settings() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("keys");
        let first = ProductionKeys::create(&directory, &SystemEntropy).unwrap();
        let names = [IDENTITY, VAULT, OPERATOR, BASE[0], BASE[1], SOLANA[0], SOLANA[1]];
        for name in names {
            assert_eq!(
                std::fs::metadata(directory.join(name)).unwrap().mode() & 0o777,
                0o600,
                "{name}"
            );
        }
        let again = ProductionKeys::create(&directory, &SystemEntropy).unwrap();
        assert_eq!(again.settings(), first.settings());
        let read: toml::Table = first.settings().parse().unwrap();
        assert_eq!(
            read["payment"]["pay_to"]["base"].as_str().unwrap(),
            first.base[0].address()
        );
        assert_ne!(first.base[0], first.base[1]);
        assert_ne!(first.solana[0], first.solana[1]);
        // An existing file with other content is not replaced.
        std::fs::write(directory.join(BASE[1]), "not a key").unwrap();
        assert!(ProductionKeys::create(&directory, &SystemEntropy).is_err());
        assert_eq!(std::fs::read_to_string(directory.join(BASE[1])).unwrap(), "not a key");
    }
}
