//! Routes as values. A table has a row per route: its handler and its rules. Routers, metrics, HEAD rules, limits, the
//! list of operations and the documents are built from the tables.

use std::time::Duration;

use axum::Router;

use super::error::ErrorCode;
use super::front::PathRules;
#[cfg(feature = "documents")]
use super::operator::api_doc::OperationDoc;
use crate::config::Config;

/// Who can call a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Everyone.
    Public,
    /// An account, by a bearer token. From our own pages also by the session cookie.
    Token,
    /// The account owner, by the session cookie of the account page.
    Owner,
    /// Everyone who pays. The payment is the credential.
    Paid,
    /// An account, as `Token`: `{"data": …}` in, `{"result": …}` out.
    Callable,
    /// A provider, by its signature.
    Callback,
    /// Everyone, and only in the sandbox.
    Sandbox,
    /// An operator, at the operator address.
    Operator,
}

impl Access {
    /// For docs/routes.md.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Public => "everyone",
            Self::Token => "token",
            Self::Owner => "account page",
            Self::Paid => "payment",
            Self::Callable => "token, callable function",
            Self::Callback => "provider",
            Self::Sandbox => "sandbox",
            Self::Operator => "operator",
        }
    }
}

/// What prevents a request that is sent again from taking effect twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// It has no effect.
    Read,
    /// The payment.
    Payment,
    /// The `Idempotency-Key`.
    Keyed,
    /// Something else, for docs/idempotency.md.
    Unkeyed(&'static str),
}

/// Why a callable function that only reads has no key: `unkeyed("reads")`.
const READS: &str = "reads";

/// What a session of a page needs the owner's confirmation for (`passkeys/confirmation.rs`). Tokens need none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmed {
    /// Nothing.
    Nothing,
    /// Every request.
    Always,
    /// An answer with secrets.
    Secrets,
    /// A limit that is raised or removed.
    Raise,
}

impl Confirmed {
    /// For docs/routes.md.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "",
            Self::Always => "confirmed",
            Self::Secrets => "confirmed, with secrets",
            Self::Raise => "confirmed, if it raises a limit",
        }
    }
}

/// Time limit of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeLimit {
    /// `server.request_timeout_ms`.
    Standard,
    /// The same, after the wait for the approval of a signup.
    Poll,
    /// An hour, for a copy of the store.
    Copy,
}

impl TimeLimit {
    /// `None` is the server's own limit.
    pub fn within(self, config: &Config) -> Option<Duration> {
        match self {
            Self::Standard => None,
            Self::Poll => Some(config.signup.poll() + config.server.request_timeout()),
            Self::Copy => Some(Duration::from_secs(3_600)),
        }
    }
}

/// A method at a path, with its rules.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    pub method: &'static str,
    pub path: &'static str,
    pub access: Access,
    pub repeat: Repeat,
    /// Whether a HEAD may run the handler: it must cost and consume nothing.
    pub serves_head: bool,
    /// Limit of the body in bytes; `None` is `server.max_body_bytes`.
    pub body_limit: Option<usize>,
    pub time_limit: TimeLimit,
    /// What a session of a page needs the owner's confirmation for.
    pub confirmed: Confirmed,
    /// Errors of the route in order of precedence, each once, without those that every request can get.
    pub refuses: &'static [ErrorCode],
    /// The operation in the document of the operator API. Public operations are described at their handlers.
    #[cfg(feature = "documents")]
    pub(super) operation: Option<fn() -> OperationDoc>,
}

impl Route {
    const fn new(method: &'static str, path: &'static str, access: Access, repeat: Repeat) -> Self {
        Self {
            method,
            path,
            access,
            repeat,
            serves_head: matches!(repeat, Repeat::Read),
            body_limit: None,
            time_limit: TimeLimit::Standard,
            confirmed: Confirmed::Nothing,
            refuses: &[],
            #[cfg(feature = "documents")]
            operation: None,
        }
    }

    /// A read that issues, consumes or records something.
    pub const fn without_head(self) -> Self {
        let serves_head = false;
        Self { serves_head, ..self }
    }

    pub const fn body_limit(self, bytes: usize) -> Self {
        let body_limit = Some(bytes);
        Self { body_limit, ..self }
    }

    pub const fn time_limit(self, time_limit: TimeLimit) -> Self {
        Self { time_limit, ..self }
    }

    /// A session of a page may do it only while its owner's confirmation lasts.
    pub const fn confirmed(self) -> Self {
        let confirmed = Confirmed::Always;
        Self { confirmed, ..self }
    }

    /// The same, if the answer has secrets: of one card, unless `details=false`.
    pub const fn confirmed_secrets(self) -> Self {
        let confirmed = Confirmed::Secrets;
        Self { confirmed, ..self }
    }

    /// The same, if it raises or removes a limit. The handler compares.
    pub const fn confirmed_raise(self) -> Self {
        let confirmed = Confirmed::Raise;
        Self { confirmed, ..self }
    }

    pub const fn refuses(self, refuses: &'static [ErrorCode]) -> Self {
        Self { refuses, ..self }
    }

    /// Whether a request changes nothing.
    pub fn only_reads(&self) -> bool {
        matches!(self.repeat, Repeat::Read | Repeat::Unkeyed(READS))
    }

    /// Only documents read it.
    #[cfg(not(feature = "documents"))]
    pub(super) const fn operation(self, (): ()) -> Self {
        self
    }

    #[cfg(feature = "documents")]
    pub(super) const fn operation(self, operation: fn() -> OperationDoc) -> Self {
        let operation = Some(operation);
        Self { operation, ..self }
    }
}

/// A route whose method has effects. It becomes a [`Route`] once it states what a repeated request does.
#[must_use]
pub struct Writing(Route);

