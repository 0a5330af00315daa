"use strict";
(() => {
  const at = (id) => document.getElementById(id);
  const cards = new Map();
  // Events per page.
  const PAGE = 50;
  // Maximum events shown. Older ones are removed, and loaded again on demand.
  const SHOWN = 1000;
  let cursor = 0;
  let older = null;
  let known = 0;
  let wait = 500;
  let loading = null;
  let stale = false;

  // Text only: no value from the service can become markup.
  const piece = (name, text) => {
    const span = document.createElement("span");
    span.className = name;
    span.textContent = text === undefined || text === null ? "" : String(text);
    return span;
  };

  const usd = (amount) => {
    const number = Number(amount);
    return (Number.isFinite(number) ? number.toFixed(2) : String(amount)) + " USD";
  };

  const tone = (status) => {
    if (["ready", "completed", "settled", "fulfilled", "credited", "created", "live", "verified", "linked", "complete", "active", "open", "delivered", "paid"].includes(status)) return "good";
    return ["failed", "declined", "refused", "rejected", "cancelled", "signed out", "frozen"].includes(status) ? "bad" : "wait";
  };

  const clock = (time) => {
    const moment = new Date(time);
    return Number.isNaN(moment.getTime()) ? String(time) : moment.toLocaleTimeString();
  };

  const say = (status) => {
    at("live").textContent = status;
    at("live").className = tone(status);
    at("live").hidden = false;
  };

  const json = async (path) => {
    const answer = await fetch(path, { credentials: "same-origin" });
    if (!answer.ok) throw new Error(String(answer.status));
    return answer.json();
  };

  const kind = (card) => {
    if (card.card_type === "Gift Card") return "Gift card";
    return card.card_type === "Non-Reloadable International" ? "International card" : "Card";
  };

  // Gift cards have an amount in their own currency, other cards in US dollars.
  const worth = (thing) => {
    const amount = thing.usd_amount === undefined ? thing.amount : thing.usd_amount;
    return amount === undefined ? "" : usd(amount).replace("USD", thing.currency || thing.asset || "USD");
  };

  const drawCard = (card) => {
    if (!card || !card.card_id) return;
    const old = cards.get(card.card_id);
    // A response may be older than an event that arrived before it.
    if (old && old.card.last_updated_at > card.last_updated_at) return;
    const li = document.createElement("li");
    li.dataset.status = card.status;
    const what = piece("what", card.last4 ? "•••• " + card.last4 : kind(card));
    what.append(piece("id", card.card_id));
    li.append(what, piece("what", worth(card)), piece("state " + tone(card.status), card.status));
    if (old) {
      old.li.replaceWith(li);
    } else {
      // Newest first.
      const later = [...cards.values()].filter((other) => other.card.created_at < card.created_at);
      later.sort((a, b) => (a.card.created_at < b.card.created_at ? 1 : -1));
      at("cards").insertBefore(li, later.length ? later[0].li : null);
    }
    cards.set(card.card_id, { card, li });
    at("no-cards").hidden = true;
  };

  const loadOnce = async () => {
    const account = await json("/account");
    at("user").textContent = account.user_id;
    at("balance").textContent = usd(account.balance);
    at("held").textContent = Number(account.held) ? usd(account.held) + " of it held ·" : "";
    for (const card of account.cards || []) drawCard(card);
    known = Math.max(known, account.seq || 0);
  };

  // One request at a time, and one more if events arrived meanwhile: a burst causes two requests, not a hundred.
  const load = () => {
    stale = true;
    loading = loading || (async () => {
      try {
        while (stale) {
          stale = false;
          await loadOnce();
        }
      } finally {
        loading = null;
      }
    })();
    return loading;
  };

  const about = (object) => {
    if (!object) return "";
    if (object.balance !== undefined) return "balance " + usd(object.balance);
    return [worth(object), object.card_id || object.payment_id].filter(Boolean).join(" · ");
  };

  const line = (event) => {
    const object = event.data && event.data.object;
    const li = document.createElement("li");
    li.dataset.seq = event.seq;
    const status = event.type.slice(event.type.lastIndexOf(".") + 1);
    const type = piece("type " + tone(status), "");
    // A long type may break after its dots and underscores, never inside a word.
    for (const part of event.type.split(/(?<=[._])/)) type.append(part, document.createElement("wbr"));
    li.append(piece("when", clock(event.created_at)), type);
    li.append(piece("about id", about(object)));
    at("no-events").hidden = true;
    return li;
  };

  // Appends the next page of older events.
  const lookBack = async () => {
    const place = older === null ? "" : "&before=" + older;
    const page = await json("/events?order=desc&limit=" + PAGE + place);
    if (older === null && page.events.length) cursor = page.events[0].seq;
    for (const event of page.events) at("events").append(line(event));
    older = page.next_before === undefined ? null : page.next_before;
    at("older").hidden = older === null;
  };

  const happened = (event) => {
    cursor = event.seq;
    const object = event.data && event.data.object;
    at("events").prepend(line(event));
    while (at("events").childElementCount > SHOWN) {
      at("events").lastElementChild.remove();
      older = Number(at("events").lastElementChild.dataset.seq);
      at("older").hidden = false;
    }
    // The loaded account already includes this event.
    if (event.seq <= known) return;
    if (/^(card|gift_card|intl_order)\./.test(event.type)) drawCard(object);
    else load().catch(() => {});
    if (/^(identity|issuer_link)\.|^account\.(caps_updated|frozen|unfrozen)$/.test(event.type)) redraw().catch(() => {});
  };

  // The forms come from our own page, never from an event. Only changed parts are replaced, so that a redraw loses no
  // click, and a form that is being filled in stays.
  const redraw = async () => {
    const answer = await fetch("/login", { credentials: "same-origin" });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const fresh of page.querySelectorAll("#owner > [id]")) {
      const old = at(fresh.id);
      if (old && !old.isEqualNode(fresh) && !old.querySelector("input:focus")) old.replaceWith(fresh);
    }
  };

  const listen = () => {
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(scheme + "//" + location.host + "/stream");
    socket.onopen = () => {
      wait = 500;
      say("live");
      socket.send(JSON.stringify({ type: "subscribe", after: cursor }));
    };
    socket.onmessage = (message) => {
      const frame = JSON.parse(message.data);
      if (frame.type === "event") happened(frame.event);
      if (frame.type === "ping") socket.send(JSON.stringify({ type: "pong" }));
    };
    socket.onclose = (end) => {
      if (end.code === 4001) { say("signed out"); return; }
      // The page shows only the reason.
      if (end.code === 4003) { location.reload(); return; }
      // The events after our cursor are deleted: continue with the oldest stored one.
      if (end.code === 4010) cursor = 0;
      say("reconnecting");
      wait = Math.min(wait * 2, 30000);
      setTimeout(() => load().then(listen, listen), wait);
    };
  };

  const open = async () => {
    // In this order: events in between arrive on the stream after the first page, and update the loaded account.
    await lookBack();
    await load();
    at("older").onclick = () => lookBack().catch(() => {});
    at("sign-in").hidden = true;
    at("account").hidden = false;
    at("history").hidden = false;
    say("connecting");
    listen();
  };

  const code = new URLSearchParams(location.search).get("code");
  if (code) {
    at("code").value = code;
    // Remove the code from the address bar and the history first.
    history.replaceState(null, "", location.pathname);
    at("form").submit();
    return;
  }
  open().catch(() => {
    // A signed-in owner without access to the account sees the reason on the page.
    if (at("owner")) return;
    at("sign-in-note").textContent = "This link was used or has expired. Ask your agent for a new one.";
    at("form").hidden = true;
  });
})();
