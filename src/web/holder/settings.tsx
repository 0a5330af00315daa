// What only the owner can do: ways in, sessions, identity, the card issuer, webhooks, appearance.

import { useEffect, useState } from "preact/hooks";
import { Avatar, Button, Confirm, ErrorLine, Field, Icon, Id, KeyValue, Menu, MoneyField, Note, PageHead, Panel, Segments, Shell, Skeleton, Status, StatusTag, type Theme, Time, amountProblem, api, failure, fieldErrors, frame, hasPasskeys, money, navigate, now, setTheme, theme, toast } from "../parts";
import { account, loadAccount, mayAct } from "./account";
import { AddPasskey } from "./add-passkey";
import { checkAddress } from "./chain";
import { Contact } from "./contact";
import { isAbsent, useLoad } from "./data/load";
import { type Identity, type IssuerLink, type Passkey, linkIssuer, readCardBalance, readPasskeys, removePasskey, renamePasskey, startIdentity, unlinkIssuer } from "./data/settings";
import { reasonSentence } from "./data/words";
import { LookNote } from "./look-note";
import { useKeyOf } from "./once";
import { LoadError } from "./pager";
import { Sessions } from "./sessions";
import { Webhooks } from "./webhooks";

export default function Settings() {
  // The parts of the page have addresses of their own; a jump waits until they are there.
  useEffect(() => {
    if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
  }, []);
  return (
    <Shell app="holder" page="settings" title="Settings" read>
      <PageHead title="Settings">Ways in, sessions, identity, the card issuer and webhooks.</PageHead>
      <div class="stack">
        <LookNote />
        <WaysIn />
        <Sessions title="Signed in now" />
        <IdentityPanel />
        <Issuer />
        <Webhooks />
        <Panel title="Appearance" padded>
          <div class="row wrap between">
            <p class="soft">Follows your device unless you choose.</p>
            <Segments<Theme>
              label="Appearance"
              options={[
                { value: "auto", text: "As device" },
                { value: "light", text: "Light" },
                { value: "dark", text: "Dark" },
              ]}
              value={theme.value}
              onChange={setTheme}
            />
          </div>
        </Panel>
        <Panel title="Account" padded>
          <div class="stack">
            <KeyValue
              rows={[
                { name: "Account", value: <Id value={account.value?.user_id ?? ""} what="account" /> },
                account.value && { name: "Opened", value: <Time at={account.value.created_at} /> },
                { name: "Service", value: frame.sandbox.value ? "Sandbox: test money only" : "Real money" },
              ]}
            />
            <div>
              <Button icon="leave" onClick={() => void frame.signOut.run()}>
                Sign out of this browser
              </Button>
            </div>
          </div>
        </Panel>
      </div>
    </Shell>
  );
}

function WaysIn() {
  const keys = useLoad("passkeys", readPasskeys, { types: ["passkey.*"] });
  const [adding, setAdding] = useState(false);
  const [renaming, setRenaming] = useState<Passkey | null>(null);
  const [removing, setRemoving] = useState<Passkey | null>(null);
  const absent = isAbsent(keys.error);
  const denied = keys.error?.code === "sign_in_required";
  const isLate = !(Date.parse(keys.data?.confirmed_until ?? "") > now.peek());
  const possible = !absent && !denied && keys.data?.available !== false && hasPasskeys();
  return (
    <Panel
      id="passkeys"
      title="Ways in"
      aside={
        !absent && (
          <Button small icon="plus" disabled={!possible || !mayAct.value} onClick={() => setAdding(true)}>
            Add a passkey
          </Button>
        )
      }
    >
      {keys.error && !absent && !denied && <LoadError error={keys.error} what="your passkeys" retry={keys.reload} />}
      <ul class="list">
        {keys.data?.passkeys.map((one) => (
          <li class="cell person" key={one.passkey_id}>
            <Avatar name={one.name} icon="passkey" large />
            <div>
              <b>{one.name}</b>
              <p class="small quiet">
                Passkey{one.synced ? ", on all devices of your password manager" : ", on one device"}. Added <Time at={one.created_at} />
                {one.last_used_at && (
                  <>
                    , used <Time at={one.last_used_at} />
                  </>
                )}
              </p>
            </div>
            <Menu label={`More for ${one.name}`} triggerClass="button ghost only-icon" align="end" trigger={<Icon name="more" />}>
              <button type="button" onClick={() => setRenaming(one)}>
                <Icon name="edit" />
                Rename
              </button>
              <button type="button" onClick={() => setRemoving(one)}>
                <Icon name="remove" />
                Remove…
              </button>
            </Menu>
          </li>
        ))}
        <li class="cell person">
          <Avatar name="link" icon="link" large />
          <div>
            <b>One-time links from your agents</b>
            <p class="small quiet">Each works once, for 15 minutes, and opens a session of 12 hours.</p>
          </div>
          <StatusTag tone="done">On</StatusTag>
        </li>
      </ul>
      {keys.data && keys.data.passkeys.length === 0 && (
        <div class="panel-body">
          <Note tone={possible ? "wait" : "info"} title={possible ? "Add a passkey, so that you don’t depend on your agent." : "This address offers no passkeys."}>
            {possible ? `Then you come back without a link, and confirm what matters with your fingerprint, face or PIN.${isLate ? " It works for ten minutes after a link of your wallet is opened: ask your agent for a new one." : ""}` : "Browsers offer passkeys at a host name with TLS, or at localhost."}
          </Note>
        </div>
      )}
      {adding && <AddPasskey onClose={() => setAdding(false)} then={() => { keys.reload(); void loadAccount(); }} />}
      {renaming && <RenamePasskey passkey={renaming} onClose={() => setRenaming(null)} then={keys.reload} />}
      {removing && <RemovePasskey passkey={removing} last={keys.data?.passkeys.length === 1} onClose={() => setRemoving(null)} then={() => { keys.reload(); void loadAccount(); }} />}
    </Panel>
  );
}

