// The dialog that adds a passkey of this device.

import { useState } from "preact/hooks";
import { Confirm, Field, addPasskey, fieldErrors, toast } from "../parts";

/** A name for the passkey of this device. */
function deviceName(): string {
  const agent = navigator.userAgent;
  const device = /iPhone/.test(agent) ? "iPhone" : /iPad/.test(agent) ? "iPad" : /Android/.test(agent) ? "Android phone" : /Mac/.test(agent) ? "Mac" : /Windows/.test(agent) ? "Windows computer" : "Computer";
  return device;
}

/** Adds a passkey, then calls `then`. */
export function AddPasskey({ onClose, then }: { onClose: () => void; then: () => void }) {
  const [name, setName] = useState(deviceName());
  const [busy, setBusy] = useState(false);
  const [errors, setErrors] = useState<Record<string, string>>({});
  const add = async () => {
    if (name.trim() === "") {
      setErrors({ name: "Enter a name." });
      return;
    }
    setBusy(true);
    setErrors({});
    try {
      await addPasskey(name.trim());
      onClose();
      toast(`The passkey “${name.trim()}” is added`);
      then();
    } catch (thrown) {
      const cancelled = thrown instanceof DOMException && thrown.name === "NotAllowedError";
      const known = thrown instanceof DOMException && thrown.name === "InvalidStateError";
      setErrors(cancelled ? { form: "No passkey was made. Try again, or cancel." } : known ? { form: "This device has a passkey of this account already." } : fieldErrors(thrown, ["name"]));
      setBusy(false);
    }
  };
  return (
    <Confirm title="Add a passkey" action="Add passkey" busy={busy} error={errors.form ?? null} onConfirm={() => void add()} onClose={onClose}>
      <p>Your device asks for your fingerprint, face or PIN. Nothing of it leaves the device; Purser gets a public key.</p>
      <Field label="Name" value={name} maxLength={60} onChange={(value) => { setName(value); setErrors({}); }} error={errors.name} hint="So that you recognise it in this list." />
    </Confirm>
  );
}
