//! The address filter where it cannot be walked around: in the resolver of the HTTP client. A name is looked up once, its
//! addresses are judged, and those very addresses are dialled; what the name means a moment later is never asked.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use purser_actors::port::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::address_policy::{BlockedUrl, check_address};

/// Looks names up.
pub trait DnsLookup: Send + Sync + 'static {
    /// Every address of a name.
    fn addresses<'a>(&'a self, name: &'a str) -> BoxFuture<'a, std::io::Result<Vec<IpAddr>>>;
}

/// The resolver of the machine.
pub struct SystemDns;

impl DnsLookup for SystemDns {
    fn addresses<'a>(&'a self, name: &'a str) -> BoxFuture<'a, std::io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            // The port is the client's to fill in.
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// Gives the client public addresses only.
pub struct FilteringResolver<L>(Arc<L>);

impl<L: DnsLookup> FilteringResolver<L> {
    /// Over the resolver that knows.
    pub const fn new(lookup: Arc<L>) -> Self {
        Self(lookup)
    }
}

impl<L: DnsLookup> Resolve for FilteringResolver<L> {
    /// A name with a single inside address is refused whole: whoever mixes them wants us to try the other one.
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

/// The filter's no, as the client's error carries it.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("not called: {0}")]
struct BlockedByFilter(BlockedUrl);

/// The filter's word, if it is what an error of the client goes back to.
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
