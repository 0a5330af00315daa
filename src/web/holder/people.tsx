// People who were paid, and the addresses that agents may send to.

import { useState } from "preact/hooks";
import { Avatar, Button, Check, Confirm, Empty, Field, Icon, Id, Menu, Panel, Skeleton, Time, failure, fieldErrors, money, toast } from "../parts";
import type { AddressBookEntry, BankRecipient, PaymentRecipient } from "../api/public";
import { chainName } from "./chain";
import { account, mayAct } from "./account";
import { useLoad } from "./data/load";
import { archiveRecipient, deleteAddress, deleteBankRecipient, deleteRecipient, readAddressBook, readAppRecipients, readBankRecipients, renameDestination, renameRecipient, saveAddress } from "./data/people";
import { appName } from "./data/transfers";
import { count } from "./data/words";
import { LoadError } from "./pager";

/** Changes something, says so, and says what the service said against it. */
async function attempt(act: () => Promise<unknown>, done: string, then: () => void): Promise<void> {
  try {
    await act();
    toast(done);
    then();
  } catch (error) {
    toast(failure(error).said);
  }
}

export function People() {
  return (
    <>
      <Recipients />
      {account.value?.agent_wallet && <AddressBook />}
    </>
  );
}

function Recipients() {
  const [archived, setArchived] = useState(false);
  const apps = useLoad(`recipients ${archived}`, () => readAppRecipients(archived), { types: ["payment_recipient.*"] });
  const banks = useLoad("bank recipients", readBankRecipients, { types: ["bank_destination.*"] });
  const [renaming, setRenaming] = useState<{ name: string; save: (name: string) => Promise<unknown>; then: () => void } | null>(null);
  const [removing, setRemoving] = useState<{ name: string; text: string; remove: () => Promise<unknown>; then: () => void } | null>(null);
  const rows = (apps.data?.length ?? 0) + (banks.data?.length ?? 0);
  const error = apps.error ?? banks.error;
  return (
    <Panel
      title="People you have paid"
      aside={
        <Check checked={archived} onChange={setArchived}>
          Archived too
        </Check>
      }
    >
      {error && <LoadError error={error} what="the recipients" retry={() => { apps.reload(); banks.reload(); }} />}
      {apps.data === undefined || banks.data === undefined ? (
        !error && <Skeleton rows={2} label="Loading recipients" />
      ) : rows === 0 ? (
        <Empty icon="people" title="Nobody yet">
          People that your agents pay by a payment app or to a bank are saved here, with what was paid in total.
        </Empty>
      ) : (
        <ul class="list">
          {banks.data.map((one) => (
            <BankRow
              key={one.recipient_id}
              one={one}
              rename={(id, name) => setRenaming({ name, save: (next) => renameDestination(id, next), then: banks.reload })}
              remove={() => setRemoving({ name: one.name, text: "Nothing can be paid to any of their bank accounts any more. What was paid stays in your lists.", remove: () => deleteBankRecipient(one.recipient_id, one.name), then: banks.reload })}
            />
          ))}
          {apps.data.map((one) => (
            <AppRow
              key={one.recipient_id}
              one={one}
              rename={() => setRenaming({ name: one.display_name, save: (next) => renameRecipient(one, next), then: apps.reload })}
              archive={() => void attempt(() => archiveRecipient(one, !one.archived), one.archived ? `${one.display_name} is listed again` : `${one.display_name} is archived`, apps.reload)}
              remove={() => setRemoving({ name: one.display_name, text: "The recipient leaves every list and comes back only when paid again. Archiving hides the recipient and keeps the history.", remove: () => deleteRecipient(one), then: apps.reload })}
            />
          ))}
        </ul>
      )}
      {renaming && <Rename {...renaming} onClose={() => setRenaming(null)} />}
      {removing && <Remove {...removing} onClose={() => setRemoving(null)} />}
    </Panel>
  );
}

