//! An operator at the operator address.

use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::conformance::{CheckedResponse, Conformance};
use super::host::{Host, Service};
use super::http::{Response, client, send_to_operator};

/// A card number that passes the Luhn check, and one that doesn't.
pub(crate) const PAN: &str = "4000123412341234560";
pub(crate) const MISTYPED: &str = "4000123412341234561";
pub(crate) const CVV: &str = "739";

pub(crate) struct OperatorClient<'a> {
    service: &'a Service,
    pub(crate) token: String,
}

impl<'a> OperatorClient<'a> {
    /// The operator with the token that the sandbox created at its first start.
    pub(crate) fn first(host: &Host, service: &'a Service) -> Self {
        let token = std::fs::read_to_string(host.data().join("operator.token")).unwrap();
        Self::of(service, token.trim())
    }

    pub(crate) fn of(service: &'a Service, token: &str) -> Self {
        let token = token.to_owned();
        Self { service, token }
    }

    /// Another operator with a token of this role.
    pub(crate) async fn add_operator(&self, name: &str, role: &str) -> Self {
        let made = self.done("/admin/tokens", json!({"name": name, "role": role})).await;
        Self::of(self.service, made["token"].as_str().unwrap())
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        let request = client().get(self.service.operator_url(path)).bearer_auth(&self.token);
        let answer = send_to_operator(request).await.unwrap();
        self.list_held("GET", path, &answer).await;
        answer
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Response {
        let request = client().post(self.service.operator_url(path)).bearer_auth(&self.token);
        let answer = send_to_operator(request.body(body.to_string())).await.unwrap();
        self.list_held("POST", path, &answer).await;
        answer
    }

    /// Checks a response against the operator's own document, which every role may read.
    async fn list_held(&self, method: &str, path: &str, answer: &Response) {
        static DOCUMENT: OnceCell<Conformance> = OnceCell::const_new();
        let read = async || {
            let request = client().get(self.service.operator_url("/admin/openapi.json"));
            let document = send_to_operator(request.bearer_auth(&self.token)).await.map_err(drop)?;
            // A revoked token cannot read the document. Another token will.
            (document.status == 200)
                .then(|| Conformance::new(document.body))
                .ok_or(())
        };
        if let Ok(document) = DOCUMENT.get_or_try_init(read).await {
            document.check(&CheckedResponse {
                method,
                path,
                status: answer.status,
                content_type: answer.header("content-type"),
                body: &answer.text,
            });
        }
    }

    /// A POST that must succeed.
    pub(crate) async fn done(&self, path: &str, body: Value) -> Value {
        let answer = self.post(path, body).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        assert_eq!(answer.header("cache-control"), Some("private, no-store"), "{path}");
        answer.body
    }

    pub(crate) async fn claim(&self, order: &str) -> u64 {
        let claimed = self.done("/admin/intl-orders/claim", json!({"card_id": order})).await;
        claimed["lease"].as_u64().unwrap()
    }

    pub(crate) async fn fulfil(&self, order: &str, lease: u64) -> Response {
        self.post("/admin/intl-orders/fulfil", entered(order, lease)).await
    }

    /// The open orders, in queue order.
    pub(crate) async fn queue(&self) -> Vec<Value> {
        let answer = self.get("/admin/intl-orders").await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.body["orders"].as_array().unwrap().clone()
    }

    /// Audit records in order: operator, action, subject.
    pub(crate) async fn audit(&self) -> Vec<(String, String, String)> {
        let answer = self.get("/admin/audit?limit=1000").await;
        let text = |act: &Value, name: &str| act[name].as_str().unwrap().to_owned();
        let acts = answer.body["entries"].as_array().unwrap().iter();
        acts.map(|act| (text(act, "operator"), text(act, "action"), text(act, "subject")))
            .collect()
    }
}

/// A card entered correctly.
pub(crate) fn entered(order: &str, lease: u64) -> Value {
    json!({"card_id": order, "lease": lease, "card_number": PAN, "exp_month": 12, "exp_year": 2031, "cvv": CVV,
        "billing_address": billing()})
}

/// Billing address of such a card.
pub(crate) fn billing() -> Value {
    json!({"line1": "1 <b>Quay", "city": "Valletta", "state": "Malta", "postal_code": "VLT 1010", "country": "MT"})
}
