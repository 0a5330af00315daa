// Fields of forms: a label, a hint, and an error with the way out.

import type { ComponentChildren, JSX } from "preact";
import { useId } from "preact/hooks";
import { classes } from "./classes";
import { Icon } from "./icon";
import { type ApiFailure, failure } from "./api";
import { type AmountValue, compare, less, money, units } from "./money";

export interface FieldProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  hint?: ComponentChildren;
  error?: string | null | undefined;
  type?: "text" | "search" | "email" | "url" | "date" | "password" | "number";
  placeholder?: string;
  /** For what is copied: ids, addresses. */
  mono?: boolean;
  readOnly?: boolean;
  disabled?: boolean;
  required?: boolean;
  /** More than one line. */
  rows?: number;
  autocomplete?: string;
  inputMode?: JSX.HTMLAttributes["inputMode"];
  maxLength?: number;
  name?: string;
  /** Before and after the text within the field. */
  before?: ComponentChildren;
  after?: ComponentChildren;
  /** Only read aloud, where the place says it. */
  labelOnlyRead?: boolean;
  onBlur?: () => void;
  class?: string;
}

export function Field(props: FieldProps) {
  const { label, value, onChange, hint, error, type = "text", mono, rows, before, after } = props;
  const id = useId();
  const described = classes(hint !== undefined && `${id}-hint`, error && `${id}-error`);
  const shared = {
    id,
    value,
    name: props.name,
    class: classes("input", mono && "mono"),
    placeholder: props.placeholder,
    readOnly: props.readOnly,
    disabled: props.disabled,
    required: props.required,
    maxLength: props.maxLength,
    "aria-invalid": error ? ("true" as const) : undefined,
    "aria-describedby": described || undefined,
    onBlur: props.onBlur,
  };
  const input = rows ? (
    <textarea {...shared} rows={rows} onInput={(event) => onChange(event.currentTarget.value)} />
  ) : (
    <input
      {...shared}
      type={type}
      inputMode={props.inputMode}
      autocomplete={(props.autocomplete ?? "off") as "off"}
      spellcheck={mono ? false : undefined}
      onInput={(event) => onChange(event.currentTarget.value)}
    />
  );
  return (
    <div class={classes("field", error && "wrong", props.class)}>
      <label for={id} class={props.labelOnlyRead ? "only-read" : undefined}>
        {label}
      </label>
      {before || after ? (
        <span class="input-box">
          {before && (
            <span class="before" aria-hidden="true">
              {before}
            </span>
          )}
          {input}
          {after && <span class="after">{after}</span>}
        </span>
      ) : (
        input
      )}
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {error && <ErrorLine id={`${id}-error`}>{error}</ErrorLine>}
    </div>
  );
}

/** What is wrong with a field or a form. */
export function ErrorLine({ id, children }: { id?: string; children: ComponentChildren }) {
  return (
    <p class="error" id={id} role={id ? undefined : "alert"}>
      <Icon name="bad" />
      <span>{children}</span>
    </p>
  );
}

export interface SelectProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  options: { value: string; text: string }[];
  hint?: ComponentChildren;
  error?: string | null | undefined;
  labelOnlyRead?: boolean;
}

/** One of many, in a list of the browser. */
export function Select({ label, value, onChange, options, hint, error, labelOnlyRead }: SelectProps) {
  const id = useId();
  const described = classes(hint !== undefined && `${id}-hint`, error && `${id}-error`);
  return (
    <div class={classes("field", error && "wrong")}>
      <label for={id} class={labelOnlyRead ? "only-read" : undefined}>
        {label}
      </label>
      <select
        id={id}
        class="input"
        value={value}
        aria-invalid={error ? "true" : undefined}
        aria-describedby={described || undefined}
        onChange={(event) => onChange(event.currentTarget.value)}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.text}
          </option>
        ))}
      </select>
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {error && <ErrorLine id={`${id}-error`}>{error}</ErrorLine>}
    </div>
  );
}

export interface CheckProps {
  checked: boolean;
  onChange: (checked: boolean) => void;
  children: ComponentChildren;
  disabled?: boolean;
}

/** Yes or no, with its sentence. */
export function Check({ checked, onChange, children, disabled }: CheckProps) {
  return (
    <label class="check">
      <input type="checkbox" checked={checked} disabled={disabled} onChange={(event) => onChange(event.currentTarget.checked)} />
      <span>{children}</span>
    </label>
  );
}

export interface MoneyFieldProps extends Omit<FieldProps, "type" | "before" | "inputMode"> {
  currency?: string;
}

const BEFORE: Record<string, string> = { USD: "$", EUR: "€", GBP: "£" };

/** An amount. What is typed stays a text. */
export function MoneyField({ currency = "USD", ...props }: MoneyFieldProps) {
  return <Field placeholder="0.00" {...props} inputMode="decimal" before={BEFORE[currency] ?? currency} />;
}

/** What is wrong with a typed amount, or null. */
export function amountProblem(text: string, { max, min, currency = "USD" }: { max?: AmountValue; min?: AmountValue; currency?: string } = {}): string | null {
  const typed = text.trim();
  if (!/^\d+(\.\d{1,2})?$/.test(typed) || units(typed) === null) return "Enter an amount like 25 or 25.50.";
  if (units(typed) === 0n) return "Enter more than zero.";
  if (min !== undefined && compare(typed, min) < 0) return `The least is ${money(min, currency)}.`;
  if (max !== undefined && compare(typed, max) > 0) return `That is ${money(less(typed, max), currency)} more than is available.`;
  return null;
}

/** Puts what the service said at the field it is about, or at the form: `errors.amount`, `errors.form`. */
export function fieldErrors(error: unknown, fields: readonly string[]): Record<string, string> {
  const failed: ApiFailure = failure(error);
  const at = failed.param !== undefined && fields.includes(failed.param) ? failed.param : "form";
  // The API names the parameter; here it stands below its field.
  const name = `${at} `;
  return { [at]: failed.said.startsWith(name) ? `This ${failed.said.slice(name.length)}` : failed.said };
}
