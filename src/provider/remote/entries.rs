//! A list kept elsewhere.

use purser_actors::port::{BoxFuture, Cursor, Entry, EntryName, Page, PortError, ProviderList};

use super::{Remote, unreadable};
use crate::provider::wire::Unreadable;
use crate::provider::wire::entries::{Asked, EntryPage, ListName};

const CALL: &str = "list";

/// A list over HTTP.
pub struct RemoteList {
    /// Whose.
    pub remote: Remote,
    /// Which.
    pub list: ListName,
}

impl RemoteList {
    async fn ask(&self, asked: Asked<'_>, limit: usize) -> Result<Page<Entry>, PortError> {
        let (limit, name) = (limit.to_string(), self.list.source().name());
        let mut query = vec![("limit", limit.as_str())];
        query.extend(asked.after.map(|after| ("after", after)));
        query.extend(asked.key.map(|key| ("key", key)));
        let said: EntryPage = self.remote.get(CALL, &["entries", name], &query).await?;
        said.read(asked).map_err(unreadable(CALL))
    }
}

impl ProviderList for RemoteList {
    fn entries<'a>(&'a self, after: Option<&'a Cursor>, limit: usize) -> BoxFuture<'a, Result<Page<Entry>, PortError>> {
        Box::pin(async move {
            let after = after.map(Cursor::to_string);
            let asked = Asked {
                list: self.list,
                after: after.as_deref(),
                key: None,
            };
            self.ask(asked, limit).await
        })
    }

    fn entry<'a>(&'a self, name: &'a EntryName) -> BoxFuture<'a, Result<Option<Entry>, PortError>> {
        Box::pin(async move {
            let asked = Asked {
                list: self.list,
                after: None,
                key: Some(name.as_str()),
            };
            let page = self.ask(asked, 1).await?;
            match page.items.into_iter().next() {
                Some(entry) if entry.name != *name => Err(unreadable(CALL)(Unreadable("it is about something else"))),
                entry => Ok(entry),
            }
        })
    }
}