function RenamePasskey({ passkey, onClose, then }: { passkey: Passkey; onClose: () => void; then: () => void }) {
  const [name, setName] = useState(passkey.name);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const save = async () => {
    setBusy(true);
    try {
      await renamePasskey(passkey, name.trim());
      onClose();
      then();
    } catch (thrown) {
      setBusy(false);
      setError(failure(thrown).said);
    }
  };
  return (
    <Confirm title={`Rename “${passkey.name}”`} action="Save name" busy={busy} onConfirm={() => void save()} onClose={onClose}>
      <Field label="Name" value={name} maxLength={60} onChange={(value) => { setName(value); setError(null); }} error={error} />
    </Confirm>
  );
}

function RemovePasskey({ passkey, last, onClose, then }: { passkey: Passkey; last: boolean; onClose: () => void; then: () => void }) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const remove = async () => {
    setBusy(true);
    try {
      await removePasskey(passkey);
      onClose();
      toast(`The passkey “${passkey.name}” is removed`);
      then();
    } catch (thrown) {
      setBusy(false);
      setError(failure(thrown).said);
    }
  };
  return (
    <Confirm title={`Remove “${passkey.name}”?`} action="Remove passkey" danger busy={busy} error={error} onConfirm={() => void remove()} onClose={onClose}>
      <p>It no longer opens the account. Remove it from your device or password manager too, where it stays as an entry that does nothing.</p>
      {last && <p>It is your only passkey. After it, the way in is a link from your agent, and an agent with your wallet’s key can undo a stop.</p>}
    </Confirm>
  );
}

/** Later, the person may do something else: a button leads to the check. */
const GO_WITHIN_MS = 5_000;

function IdentityPanel() {
  const identity = account.value?.identity as Identity | null | undefined;
  const status = identity?.status ?? "none";
  const checkUrl = checkAddress(identity?.check_url);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const [isGoing, setIsGoing] = useState(false);
  // The provider may name its page a moment later.
  useEffect(() => {
    if (isGoing && checkUrl) location.assign(checkUrl);
  }, [isGoing, checkUrl]);
  const start = async () => {
    setBusy(true);
    setError(null);
    try {
      await startIdentity();
      setIsGoing(true);
      setTimeout(() => setIsGoing(false), GO_WITHIN_MS);
      await loadAccount();
    } catch (thrown) {
      setError(failure(thrown).said);
    }
    setBusy(false);
  };
  return (
    <Panel id="identity" title="Identity" padded aside={<Status kind="identity" value={status} />}>
      <div class="stack">
        {status === "verified" ? (
          <p class="soft">Verified. Your agents can pay people by payment apps and open bank accounts in your name.</p>
        ) : status === "in-review" ? (
          <>
            <p class="soft">{checkUrl ? "The check has begun and waits for your document. It takes about three minutes." : "The provider looks at it. This page changes by itself when there is an answer."}</p>
            {checkUrl && (
              <div>
                <Button kind="primary" href={checkUrl} disabled={!mayAct.value}>
                  Go on with the check
                </Button>
              </div>
            )}
          </>
        ) : (
          <>
            {status === "rejected" && (
              <Note tone="bad" title="The provider could not verify you.">
                {reasonSentence(identity?.rejection_reason) ?? "It gave no reason."} You can try again. <Contact>if it refuses you again</Contact>
              </Note>
            )}
            <div class="row wrap between">
              <p class="soft grow">Payments to people need it, once. A provider looks at your document and tells us yes or no; we keep nothing else.</p>
              <Button kind="primary" busy={busy} decides disabled={!mayAct.value} onClick={() => void start()}>
                {status === "rejected" ? "Try again" : "Verify identity"}
              </Button>
            </div>
          </>
        )}
        {error && <ErrorLine>{error}</ErrorLine>}
      </div>
    </Panel>
  );
}