function BankRow({ one, rename, remove }: { one: BankRecipient; rename: (id: string, name: string) => void; remove: () => void }) {
  return (
    <li class="cell person">
      <Avatar name={one.name} icon="bank" large />
      <div class="grow">
        <b>{one.name}</b>
        {one.destinations.map((to) => (
          <p class="small quiet" key={to.destination_id}>
            {to.nickname !== one.name ? `${to.nickname}: ` : ""}
            {to.bank_name}, account •••• {to.account_number_last4}, since <Time at={to.created_at} />
          </p>
        ))}
      </div>
      <Menu label={`More for ${one.name}`} triggerClass="button ghost only-icon" align="end" trigger={<Icon name="more" />}>
        {one.destinations.map((to) => (
          <button type="button" key={to.destination_id} disabled={!mayAct.value} onClick={() => rename(to.destination_id, to.nickname)}>
            <Icon name="edit" />
            Rename •••• {to.account_number_last4}
          </button>
        ))}
        <button type="button" disabled={!mayAct.value} onClick={remove}>
          <Icon name="remove" />
          Delete recipient…
        </button>
      </Menu>
    </li>
  );
}

function AppRow({ one, rename, archive, remove }: { one: PaymentRecipient; rename: () => void; archive: () => void; remove: () => void }) {
  return (
    <li class="cell person">
      <Avatar name={one.display_name} large />
      <div class="grow">
        <b>{one.display_name}</b>
        {one.archived && <span class="quiet"> · archived</span>}
        <p class="small quiet">
          {appName(one.platform)} {one.recipient}, {money(one.total_amount, one.currency)} in {count(one.payments_count, "payment")}
        </p>
      </div>
      <span class="small quiet wide-only">
        <Time at={one.last_paid_at} />
      </span>
      <Menu label={`More for ${one.display_name}`} triggerClass="button ghost only-icon" align="end" trigger={<Icon name="more" />}>
        <button type="button" disabled={!mayAct.value} onClick={rename}>
          <Icon name="edit" />
          Rename
        </button>
        <button type="button" disabled={!mayAct.value} onClick={archive}>
          <Icon name="inbox" />
          {one.archived ? "List again" : "Archive"}
        </button>
        <button type="button" disabled={!mayAct.value} onClick={remove}>
          <Icon name="remove" />
          Delete…
        </button>
      </Menu>
    </li>
  );
}

function Rename({ name, save, then, onClose }: { name: string; save: (name: string) => Promise<unknown>; then: () => void; onClose: () => void }) {
  const [value, setValue] = useState(name);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const submit = async () => {
    if (value.trim() === "") {
      setError("Enter a name.");
      return;
    }
    setBusy(true);
    try {
      await save(value.trim());
      onClose();
      then();
    } catch (thrown) {
      setBusy(false);
      setError(failure(thrown).said);
    }
  };
  return (
    <Confirm title={`Rename ${name}`} action="Save name" busy={busy} onConfirm={() => void submit()} onClose={onClose}>
      <Field label="Name" value={value} maxLength={100} onChange={(next) => { setValue(next); setError(null); }} error={error} hint="Your agents see it too." />
    </Confirm>
  );
}

function Remove({ name, text, remove, then, onClose }: { name: string; text: string; remove: () => Promise<unknown>; then: () => void; onClose: () => void }) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const submit = async () => {
    setBusy(true);
    try {
      await remove();
      onClose();
      toast(`${name} is deleted`);
      then();
    } catch (thrown) {
      setBusy(false);
      setError(failure(thrown).said);
    }
  };
  return (
    <Confirm title={`Delete ${name}?`} action="Delete" danger busy={busy} error={error} onConfirm={() => void submit()} onClose={onClose}>
      <p>{text}</p>
    </Confirm>
  );
}

