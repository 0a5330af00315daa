// Dialogs: native, and focus is on the first field, on the button with `autoFocus` or on Cancel, never on the red button.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { Button } from "./button";
import { Icon } from "./icon";

export interface DialogProps {
  title: string;
  children: ComponentChildren;
  /** Buttons, Cancel first. */
  actions?: ComponentChildren;
  wide?: boolean;
  onClose: () => void;
  /** Makes the dialog a form: Enter in a field sends it. */
  onSubmit?: () => void;
}

/** Open while it is rendered. Escape, the cross and a click outside close it. */
export function Dialog({ title, children, actions, wide, onClose, onSubmit }: DialogProps) {
  const box = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const node = box.current;
    if (!node) return undefined;
    const before = document.activeElement;
    // Its sentences are read after its title; fields and lists are not.
    const sentences = [...node.querySelectorAll(".dialog-body > :is(p, .note)")];
    sentences.forEach((one, at) => {
      one.id ||= `${id}-${at}`;
    });
    if (sentences.length > 0) node.setAttribute("aria-describedby", sentences.map((one) => one.id).join(" "));
    if (!node.open) node.showModal();
    const first =
      node.querySelector<HTMLElement>("[autofocus]") ??
      node.querySelector<HTMLElement>(".dialog-body input:not([readonly]):not([type=hidden]), .dialog-body select, .dialog-body textarea") ??
      node.querySelector<HTMLElement>(".dialog-foot .button:not(.primary)") ??
      node.querySelector<HTMLElement>(".dialog-foot .button");
    first?.focus();
    // What is proposed is replaced by what is typed.
    if (first instanceof HTMLInputElement || first instanceof HTMLTextAreaElement) first.select();
    return () => {
      if (node.open) node.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={box}
      class={wide ? "wide" : undefined}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onMouseDown={(event) => {
        if (event.target === box.current) onClose();
      }}
    >
      <form
        method="dialog"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          onSubmit?.();
        }}
      >
        <div class="dialog-head">
          <h2 id={id}>{title}</h2>
          <button type="button" class="button ghost small only-icon" aria-label="Close" title="Close" onClick={onClose}>
            <Icon name="close" />
          </button>
        </div>
        <div class="dialog-body">{children}</div>
        {actions && <div class="dialog-foot">{actions}</div>}
      </form>
    </dialog>
  );
}

export interface ConfirmProps {
  title: string;
  /** What happens, what goes on, what cannot be undone. */
  children: ComponentChildren;
  /** A verb with its object: “Close card”. */
  action: string;
  /** Of the other button: “Cancel”, if it does not say otherwise. */
  cancel?: string;
  danger?: boolean;
  busy?: boolean;
  /** What the service said against it. */
  error?: string | null;
  disabled?: boolean;
  onConfirm: () => void;
  onClose: () => void;
}

/** A dialog that asks before it acts. */
export function Confirm({ title, children, action, cancel = "Cancel", danger, busy, error, disabled, onConfirm, onClose }: ConfirmProps) {
  return (
    <Dialog
      title={title}
      onClose={onClose}
      onSubmit={onConfirm}
      actions={
        <>
          <Button kind="ghost" onClick={onClose}>
            {cancel}
          </Button>
          <Button kind={danger ? "danger primary" : "primary"} busy={busy === true} disabled={disabled === true} onClick={onConfirm}>
            {action}
          </Button>
        </>
      }
    >
      {children}
      {error && (
        <p class="error" role="alert">
          <Icon name="bad" />
          {error}
        </p>
      )}
    </Dialog>
  );
}
