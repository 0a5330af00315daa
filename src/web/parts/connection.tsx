// Whether the page is live, and since when it is not.

import { frozen } from "./api";
import { Button } from "./button";
import { Icon } from "./icon";
import { Menu } from "./menu";
import { KeyValue } from "./panel";
import { attempts, connection, lastEventAt, lastSeq, since, tryNow } from "./stream";
import { Time, clock, clockSeconds } from "./time";

const WORDS = { connecting: "Connecting…", live: "Live", reconnecting: "Reconnecting…", stale: "Not live", ended: "Not connected" };

export function Connection() {
  const state = connection.value;
  const at = since.value;
  // A freeze ends the connection.
  const isFrozen = state === "ended" && frozen.value !== null;
  const word = isFrozen ? "Frozen" : WORDS[state];
  const title = {
    connecting: "Connecting",
    live: "Up to date",
    reconnecting: "The connection broke, trying again",
    stale: `Not live since ${at ? clock(at) : "a moment ago"}`,
    ended: isFrozen ? "The account is frozen" : "The service ended the connection",
  }[state];
  const text =
    state === "live"
      ? "What happens is shown as it happens. After a break the page goes on where it was, and shows nothing twice."
      : state === "stale"
        ? `Tried ${attempts.value} times. What you see is as of ${at ? clockSeconds(at) : "the last answer"} and may be old.`
        : "What you see is from a moment ago.";
  return (
    <Menu
      label={`Connection: ${word}`}
      triggerClass={`connection is-${state}`}
      align="end"
      trigger={
        <>
          <span class="dot" aria-hidden="true" />
          <span>{word}</span>
        </>
      }
    >
      <div class="menu-text">
        <b>{title}</b>
        <p class="small soft">{text}</p>
        <KeyValue
          rows={[
            lastEventAt.value !== null && { name: "Last event", value: <Time at={new Date(lastEventAt.value).toISOString()} /> },
            { name: "Cursor", value: <span class="mono small anywhere">{lastSeq.value}</span> },
          ]}
        />
        {state !== "live" && state !== "ended" && (
          <Button small icon="again" onClick={tryNow}>
            Try now
          </Button>
        )}
      </div>
    </Menu>
  );
}

/** Across the page while what it shows may be old. */
export function StaleBar({ children }: { children: string }) {
  if (connection.value !== "stale") return null;
  const at = since.value;
  return (
    <div class="stale-bar" role="status">
      <Icon name="alert" />
      <span>
        <b>Not live since {at ? clock(at) : "a moment ago"}. </b>
        {children}
      </span>
      <Button small icon="again" onClick={tryNow}>
        Try now
      </Button>
    </div>
  );
}
