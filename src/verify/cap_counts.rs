//! What counts toward daily caps: of an account by product, of an agent wallet in all and by merchant, and of an API key.
//! Recounted from the events of the journal and compared with what the entities say.
//!
//! Only the last day that an entity counted is compared. The recount of it is complete if the journal has the entity's
//! first event, or one of an earlier day.

use std::collections::BTreeMap;

use purser_actors::entity::account;
use purser_actors::entity::agent_wallet::{self, AgentWallet, WalletHold};
use purser_actors::id::{ApiKeyId, Wallet, WalletPaymentId};
use purser_actors::kernel::EntityKind;
use purser_actors::kernel::event_record::EventRecord;
use purser_actors::port::Timestamp;
use purser_storage::codec::{self, DecodeError};

use super::{StoreContents, VerifyReport};

const DAY_MS: u64 = 86_400_000;
/// Merchants that a wallet counts in a day; a further one is not counted.
const MAX_MERCHANTS: usize = 256;

/// Counts of one day by name; the sum of all is under the empty name.
#[derive(Default)]
struct Day {
    /// `None` before the first event that counts.
    number: Option<u32>,
    /// Whether everything of this day was seen.
    is_complete: bool,
    /// Number of purchases and sum.
    counts: BTreeMap<String, (u64, u128)>,
}

impl Day {
    /// Begins a day, unless it is this one.
    fn begin(&mut self, number: u32) {
        if self.number != Some(number) {
            self.is_complete |= self.number.is_some();
            self.number = Some(number);
            self.counts.clear();
        }
    }

    fn add(&mut self, name: &str, amount: u64) {
        let count = self.counts.entry(name.to_owned()).or_default();
        *count = (count.0 + 1, count.1 + u128::from(amount));
    }

    /// Gives back what was counted on a day, if it is this one.
    fn give_back(&mut self, number: u32, name: &str, amount: u64) {
        if self.number == Some(number)
            && let Some(count) = self.counts.get_mut(name)
        {
            *count = (count.0.saturating_sub(1), count.1.saturating_sub(u128::from(amount)));
        }
    }

    fn count(&self, name: &str) -> (u64, u128) {
        self.counts.get(name).copied().unwrap_or_default()
    }
}

/// The recount.
#[derive(Default)]
pub(super) struct CapCounts {
    accounts: BTreeMap<Wallet, Day>,
    wallets: BTreeMap<Wallet, Day>,
    /// Payments of agent wallets only: what was taken from balances is in no event.
    keys: BTreeMap<ApiKeyId, Day>,
    /// Reservations of agent wallets that have not ended.
    holds: BTreeMap<WalletPaymentId, WalletHold>,
}

