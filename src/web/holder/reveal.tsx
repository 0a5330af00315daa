// A card's number or a gift card's code: shown for a minute after the person confirmed it, and then gone from the page.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { Button, ErrorLine, copy, failure } from "../parts";
import { mayAct } from "./account";
import { type AnyCard, type RevealedCard, hasSecret, revealCard } from "./data/cards";

const SHOWN_SECONDS = 60;

export interface Reveal {
  card: RevealedCard | null;
  left: number;
  busy: boolean;
  error: string | null;
  show: () => void;
  hide: () => void;
}

/** The details in memory, for a minute at most. They are dropped when the window loses focus or the page is left. */
export function useReveal(card: AnyCard, title: string): Reveal {
  const [shown, setShown] = useState<RevealedCard | null>(null);
  const [until, setUntil] = useState(0);
  const [left, setLeft] = useState(0);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const alive = useRef(true);

  const hide = useCallback(() => {
    setShown(null);
    setUntil(0);
  }, []);

  const show = useCallback(() => {
    setBusy(true);
    setError(null);
    revealCard(card.card_id, title)
      .then((read) => {
        if (!alive.current || read === null) return;
        // The window lost focus to the passkey's own dialog, not to another program, so it is checked after it.
        setShown(read);
        setUntil(Date.now() + SHOWN_SECONDS * 1_000);
        setLeft(SHOWN_SECONDS);
      })
      .catch((thrown: unknown) => {
        if (alive.current) setError(failure(thrown).said);
      })
      .finally(() => {
        if (alive.current) setBusy(false);
      });
  }, [card.card_id, title]);

  useEffect(() => {
    alive.current = true;
    return () => {
      alive.current = false;
    };
  }, []);
  useEffect(() => hide, [card.card_id, hide]);
  useEffect(() => {
    if (!hasSecret(card)) hide();
  }, [card.status, hide]);

  useEffect(() => {
    if (until === 0) return undefined;
    const tick = () => {
      const seconds = Math.ceil((until - Date.now()) / 1_000);
      if (seconds <= 0) hide();
      else setLeft(seconds);
    };
    const timer = setInterval(tick, 250);
    const hidden = () => {
      if (document.hidden) hide();
    };
    addEventListener("blur", hide);
    addEventListener("pagehide", hide);
    document.addEventListener("visibilitychange", hidden);
    return () => {
      clearInterval(timer);
      removeEventListener("blur", hide);
      removeEventListener("pagehide", hide);
      document.removeEventListener("visibilitychange", hidden);
    };
  }, [until, hide]);

  return { card: shown, left, busy, error, show, hide };
}

let clearing: ReturnType<typeof setTimeout> | undefined;

/** Copies a secret, and empties the clipboard after a minute where the browser lets a page do so. */
export async function copySecret(text: string, what: string): Promise<void> {
  if (!(await copy(text, `Copied ${what}. The clipboard is emptied in 60 s if this page still has the focus.`))) return;
  clearTimeout(clearing);
  clearing = setTimeout(() => {
    navigator.clipboard.writeText("").catch(() => {
      // Without the focus a page may not write to the clipboard.
    });
  }, SHOWN_SECONDS * 1_000);
}

/** The bar that empties while the details are shown. */
function Countdown({ left }: { left: number }) {
  const bar = useRef<HTMLElement>(null);
  useEffect(() => {
    bar.current?.style.setProperty("transform", `scaleX(${left / SHOWN_SECONDS})`);
  }, [left]);
  return (
    <span class="countdown" aria-hidden="true">
      <i ref={bar} />
    </span>
  );
}

export interface RevealBarProps {
  reveal: Reveal;
  card: AnyCard;
  /** “Show number”. */
  action: string;
  /** What can be copied while it is shown. */
  copies: { text: string; what: string; label: string }[];
}

/** Below the face: the button that shows, or the time left with what can be copied. */
export function RevealBar({ reveal, card, action, copies }: RevealBarProps) {
  if (reveal.card === null) {
    if (!hasSecret(card)) return null;
    return (
      <div class="stack tight">
        <Button wide icon="eye" busy={reveal.busy} disabled={!mayAct.value} decides onClick={reveal.show}>
          {action}
        </Button>
        {reveal.error && <ErrorLine>{reveal.error}</ErrorLine>}
        {!mayAct.value && <p class="small quiet">An agent’s link opened this page, so it shows no numbers.</p>}
      </div>
    );
  }
  // Read aloud at the beginning, and when ten seconds are left, not each second.
  const said = reveal.left > 10 ? "Shown for one minute." : "Hidden in ten seconds.";
  return (
    <div class="stack tight">
      <Countdown left={reveal.left} />
      <div class="row wrap between">
        <span class="small quiet" aria-hidden="true">
          Hidden again in {reveal.left} s
        </span>
        <span class="only-read" role="status">
          {said}
        </span>
        <span class="row wrap">
          {copies.map((one) => (
            <Button key={one.what} small icon="copy" onClick={() => void copySecret(one.text, one.what)}>
              {one.label}
            </Button>
          ))}
          <Button small icon="eyeOff" onClick={reveal.hide}>
            Hide
          </Button>
        </span>
      </div>
    </div>
  );
}
