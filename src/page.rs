//! Pages that a browser shows without a script: one frame (head, header, footer, headers of the response) around
//! markup in which every value is escaped.
//!
//! The stylesheet is the only resource besides fonts and the icon, all from this service. The policy permits nothing
//! else, so markup that an attacker could add would neither run nor load anything.

pub(crate) mod fields;
pub(crate) mod icons;
pub(crate) mod json;
mod markup;
pub(crate) mod values;

use std::sync::LazyLock;

use axum::body::Body;
use axum::response::Response;
use http::{HeaderMap, HeaderValue, StatusCode, header};

pub(crate) use self::markup::{Fixed, Html, html};

/// Everything a page may load or do. It has no script.
const POLICY: &str = "default-src 'none'; style-src 'self'; font-src 'self'; img-src 'self'; form-action 'self'; \
                      base-uri 'none'; frame-ancestors 'none'";

/// What `npm run build` wrote, with the names of the files that all pages load.
const MANIFEST: &str = include_str!("web/built/manifest.json");

static FILES: LazyLock<PageFiles> = LazyLock::new(|| {
    let manifest: serde_json::Value = MANIFEST.parse().unwrap_or_default();
    let path = |kind: &str| {
        let name = manifest["plain"][kind].as_str().unwrap_or_default();
        format!("/assets/{name}")
    };
    PageFiles {
        style: path("style"),
        icon: path("icon"),
    }
});

struct PageFiles {
    style: String,
    icon: String,
}

/// What all pages of a service have in common.
#[derive(Clone, Debug)]
pub struct PageFrame {
    /// Host under which clients reach the service.
    host: String,
    sandbox: bool,
    /// Where people reach the operator: an e-mail address or an https:// URL.
    contact: Option<String>,
}

/// Width of a page's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    /// One form or one message.
    Narrow,
    /// A text with a table.
    Middle,
    /// The front page.
    Wide,
}

/// A page before it is put into the frame.
pub(crate) struct Page {
    pub(crate) status: StatusCode,
    /// Escaped like any value.
    pub(crate) title: String,
    pub(crate) width: Width,
    pub(crate) content: Html,
    /// Whether a form of the page has to name its origin. Otherwise nothing is sent of the page's URL, which may hold a
    /// secret.
    pub(crate) names_origin: bool,
}

impl Page {
    /// A page of one form or message, with status 200.
    pub(crate) fn narrow(title: impl Into<String>, content: Html) -> Self {
        Self {
            status: StatusCode::OK,
            title: title.into(),
            width: Width::Narrow,
            content,
            names_origin: false,
        }
    }

    /// A heading and sentences, each a paragraph.
    pub(crate) fn message(status: StatusCode, title: &str, sentences: &[&str]) -> Self {
        let mut sheet = html("<div><h1>{}</h1>", &[&title]);
        for sentence in sentences {
            sheet.add("<p class=\"soft\">{}</p>", &[sentence]);
        }
        sheet.add("</div>", &[]);
        Self {
            status,
            ..Self::narrow(title, html("<div class=\"sheet\">{}</div>", &[&sheet]))
        }
    }

    /// Lets a form of the page name its origin.
    pub(crate) fn naming_origin(self) -> Self {
        Self {
            names_origin: true,
            ..self
        }
    }
}

impl PageFrame {
    /// The frame of a service at `public_url` (scheme, host and port).
    pub fn new(public_url: &str, sandbox: bool, contact: Option<&str>) -> Self {
        let host = public_url.split_once("://").map_or(public_url, |(_, host)| host);
        Self {
            host: host.to_owned(),
            sandbox,
            contact: contact.map(str::to_owned),
        }
    }

    /// The page as a response that no cache may keep and no other page may frame.
    pub(crate) fn render(&self, page: Page) -> Response {
        // A form without a referrer has an origin of `null`.
        let referrer = if page.names_origin {
            "same-origin"
        } else {
            "no-referrer"
        };
        let mut response = Response::new(Body::from(self.text(&page)));
        *response.status_mut() = page.status;
        for (name, value) in [
            (header::CONTENT_TYPE, "text/html; charset=utf-8"),
            (header::CACHE_CONTROL, "private, no-store"),
            (header::CONTENT_SECURITY_POLICY, POLICY),
            (header::REFERRER_POLICY, referrer),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::X_FRAME_OPTIONS, "DENY"),
        ] {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }

