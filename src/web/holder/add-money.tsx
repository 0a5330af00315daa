// Adding money.

import { Button, CopyLine, Dialog, Id, Note } from "../parts";
import { account } from "./account";

export function AddMoneyDialog({ onClose }: { onClose: () => void }) {
  const wallet = account.value?.agent_wallet;
  const addresses = wallet?.addresses;
  const hasWallet = Boolean(addresses?.base || addresses?.solana);
  return (
    <Dialog
      title={hasWallet ? "Add money to the agents’ wallet" : "Add money"}
      onClose={onClose}
      actions={
        <Button kind="primary" onClick={onClose}>
          Close
        </Button>
      }
    >
      {hasWallet ? (
        <>
          <p>Send USDC to your agents’ wallet, on either chain. Your agents can spend it as soon as the chain shows it. Your available balance stays as it is: it only grows by what comes back to you.</p>
          {addresses?.base && (
            <div class="field">
              <b class="small">On Base</b>
              <Id value={addresses.base} what="Base address" whole />
            </div>
          )}
          {addresses?.solana && (
            <div class="field">
              <b class="small">On Solana</b>
              <Id value={addresses.solana} what="Solana address" whole />
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
