//! Who may do what at the operator address: every route, every role, by token and by the desk's session, with and without a
//! confirmation.
//!
//! A session needs a confirmation for what moves money or records where it is, for what shows secrets, and for what changes
//! what a person may do. It needs none to stop what can go on later (freeze an account, close a line, reject a request,
//! end a session), because stopping must not wait.

use std::collections::BTreeSet;

use purser::http::route::{Access, Confirmed};
use purser::http::routes;
use serde_json::{Value, json};

use super::authenticator::Authenticator;
use super::desk_sessions::Desk;
use super::host::{Host, Service};
use super::http::{Response, client, send_to_operator};
use super::operator_client::OperatorClient;

/// Least role that a route admits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Least {
    /// Every caller of the address: the way in, and what has no data of customers.
    Anyone,
    ReadOnly,
    Support,
    Operator,
    Administrator,
}
use Least::{Administrator, Anyone, Operator, ReadOnly, Support};

const ROLES: [(&str, Least); 4] = [
    ("read-only", ReadOnly),
    ("support", Support),
    ("operator", Operator),
    ("administrator", Administrator),
];

/// What a session must have confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    Nothing,
    /// A confirmation. A token needs none.
    Confirmation,
    /// A confirmation, once the operator has a passkey. The handler decides.
    OwnPasskey,
}
use Needs::{Confirmation, Nothing, OwnPasskey};

