//! Payouts over HTTP: to cards, banks and apps, with faulty rails.

use purser_actors::id::Network;
use serde_json::json;

use super::agent::Agent;
use super::host::Host;
use super::http::ServiceClient;
use super::precedence_table::snapshot;
use super::recipient::{
    ACCOUNT, ROUTING, balance_is, debit_card, enter, payout_event_types, recipient, register, status,
    wait_for_payout_status,
};
use super::request::{Request, recorded};

fn quick() -> Host {
    Host::new().with("PURSER_SANDBOX__PAYOUT_DELAY_MS", "10")
}

fn to_bank(amount: &str, destination: &str) -> String {
    format!("/send-bank-payment?amount={amount}&destination_id={destination}")
}

/// A wrong digit, no number, no month, a past month, a foreign bank, a card that no rail pays to.
fn wrong_cards(card: &str) -> [(String, &'static str); 6] {
    [
        ("4000008400000012".into(), "12/31"),
        ("hello".into(), "12/31"),
        (card.into(), "13/31"),
        (card.into(), "01/20"),
        (debit_card("276"), "12/31"),
        ("4111111111111111".into(), "12/31"),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn payment_token_does_not_show_other_payout_links() {
    // Checks: the form decides who is paid, and a hostile seller may have relayed a payment. So its token sees only the
    // link of that payment; a signed-in wallet sees all of its own.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    for network in Network::ALL {
        let agent = Agent::new(network);
        let bought = agent.buy(&site, "/get-push-to-card?amount=25&currency=USD").await;
        let (payout, link) = (bought.str("payout_id").unwrap(), bought.str("redemption_url"));
        let later = agent.buy(&site, "/get-card?amount=5").await;
        for (bought, shown) in [(&bought, link), (&later, None)] {
            let token = bought.body["auth"]["id_token"].as_str().unwrap();
            let seen = status(&site, token, payout).await;
            assert_eq!((seen.status, seen.str("redemption_url")), (200, shown), "{}", seen.text);
        }
        let own = status(&site, &agent.token(&site).await, payout).await;
        assert!(link.is_some() && own.str("redemption_url") == link, "{}", own.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn push_to_card_pays_the_card_its_recipient_enters() {
    // Checks: on both chains only the paying call gets the link, the form accepts one valid card and the payer sees
    // every state. No number appears in responses, events or logs.
    let host = quick();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let card = debit_card("840");
    for network in Network::ALL {
        let agent = Agent::new(network);
        let mut buy = Request::new("GET", "/get-push-to-card")
            .with("amount", "25")
            .with("currency", "USD");
        buy.header("payment-signature", &agent.payment(&site, &buy.target()).await);
        let bought = buy.send_and_check(&site).await;
        assert_eq!(bought.status, 200, "{}", bought.text);
        snapshot(
            &format!("get-push-to-card.200-bought-{}", network.name()),
            &recorded(&bought),
        );
        let (payout, link) = (bought.str("payout_id").unwrap(), bought.str("redemption_url").unwrap());
        let again = buy.send_and_check(&site).await;
        assert_eq!(
            (again.str("payout_id"), again.str("redemption_url")),
            (Some(payout), None)
        );

        let token = bought.body["auth"]["id_token"].as_str().unwrap();
        let waiting = status(&site, token, payout).await;
        assert_eq!(
            waiting.str("redemption_url"),
            Some(link),
            "the payer can pass it on again"
        );
        let (_, path) = link.split_once("/redeem").unwrap();
        let page = site.get(&format!("/redeem{path}"), &[]).await;
        assert!(page.status == 200 && page.text.contains("25.00 USD"), "{}", page.text);
        for (number, expiry) in wrong_cards(&card) {
            let refused = enter(&site, link, &number, expiry).await;
            assert_eq!(refused.status, 422, "{number} {expiry}: {}", refused.text);
            assert!(!refused.text.contains(&number));
        }
        assert_eq!(
            status(&site, token, payout).await.str("status"),
            Some("awaiting-details")
        );
        let taken = enter(&site, link, &card, "12/31").await;
        assert_eq!(taken.status, 200, "{}", taken.text);
        assert_eq!(enter(&site, link, &card, "12/31").await.status, 409);
        let done = wait_for_payout_status(&site, token, payout, "complete").await;
        assert_eq!(done["card_last4"], card[12..]);
        assert!(done.get("redemption_url").is_none());
        let other = Agent::new(network).token(&site).await;
        assert_eq!(status(&site, &other, payout).await.code(), "payout_access_denied");
        assert_eq!(
            payout_event_types(&site, token).await,
            [
                "payout.awaiting-details",
                "payout.queued",
                "payout.in-process",
                "payout.complete"
            ]
        );
        let events = format!("{:?}", site.events(token, 0).await);
        assert!(!events.contains(&card) && !events.contains("key="));
    }
    drop(site);
    service.stop();
    assert!(!host.logged().contains(&card) && !host.logged().contains("redeem?"));
    assert_eq!(host.assert_verified()["entities"]["payouts"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn payout_card_country_must_match_currency() {
    // Checks: a card from a country of each currency is accepted for that currency and rejected for the two others.
    let service = quick().start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    for (currency, country) in [("USD", "840"), ("EUR", "276"), ("GBP", "826")] {
        let path = format!("/get-push-to-card?amount=10&currency={currency}");
        let bought = agent.buy(&site, &path).await;
        let link = bought.str("redemption_url").unwrap();
        for other in ["840", "276", "826", "392"]
            .into_iter()
            .filter(|other| *other != country)
        {
            assert_eq!(enter(&site, link, &debit_card(other), "12/31").await.status, 422);
        }
        assert_eq!(enter(&site, link, &debit_card(country), "12/31").await.status, 200);
        let token = agent.token(&site).await;
        let done = wait_for_payout_status(&site, &token, bought.str("payout_id").unwrap(), "complete").await;
        assert_eq!((&done["currency"], &done["amount"]), (&json!(currency), &json!(10)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unfilled_recipient_form_expires_and_credits_the_charge() {
    // Checks: after expiry the whole charge is on the balance and the link accepts no card, also across a kill.
    let host = quick().with("PURSER_PAYOUTS__RECIPIENT_FORM_TTL_SECONDS", "1");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Solana);
    let bought = agent.buy(&site, "/get-push-to-card?amount=25&currency=USD").await;
    let (payout, link) = (bought.str("payout_id").unwrap(), bought.str("redemption_url").unwrap());
    let token = agent.token(&site).await;
    let ended = wait_for_payout_status(&site, &token, payout, "expired").await;
    assert_eq!(ended["credited_amount"].to_string(), "26.5");
    balance_is(&site, &token, "26.5").await;
    assert_eq!(enter(&site, link, &debit_card("840"), "12/31").await.status, 409);
    service.kill();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let token = agent.token(&site).await;
    balance_is(&site, &token, "26.5").await;
    assert_eq!(
        payout_event_types(&site, &token).await,
        ["payout.awaiting-details", "payout.expired"]
    );
    site.wait_for_events(&token, &["balance.credited"]).await;
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn case_25_payout_fees_match_the_contract_at_both_limits() {
    // Checks: fees and ranges of the three products in every currency. One unit beyond each limit is rejected. The fee
    // is in the currency of the amount, and the conversion rounds up.
    let service = quick().start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let bank = to_bank("", &register(&site, &agent).await);
    let app = "/send-payment?platform=venmo&recipient_id=@ada&recipient_first_name=Ada&recipient_last_name=L\
               &recipient_email=ada@example.com";
    let asks = async |path: &str, amount: &str| {
        let path = match path.contains("amount=&") {
            true => path.replace("amount=&", &format!("amount={amount}&")),
            false => format!("{path}&amount={amount}"),
        };
        let answer = site.get(&path, &[]).await;
        let price = answer.body["accepts"][0]["amount"].as_str().map(str::to_owned);
        price.unwrap_or_else(|| answer.code().to_owned())
    };
    let push = |currency: &str| format!("/get-push-to-card?currency={currency}");
    let (usd, eur, gbp) = (push("USD"), push("EUR"), push("GBP"));
    for (path, amount, price) in [
        (&bank, "10", "11500000"),
        (&bank, "2000", "2005000000"),
        (&bank, "50000", "50125000000"),
        (&usd, "10", "11500000"),
        (&usd, "9541.98", "10000000000"),
        // 11.50 EUR at 1.0842, and 10,000.00 EUR.
        (&eur, "10", "12470000"),
        (&eur, "9541.98", "10842000000"),
        (&gbp, "10", "14580000"),
        (&gbp, "9541.98", "12675000000"),
        (&app.to_owned(), "5", "6500000"),
        (&app.to_owned(), "1000", "1049000000"),
    ] {
        assert_eq!(asks(path, amount).await, price, "{path} {amount}");
    }
    for (path, low, high) in [
        (&bank, "9.99", "50000.01"),
        (&usd, "9.99", "9541.99"),
        (&eur, "9.99", "9541.99"),
        (&gbp, "9.99", "9541.99"),
        (&app.to_owned(), "4.99", "1000.01"),
    ] {
        for amount in [low, high] {
            assert_eq!(asks(path, amount).await, "amount_out_of_range", "{path} {amount}");
        }
        for (amount, code) in [
            ("10.001", "amount_invalid"),
            ("1e2", "amount_invalid"),
            ("-10", "amount_invalid"),
        ] {
            assert_eq!(asks(path, amount).await, code, "{path} {amount}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn case_48_other_wallets_payouts_and_destinations_are_inaccessible() {
    // Checks: with the ids of another account, each route gives 403 or 404 as specified, nothing is charged and no list
    // shows them.
    let service = quick().start();
    let site = ServiceClient::of(&service);
    let users = [Agent::new(Network::Base), Agent::new(Network::Solana)];
    let mut own = Vec::new();
    for user in &users {
        let destination = register(&site, user).await;
        let bought = user.buy(&site, &to_bank("50", &destination)).await;
        let payout = bought.body["bank_payment"]["payout_id"].as_str().unwrap().to_owned();
        own.push((destination, payout, user.token(&site).await));
    }
    let moved = site.transfers().await.len();
    for (one, two) in [(0, 1), (1, 0)] {
        let (destination, payout, _) = &own[two];
        let token = &own[one].2;
        let refused = users[one].buy(&site, &to_bank("50", destination)).await;
        assert_eq!((refused.status, refused.code()), (404, "destination_not_found"));
        let refused = status(&site, token, payout).await;
        assert_eq!((refused.status, refused.code()), (403, "payout_access_denied"));
        for list in ["/bank-recipients", "/get-payment-status", "/payment-recipients"] {
            let listed = site.get_as(token, list).await;
            assert!(listed.status == 200 && !listed.text.contains(destination) && !listed.text.contains(payout));
        }
        assert_eq!(
            status(&site, token, "po_00000000000000000000000000000001").await.status,
            404
        );
    }
    assert_eq!(site.transfers().await.len(), moved, "nothing was charged");
}

#[tokio::test(flavor = "multi_thread")]
async fn bank_destinations_are_checked_listed_and_inert() {
    // Checks: invalid checksums and lengths are rejected as a whole. The list shows four digits and has pages. Markup
    // stays text.
    let service = quick().start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    for (routing, account) in [
        ("021000022", ACCOUNT),
        ("02100002", ACCOUNT),
        (ROUTING, "123"),
        (ROUTING, "123456789012345678"),
        (ROUTING, "12a4"),
    ] {
        let refused = site
            .post("/sandbox/bank-recipients", &recipient(&agent, routing, account))
            .await;
        assert_eq!(
            (refused.status, refused.code()),
            (400, "parameter_invalid"),
            "{routing} {account}"
        );
    }
    let iban = |iban: &str| {
        json!({"wallet": agent.address(), "name": "Ada", "destinations": [
            {"destination_type": "fiat_iban", "bank_name": "Bank", "iban": iban}]})
    };
    let refused = site
        .post("/sandbox/bank-recipients", &iban("DE89370400440532013001"))
        .await;
    assert_eq!(refused.code(), "parameter_invalid");
    let first = register(&site, &agent).await;
    // The list is ordered by time, to the millisecond.
    tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    let german = site
        .post("/sandbox/bank-recipients", &iban("DE89370400440532013000"))
        .await;
    let german = german.body["destination_ids"][0].as_str().unwrap();
    let token = agent.token(&site).await;
    let list = site.get_as(&token, "/bank-recipients").await;
    let recipients = list.body["recipients"].as_array().unwrap();
    assert_eq!(recipients.len(), 2, "{}", list.text);
    assert_eq!(recipients[0]["destinations"][0]["account_number_last4"], ACCOUNT[8..]);
    assert!(
        !list.text.contains(ACCOUNT) && !list.text.contains('<'),
        "{}",
        list.text
    );
    let page = site.get_as(&token, "/bank-recipients?limit=1").await;
    assert_eq!(page.body["has_more"], true);
    let next = site
        .get_as(&token, &format!("/bank-recipients?starting_after={first}"))
        .await;
    assert_eq!(next.body["recipients"][0]["destinations"][0]["destination_id"], german);
    // A foreign account is listed, but receives no bank payment.
    let refused = agent.buy(&site, &to_bank("50", german)).await;
    assert_eq!((refused.status, refused.code()), (404, "destination_not_found"));
}

#[tokio::test(flavor = "multi_thread")]
async fn recipient_reads_the_senders_message() {
    // Checks: the form shows the message as text, and the payer's payout has it. A payment for one message does not buy
    // another. An unreadable or too long message is rejected before anything is charged.
    let service = quick().start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let path = |message: &str| format!("/get-push-to-card?amount=25&currency=USD&message={message}");
    let bought = agent.buy(&site, &path("March%20%3Cb%3Erent")).await;
    let link = bought.str("redemption_url").unwrap();
    let (_, query) = link.split_once("/redeem").unwrap();
    let page = site.get(&format!("/redeem{query}"), &[]).await;
    assert!(
        page.status == 200 && page.text.contains("March &lt;b&gt;rent"),
        "{}",
        page.text
    );
    let token = agent.token(&site).await;
    let payout = status(&site, &token, bought.str("payout_id").unwrap()).await;
    assert_eq!(payout.str("message"), Some("March <b>rent"));

    let payment = agent.payment(&site, &path("One")).await;
    assert_eq!(Agent::pay(&site, &path("One"), &payment).await.status, 200);
    let other = Agent::pay(&site, &path("Another"), &payment).await;
    assert_eq!(other.status, 409, "{}", other.text);
    for wrong in ["%E2%80%AE", "", &"x".repeat(141)] {
        let refused = site.get(&path(wrong), &[]).await;
        assert_eq!(
            (refused.status, refused.code()),
            (400, "parameter_invalid"),
            "{}",
            refused.text
        );
    }
}
