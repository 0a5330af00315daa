// The dialog that sends part of the balance to a wallet.

import { useState } from "preact/hooks";
import { Button, Confirm, Field, MoneyField, Segments, amountProblem, api, compare, fieldErrors, money, navigate, short, toast } from "../parts";
import { account, loadAccount } from "./account";
import { useKeyOf } from "./once";

export interface WithdrawProps {
  onClose: () => void;
}

const QUICK = ["25.00", "100.00", "500.00"];

export function Withdraw({ onClose }: WithdrawProps) {
  const mine = account.value;
  const available = String(mine?.available ?? "0");
  const held = String(mine?.held ?? "0");
  const [amount, setAmount] = useState("");
  const [to, setTo] = useState<"own" | "other">("own");
  const [address, setAddress] = useState("");
  const [busy, setBusy] = useState(false);
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
    if (to === "other" && address.trim() === "") {
      setErrors({ address: "Enter an address on Base or Solana." });
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
      setBusy(false);
    }
  };
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
