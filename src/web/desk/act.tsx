// Acts of operators: offered to roles that may do them, with the reason where not; and the dialogs that ask first.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type AmountValue, Button, type ButtonProps, Check, Dialog, ErrorLine, Exact, Field, MoneyField, Note, amountProblem, api, compare, complain, failure, fieldErrors, money, sum, toast, units } from "../parts";
import { type Needs, alone, may, readClock, whyNot } from "./session";

export interface ActProps extends ButtonProps {
  needs?: Needs;
}

/** A button that acts. For a role that may not it is disabled and says why, and nobody acts on a page that is not live. */
export function Act({ needs = "operate", ...button }: ActProps) {
  if (may(needs)) return <Button {...button} decides />;
  return (
    <span title={whyNot(needs)}>
      <Button {...button} kind="ghost" icon="lock" disabled />
      <span class="only-read">Not with your role. {whyNot(needs)}</span>
    </span>
  );
}

/** What is said when a claim ended before its act. Null for every other failure. */
export function claimEnded(thrown: unknown): string | null {
  if (failure(thrown).code !== "lease_stale") return null;
  void readClock();
  return "Your claim has ended. Claim it again.";
}

/** What is said of an act that gives more than the operator may decide alone. Null within the limits. */
export function aboveLimit(gives: AmountValue, { max, dayMax, today }: { max: AmountValue; dayMax: AmountValue; today: AmountValue }): string | null {
  if (units(gives) === null) return null;
  if (units(max) !== null && compare(gives, max) > 0) return `${usd(gives)} is above your ${usd(max)}: a second operator must agree.`;
  const all = sum(today, gives);
  return units(dayMax) !== null && compare(all, dayMax) > 0 ? `With ${usd(gives)} you would give ${usd(all)} today, above your ${usd(dayMax)} a day: a second operator must agree.` : null;
}

export function AboveLimit({ gives }: { gives: AmountValue }) {
  // What a colleague or another tab did since counts too.
  useEffect(() => void readClock(), []);
  const said = aboveLimit(gives, alone.value);
  return said && <Note tone="wait">{said}</Note>;
}

export interface AskFields {
  /** Free text that goes into the audit log. */
  note?: { name: string; label: string; hint: string; least?: string };
  /** An id or reference. */
  reference?: { name: string; label: string; hint: string; required?: boolean; placeholder?: string };
  /** An amount; with `same`, it must be typed as it is. */
  amount?: { label: string; hint: string; same?: string; max?: string };
  /** A sentence that must be ticked. */
  check?: { name: string; text: string; error: string };
}

export interface AskProps {
  title: string;
  /** What happens, what goes on, what cannot be undone. */
  children: ComponentChildren;
  action: string;
  danger?: boolean;
  wide?: boolean;
  path: string;
  body: Record<string, unknown>;
  /** What it gives to a customer, or pays out. Above the operator's limit the dialog says so. */
  gives?: AmountValue;
  fields?: AskFields;
  /** Said when it is done. */
  done: string;
  onDone?: (answer: unknown) => void;
  onClose: () => void;
  confirm?: { title: string; text: string };
}

interface Waiting {
  approval_id?: string;
  status?: string;
}