function Issuer() {
  const link = account.value?.issuer_link as IssuerLink | null | undefined;
  const linked = link?.status === "linked";
  const balance = useLoad(`card balance ${link?.status ?? ""}`, () => (linked ? readCardBalance() : Promise.resolve(null)), { types: ["top_up.credited", "reloadable_card.*", "card_withdrawal.*", "issuer_link.*"] });
  const status = linked ? "linked" : link?.link_pending ? "requested" : link?.decline_reason ? "declined" : "unlinked";
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const [unlinking, setUnlinking] = useState(false);
  const [withdrawing, setWithdrawing] = useState(false);
  const act = async () => {
    setBusy(true);
    setError(null);
    try {
      await linkIssuer();
      await loadAccount();
      balance.reload();
    } catch (thrown) {
      setError(failure(thrown).said);
    }
    setBusy(false);
  };
  return (
    <Panel id="issuer" title="Card issuer" padded aside={<Status kind="issuer_link" value={status} />}>
      <div class="stack">
        {linked ? (
          <>
            {balance.data ? (
              <KeyValue
                rows={[
                  { name: "Card balance", value: balance.data.balance === null ? "The issuer does not answer now" : money(balance.data.balance) },
                  { name: `Deposit address on ${balance.data.network === "solana" ? "Solana" : "Base"}`, value: <Id value={balance.data.address} what="deposit address" /> },
                ]}
              />
            ) : balance.error ? (
              <LoadError error={balance.error} what="the card balance" retry={balance.reload} />
            ) : (
              <Skeleton rows={2} label="Loading the card balance" />
            )}
            <div class="row wrap">
              <Button small decides disabled={!mayAct.value} onClick={() => setWithdrawing(true)}>
                Withdraw from it…
              </Button>
              <Button small kind="danger" decides disabled={!mayAct.value} onClick={() => setUnlinking(true)}>
                Unlink…
              </Button>
            </div>
          </>
        ) : (
          <div class="row wrap between">
            <p class="soft grow">{status === "requested" ? "The issuer opens an account in your name. This page changes by itself." : status === "declined" ? `The issuer declined: ${reasonSentence(link?.decline_reason) ?? "it gave no reason."} You can try again.` : "Reloadable cards and their balance need an account at the issuer. Linking opens one; it is free."}</p>
            <Button kind="primary" busy={busy} decides disabled={!mayAct.value || status === "requested"} onClick={() => void act()}>
              Link the card issuer
            </Button>
          </div>
        )}
        {error && <ErrorLine>{error}</ErrorLine>}
      </div>
      {unlinking && <Unlink onClose={() => setUnlinking(false)} then={balance.reload} />}
      {withdrawing && <WithdrawCardBalance balance={balance.data?.balance ?? null} onClose={() => setWithdrawing(false)} />}
    </Panel>
  );
}

function Unlink({ onClose, then }: { onClose: () => void; then: () => void }) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const unlink = async () => {
    setBusy(true);
    try {
      await unlinkIssuer();
      await loadAccount();
      onClose();
      then();
    } catch (thrown) {
      setBusy(false);
      setError(failure(thrown).said);
    }
  };
  return (
    <Confirm title="Unlink the card issuer?" action="Unlink" danger busy={busy} error={error} onConfirm={() => void unlink()} onClose={onClose}>
      <p>No more top-ups and no more reloadable cards. The issuer keeps the account with its balance and its open cards: linking again uses the same one.</p>
    </Confirm>
  );
}

function WithdrawCardBalance({ balance, onClose }: { balance: number | string | null; onClose: () => void }) {
  const [amount, setAmount] = useState("");
  const [to, setTo] = useState(account.value?.user_id ?? "");
  const [busy, setBusy] = useState(false);
  const [errors, setErrors] = useState<Record<string, string>>({});
  const key = useKeyOf(`${amount.trim()} ${to.trim()}`);
  const send = async () => {
    const problem = amountProblem(amount, { min: "2", ...(balance === null ? {} : { max: String(balance) }) });
    if (problem) {
      setErrors({ amount: problem });
      return;
    }
    setBusy(true);
    try {
      const made = await api.post<{ withdrawal?: { id?: string } }>(
        "/withdraw-card-balance",
        { amount: amount.trim(), destination_address: to.trim() },
        { key, confirm: { title: `Withdraw ${money(amount.trim())} from the card balance`, text: `To ${to.trim()}. An operator pays it out, usually within a day.` } },
      );
      onClose();
      toast("The withdrawal has begun.");
      if (made.withdrawal?.id) navigate(`/dashboard/transfers/${made.withdrawal.id}`);
    } catch (thrown) {
      setErrors(fieldErrors(thrown, ["amount", "destination_address"]));
      setBusy(false);
    }
  };
  return (
    <Confirm title="Withdraw from the card balance" action="Withdraw" busy={busy} error={errors.form ?? null} onConfirm={() => void send()} onClose={onClose}>
      <MoneyField label="Amount" value={amount} onChange={(value) => { setAmount(value); setErrors({}); }} error={errors.amount} hint={`$2.00 to $10,000.00${balance === null ? "" : `, ${money(balance)} on it`}`} />
      <Field label="To" mono value={to} onChange={(value) => { setTo(value); setErrors({}); }} error={errors.destination_address} hint="An address that receives USDC, on Base or Solana." />
      <p>The issuer holds the amount at once, and a person pays it out, usually within a day.</p>
    </Confirm>
  );
}
