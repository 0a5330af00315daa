// Entry of a card number or of its code. The digits are in a closure and nowhere in the document: the field shows dots, and the last four of a number.
// So they are in no attribute, no history of the field, no storage, and not in what a password manager would offer to keep.

import { useEffect, useId, useRef, useState } from "preact/hooks";
import { ErrorLine, Icon, classes } from "../parts";

/** Whether the last digit checks the others. */
export function addsUp(digits: string): boolean {
  let sum = 0;
  [...digits].reverse().forEach((digit, index) => {
    const doubled = Number(digit) * (index % 2 === 1 ? 2 : 1);
    sum += doubled > 9 ? doubled - 9 : doubled;
  });
  return digits.length >= 12 && sum % 10 === 0;
}

const NUMBER_LENGTH = 19;
const CODE_LENGTH = 4;
const dotsOfNumber = (digits: string): string => digits.replace(/\d(?=\d{4})/g, "•").replace(/(.{4})(?=.)/g, "$1 ");
const dotsOfCode = (digits: string): string => "•".repeat(digits.length);

export interface CardEntry {
  digits: () => string;
  clear: () => void;
  focus: () => void;
}

export interface MaskedNumberProps {
  label: string;
  hint?: string;
  /** The three or four digits of a code, of which none is shown. */
  code?: boolean;
  error?: string | null | undefined;
  /** Gives the caller the way to read it once, when it is sent. */
  entry: { current: CardEntry | null };
  onChange?: (length: number, adds: boolean) => void;
}

export function MaskedNumber({ label, hint, code, error, entry, onChange }: MaskedNumberProps) {
  const dots = code ? dotsOfCode : dotsOfNumber;
  const most = code ? CODE_LENGTH : NUMBER_LENGTH;
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const held = useRef({ digits: "" });
  const [length, setLength] = useState(0);

  useEffect(() => {
    const node = input.current;
    if (!node) return undefined;
    const change = (digits: string) => {
      held.current.digits = digits.slice(0, most);
      node.value = dots(held.current.digits);
      node.setSelectionRange(node.value.length, node.value.length);
      setLength(held.current.digits.length);
      onChange?.(held.current.digits.length, addsUp(held.current.digits));
    };
    const typed = (event: InputEvent) => {
      event.preventDefault();
      const digits = held.current.digits;
      const selected = (node.selectionEnd ?? 0) - (node.selectionStart ?? 0);
      if (event.inputType.startsWith("delete")) {
        change(selected > 1 || /Word|Line/.test(event.inputType) ? "" : digits.slice(0, -1));
        return;
      }
      if (event.inputType.startsWith("history")) return;
      const text = event.data ?? event.dataTransfer?.getData("text/plain") ?? "";
      const added = text.replaceAll(/\D/g, "");
      if (added) change(selected > 1 ? added : digits + added);
    };
    // Keyboards that announce nothing beforehand: what they wrote is taken, and replaced by dots.
    const written = () => {
      if (node.value === dots(held.current.digits)) return;
      const shown = dots(held.current.digits).replaceAll(/[^\d•]/g, "");
      const text = node.value.replaceAll(/[^\d•]/g, "");
      if (text.length < shown.length) change(held.current.digits.slice(0, -1));
      else change(held.current.digits + text.slice(shown.length).replaceAll(/\D/g, ""));
    };
    // Copying gives what is seen, which is what should be copied.
    node.addEventListener("beforeinput", typed);
    node.addEventListener("input", written);
    entry.current = { digits: () => held.current.digits, clear: () => change(""), focus: () => node.focus() };
    const forget = () => {
      held.current.digits = "";
      node.value = "";
    };
    addEventListener("pagehide", forget);
    return () => {
      node.removeEventListener("beforeinput", typed);
      node.removeEventListener("input", written);
      removeEventListener("pagehide", forget);
      forget();
      entry.current = null;
    };
  }, []);

  return (
    <div class={classes("field", error && "wrong")}>
      <label for={id}>{label}</label>
      <span class="input-box">
        <input
          ref={input}
          id={id}
          class="input mono"
          inputMode="numeric"
          autocomplete="off"
          autocorrect="off"
          spellcheck={false}
          data-1p-ignore
          data-lpignore="true"
          aria-invalid={error ? "true" : undefined}
          aria-describedby={classes(hint && `${id}-hint`, `${id}-count`, error && `${id}-error`)}
        />
        <span class="after">
          <Icon name="lock" />
        </span>
      </span>
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      <p class="only-read" id={`${id}-count`} role="status">
        {length} digits entered
      </p>
      {error && <ErrorLine id={`${id}-error`}>{error}</ErrorLine>}
    </div>
  );
}
