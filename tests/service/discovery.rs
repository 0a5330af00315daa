//! Documents that programs read to discover the service.

use std::collections::BTreeSet;

use serde_json::Value;

use super::host::Host;
use super::http::ServiceClient;

#[tokio::test(flavor = "multi_thread")]
async fn guide_lists_every_route_and_every_sample_returns_its_price() {
    // Checks: /llms.txt lists every operation with its parameters, except provider callbacks and browser pages.
    // /.well-known/x402 lists all paid routes, each as a URL that returns 402 without a charge. Made-up sample ids are
    // marked, and errors before and after signing are named.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let openapi = site.document().await;
    let guide = site.get("/llms.txt", &[]).await;
    let (mut operations, mut paid) = (0, 0);
    let mut ids = BTreeSet::new();
    for (path, methods) in openapi["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let id = operation["operationId"].as_str().unwrap();
            assert!(ids.insert(id.to_owned()), "{id} names two operations");
            let named = format!("`{} {path}`", method.to_uppercase());
            if path.ends_with("-callback") {
                assert!(!guide.text.contains(path), "{named} is in the guide");
                continue;
            }
            if operation["tags"][0] == "Account pages" {
                assert!(
                    !guide.text.contains(&named) && guide.text.contains(path),
                    "{named} is a page"
                );
                continue;
            }
            let item = format!("- {named}");
            let line = guide.text.lines().find(|line| line.starts_with(&item));
            let line = line.unwrap_or_else(|| panic!("{named} is not in the guide"));
            has_its_parameters(line, operation);
            operations += 1;
            paid += usize::from(operation.get("x-payment-info").is_some());
        }
    }
    assert_eq!(
        guide.text.lines().filter(|line| line.starts_with("- `")).count(),
        operations
    );

    let listed = site.get("/.well-known/x402", &[]).await;
    let resources = listed.body["resources"].as_array().unwrap();
    assert_eq!((resources.len(), paid), (7, 7), "{}", listed.text);
    assert!(listed.text.contains("GET /bank-recipients"), "{}", listed.text);
    let skill = site.get("/skill.md", &[]).await;
    assert!(
        skill.text.starts_with("---\nname: purser\ndescription: "),
        "{}",
        skill.text
    );
    assert_samples_marked(&skill.text, &guide.text);
    for resource in resources {
        let url = resource.as_str().unwrap();
        assert!(skill.text.contains(url) && guide.text.contains(url), "{url}");
        let path = url.strip_prefix(&format!("http://{}", service.authority())).unwrap();
        let answer = site.get(path, &[]).await;
        assert_eq!(answer.status, 402, "{path}: {}", answer.text);
        assert!(answer.header("payment-required").is_some(), "{path}");
    }
    assert_eq!(site.transfers().await, Vec::<Value>::new());
}

/// Sample ids are marked as made up, and the errors before and after signing are named.
fn assert_samples_marked(skill: &str, guide: &str) {
    for page in [skill, guide] {
        let mut lines = page.lines();
        let sample = lines.find(|line| line.contains("destination_id=dst_0123")).unwrap();
        assert!(
            sample.contains("made up") && sample.contains("GET /bank-recipients"),
            "{sample}"
        );
    }
    for code in [
        "identity_verification_required",
        "issuer_not_linked",
        "product_unavailable",
    ] {
        assert!(skill.contains(code), "{code}");
    }
}

