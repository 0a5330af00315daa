//! Rates and merchants elsewhere.

use std::sync::Arc;

use purser_actors::port::{BoxFuture, PortError};

use super::{Remote, unreadable};
use crate::provider::merchants::{MerchantPage, MerchantSearch, Merchants};
use crate::provider::rates::{RateTable, Rates};
use crate::provider::wire::tables;

/// Exchange rates over HTTP.
pub struct RemoteRates(pub Remote);

impl Rates for RemoteRates {
    fn current(&self) -> BoxFuture<'_, Result<Arc<RateTable>, PortError>> {
        const CALL: &str = "rates";
        Box::pin(async move {
            let said: tables::Rates = self.0.get(CALL, &["rates"], &()).await?;
            said.read().map(Arc::new).map_err(unreadable(CALL))
        })
    }
}

/// A directory of merchants over HTTP.
pub struct RemoteMerchants(pub Remote);

impl Merchants for RemoteMerchants {
    fn search<'a>(&'a self, wanted: &'a MerchantSearch) -> BoxFuture<'a, Result<Option<MerchantPage>, PortError>> {
        Box::pin(async move {
            let query = tables::MerchantQuery::of(wanted);
            let said: tables::Merchants = self.0.get("search merchants", &["merchants"], &query).await?;
            Ok(said.read())
        })
    }
}