/** A dialog that asks for what an act needs, does it, and says what came of it. */
export function Ask({ title, children, action, danger, wide, path, body, gives, fields = {}, done, onDone, onClose, confirm }: AskProps) {
  const { note, reference, amount, check } = fields;
  const [text, setText] = useState("");
  const [ref, setRef] = useState("");
  const [typed, setTyped] = useState("");
  const [ticked, setTicked] = useState(false);
  const errors = useSignal<Record<string, string>>({});
  const busy = useSignal(false);

  const problems = (): Record<string, string> => {
    const found: Record<string, string> = {};
    if (reference?.required && !ref.trim()) found.reference = "Without it nobody can find it later.";
    if (amount?.same !== undefined) {
      // What is asked for can have more places than what people enter of their own.
      if (!/^\d+(\.\d{1,6})?$/.test(typed.trim())) found.amount = "Enter an amount like 25 or 25.50, as it is shown.";
      else if (compare(typed.trim(), amount.same) !== 0) found.amount = "That is not the amount that was asked for.";
    } else if (amount) {
      const wrong = amountProblem(typed, { ...(amount.max !== undefined ? { max: amount.max } : {}) });
      if (wrong) found.amount = wrong;
    }
    if (note && text.trim().length < 4) found.note = note.least ?? "Say it in a sentence.";
    if (check && !ticked) found.check = check.error;
    return found;
  };
  const send = async () => {
    errors.value = problems();
    if (Object.keys(errors.value).length > 0) return;
    busy.value = true;
    const sent: Record<string, unknown> = { ...body };
    if (note) sent[note.name] = text.trim();
    if (reference && ref.trim()) sent[reference.name] = ref.trim();
    if (amount) sent.amount = new Exact(typed.trim());
    if (check) sent[check.name] = ticked;
    try {
      const answer = await api.post<Waiting>(path, sent, { confirm: confirm ?? { title: "Confirm that it is you", text: `You confirm this: ${title.replace(/\?$/, "")}.` } });
      const waits = typeof answer?.approval_id === "string" && answer.status === "waiting";
      toast(waits ? "It is above your limit: it waits for a second operator." : done);
      onDone?.(answer);
      onClose();
    } catch (thrown) {
      const failed = failure(thrown);
      const ended = claimEnded(thrown);
      if (ended) {
        errors.value = { form: ended };
      } else if (failed.code === "provider_disagrees") {
        errors.value = { form: `${failed.message.replaceAll("`", "")} That goes before what you record. Try the work again, which records the provider’s answer, or ask the provider.` };
      } else if (failed.code === "not_confirmed") {
        errors.value = { form: failed.message };
      } else {
        const at = fieldErrors(thrown, [note?.name ?? "", reference?.name ?? "", "amount"].filter(Boolean));
        errors.value = {
          ...(note && at[note.name] ? { note: at[note.name] as string } : {}),
          ...(reference && at[reference.name] ? { reference: at[reference.name] as string } : {}),
          ...(at.amount ? { amount: at.amount } : {}),
          ...(at.form ? { form: at.form } : {}),
        };
      }
    } finally {
      busy.value = false;
    }
  };

  return (
    <Dialog
      title={title}
      wide={wide === true}
      onClose={onClose}
      onSubmit={() => void send()}
      actions={
        <>
          <Button kind="ghost" onClick={onClose}>
            Cancel
          </Button>
          <Button kind={danger ? "danger primary" : "primary"} type="submit" busy={busy.value} decides>
            {action}
          </Button>
        </>
      }
    >
      {children}
      {gives !== undefined && <AboveLimit gives={gives} />}
      {reference && (
        <Field label={reference.label} mono value={ref} onChange={setRef} hint={reference.hint} error={errors.value.reference} placeholder={reference.placeholder ?? ""} />
      )}
      {amount && <MoneyField label={amount.label} value={typed} onChange={setTyped} hint={amount.hint} error={errors.value.amount} />}
      {note && <Field label={note.label} rows={3} value={text} onChange={setText} hint={note.hint} error={errors.value.note} maxLength={500} />}
      {check && (
        <div class="field">
          <Check checked={ticked} onChange={setTicked}>
            {check.text}
          </Check>
          {errors.value.check && <ErrorLine>{errors.value.check}</ErrorLine>}
        </div>
      )}
      {errors.value.form && <ErrorLine>{errors.value.form}</ErrorLine>}
    </Dialog>
  );
}

/** Sends an act without a dialog. Says what came of it. */
export function useAct(): { busy: string | null; act: (name: string, path: string, body: object, done: string | ((answer: unknown) => string)) => Promise<unknown> } {
  const busy = useSignal<string | null>(null);
  return {
    busy: busy.value,
    act: async (name, path, body, done) => {
      busy.value = name;
      try {
        const answer = await api.post(path, body);
        toast(typeof done === "string" ? done : done(answer));
        return answer;
      } catch (thrown) {
        complain(claimEnded(thrown) ?? failure(thrown).said);
        return undefined;
      } finally {
        busy.value = null;
      }
    },
  };
}

/** An amount in USDC as dollars: one is worth the other here. */
export const usd = (value: string | number | null | undefined): string => money(value, "USD");