/// An operation's line lists its query parameters and no headers.
fn has_its_parameters(line: &str, operation: &Value) {
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let name = parameter["name"].as_str().unwrap();
        assert_eq!(
            line.contains(&format!("`{name}`")),
            parameter["in"] == "query",
            "{line}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn front_page_links_work() {
    // Checks: The address that the service prints serves a page to browsers and JSON to other clients. Both have the
    // same links, and each link works.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let json = site.get("/", &[]).await;
    assert_eq!(
        (json.status, json.header("content-type")),
        (200, Some("application/json"))
    );
    let page = site
        .get("/", &[("accept", "text/html,application/xhtml+xml,*/*;q=0.8")])
        .await;
    assert_eq!(
        (page.status, page.header("content-type")),
        (200, Some("text/html; charset=utf-8"))
    );
    assert!(!page.text.contains("<script"), "{}", page.text);
    let base = format!("http://{}", service.authority());
    let links = json.body["links"].as_object().unwrap();
    for name in ["guide", "openapi", "pricing", "version"] {
        assert!(links.contains_key(name), "{}", json.text);
    }
    for link in links.values() {
        let path = link.as_str().unwrap().strip_prefix(&base).unwrap();
        assert!(page.text.contains(&format!("href=\"{path}\"")), "{path}: {}", page.text);
        assert_eq!(site.get(path, &[]).await.status, 200, "{path}");
    }
    assert_eq!(site.get("/login", &[]).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn api_catalog_links_work() {
    // Checks: RFC 9727: each link of the catalog returns 200 with its declared type. HEAD returns the link.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let catalog = site.get("/.well-known/api-catalog", &[]).await;
    let kind = catalog.header("content-type").unwrap();
    assert!(kind.starts_with("application/linkset+json; profile="), "{kind}");
    let context = catalog.body["linkset"][0].as_object().unwrap();
    let base = format!("http://{}", service.authority());
    assert_eq!(context["anchor"], format!("{base}/"));
    let mut followed = 0;
    for (relation, links) in context.iter().filter(|(name, _)| *name != "anchor") {
        for link in links.as_array().unwrap() {
            let path = link["href"].as_str().unwrap().strip_prefix(&base).unwrap();
            let answer = site.get(path, &[]).await;
            assert_eq!(answer.status, 200, "{relation}: {link}");
            followed += 1;
        }
    }
    assert_eq!(followed, 5);
    let head = super::http::send(site.request("HEAD", "/.well-known/api-catalog"))
        .await
        .unwrap();
    assert_eq!(
        (head.status, head.header("link")),
        (200, Some("</.well-known/api-catalog>; rel=\"api-catalog\""))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn deprecated_route_is_announced_everywhere() {
    // Checks: A route that the settings deprecate is announced in its responses, in /version and in /openapi.json.
    // Without a date there is no Sunset header. Other routes announce nothing.
    let host = Host::new().with(
        "PURSER_VERSIONS__DEPRECATED_ROUTES",
        r#"[{ route = "/get-payment", successor = "/events" }, { route = "/refresh", successor = "/auth", sunset = "2028-02-29" }]"#,
    );
    let service = host.start();
    let site = ServiceClient::of(&service);
    let payment = site.get("/get-payment", &[]).await;
    assert_eq!((payment.status, payment.header("deprecation")), (400, Some("true")));
    assert_eq!(payment.header("link"), Some("</events>; rel=\"successor-version\""));
    assert_eq!(payment.header("sunset"), None);
    let refresh = site.post("/refresh", &serde_json::json!({})).await;
    assert_eq!(refresh.header("sunset"), Some("Tue, 29 Feb 2028 00:00:00 GMT"));
    let version = site.get("/version", &[]).await;
    assert_eq!(
        version.body["policy"]["deprecated_routes"],
        serde_json::json!([
            {"route": "/get-payment", "successor": "/events"},
            {"route": "/refresh", "successor": "/auth", "sunset": "Tue, 29 Feb 2028 00:00:00 GMT"},
        ])
    );
    assert_eq!(version.header("deprecation"), None);
    let openapi = site.get("/openapi.json", &[]).await;
    let of = |path: &str, method: &str| openapi.body["paths"][path][method]["deprecated"] == true;
    assert!(of("/get-payment", "get") && of("/refresh", "post") && !of("/auth", "post"));
}

#[tokio::test]
async fn price_in_a_browser_is_a_page() {
    // Checks: a browser that opens a paid route gets a page with the price, the command that pays and the challenge, and
    // the status and headers of every other client. A client that names JSON, or presents a payment, gets JSON.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let ask = async |accept: &str| site.get("/get-card?amount=5", &[("accept", accept)]).await;
    let page = ask("text/html,application/xhtml+xml,*/*;q=0.8").await;
    let json = ask("*/*").await;
    assert_eq!(
        (page.status, page.header("content-type")),
        (402, Some("text/html; charset=utf-8")),
        "{}",
        page.text
    );
    for name in ["payment-required", "cache-control"] {
        assert!(page.header(name).is_some(), "{name}");
        assert_eq!(page.header(name), json.header(name), "{name}");
    }
    assert!(page.header("www-authenticate").unwrap().starts_with("Payment "));
    assert!(
        page.text.contains("5.00 USDC") && page.text.contains("purser pay --max-usd 5.00"),
        "{}",
        page.text
    );
    assert!(
        page.text.contains("x402Version") && !page.text.contains("<script"),
        "{}",
        page.text
    );
    // So are errors of what a browser opens, except for clients that name JSON, and for what needs a token.
    for (path, status, words) in [
        ("/get-card?amount=2", 400, "<h1>That did not work</h1>"),
        ("/nothing", 404, "<h1>There is no such page</h1>"),
    ] {
        let page = site
            .get(path, &[("accept", "text/html,application/xhtml+xml,*/*;q=0.8")])
            .await;
        assert_eq!(
            (page.status, page.header("content-type")),
            (status, Some("text/html; charset=utf-8")),
            "{path}: {}",
            page.text
        );
        assert!(
            page.text.contains(words) && page.header("request-id").is_some(),
            "{}",
            page.text
        );
        let json = site.get(path, &[("accept", "application/json")]).await;
        assert!(json.status == status && json.code() != "", "{}", json.text);
    }
    let balance = site.get("/get-account-balance", &[("accept", "text/html")]).await;
    assert_eq!((balance.status, balance.code()), (401, "token_missing"));
    for accept in ["application/json, text/html", "text/html, application/problem+json"] {
        let other = ask(accept).await;
        assert!(
            other.status == 402 && other.body["accepts"].is_array(),
            "{accept}: {}",
            other.text
        );
    }
    let paid = site
        .get(
            "/get-card?amount=5",
            &[("accept", "text/html"), ("payment-signature", "bm9uZQ==")],
        )
        .await;
    assert!(
        paid.header("content-type").is_some_and(|kind| kind.contains("json")),
        "{}",
        paid.text
    );
}