    fn text(&self, page: &Page) -> String {
        let (width, robots) = match page.width {
            Width::Narrow => ("narrow", "noindex"),
            Width::Middle => ("middle", "noindex"),
            Width::Wide => ("wide", "index"),
        };
        let top = match page.width {
            Width::Wide => html("<a class=\"button small\" href=\"/dashboard\">Sign in</a>", &[]),
            _ => Html::default(),
        };
        let chip = match self.sandbox {
            true => html(
                "<span class=\"chip\" title=\"Test money: nothing here is worth anything.\">Sandbox</span>",
                &[],
            ),
            false => Html::default(),
        };
        let contact = match &self.contact {
            Some(contact) => contact_link(contact, "Contact"),
            None => Html::default(),
        };
        let page = html(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"robots\" content=\"{}\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>{} · Purser</title>\n<link rel=\"icon\" type=\"image/svg+xml\" href=\"{}\">\n\
             <link rel=\"stylesheet\" href=\"{}\">\n</head>\n<body>\n\
             <a class=\"skip\" href=\"#main\">Skip to content</a>\n\
             <header><a class=\"brand\" href=\"/\">{}Purser</a><div class=\"row\">{}{}</div></header>\n\
             <main id=\"main\" class=\"{}\">\n{}\n</main>\n\
             <footer><span>Run by {}</span><nav aria-label=\"About\">{}<a href=\"/#prices\">Prices</a>\
             <a href=\"/skill.md\">For agents</a><a href=\"/readyz\">Status</a></nav></footer>\n</body>\n</html>\n",
            &[
                &robots,
                &page.title,
                &FILES.icon,
                &FILES.style,
                &icons::MARK,
                &top,
                &chip,
                &width,
                &page.content,
                &self.host,
                &contact,
            ],
        );
        page.into_text()
    }
}

/// A link to the operator's e-mail address or page. The settings permit nothing else.
pub(crate) fn contact_link(contact: &str, text: &str) -> Html {
    let scheme = if contact.starts_with("https://") { "" } else { "mailto:" };
    html("<a href=\"{}{}\">{}</a>", &[&scheme, &contact, &text])
}

/// Whether a person's browser asks: it names HTML, and no kind of JSON.
pub(crate) fn is_browser(headers: &HeaderMap) -> bool {
    let mut accepted = headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok());
    let mut names_html = false;
    accepted.all(|value| {
        names_html |= value.contains("text/html");
        !value.contains("json")
    }) && names_html
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const HOSTILE: &str = "</title></main><script>alert('1')</script>\"&\u{7}";

    // Checks: a text from outside stays text wherever a page shows it, and the page permits no script and no inline
    // style (case 72).
    #[test]
    fn case_72_texts_on_pages_are_escaped() {
        let frame = PageFrame::new("https://shop.example", true, Some("help@shop.example"));
        let page = frame.text(&Page::message(StatusCode::OK, HOSTILE, &[HOSTILE]));
        assert!(
            FILES.style.ends_with(".css") && FILES.icon.ends_with(".svg"),
            "{}",
            FILES.style
        );
        assert!(!page.contains("<script") && !page.contains("style=") && !page.contains("<style"));
        assert_eq!(page.matches("</main>").count(), 1, "{page}");
        assert_eq!(page.matches("</title>").count(), 1, "{page}");
        assert!(page.contains("shop.example") && page.contains("Sandbox"));
        assert!(
            page.contains("<a href=\"mailto:help@shop.example\">Contact</a>"),
            "{page}"
        );
        assert!(!POLICY.contains("unsafe") && !POLICY.contains("script-src"));
    }

    // Checks: a page loads nothing from another host.
    #[test]
    fn case_72_pages_load_own_resources_only() {
        let page =
            PageFrame::new("https://shop.example", false, None).text(&Page::message(StatusCode::OK, "Title", &[]));
        for (_, rest) in page
            .match_indices("href=\"")
            .map(|(at, found)| page.split_at(at + found.len()))
        {
            assert!(rest.starts_with(['/', '#']), "{rest}");
        }
        assert!(
            !page.contains("src=") && !page.contains("http:") && !page.contains("https:"),
            "{page}"
        );
    }

    // Checks: only a client that names HTML and no JSON gets a page where other clients get JSON.
    #[test]
    fn browsers_are_recognized() {
        let asked = |accept: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in accept {
                headers.append(header::ACCEPT, HeaderValue::from_static(value));
            }
            is_browser(&headers)
        };
        assert!(asked(&[
            "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
        ]));
        for accept in [
            &[][..],
            &["*/*"],
            &["application/json, text/html"],
            &["text/html", "application/problem+json"],
        ] {
            assert!(!asked(accept), "{accept:?}");
        }
    }
}
