//! A request whose parts are fixed one by one.

use serde_json::Value;

use super::http::{Response, ServiceClient, send};
use super::precedence_table::RecordedResponse;

#[derive(Clone, Debug)]
pub(crate) struct Request {
    method: &'static str,
    path: &'static str,
    /// Sent as is, without encoding.
    query: Vec<(&'static str, String)>,
    headers: Vec<(&'static str, String)>,
    body: Option<String>,
}

impl Request {
    pub(crate) fn new(method: &'static str, path: &'static str) -> Self {
        Self {
            method,
            path,
            query: Vec::new(),
            headers: Vec::new(),
            body: None,
        }
    }

    /// Adds a parameter, even if one with this name exists.
    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.query.push((name, value.to_owned()));
        self
    }

    /// Replaces all parameters of this name by one with this value.
    pub(crate) fn set(&mut self, name: &'static str, value: &str) {
        self.drop(name);
        self.query.push((name, value.to_owned()));
    }

    pub(crate) fn drop(&mut self, name: &str) {
        self.query.retain(|(n, _)| *n != name);
    }

    pub(crate) fn header(&mut self, name: &'static str, value: &str) {
        self.headers.retain(|(n, _)| *n != name);
        if !value.is_empty() {
            self.headers.push((name, value.to_owned()));
        }
    }

    pub(crate) fn bearer(&mut self, token: &str) {
        self.header("authorization", &format!("Bearer {token}"));
    }

    pub(crate) fn body(&mut self, body: &Value) {
        self.text(&body.to_string());
    }

    pub(crate) fn text(&mut self, body: &str) {
        self.body = Some(body.to_owned());
    }

    pub(crate) fn target(&self) -> String {
        let query: Vec<String> = self
            .query
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        match query.as_slice() {
            [] => self.path.to_owned(),
            query => format!("{}?{}", self.path, query.join("&")),
        }
    }

    pub(crate) async fn send_and_check(&self, site: &ServiceClient<'_>) -> Response {
        let mut request = site.request(self.method, &self.target());
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        if let Some(body) = &self.body {
            request = request.body(body.clone());
        }
        send(request).await.unwrap()
    }

    pub(crate) async fn send(&self, site: &ServiceClient<'_>) -> RecordedResponse {
        recorded(&self.send_and_check(site).await)
    }
}

/// The response in the form that snapshots use.
pub(crate) fn recorded(answer: &Response) -> RecordedResponse {
    let headers = answer.headers.iter();
    RecordedResponse {
        status: answer.status,
        headers: headers
            .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
            .collect(),
        body: answer.text.clone(),
    }
}