/** Addresses that agents may use by name. They belong to the managed wallet. */
function AddressBook() {
  const book = useLoad("address book", readAddressBook, { types: ["agent_wallet.address_saved", "agent_wallet.address_deleted"] });
  const [editing, setEditing] = useState<AddressBookEntry | "new" | null>(null);
  const [removing, setRemoving] = useState<AddressBookEntry | null>(null);
  // The account was loaded before the wallet was made, or after it was.
  if (book.error?.code === "agent_wallet_not_found") return null;
  return (
    <Panel
      title="Address book"
      aside={
        <Button small icon="plus" decides disabled={!mayAct.value} onClick={() => setEditing("new")}>
          Add an address
        </Button>
      }
    >
      {book.error && !book.data ? (
        <LoadError error={book.error} what="the address book" retry={book.reload} />
      ) : book.data === undefined ? (
        <Skeleton rows={2} label="Loading the address book" />
      ) : book.data.length === 0 ? (
        <Empty icon="wallet" title="No addresses saved">
          Agents send USDC from their wallet to an address by its name here, so a typing mistake cannot send it elsewhere.
        </Empty>
      ) : (
        <ul class="list">
          {book.data.map((entry) => (
            <li class="cell person" key={entry.entryId}>
              <Avatar name={entry.name} icon="wallet" large />
              <div class="grow">
                <b>{entry.name}</b>
                <p class="small quiet row wrap">
                  {chainName(entry.network)} <Id value={entry.address} />
                </p>
              </div>
              <Menu label={`More for ${entry.name}`} triggerClass="button ghost only-icon" align="end" trigger={<Icon name="more" />}>
                <button type="button" disabled={!mayAct.value} onClick={() => setEditing(entry)}>
                  <Icon name="edit" />
                  Change
                </button>
                <button type="button" disabled={!mayAct.value} onClick={() => setRemoving(entry)}>
                  <Icon name="remove" />
                  Delete…
                </button>
              </Menu>
            </li>
          ))}
        </ul>
      )}
      {editing && <AddressDialog entry={editing === "new" ? null : editing} then={book.reload} onClose={() => setEditing(null)} />}
      {removing && (
        <Remove name={removing.name} text="Agents can no longer send to it by this name. Nothing that was sent changes." remove={() => deleteAddress(removing)} then={book.reload} onClose={() => setRemoving(null)} />
      )}
    </Panel>
  );
}

function AddressDialog({ entry, then, onClose }: { entry: AddressBookEntry | null; then: () => void; onClose: () => void }) {
  const [name, setName] = useState(entry?.name ?? "");
  const [address, setAddress] = useState(entry?.address ?? "");
  const [busy, setBusy] = useState(false);
  const [errors, setErrors] = useState<Record<string, string>>({});
  const submit = async () => {
    const missing: Record<string, string> = {};
    if (name.trim() === "") missing.name = "Enter a name.";
    if (address.trim() === "") missing.address = "Enter an address on Base or Solana.";
    if (Object.keys(missing).length > 0) {
      setErrors(missing);
      return;
    }
    setBusy(true);
    try {
      await saveAddress({ ...(entry ? { entryId: entry.entryId } : {}), name: name.trim(), address: address.trim() });
      onClose();
      then();
    } catch (thrown) {
      setBusy(false);
      setErrors(fieldErrors(thrown, ["name", "address"]));
    }
  };
  return (
    <Confirm title={entry ? `Change ${entry.name}` : "Add an address"} action="Save address" busy={busy} error={errors.form ?? null} onConfirm={() => void submit()} onClose={onClose}>
      <Field label="Name" value={name} maxLength={100} onChange={(next) => { setName(next); setErrors({}); }} error={errors.name} hint="What your agents call it." />
      <Field label="Address" mono value={address} onChange={(next) => { setAddress(next); setErrors({}); }} error={errors.address} hint="On Base or Solana. Compare the first and the last characters with where you copied it." />
    </Confirm>
  );
}
