//! The tables of all routes, public and of operators.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use axum::Router;
#[cfg(feature = "documents")]
use utoipa::openapi::OpenApi;

use super::app::App;
use super::route::{self, Listing, Route};
use super::{APP, discovery, events, health, openapi, operator, pricing, sandbox, version};

pub fn app() -> impl Iterator<Item = Listing> {
    APP.iter().map(|table| table.listing)
}

/// Routes that need no product: they run on their own in tests of the front.
pub fn front() -> [Listing; 5] {
    [
        pricing::ROUTES.listing,
        version::ROUTES.listing,
        health::ROUTES.listing,
        events::ROUTES.listing,
        openapi::ROUTES.listing,
    ]
}

/// Every route, whichever address and mode serve it.
pub fn all() -> impl Iterator<Item = &'static Route> {
    public().chain(operator())
}

/// Routes of the public address, those of the sandbox included.
pub fn public() -> impl Iterator<Item = &'static Route> {
    listings().flat_map(|listing| listing.routes)
}

/// Listings of the public address, those of the sandbox included.
pub fn listings() -> impl Iterator<Item = Listing> {
    app()
        .chain([discovery::ROUTES.listing])
        .chain(front())
        .chain(sandbox::listings())
}

/// Routes of the operator address.
pub fn operator() -> impl Iterator<Item = &'static Route> {
    operator::listings().flat_map(|listing| listing.routes)
}

/// The documents of the tables.
#[cfg(feature = "documents")]
pub fn documents(listings: impl IntoIterator<Item = Listing>) -> impl Iterator<Item = OpenApi> {
    let documents = listings.into_iter().filter_map(|listing| listing.document);
    documents.map(|document| document())
}

/// A router with the handlers that share [`App`].
pub fn router(app: Arc<App>) -> Router {
    route::router(APP, app)
}

/// Paths of all routes, including the operator's, each once.
pub static PATHS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let mut known = HashSet::new();
    let paths = all().map(|route| route.path);
    paths.filter(|path| known.insert(*path)).collect()
});
