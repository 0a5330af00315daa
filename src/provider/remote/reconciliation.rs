//! A remote reconciliation list.

use purser_actors::port::{BoxFuture, EntryKey, ListCursor, ListPage, PortError, ProviderEntry, ProviderList};

use super::{RemoteClient, unreadable};
use crate::provider::wire::MalformedResponse;
use crate::provider::wire::reconciliation::{ReconciliationListName, ReconciliationPage, ReconciliationQuery};

const CALL: &str = "list";

/// A list over HTTP.
pub struct RemoteReconciliationList {
    pub remote: RemoteClient,
    pub list: ReconciliationListName,
}

impl RemoteReconciliationList {
    async fn fetch(&self, asked: ReconciliationQuery<'_>, limit: usize) -> Result<ListPage<ProviderEntry>, PortError> {
        let (limit, name) = (limit.to_string(), self.list.source().name());
        let mut query = vec![("limit", limit.as_str())];
        query.extend(asked.after.map(|after| ("after", after)));
        query.extend(asked.key.map(|key| ("key", key)));
        let said: ReconciliationPage = self.remote.get(CALL, &["reconciliation-entries", name], &query).await?;
        said.read(asked).map_err(unreadable(CALL))
    }
}

impl ProviderList for RemoteReconciliationList {
    fn entries<'a>(
        &'a self,
        after: Option<&'a ListCursor>,
        limit: usize,
    ) -> BoxFuture<'a, Result<ListPage<ProviderEntry>, PortError>> {
        Box::pin(async move {
            let after = after.map(ListCursor::to_string);
            let asked = ReconciliationQuery {
                list: self.list,
                after: after.as_deref(),
                key: None,
            };
            self.fetch(asked, limit).await
        })
    }

    fn entry<'a>(&'a self, name: &'a EntryKey) -> BoxFuture<'a, Result<Option<ProviderEntry>, PortError>> {
        Box::pin(async move {
            let asked = ReconciliationQuery {
                list: self.list,
                after: None,
                key: Some(name.as_str()),
            };
            let page = self.fetch(asked, 1).await?;
            match page.items.into_iter().next() {
                Some(entry) if entry.name != *name => {
                    Err(unreadable(CALL)(MalformedResponse("it is about something else")))
                }
                entry => Ok(entry),
            }
        })
    }
}
