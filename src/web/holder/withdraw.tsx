// Adding money, and withdrawing it to the account's own wallet.

import { useState } from "preact/hooks";
import { Button, CopyLine, Dialog, ErrorLine, Exact, MoneyField, Note, amountProblem, api, compare, fieldErrors, money, newKey, short, toast } from "../parts";
import { account, loadAccount } from "./account";

export function AddMoneyDialog({ onClose }: { onClose: () => void }) {
  const wallet = account.value?.agent_wallet;
  const addresses = wallet?.addresses;
  return (
    <Dialog
      title="Add money"
      onClose={onClose}
      actions={
        <Button kind="primary" onClick={onClose}>
          Close
        </Button>
      }
    >
      {addresses?.base || addresses?.solana ? (
        <>
          <p>Send USDC to your agents’ wallet, on either chain. It can be spent as soon as the chain shows it.</p>
          {addresses.base && (
            <div class="field">
              <b class="small">On Base</b>
              <CopyLine text={addresses.base} what="Base address" />
            </div>
          )}
          {addresses.solana && (
            <div class="field">
              <b class="small">On Solana</b>
              <CopyLine text={addresses.solana} what="Solana address" />
            </div>
          )}
          <Note tone="info">Only USDC. Other tokens sent here are not seen, and we cannot give them back.</Note>
        </>
      ) : (
        <>
          <p>Your agents pay each purchase from a wallet of their own, so there is nothing to pay in here first. Money on your balance comes from what could not be delivered, and from refunds.</p>
          <p>If an agent has no wallet, it can ask for one that this service keeps for it. Its address then appears here:</p>
          <CopyLine text="POST /createAgentWallet" what="Call" />
        </>
      )}
    </Dialog>
  );
}

export function WithdrawDialog({ onClose }: { onClose: () => void }) {
  const [amount, setAmount] = useState("");
  const [errors, setErrors] = useState<Record<string, string>>({});
  const [busy, setBusy] = useState(false);
  const [key] = useState(newKey);
  const shown = account.value;
  if (!shown) return null;
  const { available, held } = shown;

  const submit = () => {
    const problem = amountProblem(amount, { max: available });
    if (problem) {
      setErrors({ amount: problem });
      return;
    }
    setBusy(true);
    api
      .post("/withdraw", { amount: new Exact(amount.trim()) }, { key, confirm: { title: `Withdraw ${money(amount.trim())}`, text: `To ${short(shown.user_id)}, the wallet that this account belongs to.` } })
      .then(
        () => {
          toast(`${money(amount.trim())} is on its way to your wallet`);
          void loadAccount();
          onClose();
        },
        (thrown) => setErrors(fieldErrors(thrown, ["amount"])),
      )
      .finally(() => setBusy(false));
  };
  const choose = (value: string) => {
    setAmount(value);
    setErrors({});
  };
  return (
    <Dialog
      title="Withdraw to your wallet"
      onClose={onClose}
      onSubmit={submit}
      actions={
        <>
          <Button kind="ghost" onClick={onClose}>
            Cancel
          </Button>
          <Button kind="primary" decides busy={busy} onClick={submit}>
            Withdraw
          </Button>
        </>
      }
    >
      <p>USDC to {short(shown.user_id)}, the wallet that this account belongs to. It usually arrives within seconds.</p>
      <MoneyField
        label="Amount"
        value={amount}
        onChange={choose}
        error={errors.amount}
        hint={`${money(available)} available${compare(held, 0) > 0 ? `, ${money(held)} held for another payment` : ""}`}
      />
      <div class="row wrap">
        {["25.00", "100.00", "500.00"]
          .filter((value) => compare(value, available) <= 0)
          .map((value) => (
            <Button key={value} small onClick={() => choose(value)}>
              {money(value, "USD", { places: 0 })}
            </Button>
          ))}
        <Button small onClick={() => choose(money(available).replaceAll(/[$,]/g, ""))}>
          All
        </Button>
      </div>
      {errors.form && <ErrorLine>{errors.form}</ErrorLine>}
    </Dialog>
  );
}
