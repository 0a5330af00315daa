//! Agreement of two endpoints: a single one may lag, be mistaken or dishonest.

use std::fmt;

use futures_util::StreamExt as _;
use futures_util::future::join_all;
use futures_util::stream::FuturesUnordered;

use super::{Address, B256, BlockLogs, BlockTag, LogFilter, Node, NodeError};
use crate::evm::blocks::Header;

/// Each endpoint's response if no two agree, for the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disagreement(Vec<(String, String)>);

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (host, answer)) in self.0.iter().enumerate() {
            let separator = if place == 0 { "" } else { "; " };
            write!(f, "{separator}{host}: {answer}")?;
        }
        Ok(())
    }
}

fn describe_header(answer: &Result<Option<Header>, NodeError>) -> String {
    match answer {
        Ok(Some(header)) => header.hash.to_string(),
        Ok(None) => "does not have the block".to_owned(),
        Err(error) => error.to_string(),
    }
}

fn describe_block(answer: &Result<Option<BlockLogs>, NodeError>) -> String {
    match answer {
        Ok(Some(block)) => format!("{} logs", block.logs.len()),
        Ok(None) => "does not have the block".to_owned(),
        Err(error) => error.to_string(),
    }
}

impl Node {
    /// A block with the logs that one of the filters admits, if two endpoints give the same. Queries all endpoints at
    /// once and returns as soon as two agree.
    ///
    /// # Errors
    /// [`Disagreement`].
    pub async fn block_by_two(&self, hash: B256, filters: &[LogFilter]) -> Result<BlockLogs, Disagreement> {
        let ask = |endpoint| async move { (endpoint, self.block_on(endpoint, hash, filters).await) };
        let mut asked: FuturesUnordered<_> = (0..self.pool.len()).map(ask).collect();
        let mut answers: Vec<(usize, Result<Option<BlockLogs>, NodeError>)> = Vec::new();
        while let Some((endpoint, answer)) = asked.next().await {
            let is_second = matches!(answer, Ok(Some(_))) && answers.iter().any(|(_, other)| *other == answer);
            match answer {
                Ok(Some(block)) if is_second => return Ok(block),
                answer => answers.push((endpoint, answer)),
            }
        }
        answers.sort_by_key(|(endpoint, _)| *endpoint);
        let hosts = self.pool.hosts();
        let of_each = |(endpoint, answer): (usize, Result<_, _>)| (hosts[endpoint].clone(), describe_block(&answer));
        Err(Disagreement(answers.into_iter().map(of_each).collect()))
    }

    /// The block of this height on which two endpoints agree, or of the only endpoint; `None` if they have none.
    ///
    /// # Errors
    /// [`Disagreement`], also if two pairs of endpoints disagree.
    pub async fn header_by_two(&self, number: u64) -> Result<Option<Header>, Disagreement> {
        let needed = self.pool.len().min(2);
        let asked = (0..self.pool.len()).map(|endpoint| self.header_on(endpoint, BlockTag::Number(number)));
        let answers = join_all(asked).await;
        let count = |answer: &Option<Header>| answers.iter().filter(|other| other.as_ref() == Ok(answer)).count();
        let mut shared: Vec<&Option<Header>> = Vec::new();
        for answer in answers.iter().flatten() {
            if count(answer) >= needed && !shared.contains(&answer) {
                shared.push(answer);
            }
        }
        if let [shared] = shared[..] {
            return Ok(*shared);
        }
        let hosts = self.pool.hosts().into_iter();
        let of_each = hosts
            .zip(&answers)
            .map(|(host, answer)| (host, describe_header(answer)));
        Err(Disagreement(of_each.collect()))
    }

    /// The endpoints with a different block of this height than ours, if two others have ours.
    pub async fn diverging_endpoints(&self, number: u64, ours: B256) -> Vec<usize> {
        let asked = (0..self.pool.len()).map(|endpoint| self.header_on(endpoint, BlockTag::Number(number)));
        let answers = join_all(asked).await;
        let hash = |answer: &Result<Option<Header>, NodeError>| answer.as_ref().ok()?.map(|header| header.hash);
        if answers.iter().filter(|answer| hash(answer) == Some(ours)).count() < 2 {
            return Vec::new();
        }
        let differs = |answer: &Result<_, _>| hash(answer).is_some_and(|hash| hash != ours);
        (0..answers.len())
            .filter(|endpoint| differs(&answers[*endpoint]))
            .collect()
    }

    /// The endpoints that differ from two others, which agree on a different block of this height than our block.
    /// Empty if no two endpoints agree on such a block.
    pub async fn outvoted(&self, number: u64, ours: B256) -> Vec<usize> {
        let asked = (0..self.pool.len()).map(|endpoint| self.header_on(endpoint, BlockTag::Number(number)));
        let headers: Vec<Option<Header>> = join_all(asked)
            .await
            .into_iter()
            .map(|header| header.ok().flatten())
            .collect();
        let count = |hash: B256| headers.iter().flatten().filter(|header| header.hash == hash).count();
        let others = headers.iter().flatten().map(|header| header.hash);
        let Some(shared) = others.filter(|hash| *hash != ours).find(|hash| count(*hash) >= 2) else {
            return Vec::new();
        };
        if count(ours) >= 2 {
            return Vec::new();
        }
        let differs = |(endpoint, header): (usize, &Option<Header>)| {
            header.is_some_and(|header| header.hash != shared).then_some(endpoint)
        };
        headers.iter().enumerate().filter_map(differs).collect()
    }

    /// Headers that endpoints report for a level of the chain, highest first, without the very highest. At least one
    /// other endpoint has reached each of them. Empty if fewer than two report one.
    pub async fn levels_by_two(&self, level: BlockTag) -> Vec<Header> {
        let claims = self.levels_of_each(level).await.into_iter();
        claims.skip(1).map(|(_, header)| header).collect()
    }

    /// Each endpoint's header for a level of the chain, with its host, highest first. Endpoints without one are
    /// omitted.
    pub async fn levels_of_each(&self, level: BlockTag) -> Vec<(String, Header)> {
        let asked = (0..self.pool.len()).map(|endpoint| self.header_on(endpoint, level));
        let answers = join_all(asked).await.into_iter().zip(self.pool.hosts());
        let named = |(answer, host): (Result<Option<Header>, NodeError>, String)| Some((host, answer.ok()??));
        let mut levels: Vec<(String, Header)> = answers.filter_map(named).collect();
        levels.sort_by_key(|(_, header)| std::cmp::Reverse(header.number));
        levels
    }

    /// Number of transactions of an address on which two endpoints agree: the second highest count; with one endpoint
    /// its own.
    ///
    /// # Errors
    /// See [`NodeError`]: of two or more endpoints, fewer than two have responded.
    pub async fn count_by_two(&self, address: Address, tag: BlockTag) -> Result<u64, NodeError> {
        if self.pool.len() < 2 {
            return self.transaction_count(address, tag).await;
        }
        let (mut counts, mut failure) = (Vec::new(), None);
        for answer in self.counts_of_each(address, tag).await {
            match answer {
                Ok(count) => counts.push(count),
                Err(error) => failure = Some(error),
            }
        }
        counts.sort_unstable_by(|one, other| other.cmp(one));
        let method = "eth_getTransactionCount";
        counts
            .get(1)
            .copied()
            .ok_or(failure.unwrap_or(NodeError::Malformed { method }))
    }
}
