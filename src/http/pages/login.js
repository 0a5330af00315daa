"use strict";
(() => {
  const at = (id) => document.getElementById(id);
  const shown = new Map();
  let cursor = null;
  let wait = 500;

  // Text only: nothing that comes from the service can become markup.
  const line = (...parts) => {
    const li = document.createElement("li");
    for (const part of parts) {
      const span = document.createElement("span");
      span.textContent = part === undefined || part === null ? "" : String(part);
      li.append(span);
    }
    return li;
  };

  const json = async (path) => {
    const answer = await fetch(path, { credentials: "same-origin" });
    if (!answer.ok) throw new Error(String(answer.status));
    return answer.json();
  };

  const drawCard = (card) => {
    if (!card || !card.card_id) return;
    const li = line(card.card_id, card.usd_amount === undefined ? "" : card.usd_amount + " USD", card.status);
    const old = shown.get(card.card_id);
    if (old) old.replaceWith(li); else at("cards").prepend(li);
    shown.set(card.card_id, li);
  };

  const load = async () => {
    const account = await json("/account");
    at("user").textContent = account.user_id;
    at("balance").textContent = account.balance;
    for (const card of account.cards || []) drawCard(card);
    if (cursor === null) cursor = account.seq === undefined ? 0 : account.seq;
  };

  const happened = (event) => {
    cursor = event.seq;
    at("events").prepend(line(event.created_at, event.type));
    while (at("events").childElementCount > 200) at("events").lastElementChild.remove();
    const object = event.data && event.data.object;
    if (event.type.startsWith("card.")) drawCard(object);
    else load().catch(() => {});
  };

  const listen = () => {
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(scheme + "//" + location.host + "/stream");
    socket.onopen = () => {
      wait = 500;
      at("live").textContent = "live";
      socket.send(JSON.stringify({ type: "subscribe", after: cursor === null ? 0 : cursor }));
    };
    socket.onmessage = (message) => {
      const frame = JSON.parse(message.data);
      if (frame.type === "event") happened(frame.event);
      if (frame.type === "ping") socket.send(JSON.stringify({ type: "pong" }));
    };
    socket.onclose = (end) => {
      if (end.code === 4001) { at("live").textContent = "signed out"; return; }
      if (end.code === 4010) cursor = null;
      at("live").textContent = "reconnecting";
      wait = Math.min(wait * 2, 30000);
      setTimeout(() => load().then(listen, listen), wait);
    };
  };

  const open = async () => {
    await load();
    at("sign-in").hidden = true;
    at("account").hidden = false;
    listen();
  };

  const code = new URLSearchParams(location.search).get("code");
  if (code) {
    at("code").value = code;
    // The code leaves the address bar and the history before anything else happens.
    history.replaceState(null, "", location.pathname);
    at("form").submit();
    return;
  }
  open().catch(() => {
    at("sign-in-note").textContent = "This link was used or has expired. Ask your agent for a new one.";
    at("form").hidden = true;
  });
})();
