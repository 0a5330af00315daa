//! Forms of pages that need no script: what they send, and errors as a page. All external texts are escaped here.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::middleware::{self, Next};
use axum::response::Response;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

use super::app::App;
use super::error::{ApiError, ErrorCode, PendingError, PrebuiltBody, with_prebuilt_body};
use super::json;
use crate::page::{Html, Page, PageFrame, html, is_browser};

/// Browsers get an error as a page, other clients as JSON.
pub(super) fn redirect_or_error(
    app: &App,
    headers: &HeaderMap,
    done: Result<Response, ApiError>,
) -> Result<Response, ApiError> {
    match done {
        Err(error) if accepts(headers, "text/html") => Ok(error_page(app, &error)),
        done => done,
    }
}

/// Whether the client accepts this content type by name.
pub(super) fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    accept.is_some_and(|accept| accept.contains(kind))
}

/// Renders an error as a page.
pub(super) fn error_page(app: &App, error: &ApiError) -> Response {
    page_of(&app.frame, error)
}

/// The routes, whose errors are pages for a browser that opens an address. What a route answers as a page or with a
/// body of its own stays, and so does a 401: it is for clients with a token.
pub(crate) fn with_error_pages(routes: Router, frame: PageFrame) -> Router {
    let frame = Arc::new(frame);
    routes.layer(middleware::from_fn(move |request: Request, next: Next| {
        let frame = (request.method() == Method::GET && is_browser(request.headers())).then(|| frame.clone());
        async move {
            let response = next.run(request).await;
            match frame {
                Some(frame) => shown_to_person(&frame, response),
                None => response,
            }
        }
    }))
}

fn shown_to_person(frame: &PageFrame, response: Response) -> Response {
    let (status, extensions) = (response.status(), response.extensions());
    let is_shown = status.as_u16() >= 400 && status != StatusCode::UNAUTHORIZED;
    if !is_shown || extensions.get::<PrebuiltBody>().is_some() {
        return response;
    }
    match extensions.get::<PendingError>() {
        Some(PendingError(error)) => page_of(frame, error),
        None => page_of(frame, &ApiError::of_status(status, response.headers())),
    }
}

fn page_of(frame: &PageFrame, error: &ApiError) -> Response {
    let mut page = frame.render(error_content(error));
    if let Some(allow) = &error.allow {
        page.headers_mut().insert(header::ALLOW, allow.clone());
    }
    if let Some(seconds) = error.retry_after_seconds {
        page.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    with_prebuilt_body(page)
}

/// The error with a link back.
fn error_content(error: &ApiError) -> Page {
    let is_missing = error.code == ErrorCode::RouteNotFound;
    let text = match error.frozen_message.as_deref() {
        Some(message) => message,
        None if is_missing => "The address may be incomplete or mistyped.",
        None => &error.error,
    };
    let hint = match error.hint.as_deref() {
        Some(hint) => html("<p class=\"soft\">{}</p>", &[&hint]),
        None => Html::default(),
    };
    let title = match is_missing {
        true => "There is no such page",
        false => "That did not work",
    };
    let content = html(
        "<div class=\"sheet\"><div role=\"alert\"><h1>{}</h1><p>{}</p>{}\
         <p class=\"small quiet\"><code>{}</code></p></div>\
         <div><a class=\"button wide\" href=\"/dashboard\">Go to my account</a></div></div>",
        &[&title, &text, &hint, &error.code.as_str()],
    );
    Page {
        status: error.status,
        ..Page::narrow(title, content)
    }
}

/// A section with the reason of a freeze.
pub(super) fn frozen_section(message: &str) -> String {
    let message = escaped(message);
    format!("<section id=\"owner\"><p role=\"alert\" class=\"bad\">This account is frozen: {message}</p></section>")
}

/// The fields of a form.
///
/// # Errors
/// 400 `query_malformed` for text that is not UTF-8.
pub(super) fn parse_form(form: &[u8]) -> Result<&str, ApiError> {
    let malformed = |_| {
        ApiError::parameter(
            ErrorCode::QueryMalformed,
            "body",
            "The form is not percent-encoded UTF-8.",
        )
    };
    std::str::from_utf8(form).map_err(malformed)
}

/// Where the dashboard lists API keys with their limits.
pub(super) fn redirect_to_agents() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    let headers = response.headers_mut();
    headers.insert(header::LOCATION, HeaderValue::from_static("/dashboard/agents"));
    json::private(response)
}

/// Escapes text for markup and attributes.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    // Checks: text from a provider or an operator stays text on the page (case 72).
    #[test]
    fn case_72_external_text_is_escaped() {
        let hostile = "</section><script>alert('1')</script>\"&\u{7}";
        let text = escaped(hostile);
        assert!(!text.contains(['<', '>', '"', '\'', '\u{7}']), "{text}");
        assert_eq!(escaped("plain words"), "plain words");
        let page = frozen_section(hostile);
        assert_eq!(page.matches("<script").count(), 0, "{page}");
        assert_eq!(page.matches("</section>").count(), 1, "{page}");
        let error = ApiError::frozen(hostile).hint(hostile);
        let content = error_content(&error).content.into_text();
        assert_eq!(content.matches("<script").count(), 0, "{content}");
        assert_eq!(content.matches("</section>").count(), 0, "{content}");
    }
}
