// The dialog that sends part of the balance to a wallet.

import { useState } from "preact/hooks";
import { Button, Confirm, Dialog, Field, MoneyField, Segments, amountProblem, api, compare, fieldErrors, isZero, money, navigate, short, toast } from "../parts";
import { account, loadAccount } from "./account";
import { chainName } from "./chain";
import { useKeyOf } from "./once";

export interface WithdrawProps {
  onClose: () => void;
}

const ADDRESS = /^(0x[0-9a-fA-F]{40}|[1-9A-HJ-NP-Za-km-z]{32,44})$/;
const QUICK = ["25.00", "100.00", "500.00"];

export function Withdraw({ onClose }: WithdrawProps) {
  const mine = account.value;
  const available = String(mine?.available ?? "0");
  const held = String(mine?.held ?? "0");
  const [amount, setAmount] = useState("");
  const [to, setTo] = useState<"own" | "other">("own");
  const [address, setAddress] = useState("");
  const [busy, setBusy] = useState(false);
  // An address that was typed is shown once more, alone.
  const [isSure, setIsSure] = useState(false);
  const [errors, setErrors] = useState<Record<string, string>>({});
  const key = useKeyOf(`${amount.trim()} ${to} ${address.trim()}`);
  const set = (value: string) => {
    setAmount(value);
    setErrors({});
  };
  const send = async () => {
    const problem = amountProblem(amount, { max: available });
    if (problem) {
      setErrors({ amount: problem });
      return;
    }
    if (to === "other" && !ADDRESS.test(address.trim())) {
      setErrors({ address: address.trim() === "" ? "Enter an address on Base or Solana." : "This is not an address on Base or Solana." });
      return;
    }
    if (to === "other" && !isSure) {
      setIsSure(true);
      return;
    }
    setBusy(true);
    try {
      const target = to === "other" ? address.trim() : (mine?.user_id ?? "");
      const made = await api.post<{ withdrawal: { id: string } }>(
        "/withdraw",
        { amount: amount.trim(), ...(to === "other" ? { address: address.trim() } : {}) },
        { key, confirm: { title: `Withdraw ${money(amount.trim())}`, text: `To ${short(target)}. A transfer on a chain cannot be called back.` } },
      );
      void loadAccount();
      onClose();
      toast(`${money(amount.trim())} is on its way.`);
      navigate(`/dashboard/transfers/${made.withdrawal.id}`);
    } catch (error) {
      setErrors(fieldErrors(error, ["amount", "address"]));
      setIsSure(false);
      setBusy(false);
    }
  };
  if (isSure) {
    return (
      <Confirm title={`Send ${money(amount.trim())} to this address?`} action={`Send ${money(amount.trim())}`} cancel="Back" busy={busy} onConfirm={() => void send()} onClose={() => setIsSure(false)}>
        <p class="mono anywhere">{address.trim()}</p>
        <p>USDC on {chainName(address.trim().startsWith("0x") ? "base" : "solana")}. Compare the whole address: a transfer on a chain cannot be called back.</p>
      </Confirm>
    );
  }
  if (isZero(available)) {
    return (
      <Dialog
        title="Withdraw to a wallet"
        onClose={onClose}
        actions={
          <Button kind="primary" onClick={onClose}>
            Close
          </Button>
        }
      >
        <p>There is nothing to withdraw now{isZero(held) ? "" : `: ${money(held)} of your balance is held for something else`}. Money comes to your balance from what could not be delivered, and from refunds.</p>
      </Dialog>
    );
  }
  return (
    <Confirm title="Withdraw to a wallet" action="Withdraw" busy={busy} error={errors.form ?? null} onConfirm={() => void send()} onClose={onClose}>
      <MoneyField label="Amount" value={amount} onChange={set} error={errors.amount} hint={`${money(available)} available${compare(held, "0") > 0 ? `, ${money(held)} held for something else` : ""}`} />
      <div class="row wrap">
        {QUICK.filter((one) => compare(one, available) <= 0).map((one) => (
          <Button key={one} small onClick={() => set(one)}>
            {money(one)}
          </Button>
        ))}
        {compare(available, "0") > 0 && (
          <Button small onClick={() => set(money(available).replace(/[^0-9.]/g, ""))}>
            All
          </Button>
        )}
      </div>
      <Segments
        label="Where to"
        options={[
          { value: "own", text: "Your own wallet" },
          { value: "other", text: "Another address" },
        ]}
        value={to}
        onChange={setTo}
      />
      {to === "own" ? (
        <p>
          USDC to {short(mine?.user_id ?? "")}, the wallet this account belongs to. It usually arrives within seconds.
        </p>
      ) : (
        <Field
          label="Address"
          mono
          value={address}
          onChange={(value) => {
            setAddress(value);
            setErrors({});
          }}
          error={errors.address}
          hint="On Base or Solana. The address decides the chain, and a transfer there cannot be called back."
        />
      )}
    </Confirm>
  );
}
