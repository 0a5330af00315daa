//! Settings at startup: all errors at once, JSON logs, and ports that are taken.

use serde_json::Value;

use super::host::{Host, text};

#[test]
fn all_setting_errors_are_reported_together() {
    // Checks: `config check` and `serve` report every missing or invalid setting by its key and exit with 2. Valid
    // settings pass.
    let host = Host::new();
    let fine = host.run(&["config", "check"]);
    assert!(fine.status.success() && text(&fine).contains("ok"), "{}", text(&fine));
    let file = host.sibling_path("wrong.toml");
    let wrong = "mode = \"production\"\n[server]\nlisen = \"x\"\nmax_connections = \"7\"\n[caps]\ntop_up_usd_per_day = \"1.234\"\n\
                 [products.gift_card]\nfee_rate = \"4.8\"\n[log]\nformat = \"xml\"\n";
    std::fs::write(&file, wrong).unwrap();
    for command in [&["config", "check"][..], &["serve"]] {
        let path = file.display().to_string();
        let output = host.run(&[command, &["--config", &path]].concat());
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
        for key in [
            "`server.lisen`; did you mean `listen`?",
            "`server.max_connections`",
            "`caps.top_up_usd_per_day`",
            "`products.gift_card.fee_rate`",
            "`log.format`",
            "`payment.pay_to.base`",
            "`payment.pay_to.solana`",
            "`identity.signing_key_file`",
            "`identity.vault_key_file`",
            "`server.public_url`",
            "`settlement.kind`",
            "`providers.issuer.url`",
        ] {
            let lines = String::from_utf8_lossy(&output.stderr);
            let named = lines.lines().filter(|line| line.contains(key)).count();
            assert!(named > 0, "{key} is not named: {lines}");
        }
    }
    assert!(!host.data().exists(), "nothing was made");
}

#[test]
fn logs_are_json_by_a_setting() {
    // Checks: each line is an object with level, message and time. Errors of the settings stay plain text.
    let host = Host::new().with("PURSER_LOG__FORMAT", "json");
    let service = host.start();
    service.stop();
    let logged = host.logged();
    assert!(!logged.is_empty());
    for line in logged.lines() {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
        assert!(
            line["level"].is_string() && line["timestamp"].is_string() && line["message"].is_string(),
            "{line}"
        );
    }
}

#[test]
fn second_service_takes_free_ports_without_a_setting() {
    // Checks: when the default ports are taken, the service uses the next free ones and reports them. `purser admin`
    // finds each service by its data directory. A configured port is never changed.
    let bare = || {
        let mut host = Host::new();
        host.unset("PURSER_OPERATOR__LISTEN");
        host
    };
    let (one, two) = (bare(), bare());
    let first = one.start_with_no_address();
    let second = two.start_with_no_address();
    assert!(
        first.url != second.url && first.operator != second.operator,
        "{}",
        second.url
    );
    assert!(two.logged().contains("the port is taken"), "{}", two.logged());
    for (host, service) in [(&one, &first), (&two, &second)] {
        let shown = host.run(&["admin", "system"]);
        assert!(shown.status.success(), "{}", text(&shown));
        let address = std::fs::read_to_string(host.data().join("operator.address")).unwrap();
        assert_eq!(
            format!("http://{}", address.trim()),
            *service.operator.as_ref().unwrap()
        );
    }
    let taken = first
        .operator
        .as_ref()
        .unwrap()
        .trim_start_matches("http://")
        .to_owned();
    let chosen = Host::new().with("PURSER_OPERATOR__LISTEN", &taken);
    let refused = chosen.try_start().err().unwrap();
    assert!(refused.contains("operator.listen"), "{refused}");
}
