//! The address filter inside the HTTP client's resolver, where it cannot be bypassed. A name is resolved once, its
//! addresses are checked, and exactly those are dialled. A later change of the name has no effect.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use purser_actors::port::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::address_policy::{BlockedUrl, check_address};

pub trait DnsLookup: Send + Sync + 'static {
    /// Every address of a name.
    fn addresses<'a>(&'a self, name: &'a str) -> BoxFuture<'a, std::io::Result<Vec<IpAddr>>>;
}

/// The resolver of the machine.
pub struct SystemDns;

impl DnsLookup for SystemDns {
    fn addresses<'a>(&'a self, name: &'a str) -> BoxFuture<'a, std::io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            // The client sets the port.
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// Returns public addresses only.
pub struct FilteringResolver<L>(Arc<L>);

impl<L: DnsLookup> FilteringResolver<L> {
    pub const fn new(lookup: Arc<L>) -> Self {
        Self(lookup)
    }
}

impl<L: DnsLookup> Resolve for FilteringResolver<L> {
    /// A name with a single internal address is blocked entirely: a mix is a sign of an attack that relies on a second
    /// attempt.
    fn resolve(&self, name: Name) -> Resolving {
        let lookup = self.0.clone();
        Box::pin(async move {
            let found = lookup.addresses(name.as_str()).await?;
            for address in &found {
                check_address(*address).map_err(BlockedByFilter)?;
            }
            let dialled: Addrs = Box::new(found.into_iter().map(|ip| SocketAddr::new(ip, 0)));
            Ok(dialled)
        })
    }
}

/// The filter's error inside the client's error.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("not called: {0}")]
struct BlockedByFilter(BlockedUrl);

/// The filter's reason, if it caused an error of the client.
pub fn is_blocked(error: &(dyn std::error::Error + 'static)) -> Option<BlockedUrl> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(BlockedByFilter(why)) = error.downcast_ref() {
            return Some(*why);
        }
        cause = error.source();
    }
    None
}
