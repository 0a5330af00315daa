//! The pages of the web apps and their built files, as they are served.

use std::collections::BTreeSet;

use super::host::{Host, Service};
use super::http::{ServiceClient, client};

/// A response with its body as bytes.
struct Served {
    status: u16,
    headers: http::HeaderMap,
    bytes: Vec<u8>,
}

impl Served {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes).unwrap()
    }
}

async fn get(url: String, headers: &[(&str, &str)]) -> Served {
    let request = headers.iter().fold(client().get(url), |request, (name, value)| {
        request.header(*name, *value)
    });
    let response = request.send().await.unwrap();
    Served {
        status: response.status().as_u16(),
        headers: response.headers().clone(),
        bytes: response.bytes().await.unwrap().to_vec(),
    }
}

fn public(service: &Service, path: &str) -> String {
    format!("{}{path}", service.url)
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_the_web_apps_are_the_same_for_everybody() {
    // Checks: each address of an app serves the same page, which allows no script, style or connection but our own and
    // no frame, is asked for again, and has no data. Each app is at its own address only.
    let host = Host::new();
    let service = host.start();
    let dashboard = get(public(&service, "/dashboard"), &[]).await;
    let desk = get(service.operator_url("/desk"), &[]).await;
    for page in [&dashboard, &desk] {
        assert_eq!(page.status, 200);
        assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
        let policy = page.header("content-security-policy");
        for part in [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "connect-src 'self'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
            "form-action 'self'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ] {
            assert!(policy.split("; ").any(|given| given == part), "{part}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(page.header("referrer-policy"), "no-referrer");
        assert_eq!(page.header("x-content-type-options"), "nosniff");
        assert_eq!(page.header("x-frame-options"), "DENY");
        assert_eq!(page.header("cross-origin-opener-policy"), "same-origin");
        assert_eq!(page.header("cache-control"), "private, no-cache");
        assert!(page.headers.get("set-cookie").is_none());
    }
    for path in ["/dashboard/cards", "/dashboard/cards/card_1", "/dashboard?x=1"] {
        let other = get(public(&service, path), &[("cookie", "purser=none")]).await;
        assert_eq!((other.status, &other.bytes), (200, &dashboard.bytes), "{path}");
    }
    let again = [("if-none-match", dashboard.header("etag"))];
    let known = get(public(&service, "/dashboard"), &again).await;
    assert_eq!((known.status, known.bytes.len()), (304, 0));
    // As the document says.
    let site = ServiceClient::of(&service);
    assert_eq!(site.get("/dashboard", &[]).await.status, 200);
    assert_eq!(site.get("/dashboard", &again).await.status, 304);
    for path in ["/desk/orders", "/desk/orders/card_1"] {
        let other = get(service.operator_url(path), &[]).await;
        assert_eq!((other.status, &other.bytes), (200, &desk.bytes), "{path}");
    }
    // A slash at the end leads to the page without it.
    let ends_with_slash = [
        (public(&service, "/dashboard/"), "/dashboard"),
        (public(&service, "/dashboard/cards/?x=1"), "/dashboard/cards?x=1"),
        (service.operator_url("/desk/"), "/desk"),
        (service.operator_url("/desk/orders/card_1/"), "/desk/orders/card_1"),
    ];
    for (url, leads_to) in ends_with_slash {
        let led = get(url.clone(), &[]).await;
        assert_eq!((led.status, led.header("location")), (308, leads_to), "{url}");
    }
    for absent in [
        public(&service, "/desk"),
        public(&service, "/dashboard/a/b/c"),
        service.operator_url("/dashboard"),
    ] {
        assert_eq!(get(absent.clone(), &[]).await.status, 404, "{absent}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn built_files_are_served_compressed_and_for_a_year() {
    // Checks: every file that a page or another file names is served with its type, compressed for clients that read
    // it, and stored for a year. A known one is not sent again. A page is not a file, and nothing else is served.
    let host = Host::new();
    let service = host.start();
    let mut to_read: Vec<String> = Vec::new();
    for page in [public(&service, "/dashboard"), service.operator_url("/desk")] {
        to_read.extend(names(get(page, &[]).await.text()));
    }
    let mut read = BTreeSet::new();
    while let Some(name) = to_read.pop() {
        if !read.insert(name.clone()) {
            continue;
        }
        let url = public(&service, &format!("/assets/{name}"));
        let plain = get(url.clone(), &[]).await;
        assert_eq!(plain.status, 200, "{name}");
        let kind = match name.rsplit_once('.').unwrap().1 {
            "js" => "text/javascript; charset=utf-8",
            "css" => "text/css; charset=utf-8",
            "svg" => "image/svg+xml",
            "woff2" => "font/woff2",
            other => panic!("{other}"),
        };
        assert_eq!(plain.header("content-type"), kind, "{name}");
        assert_eq!(plain.header("cache-control"), "public, max-age=31536000, immutable");
        assert_eq!(plain.header("vary"), "Accept-Encoding");
        assert_eq!(plain.header("content-encoding"), "");
        let packed = get(url.clone(), &[("accept-encoding", "br, gzip")]).await;
        let is_font = name.ends_with("woff2");
        assert_eq!(
            packed.header("content-encoding"),
            if is_font { "" } else { "gzip" },
            "{name}"
        );
        assert!(is_font || packed.bytes.starts_with(&[0x1f, 0x8b]), "{name}");
        assert!(is_font || packed.header("etag") != plain.header("etag"), "{name}");
        let known = get(url, &[("if-none-match", plain.header("etag"))]).await;
        assert_eq!((known.status, known.bytes.len()), (304, 0), "{name}");
        let operators = get(service.operator_url(&format!("/assets/{name}")), &[]).await;
        assert_eq!(
            (operators.status, operators.bytes),
            (200, plain.bytes.clone()),
            "{name}"
        );
        if !is_font {
            to_read.extend(names(plain.text()));
        }
    }
    assert!(read.len() > 10, "{read:?}");
    for absent in [
        "/assets/",
        "/assets/none.js",
        "/assets/holder.html",
        "/assets/files.rs",
        "/assets/..%2fholder.html",
    ] {
        assert_eq!(get(public(&service, absent), &[]).await.status, 404, "{absent}");
    }
}

/// The built files that a text names.
fn names(text: &str) -> Vec<String> {
    let ends = |c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c));
    let named = text
        .split("/assets/")
        .skip(1)
        .filter_map(|rest| rest.split(ends).next());
    named.map(str::to_owned).collect()
}
