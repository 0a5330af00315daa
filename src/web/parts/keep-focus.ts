// Keeps the place of the keyboard. When the element with the focus goes away, browsers put the focus nowhere, and a screen
// reader begins the page again. Here the nearest control that is left takes it, or else the page's main part.

const CONTROLS = "a[href], button:not(:disabled), summary";

let last: Element | null = null;
/** Its parents, the nearest first: once it is gone, nothing tells where it was. */
let around: Element[] = [];
/** By keyboard, so that the page may scroll to what takes the focus. */
let byKeyboard = false;

function nearest(): HTMLElement | null {
  for (const place of around) {
    if (!place.isConnected) continue;
    // Outside of these is navigation, which is not near.
    if (place.id === "main" || !place.closest("#main, dialog")) break;
    for (const control of place.querySelectorAll<HTMLElement>(CONTROLS)) if (control.checkVisibility()) return control;
  }
  return document.getElementById("main");
}

/** Once for an app. */
export function keepFocus(): void {
  document.addEventListener("focusin", ({ target }) => {
    last = target as Element;
    around = [];
    for (let place = last.parentElement; place && place !== document.body; place = place.parentElement) around.push(place);
    byKeyboard = last.matches(":focus-visible");
  });
  document.addEventListener("focusout", ({ target, relatedTarget }) => {
    if (relatedTarget) return;
    queueMicrotask(() => {
      // Somebody clicked beside it. A button that is disabled while it works, or a window in the background, is no choice.
      if (target === last && last?.isConnected && !last.matches(":disabled") && document.hasFocus()) last = null;
    });
  });
  new MutationObserver(() => {
    if (!last || last.isConnected || document.activeElement !== document.body) return;
    const place = nearest();
    // What comes instead is still being loaded.
    if (!place) return;
    last = null;
    place.focus({ preventScroll: !byKeyboard });
  }).observe(document.body, { childList: true, subtree: true });
}
