//! The client's commands against a small server that answers by our own challenge and verification.

mod server;
mod typing;

use std::path::Path;

use clap::Parser as _;
use purser::cli::{CliError, listen, pay};
use purser_actors::id::Wallet;
use serde_json::json;

use self::server::Server;

#[derive(clap::Parser)]
struct PayCommand {
    #[command(flatten)]
    args: pay::Args,
}

fn pay_args(folder: &Path, url: &str, more: &[&str]) -> pay::Args {
    let wallet = folder.join("wallet.json").display().to_string();
    PayCommand::parse_from([&["pay", url, "--wallet", &wallet][..], more].concat()).args
}

#[tokio::test]
async fn a_payment_is_signed_once_and_sent_until_it_is_settled() {
    // Checks: after 202 the client polls the status and sends the same payment again. It stores the tokens in a private
    // file and reads the card with them, without signing in. It reads the number only for --show, because the owner is
    // notified of that.
    let (server, _streams) = Server::start().await;
    let folder = tempfile::tempdir().unwrap();
    pay::run(pay_args(
        folder.path(),
        &server.url("/get-card?amount=5"),
        &["--json", "--wait"],
    ))
    .await
    .unwrap();

    let seen = server.requests.lock().unwrap().clone();
    assert_eq!(seen.len(), 5, "{seen:?}");
    assert_eq!((seen[0].as_str(), seen[2].as_str()), ("asked", "status"));
    assert!(seen[1].starts_with("paid ") && seen[1] == seen[3], "one payment, twice");
    assert_eq!(seen[4], "card data Bearer good card_id=card_1&details=false");
    // Who asks for the number waits for it.
    let show = pay_args(
        folder.path(),
        &server.url("/get-card?amount=5"),
        &["--json", "--show-details"],
    );
    pay::run(show).await.unwrap();
    let seen = server.requests.lock().unwrap().clone();
    assert_eq!(seen.last().unwrap(), "card data Bearer good card_id=card_1");
    let tokens = folder.path().join("wallet.tokens.json");
    assert!(
        std::fs::read_to_string(&tokens)
            .unwrap()
            .contains("\"refresh_token\":\"r1\"")
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&tokens).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[tokio::test]
async fn mpp_flag_answers_the_mpp_challenge() {
    // Checks: one credential answers the MPP challenge, once. The maximum price applies too, and Solana has no MPP.
    let (server, _streams) = Server::start().await;
    let folder = tempfile::tempdir().unwrap();
    let url = server.url("/get-card?amount=5");
    let run = |more: &[&str]| pay::run(pay_args(folder.path(), &url, more));
    run(&["--json", "--mpp"]).await.unwrap();
    let seen = server.requests.lock().unwrap().clone();
    assert_eq!(seen.len(), 2, "{seen:?}");
    assert!(seen[0] == "asked" && seen[1].starts_with("credential "), "{seen:?}");
    let refused = run(&["--json", "--mpp", "--max-usd", "4.99"]).await;
    assert!(matches!(refused, Err(CliError::TooExpensive { .. })), "{refused:?}");
    assert_eq!(server.requests.lock().unwrap().len(), 3);
    match run(&["--mpp", "--network", "solana"]).await {
        Err(CliError::Usage(message)) => assert!(
            message.contains("Base only") && message.contains("without --mpp"),
            "{message}"
        ),
        other => panic!("{other:?}"),
    }
    run(&["--json", "--mpp", "--network", "base"]).await.unwrap();
    // This server takes no names, and MPP knows none.
    let named = run(&["--payment-identifier", "order-0000000000000001"]).await;
    assert!(matches!(named, Err(CliError::Usage(_))), "{named:?}");
    // What cannot be a name is refused before the server is asked.
    let asked = server.requests.lock().unwrap().len();
    let short = run(&["--payment-identifier", "short"]).await;
    assert!(matches!(short, Err(CliError::Usage(_))), "{short:?}");
    assert_eq!(server.requests.lock().unwrap().len(), asked);
    assert!(
        PayCommand::try_parse_from(["pay", &url, "--mpp", "--payment-identifier", "order-0000000000000001"]).is_err()
    );
}

#[tokio::test]
async fn failed_card_fails_the_command() {
    // Checks: the command prints the purchase and ends with an error that says where the money is.
    let (server, _streams) = Server::start().await;
    let folder = tempfile::tempdir().unwrap();
    let args = pay_args(folder.path(), &server.url("/get-card?fails"), &["--json", "--wait"]);
    match pay::run(args).await {
        Err(error @ CliError::NotDelivered(_)) => {
            let message = error.to_string();
            assert!(
                message.contains("card_failed") && message.contains("account's balance"),
                "{message}"
            );
            assert_eq!(error.exit_status(), 1);
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn command_waits_for_a_card_across_server_outages() {
    // Checks: polls that fail or return "not now" are repeated with the same purchase. An error response ends the wait,
    // and the command fails.
    let (server, _streams) = Server::start().await;
    let folder = tempfile::tempdir().unwrap();
    let run = |query: &str| pay::run(pay_args(folder.path(), &server.url(query), &["--json", "--wait"]));
    run("/get-card?away").await.unwrap();
    let seen = server.requests.lock().unwrap().clone();
    let looks = seen.iter().filter(|what| what.starts_with("card data")).count();
    assert_eq!(looks, 3, "{seen:?}");
    match run("/get-card?gone").await {
        Err(error @ CliError::NotObserved(_)) => {
            assert_eq!(
                error.exit_status(),
                3,
                "a retry after exit status 1 would buy a second card"
            );
            assert!(
                error.to_string().contains("is paid") && error.to_string().contains("404"),
                "{error}"
            );
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn nothing_is_signed_above_the_maximum_price() {
    // Checks: with a maximum one cent below the price the client stops after the challenge. Bad arguments stop it
    // before.
    let (server, _streams) = Server::start().await;
    let folder = tempfile::tempdir().unwrap();
    let url = server.url("/get-card?amount=5");
    let refused = pay::run(pay_args(folder.path(), &url, &["--max-usd", "4.99"]))
        .await
        .unwrap_err();
    assert!(matches!(refused, CliError::TooExpensive { .. }), "{refused}");
    for amount in ["5e1", "-5"] {
        let args = pay_args(folder.path(), &url, &["--max-usd", amount]);
        let refused = pay::run(args).await.unwrap_err();
        assert_eq!(refused.exit_status(), 2, "{refused}");
    }
    let refused = pay::run(pay_args(folder.path(), "ftp://localhost/get-card", &[]))
        .await
        .unwrap_err();
    assert!(refused.to_string().contains("use https:// or http://"), "{refused}");
    let not_offered = pay::run(pay_args(folder.path(), &url, &["--network", "solana"]))
        .await
        .unwrap_err();
    assert!(not_offered.to_string().contains("solana"), "{not_offered}");
    assert_eq!(
        *server.requests.lock().unwrap(),
        ["asked", "asked"],
        "a challenge each for --max-usd 4.99 and solana"
    );
}

#[tokio::test]
async fn listening_signs_in_and_resumes_at_its_cursor() {
    // Checks: the upgrade carries the token, and the first message is the subscription. After a temporary rejection and
    // a lost connection the subscription starts after the last event.
    #[derive(clap::Parser)]
    struct ListenCommand {
        #[command(flatten)]
        args: listen::Args,
    }
    let (server, mut streams) = Server::start().await;
    let folder = tempfile::tempdir().unwrap();
    let wallet = folder.path().join("wallet.json").display().to_string();
    let url = format!("ws://{}", server.address);
    let args = [
        "listen",
        &url,
        "--wallet",
        &wallet,
        "--types",
        "card.ready,card.failed",
        "--after",
        "3",
        "--json",
    ];
    let listening = tokio::spawn(listen::run(ListenCommand::parse_from(args).args));

    let (auth, subscribe) = streams.recv().await.unwrap();
    assert_eq!(auth, "Bearer good");
    assert_eq!(
        subscribe,
        json!({"type": "subscribe", "after": 3, "types": ["card.ready", "card.failed"]})
    );
    let (_, subscribe) = streams.recv().await.unwrap();
    assert_eq!(subscribe["after"], 5);
    listening.abort();
    let signed_in = server
        .requests
        .lock()
        .unwrap()
        .iter()
        .filter(|what| *what == "signed in")
        .count();
    assert_eq!(signed_in, 1, "later connections use the kept token");
}

#[test]
fn each_new_wallet_is_its_own_account() {
    // Checks: each created wallet is a valid, different account on both chains.
    let folder = tempfile::tempdir().unwrap();
    let run = |name: &str| {
        let wallet = folder.path().join(name);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let file = purser::cli::WalletArgs {
            wallet: Some(wallet.clone()),
        };
        runtime
            .block_on(purser::cli::wallet::run(purser::cli::wallet::Args { file, json: true }))
            .unwrap();
        purser::wallet::TestWallet::load(&wallet).unwrap().evm_address()
    };
    let (first, second) = (run("a.json"), run("b.json"));
    assert_ne!(first, second);
    assert!(Wallet::Evm(first).address().parse::<Wallet>().is_ok());
}