impl CapCounts {
    /// Counts an event, if it is one that counts.
    pub(super) fn count(&mut self, record: &EventRecord) -> Result<(), DecodeError> {
        if record.kind == EntityKind::Account as u8 {
            let day = self.accounts.entry(record.owner).or_default();
            match codec::decode(&record.event)? {
                account::Event::Opened(_) => day.is_complete = true,
                account::Event::CapReserved(share) => {
                    day.begin(share.day);
                    day.add(share.cap_group.name(), share.cents.get());
                }
                account::Event::CapReleased(share) => {
                    day.give_back(share.day, share.cap_group.name(), share.cents.get());
                }
                _ => {}
            }
        }
        if record.kind == EntityKind::AgentWallet as u8 {
            let day = self.wallets.entry(record.owner).or_default();
            match codec::decode(&record.event)? {
                agent_wallet::Event::Created { .. } => day.is_complete = true,
                agent_wallet::Event::Held(hold) => {
                    day.begin(hold.day);
                    day.add("", hold.amount.atomic());
                    if let Some(merchant) = &hold.merchant
                        && (day.counts.contains_key(merchant) || day.counts.len() <= MAX_MERCHANTS)
                    {
                        day.add(merchant, hold.amount.atomic());
                    }
                    if let Some(share) = hold.key {
                        let of_key = self.keys.entry(share.key).or_default();
                        of_key.begin(share.day);
                        of_key.add("", hold.amount.atomic());
                    }
                    self.holds.insert(hold.payment, hold);
                }
                agent_wallet::Event::HoldSettled(payment, is_paid) => {
                    if let Some(hold) = self.holds.remove(&payment).filter(|_| !is_paid) {
                        let amount = hold.amount.atomic();
                        for name in [Some(""), hold.merchant.as_deref()].into_iter().flatten() {
                            day.give_back(hold.day, name, amount);
                        }
                        if let Some(share) = hold.key {
                            let of_key = self.keys.entry(share.key).or_default();
                            of_key.give_back(share.day, "", amount);
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Reports what an entity counts otherwise.
    pub(super) fn compare(&self, contents: &StoreContents, report: &mut VerifyReport) {
        for (owner, day) in self.accounts.iter().filter(|(_, day)| day.is_complete) {
            let (Some(number), Some((account, _))) = (day.number, contents.accounts.get(owner)) else {
                continue;
            };
            let (counted_day, usage) = account.cap_usage();
            let counted: BTreeMap<_, _> = usage
                .map(|(line, count, sum)| (line.name().to_owned(), (u64::from(count), u128::from(sum.get()))))
                .collect();
            if counted_day != number || !is_same(&counted, &day.counts) {
                let detail = format!(
                    "day {counted_day}: {counted:?}; by the events day {number}: {:?}",
                    day.counts
                );
                report.report("account.cap_mismatch", owner.address(), detail);
            }
        }
        for (owner, day) in self.wallets.iter().filter(|(_, day)| day.is_complete) {
            let (Some(number), Some(wallet)) = (day.number, contents.agent_wallets.wallets.get(owner)) else {
                continue;
            };
            check_wallet(wallet, number, day, report);
        }
        for (id, day) in &self.keys {
            let Some(usage) = contents.api_keys.usage(id) else {
                report.report("api_key.usage_missing", id, "it has spent, and nothing is counted");
                continue;
            };
            let (least, counted) = (day.count("").1, u128::from(usage.used().atomic()));
            if day.number == Some(usage.day()) && counted < least {
                let detail = format!("{counted} atomic USDC are counted, and agent wallets alone spent {least}");
                report.report("api_key.usage_mismatch", id, detail);
            }
        }
    }
}

/// Whether two counts are the same; one of nothing may be absent.
fn is_same(counted: &BTreeMap<String, (u64, u128)>, expected: &BTreeMap<String, (u64, u128)>) -> bool {
    let of = |counts: &BTreeMap<String, (u64, u128)>, name: &str| counts.get(name).copied().unwrap_or_default();
    let mut names = counted.keys().chain(expected.keys());
    names.all(|name| of(counted, name) == of(expected, name))
}

fn check_wallet(wallet: &AgentWallet, number: u32, day: &Day, report: &mut VerifyReport) {
    let (name, (counted_day, used)) = (wallet.owner.address(), wallet.day_usage());
    let (used, expected) = (u128::from(used.atomic()), day.count("").1);
    if (counted_day, used) != (number, expected) {
        let detail = format!("day {counted_day}: {used} atomic USDC; by the events day {number}: {expected}");
        report.report("agent_wallet.cap_mismatch", &name, detail);
        return;
    }
    let merchants = wallet.merchants_on(Timestamp(u64::from(number) * DAY_MS));
    let counted: BTreeMap<&str, u128> = merchants
        .map(|(host, used)| (host, u128::from(used.atomic())))
        .collect();
    let expected = day.counts.keys().filter(|name| !name.is_empty());
    let hosts: std::collections::BTreeSet<&str> = counted.keys().copied().chain(expected.map(String::as_str)).collect();
    for host in hosts {
        let (used, expected) = (counted.get(host).copied().unwrap_or(0), day.count(host).1);
        if used != expected {
            let detail = format!("{host}: {used} atomic USDC; by the events {expected}");
            report.report("agent_wallet.merchant_cap_mismatch", &name, detail);
        }
    }
}