/// Every route of the operator address.
#[rustfmt::skip]
const ROUTES: [(&str, &str, Least, Needs); 80] = [
    ("GET", "/metrics", Anyone, Nothing),
    ("GET", "/desk", Anyone, Nothing),
    ("POST", "/desk/login", Anyone, Nothing),
    ("POST", "/desk/login/passkey", Anyone, Nothing),
    ("POST", "/desk/login/passkey/options", Anyone, Nothing),

    ("GET", "/admin/announcements", ReadOnly, Nothing),
    ("GET", "/admin/approvals", ReadOnly, Nothing),
    ("GET", "/admin/audit", ReadOnly, Nothing),
    ("GET", "/admin/audit/verify", ReadOnly, Nothing),
    ("GET", "/admin/card-withdrawals", ReadOnly, Nothing),
    ("GET", "/admin/customers", ReadOnly, Nothing),
    ("GET", "/admin/dead-letters", ReadOnly, Nothing),
    ("GET", "/admin/events", ReadOnly, Nothing),
    ("GET", "/admin/freeze/preview", ReadOnly, Nothing),
    ("GET", "/admin/incoming-transfers", ReadOnly, Nothing),
    ("GET", "/admin/intl-cards", ReadOnly, Nothing),
    ("GET", "/admin/intl-orders", ReadOnly, Nothing),
    ("GET", "/admin/late-returns", ReadOnly, Nothing),
    ("GET", "/admin/lines", ReadOnly, Nothing),
    ("GET", "/admin/notes", ReadOnly, Nothing),
    ("GET", "/admin/openapi.json", ReadOnly, Nothing),
    ("GET", "/admin/queues", ReadOnly, Nothing),
    ("GET", "/admin/reconciliation", ReadOnly, Nothing),
    ("GET", "/admin/refunds", ReadOnly, Nothing),
    ("GET", "/admin/search", ReadOnly, Nothing),
    ("GET", "/admin/series", ReadOnly, Nothing),
    ("GET", "/admin/session", ReadOnly, Nothing),
    ("GET", "/admin/stream", ReadOnly, Nothing),
    ("GET", "/admin/system", ReadOnly, Nothing),
    ("GET", "/admin/timeline", ReadOnly, Nothing),
    ("GET", "/admin/webhooks", ReadOnly, Nothing),
    ("GET", "/admin/webhooks/deliveries", ReadOnly, Nothing),
    ("GET", "/desk/passkeys", ReadOnly, Nothing),
    ("GET", "/desk/sessions", ReadOnly, Nothing),
    ("POST", "/desk/confirm", ReadOnly, Nothing),
    ("POST", "/desk/confirm/options", ReadOnly, Nothing),
    ("POST", "/desk/passkeys", ReadOnly, OwnPasskey),
    ("POST", "/desk/passkeys/options", ReadOnly, OwnPasskey),
    ("POST", "/desk/passkeys/remove", ReadOnly, OwnPasskey),
    ("POST", "/desk/sessions/end", ReadOnly, Nothing),
    ("POST", "/desk/sign-out", ReadOnly, Nothing),

    ("POST", "/admin/freeze", Support, Nothing),
    ("POST", "/admin/notes", Support, Nothing),

    ("POST", "/admin/announcements/test", Operator, Nothing),
    ("POST", "/admin/approvals/approve", Operator, Confirmation),
    ("POST", "/admin/approvals/reject", Operator, Nothing),
    ("POST", "/admin/card-withdrawals/claim", Operator, Nothing),
    ("POST", "/admin/card-withdrawals/fulfil", Operator, Confirmation),
    ("POST", "/admin/card-withdrawals/reject", Operator, Confirmation),
    ("POST", "/admin/card-withdrawals/release", Operator, Nothing),
    ("POST", "/admin/card-withdrawals/renew", Operator, Nothing),
    ("POST", "/admin/chains/accept", Operator, Confirmation),
    ("POST", "/admin/incoming-transfers/credit", Operator, Confirmation),
    ("POST", "/admin/incoming-transfers/operator-funds", Operator, Confirmation),
    ("POST", "/admin/incoming-transfers/return", Operator, Confirmation),
    ("POST", "/admin/intl-cards/report", Operator, Confirmation),
    ("POST", "/admin/intl-orders/claim", Operator, Nothing),
    ("POST", "/admin/intl-orders/fulfil", Operator, Confirmation),
    ("POST", "/admin/intl-orders/reject", Operator, Confirmation),
    ("POST", "/admin/intl-orders/release", Operator, Nothing),
    ("POST", "/admin/intl-orders/renew", Operator, Nothing),
    ("POST", "/admin/jobs/credit", Operator, Confirmation),
    ("POST", "/admin/jobs/keep", Operator, Confirmation),
    ("POST", "/admin/jobs/resolve", Operator, Confirmation),
    ("POST", "/admin/jobs/retry", Operator, Confirmation),
    ("POST", "/admin/lines/close", Operator, Nothing),
    ("POST", "/admin/lines/open", Operator, Confirmation),
    ("POST", "/admin/reconciliation/run", Operator, Nothing),
    ("POST", "/admin/refunds", Operator, Confirmation),
    ("POST", "/admin/refunds/approve", Operator, Confirmation),
    ("POST", "/admin/refunds/reject", Operator, Nothing),
    ("POST", "/admin/sandbox", Operator, Nothing),
    ("POST", "/admin/unfreeze", Operator, Confirmation),
    ("POST", "/admin/untracked-transfers/attribute", Operator, Confirmation),
    ("POST", "/admin/webhooks/redeliver", Operator, Nothing),

    ("GET", "/admin/tokens", Administrator, Nothing),
    ("GET", "/copy", Administrator, Confirmation),
    ("POST", "/admin/suspended/confirm", Administrator, Confirmation),
    ("POST", "/admin/tokens", Administrator, Confirmation),
    ("POST", "/admin/tokens/revoke", Administrator, Confirmation),
];

/// A body that reaches the checks of routes which read it first, and changes nothing.
fn body(path: &str) -> Value {
    let response = json!({"clientDataJSON": "AQ", "attestationObject": "AQ"});
    match path {
        "/desk/passkeys" => json!({"name": "Key", "credential": {"rawId": "AQ", "response": response}}),
        "/desk/passkeys/remove" => json!({"passkey_id": "opk_00000000000000000000000000000001"}),
        _ => json!({}),
    }
}

async fn by_session(desk: &Desk, method: &str, path: &str) -> Response {
    match method {
        "GET" => desk.get(path).await,
        _ => desk.post(path, &body(path)).await,
    }
}

