// Those who were paid: recipients of payment apps and banks, and the agents' address book.

import { api, withQuery } from "../../parts";
import type { AddressBookEntry, BankRecipient, BankRecipientList, PaymentRecipient, PaymentRecipientList } from "../../api/public";
import { appName } from "./transfers";

/** A list without older and newer: these are few. More than this are not shown. */
const MOST = 1_000;

export async function readAppRecipients(archived: boolean): Promise<PaymentRecipient[]> {
  const all: PaymentRecipient[] = [];
  let after: string | undefined;
  while (all.length < MOST) {
    const page = await api.get<PaymentRecipientList>(withQuery("/payment-recipients", { include_archived: archived, limit: 100, starting_after: after }));
    all.push(...page.recipients);
    after = page.recipients.at(-1)?.recipient_id;
    if (!page.has_more || after === undefined) break;
  }
  return all;
}

/** Destinations are paged, so a recipient can be in two pages. */
export async function readBankRecipients(): Promise<BankRecipient[]> {
  const all = new Map<string, BankRecipient>();
  let after: string | undefined;
  for (let seen = 0; seen < MOST; ) {
    const page = await api.get<BankRecipientList>(withQuery("/bank-recipients", { limit: 100, starting_after: after }));
    for (const one of page.recipients) {
      const known = all.get(one.recipient_id);
      all.set(one.recipient_id, known ? { ...known, destinations: [...known.destinations, ...one.destinations] } : one);
      seen += one.destinations.length;
    }
    after = page.recipients.at(-1)?.destinations.at(-1)?.destination_id;
    if (!page.has_more || after === undefined) break;
  }
  return [...all.values()];
}

/** Names by destination and recipient, for the lists that only have their ids. */
export async function readNames(): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  const [banks, apps] = await Promise.allSettled([readBankRecipients(), readAppRecipients(true)]);
  if (banks.status === "fulfilled") for (const one of banks.value) for (const to of one.destinations) names.set(to.destination_id, one.name);
  if (apps.status === "fulfilled") for (const one of apps.value) names.set(one.recipient_id, one.display_name);
  return names;
}

/** A saved destination or recipient by its id: the name, and the account that is paid. */
export async function readPayee(id: string): Promise<{ name: string; account: string } | null> {
  const [banks, apps] = await Promise.allSettled([readBankRecipients(), readAppRecipients(true)]);
  for (const one of banks.status === "fulfilled" ? banks.value : []) {
    const to = one.destinations.find((account) => account.destination_id === id);
    if (to) return { name: one.name, account: `${to.nickname === one.name ? "" : `${to.nickname}, `}${to.bank_name} •••• ${to.account_number_last4}` };
  }
  const app = apps.status === "fulfilled" ? apps.value.find((one) => one.recipient_id === id) : undefined;
  return app ? { name: app.display_name, account: `${appName(app.platform)}, ${app.recipient}` } : null;
}

export async function readAddressBook(): Promise<AddressBookEntry[]> {
  return (await api.call<{ entries: AddressBookEntry[] }>("listAddressBook", {})).entries;
}

export const renameRecipient = (one: PaymentRecipient, name: string) => api.post("/payment-recipients", { recipient_id: one.recipient_id, platform: one.platform, display_name: name });
export const archiveRecipient = (one: PaymentRecipient, archived: boolean) => api.post("/payment-recipients", { recipient_id: one.recipient_id, platform: one.platform, archived });
export const deleteRecipient = (one: PaymentRecipient) =>
  api.post(withQuery("/payment-recipients", { recipient_id: one.recipient_id, platform: one.platform }), undefined, { method: "DELETE", confirm: { title: `Delete ${one.display_name}?`, text: "The recipient leaves every list." } });
export const renameDestination = (id: string, nickname: string) => api.call("updateBankingDestination", { destinationId: id, nickname });
export const deleteBankRecipient = (id: string, name: string) => api.call("deleteBankingRecipient", { recipientId: id }, { confirm: { title: `Delete ${name}?`, text: "Nothing can be paid to this recipient any more." } });

export const saveAddress = (entry: { entryId?: string; name: string; address: string }) =>
  api.call("saveAddressBookEntry", entry, { confirm: { title: entry.entryId ? `Change ${entry.name}` : `Save ${entry.name}`, text: "Agents can send money to the addresses in this book." } });
export const deleteAddress = (entry: AddressBookEntry) => api.call("deleteAddressBookEntry", { entryId: entry.entryId }, { confirm: { title: `Delete ${entry.name}?`, text: "Agents can no longer use this name." } });
