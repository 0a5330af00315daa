// What the dashboard shows while the account is frozen.

import { useEffect } from "preact/hooks";
import { Button, Icon, Id, Note, PageHead, Panel, Shell, copy } from "../parts";
import { account, restartAccount } from "./account";

/** The stream is closed meanwhile, so the page asks whether the account works again. */
const ASK_EVERY_MS = 10_000;

export function FrozenPage({ message }: { message: string }) {
  const address = account.value?.user_id;
  useEffect(() => {
    const timer = setInterval(() => void restartAccount(), ASK_EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <Shell app="holder" page="home" title="Account frozen" read>
      <PageHead title="This account is frozen" />
      <div class="stack loose">
        <Note tone="bad" title="A person at Purser stopped this account.">
          {message || "They gave no reason."}
        </Note>
        <Panel title="What that means" padded>
          <ul class="stack tight">
            <li class="row">
              <Icon name="off" />
              <span>Your agents are told that the account is frozen, with the message above. They cannot buy, pay or read card numbers.</span>
            </li>
            <li class="row">
              <Icon name="check" />
              <span>Your money is still yours. Nothing is taken while the account is frozen.</span>
            </li>
            <li class="row">
              <Icon name="check" />
              <span>Withdrawals, top-ups and payouts that have not left wait. They go on when the account works again.</span>
            </li>
            <li class="row">
              <Icon name="info" />
              <span>Open cards still work in shops: the freeze does not reach them.</span>
            </li>
          </ul>
        </Panel>
        <Panel title="How to get it back" padded>
          <div class="stack">
            <p class="soft">Write to the people from whom you have the address of this service, and quote the account. They can see why it was frozen. This page opens again by itself when they lift it.</p>
            {address && (
              <p>
                <Id value={address} what="account" />
              </p>
            )}
            <div class="row wrap">
              {address && (
                <Button icon="copy" onClick={() => void copy(address, "Copied account")}>
                  Copy account
                </Button>
              )}
              <Button icon="again" onClick={() => void restartAccount()}>
                Look again
              </Button>
            </div>
          </div>
        </Panel>
      </div>
    </Shell>
  );
}