impl Writing {
    pub const fn keyed(self) -> Route {
        let repeat = Repeat::Keyed;
        Route { repeat, ..self.0 }
    }

    /// A control of the sandbox.
    pub const fn control(self) -> Route {
        self.unkeyed("controls the simulated chains and providers")
    }

    pub const fn unkeyed(self, why: &'static str) -> Route {
        let repeat = Repeat::Unkeyed(why);
        Route { repeat, ..self.0 }
    }
}

pub struct ReadMethod(&'static str);
pub struct WriteMethod(&'static str);

pub const GET: ReadMethod = ReadMethod("GET");
pub const POST: WriteMethod = WriteMethod("POST");
pub const DELETE: WriteMethod = WriteMethod("DELETE");

impl ReadMethod {
    pub const fn at(self, path: &'static str, access: Access) -> Route {
        let repeat = match access {
            Access::Paid => Repeat::Payment,
            _ => Repeat::Read,
        };
        Route::new(self.0, path, access, repeat)
    }
}

impl WriteMethod {
    pub const fn at(self, path: &'static str, access: Access) -> Writing {
        Writing(Route::new(self.0, path, access, Repeat::Unkeyed("")))
    }
}

/// The rules of these routes for the front.
pub fn path_rules(routes: impl Iterator<Item = &'static Route>, config: &Config) -> PathRules {
    let mut rules = PathRules::default();
    for route in routes {
        if route.method == GET.0 && !route.serves_head {
            rules.head_not_allowed.push(route.path);
        }
        if route.access == Access::Callable {
            rules.callables.push(route.path);
        }
        rules
            .body_limits
            .extend(route.body_limit.map(|bytes| (route.path, bytes)));
        rules
            .timeouts
            .extend(route.time_limit.within(config).map(|limit| (route.path, limit)));
    }
    rules
}

/// Routes whose handlers share a state.
pub struct Table<S: 'static> {
    pub listing: Listing,
    /// Adds the handlers to a router.
    pub mount: fn(Router<S>) -> Router<S>,
}

/// The contents of a table, without its handlers.
#[derive(Clone, Copy)]
pub struct Listing {
    pub routes: &'static [Route],
    /// The operations of the handlers. Operators' routes have a document of their own.
    #[cfg(feature = "documents")]
    pub document: Option<fn() -> utoipa::openapi::OpenApi>,
}

impl<S: Clone + Send + Sync + 'static> Table<S> {
    pub fn router(&self, state: S) -> Router {
        (self.mount)(Router::new()).with_state(state)
    }
}

/// A router with the handlers of tables that share a state.
pub fn router<S: Clone + Send + Sync + 'static>(tables: &[&Table<S>], state: S) -> Router {
    let mounted = tables.iter().fold(Router::new(), |router, table| (table.mount)(router));
    mounted.with_state(state)
}

/// A table of routes. `openapi` or `undocumented` says whether the handlers have `utoipa::path`. `document` and the value of
/// `operation` exist under the feature `documents` only.
///
/// ```text
/// routes! { pub static ROUTES: Arc<App>, openapi;
///     GET "/get-card" => get_card { Paid, refuses [AmountInvalid] }
///     POST "/pause-card" => actions::pause { Token, keyed(), refuses [CardNotFound] }
/// }
/// ```
/// becomes
/// ```text
/// pub static ROUTES: Table<Arc<App>> = Table {
///     listing: Listing {
///         routes: &[
///             GET.at("/get-card", Access::Paid).refuses(&[ErrorCode::AmountInvalid]),
///             POST.at("/pause-card", Access::Token).keyed().refuses(&[ErrorCode::CardNotFound]),
///         ],
///         document: Some(|| {
///             #[derive(utoipa::OpenApi)]
///             #[openapi(paths(get_card, actions::pause))]
///             struct ApiDoc;
///             ApiDoc::openapi()
///         }),
///     },
///     mount: |router| router
///         .route("/get-card", on(MethodFilter::GET, get_card))
///         .route("/pause-card", on(MethodFilter::POST, actions::pause)),
/// };
/// ```
/// A row of a POST without `keyed()` or `unkeyed("why")` does not compile.
macro_rules! routes {
    ($vis:vis static $name:ident: $state:ty, $document:ident; $(
        $method:ident $path:literal => $($handler:ident)::+ {
            $access:ident $(, $rule:ident $(($($value:expr)?))? $([$($code:ident),* $(,)?])?)* $(,)?
        }
    )*) => {
        $vis static $name: $crate::http::route::Table<$state> = $crate::http::route::Table {
            listing: $crate::http::route::Listing {
                routes: &[$(
                    $crate::http::route::$method.at($path, $crate::http::route::Access::$access)
                        $(.$rule(
                            $($($crate::http::route::routes!(@value $rule $value))?)?
                            $(&[$($crate::http::error::ErrorCode::$code),*])?
                        ))*
                ),*],
                #[cfg(feature = "documents")]
                document: $crate::http::route::routes!(@$document $([$($handler)::+])*),
            },
            mount: |router| router$(.route(
                $path,
                axum::routing::on(axum::routing::MethodFilter::$method, $($handler)::+),
            ))*,
        };
    };
    (@value operation $operation:expr) => {{
        #[cfg(feature = "documents")]
        { $operation }
        #[cfg(not(feature = "documents"))]
        {}
    }};
    (@value $rule:ident $value:expr) => { $value };
    (@undocumented $($handlers:tt)*) => { None };
    (@openapi $([$($handler:tt)+])*) => {
        Some(|| {
            #[derive(utoipa::OpenApi)]
            #[openapi(paths($($($handler)+),*))]
            struct ApiDoc;
            <ApiDoc as utoipa::OpenApi>::openapi()
        })
    };
}
pub(crate) use routes;
