//! Remote rates and merchants.

use std::sync::Arc;

use purser_actors::port::{BoxFuture, PortError};

use super::{RemoteClient, unreadable};
use crate::provider::merchants::{MerchantDirectory, MerchantPage, MerchantQuery};
use crate::provider::rates::{RateSource, RateTable};
use crate::provider::wire::reference_data;

/// Exchange rates over HTTP.
pub struct RemoteRates(pub RemoteClient);

impl RateSource for RemoteRates {
    fn current(&self) -> BoxFuture<'_, Result<Arc<RateTable>, PortError>> {
        const CALL: &str = "rates";
        Box::pin(async move {
            let said: reference_data::ExchangeRates = self.0.get(CALL, &["exchange-rates"], &()).await?;
            said.read().map(Arc::new).map_err(unreadable(CALL))
        })
    }
}

/// A directory of merchants over HTTP.
pub struct RemoteMerchantDirectory(pub RemoteClient);

impl MerchantDirectory for RemoteMerchantDirectory {
    fn search<'a>(&'a self, wanted: &'a MerchantQuery) -> BoxFuture<'a, Result<Option<MerchantPage>, PortError>> {
        Box::pin(async move {
            let query = reference_data::MerchantQuery::of(wanted);
            let said: reference_data::MerchantList = self.0.get("search merchants", &["merchants"], &query).await?;
            Ok(said.read())
        })
    }
}
