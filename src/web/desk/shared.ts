// One connection for all tabs of a browser. A browser opens six connections to a service over HTTP/1.1, so seven tabs with
// a stream each would leave none for anything else. One tab has the connection and passes on what arrives.

export interface SharedOptions {
  /** This tab has the connection from now on. */
  lead: () => void;
  /** Another tab took it. */
  resign: () => void;
  /** A message of the tab that has it, or of one that asks that tab. */
  hear: (message: unknown) => void;
}

export interface Shared {
  /** Whether this tab has the connection. */
  leads: () => boolean;
  /** Sends a message to all other tabs. */
  send: (message: unknown) => void;
  /** Takes the connection from a tab that does not answer. */
  take: () => void;
  /** Gives the connection to another tab and hears nothing more. */
  close: () => void;
}

/** Shares a connection of this name. Browsers without locks have none to share: then each tab has its own. */
export function share(name: string, { lead, resign, hear }: SharedOptions): Shared {
  const { locks } = navigator;
  if (!locks || typeof BroadcastChannel === "undefined") {
    queueMicrotask(lead);
    return { leads: () => true, send: () => {}, take: () => {}, close: () => {} };
  }
  const channel = new BroadcastChannel(name);
  let leading = false;
  let closed = false;
  let release = (): void => {};
  channel.onmessage = (message) => hear(message.data);

  const request = (steal: boolean): void => {
    const held = () =>
      new Promise<void>((done) => {
        if (closed) return done();
        release = done;
        leading = true;
        lead();
      });
    // The browser ends the wait or the lock with the page, and rejects the promise when another tab takes the lock.
    locks.request(name, { steal }, held).catch(() => {
      const led = leading;
      leading = false;
      if (closed) return;
      if (led) resign();
      request(false);
    });
  };
  request(false);

  return {
    leads: () => leading,
    send: (message) => {
      if (!closed) channel.postMessage(message);
    },
    take: () => {
      if (!closed && !leading) request(true);
    },
    close: () => {
      closed = true;
      leading = false;
      channel.close();
      release();
    },
  };
}