async fn by_token(service: &Service, token: &str, method: &str, path: &str) -> Response {
    let request = client().request(method.parse().unwrap(), service.operator_url(path));
    let request = match method {
        "GET" => request,
        _ => request.json(&body(path)),
    };
    send_to_operator(request.bearer_auth(token)).await.unwrap()
}

/// Whether the answer is a refusal of the caller, and not of what was asked.
fn is_refused(answer: &Response) -> bool {
    [
        "role_not_permitted",
        "confirmation_required",
        "passkey_required",
        "origin_not_allowed",
    ]
    .contains(&answer.code())
}

#[test]
fn every_operator_route_has_its_rights() {
    // Checks: the table has exactly the routes of the program, and what each row of the program requires.
    let known: BTreeSet<_> = ROUTES.iter().map(|(method, path, ..)| (*method, *path)).collect();
    let routes: BTreeSet<_> = routes::operator().map(|route| (route.method, route.path)).collect();
    assert_eq!(known, routes);
    assert_eq!(known.len(), ROUTES.len());
    for route in routes::operator() {
        let row = ROUTES
            .iter()
            .find(|(method, path, ..)| (*method, *path) == (route.method, route.path));
        let (.., needs) = row.unwrap();
        let expected = match needs {
            Confirmation => Confirmed::Always,
            Nothing | OwnPasskey => Confirmed::Nothing,
        };
        assert_eq!(
            (route.access, route.confirmed),
            (Access::Operator, expected),
            "{} {}",
            route.method,
            route.path
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn roles_confirmations_and_credentials_are_a_matrix() {
    // Checks: every route with each role, by a token, by a session that has not confirmed and by one that has. A role below
    // the route's is refused first, whatever it has confirmed. Without credentials nothing but the way in answers.
    let host = Host::new();
    let service = host.start();
    let first = OperatorClient::first(&host, &service);
    let stranger = Desk::new(&service);
    for (method, path, from, _) in ROUTES {
        let answer = by_session(&stranger, method, path).await;
        assert_eq!(
            answer.code() != "token_missing",
            from == Anyone,
            "{method} {path}: {}",
            answer.text
        );
    }
    for (seed, (role, rank)) in (1..).zip(ROLES) {
        let operator = first.add_operator(role, role).await;
        let mut desk = Desk::new(&service);
        let entered = desk.post("/desk/login", &json!({"token": operator.token})).await;
        desk.signed_in(&entered);
        let mut key = Authenticator::new(seed, &desk.origin);
        assert_eq!(desk.add(&mut key).await.status, 200);
        // The sign-out ends the session, so it comes last.
        let rows: Vec<_> = ROUTES
            .into_iter()
            .filter(|(_, path, from, _)| *from != Anyone && *path != "/desk/sign-out")
            .collect();
        for confirmed in [false, true] {
            if confirmed {
                assert_eq!(desk.confirm(&mut key).await.status, 200);
            }
            for (method, path, from, needs) in &rows {
                let answer = by_session(&desk, method, path).await;
                let what = format!("{role} {method} {path} {confirmed}: {}", answer.text);
                if rank < *from {
                    assert_eq!((answer.status, answer.code()), (403, "role_not_permitted"), "{what}");
                } else if *needs != Nothing && !confirmed {
                    assert_eq!((answer.status, answer.code()), (403, "confirmation_required"), "{what}");
                } else {
                    assert!(!is_refused(&answer) && answer.status != 401, "{what}");
                }
            }
        }
        for (method, path, from, _) in &rows {
            let answer = by_token(&service, &operator.token, method, path).await;
            let what = format!("{role} {method} {path} by token: {}", answer.text);
            if rank < *from {
                assert_eq!((answer.status, answer.code()), (403, "role_not_permitted"), "{what}");
            } else {
                assert!(!is_refused(&answer), "{what}");
            }
        }
        let left = by_session(&desk, "POST", "/desk/sign-out").await;
        assert_eq!(left.status, 200, "{}", left.text);
        let after = desk.get("/admin/session").await;
        assert_eq!((after.status, after.code()), (401, "token_invalid"));
    }
    service.stop();
}
