// What the dashboard shows while the account is frozen.

import { useEffect, useState } from "preact/hooks";
import { Button, CopyLine, Icon, Note, PageHead, Panel, Shell, clockSeconds, now } from "../parts";
import { account, accountError, restartAccount } from "./account";
import { ContactLink, useContact } from "./contact";
import { useLoad } from "./data/load";
import { readMode } from "./mode";

/** The stream is closed meanwhile, so the page asks whether the account works again. */
const ASK_EVERY_MS = 10_000;

/** The account as the service names it: a page that is opened during a freeze has loaded nothing else of it. */
async function readId(): Promise<string | null> {
  const answer = await fetch("/account", { cache: "no-store", headers: { Accept: "application/json" } });
  readMode(answer);
  const said: { user_id?: unknown } = await answer.json();
  return typeof said.user_id === "string" ? said.user_id : null;
}

export function FrozenPage({ message }: { message: string }) {
  const read = useLoad("frozen account", readId);
  const address = account.value?.user_id ?? read.data;
  const contact = useContact();
  const [isLooking, setIsLooking] = useState(false);
  const [looked, setLooked] = useState<string | null>(null);
  const look = async () => {
    setIsLooking(true);
    await restartAccount();
    setIsLooking(false);
    // Otherwise this page is gone.
    setLooked(accountError.value?.said ?? `Still frozen at ${clockSeconds(now.peek())}.`);
  };
  useEffect(() => {
    const timer = setInterval(() => void restartAccount(), ASK_EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <Shell app="holder" page="home" title="Account frozen" read closed>
      <PageHead title="This account is frozen" />
      <div class="stack loose">
        <Note tone="bad" title="Why it is frozen">
          {message || "The service gives no reason."}
        </Note>
        <Panel title="What that means" padded>
          <ul class="does">
            <li>
              <Icon name="off" />
              <span>Your agents are told that the account is frozen, with the message above. They cannot buy, pay or read card numbers.</span>
            </li>
            <li>
              <Icon name="check" />
              <span>Your money is still yours. Nothing is taken while the account is frozen.</span>
            </li>
            <li>
              <Icon name="check" />
              <span>Withdrawals, top-ups and payouts that have not left wait. They go on when the account works again.</span>
            </li>
            <li>
              <Icon name="info" />
              <span>Open cards still work in shops: the freeze does not reach them.</span>
            </li>
          </ul>
        </Panel>
        <Panel title="How to get it back" padded>
          <div class="stack">
            <p class="soft">
              {contact ? (
                <>
                  Write to <ContactLink contact={contact} />,
                </>
              ) : (
                "Contact the people who run this service, where you got its address,"
              )}{" "}
              and name the account. They can see why it was frozen. This page opens again by itself when they lift it.
            </p>
            {address && <CopyLine text={address} what="Account" />}
            <div class="row wrap">
              <Button icon="again" busy={isLooking} onClick={() => void look()}>
                Look again
              </Button>
              <span class="small soft" role="status">
                {!isLooking && looked}
              </span>
            </div>
          </div>
        </Panel>
      </div>
    </Shell>
  );
}
