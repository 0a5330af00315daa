"""A stub of a Purser provider, written from `docs/providers.openapi.json` and "What a provider must hold to" in
`docs/providers.md` alone, to prove that these two are enough. It shares no code with the service.

    python3 -u stub.py --token-file FILE [--port 0]

Routes and what a request may hold it takes from the document itself, so that one which says something else than the
service fails the suite. It keeps all in memory and forgets it at a restart, which a real provider must not. It calls no one.
"""

import argparse
import contextlib
import difflib
import hashlib
import hmac
import json
import re
import sys
import threading
import time
from collections import Counter, deque
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote

sys.dont_write_bytecode = True  # a test leaves nothing beside its own files
from stub_bridge import Bridge  # noqa: E402
from stub_money import MOVES, Money  # noqa: E402
from stub_rules import Refused, decimal, insist  # noqa: E402

DOCUMENT = json.loads((Path(__file__).resolve().parents[2] / "docs/providers.openapi.json").read_text("utf-8"))
STATUS_OF = {"idempotency_key_reused": 409, "not_found": 404, "invalid_request": 400, "unauthorized": 401, "rejected": 422}  # no others
DELAY_S = 0.03  # from an order to its result: long enough for the first answer to be `pending`
RETRY_AFTER_MS = 10
COMMON = {"currency": "USD", "in_stock": True, "description": "For tests.", "terms": "None."}
PRODUCTS = {each["product_id"]: {**COMMON, **each} for each in (
    {"product_id": "stub-world", "name": "Everywhere Card", "brand": "Everywhere", "category": "Shopping",
     "countries": None, "fee_rate": "0.01", "values": {"kind": "range", "min": "5", "max": "500", "step": "1"}},
    {"product_id": "stub-us", "name": "Diner Gift Card", "brand": "Diner", "category": "Food",
     "countries": ["US"], "fee_rate": "0.02", "values": {"kind": "fixed", "amounts": ["10", "25", "50", "100"]}},
)}
AMOUNTS = {"stub-world": range(5, 501), "stub-us": (10, 25, 50, 100)}  # as `values` has them
MERCHANTS = [  # by name, as a search without words lists them
    {"id": "m-1", "name": "Acorn Books", "category": "Books", "countries": ["US"], "url": "https://acorn.example"},
    {"id": "m-2", "name": "Birch Cloud", "category": "Software", "countries": [], "url": "https://birch.example"},
    {"id": "m-3", "name": "Cedar Market", "category": "Groceries", "countries": ["DE", "FR"], "url": None},
]


def fits(value, schema):
    """Whether it is what the schema says, for as much of JSON Schema as the document's requests use."""
    if "$ref" in schema:
        return fits(value, DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
    if "oneOf" in schema:
        return sum(fits(value, each) for each in schema["oneOf"]) == 1
    if schema["type"] == "object":
        known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        fits_others = (lambda other: fits(other, others)) if isinstance(others, dict) else (lambda _: others)
        return (isinstance(value, dict) and set(schema.get("required", ())) <= value.keys()
                and all(fits(each, known[name]) if name in known else fits_others(each) for name, each in value.items()))
    if schema["type"] == "array":
        return isinstance(value, list) and all(fits(each, schema["items"]) for each in value)
    if schema["type"] == "boolean":
        return isinstance(value, bool)
    if schema["type"] == "integer":
        return type(value) is int and value >= schema["minimum"]
    return (isinstance(value, str) and re.fullmatch(schema.get("pattern", "(?s).*"), value) is not None
            and value in schema.get("enum", [value]))


def method_name(operation_id):
    """What Python calls it: `issueCard` is `issue_card`."""
    return re.sub("[A-Z]", lambda letter: "_" + letter[0].lower(), operation_id)


def is_about(product, wanted):
    known = " ".join((product["name"], product["brand"], product["category"])).lower()
    return wanted in known or all(difflib.get_close_matches(word, known.split(), cutoff=0.7) for word in wanted.split())


def page_of(name, found, id_name, asked):
    """The page, or null when it should begin behind something that was not found; and whether more follow."""
    ids = [None, *(each[id_name] for each in found)]  # behind None comes the first
    if asked["starting_after"] not in ids:
        return {name: None, "has_more": False}
    begin, end = ids.index(asked["starting_after"]), ids.index(asked["starting_after"]) + asked["limit"]
    return {name: found[begin:end], "has_more": end < len(found)}


class Provider(Money, Bridge):
    """What was ordered, and each operation under the document's name of it. Its caller holds the lock."""

    def __init__(self, secret, address):
        self.secret, self.address, self.lock = secret.strip().encode(), address, threading.Lock()
        self.started_ms, self.started = time.time_ns() // 1_000_000, time.monotonic()
        self.orders = {}  # by kind and key: another server may handle each kind, without the keys of the others
        Money.__init__(self)
        Bridge.__init__(self)
        self.cards, self.checks, self.pages, self.payouts = {}, {}, {}, {}
        self.prepaid_changed = []  # references of prepaid cards in the order of changes
        self.remainder_lines = []  # cards with a released remainder, and when
        self.on_their_way = deque()  # payouts, the first due first
        self.words = []  # payout events in order; the position is the index here, from 1

    def minted(self, what, key):
        """The same for the same key, so that a retry finds the existing one, and not guessable."""
        return hmac.new(self.secret, f"{what}\n{key}".encode(), hashlib.sha256).hexdigest()[:32]

    def digits(self, what, key, length):
        return str(int(self.minted(what, key), 16) % 10**length).zfill(length)

    def order(self, kind, asked, result=None):
        """The first order under this key, which may be this one, and its status."""
        content = {name: decimal(value) if name in ("amount", "fee_rate") else value  # "5" and "5.00" are one order
                   for name, value in asked["body"].items()}
        new = asked["body"], content, result, time.monotonic()
        body, first_content, state, since = self.orders.setdefault((kind, asked["Idempotency-Key"]), new)
        insist(first_content == content, "this key belongs to another order", "idempotency_key_reused")
        if state and state["status"] in ("ready", "approved", "complete") and time.monotonic() < since + DELAY_S:
            state = {"status": "pending", "retry_after_ms": RETRY_AFTER_MS}
        return body, state

    def issue_card(self, asked):
        reference = "card-" + self.minted("card", asked["Idempotency-Key"])
        card = {"reference": reference, "number": self.card_number(asked["Idempotency-Key"]),
                "exp_month": 12, "exp_year": self.years() + 3}
        is_declined = Decimal(asked["body"]["amount"]) == Decimal("6.66")
        result = {"status": "declined", "reason": "declined"} if is_declined else {"status": "ready", "card": card}
        body, state = self.order("card", asked, result)
        # A declined order has no reference.
        self.cards.setdefault(reference, {"card_id": body["card_id"], "available": Decimal(body["amount"]),
                                          "released": Decimal(0), "sequence": 0, "state": "open",
                                          "key": asked["Idempotency-Key"]})
        return {**body, **state}

    def years(self):
        return time.gmtime(self.started_ms // 1000).tm_year

    def card_number(self, key):
        """With a Luhn digit: from the right, every second digit before it counts double, and digits are added up."""
        digits = "4" + self.digits("number", key, 14)
        total = sum(sum(divmod(int(digit) * (2 - place % 2), 10)) for place, digit in enumerate(reversed(digits)))
        return digits + str(-total % 10)

    def prepaid(self, reference):
        insist(reference in self.cards, "no such card", "not_found")
        card = self.cards[reference]
        return {"sequence": card["sequence"], "state": card["state"], "available": str(card["available"]),
                "released": str(card["released"]), "transactions": []}

    def get_card_activity(self, asked):
        return {"reference": asked["reference"], **self.prepaid(asked["reference"])}

    def get_card_cvv(self, asked):
        return {"cvv": self.digits("cvv", self.get_card_activity(asked)["reference"], 3)}

    def apply_prepaid_card_action(self, asked):
        reference, body, key = asked["reference"], asked["body"], asked["Idempotency-Key"]
        card = self.cards.get(reference)
        insist(card and card["card_id"] == body["card_id"], "no such card", "rejected")
        to = MOVES.get((card["state"], body["action"])) if ("prepaid card action", key) not in self.orders else None
        self.order("prepaid card action", asked)
        if to:
            card["state"], card["sequence"] = to, card["sequence"] + 1
            self.prepaid_changed.append(reference)
        if to == "closed":  # what is left is the service's again, for the holder
            card["released"], card["available"] = card["available"], Decimal(0)
            self.remainder_lines.append((reference, time.monotonic()))
        return {"key": key, "card_id": card["card_id"], **self.prepaid(reference)}

    def list_prepaid_card_events(self, asked):
        events = self.prepaid_changed[asked["after"]:asked["after"] + min(asked["limit"], 1000)]
        return {"events": [{"position": position, "card_id": self.cards[each]["card_id"], **self.prepaid(each)}
                          for position, each in enumerate(events, asked["after"] + 1)]}

    def get_billing_address(self, asked):
        return {"line1": "1 Stub Street", "city": "Dover", "state": "DE", "postal_code": "19901", "country": "US"}

    def search_gift_cards(self, asked):
        wanted, country, currency, category = (asked[name] for name in ("q", "country", "currency", "category"))
        found = [one for one in PRODUCTS.values() if is_about(one, (wanted or "").strip().lower())
                 and currency in (None, one["currency"]) and (not country or country in (one["countries"] or [country]))
                 and (category is None or one["category"].lower() == category.lower())]
        named = {name for one in found for name in one["countries"] or []}
        return {**page_of("products", found, "product_id", asked), "count": len(found),
                "countries": {name: sum(name in (one["countries"] or [name]) for one in found) for name in named},
                "currencies": Counter(one["currency"] for one in found),
                "categories": Counter(one["category"] for one in found)}

    def get_gift_card_product(self, asked):
        return {"product_id": asked["product_id"], "product": PRODUCTS.get(asked["product_id"])}

    def quote_gift_card(self, asked):
        product, amount = PRODUCTS.get(asked["product_id"]), decimal(asked["amount"])
        if product is None:
            return {"status": "product_not_found"}
        if asked["country"] not in (product["countries"] or [asked["country"]]):
            return {"status": "country_not_served"}
        if amount not in AMOUNTS[product["product_id"]]:
            return {"status": "invalid_amount", "values": product["values"]}
        return {"status": "available", "currency": product["currency"], "fee_rate": product["fee_rate"]}

    def order_gift_card(self, asked):
        key, body = asked["Idempotency-Key"], asked["body"]
        quote = self.quote_gift_card(body)
        is_dearer = quote["status"] == "available" and decimal(body["fee_rate"]) < Decimal(quote["fee_rate"])
        result = {"status": "declined", "reason": "price_changed" if is_dearer else quote["status"]}
        if quote["status"] == "available" and not is_dearer:
            code, pin = self.minted("code", key)[:16], self.digits("pin", key, 4)
            result = {"status": "ready", "redemption_code": code, "pin_code": pin}
        first, state = self.order("gift card", asked, result)
        return {"order": first, **state}

    def tell(self, payout, state):
        payout["sequence"] += 1
        payout["emitted_at"] = time.monotonic()
        payout["word"] = {"payout_id": payout["id"], "sequence": payout["sequence"], **state}
        self.words.append(payout["word"])

    def tell_what_is_due(self):
        """Emits due events. Called before each read, as if a timer had emitted them in time."""
        while self.on_their_way and self.on_their_way[0]["due_at"] <= time.monotonic():
            payout = self.on_their_way.popleft()
            if payout["word"]["status"] == "in_process":
                self.tell(payout, {"status": "complete", "reference": "paid-" + self.minted("payout", payout["key"])})

    def create_payout(self, asked):
        key, payout_id = asked["Idempotency-Key"], asked["body"]["payout_id"]
        # Payout events name only the payout, so its id must be unique.
        insist(payout_id not in self.payouts or ("payout", key) in self.orders, "this payout has another key")
        self.order("payout", asked)
        if payout_id not in self.payouts:
            payout = {"id": payout_id, "key": key, "sequence": 0, "due_at": time.monotonic() + DELAY_S}
            self.tell(payout, {"status": "in_process", "retry_after_ms": RETRY_AFTER_MS})
            self.payouts[payout_id] = payout
            self.on_their_way.append(payout)
        return self.payouts[payout_id]["word"]

    def recall_payout(self, asked):
        payout = self.payouts.get(asked["payout_id"])
        insist(payout, "no such payout", "not_found")
        insist(asked["Idempotency-Key"] == payout["key"], "this is another order's key", "idempotency_key_reused")
        if payout["word"]["status"] == "in_process":
            self.tell(payout, {"status": "cancelled", "reason": "recalled"})
        is_paid = payout["word"]["status"] == "complete"
        return {"payout_id": payout["id"], "outcome": "too_late" if is_paid else "recalled"}

    def get_payout_by_key(self, asked):
        known = [payout for payout in self.payouts.values() if payout["key"] == asked["key"]]
        words = [{name: value for name, value in payout["word"].items() if name != "payout_id"} for payout in known]
        return {"key": asked["key"], "payout": words[0] if words else None}

    def list_payout_events(self, asked):
        words = self.words[asked["after"]:asked["after"] + min(asked["limit"], 1000)]
        return {"events": [{"position": position, **word} for position, word in enumerate(words, asked["after"] + 1)]}

    def wall_ms(self, at):
        return self.started_ms + int((at - self.started) * 1000)

    def listed_orders(self, kind):
        """In the order taken, up to the first that is not decided yet: it will be the next to come."""
        for (of, key), (body, _, result, since) in list(self.orders.items()):
            if of == kind:
                is_done = result["status"] in ("ready", "complete")
                decided_at = since + (DELAY_S if is_done else 0)
                if decided_at > time.monotonic():
                    return
                product = body.get("product_id", kind)
                yield {"key": key, "product": product, "amount": body["amount"],
                       "currency": PRODUCTS.get(product, COMMON)["currency"], "returned_transfer_id": None,
                       "status": "completed" if is_done else "declined", "at_ms": self.wall_ms(decided_at)}

    def listed_payouts(self):
        """A line for each word, so that a payout of which something new was said comes again."""
        statuses = {"in_process": "pending", "complete": "completed", "failed": "declined", "cancelled": "declined"}
        for word in self.words:
            payout = self.payouts[word["payout_id"]]
            body = self.orders["payout", payout["key"]][0]
            yield {"key": payout["key"], "product": body["rail"], "amount": body["amount"],
                   "currency": body["currency"], "returned_transfer_id": None,
                   "status": statuses[payout["word"]["status"]], "at_ms": self.wall_ms(payout["emitted_at"])}

    def listed_remainders(self):
        for reference, at in list(self.remainder_lines):
            card = self.cards[reference]
            yield {"key": card["key"], "product": "remainder", "amount": str(card["released"]), "currency": "USD",
                   "returned_transfer_id": None, "status": "completed", "at_ms": self.wall_ms(at)}

    def list_reconciliation_entries(self, asked):
        after, key = asked["after"], asked["key"]
        kinds = {"cards": "card", "gift_cards": "gift card", "bank_transfers": "bank transfer"}
        others = {"payouts": self.listed_payouts, "bank_deposits": self.listed_deposits, "reloadable_cards": self.listed_program,
                  "card_balances": self.listed_balances, "bridge": self.listed_bridge_transfers,
                  "prepaid_remainders": self.listed_remainders}
        insist(asked["list"] in (*kinds, *others), "no such list", "not_found")
        insist(after is None or key is None, "a cursor or a key, and not both")
        lines = others[asked["list"]]() if asked["list"] in others else self.listed_orders(kinds[asked["list"]])
        answer = {"list": asked["list"], "after": after, "key": key}
        if key is not None:
            known = {line["key"]: line for line in lines}
            return {**answer, "entries": [known[key]] if key in known else [], "next": None}
        insist(re.fullmatch("line-[0-9]{1,9}", after or "line-0"), "no cursor of this list")
        begin = int((after or "line-0")[5:])
        page = list(lines)[begin:begin + min(max(asked["limit"], 1), 1000)]
        return {**answer, "entries": page, "next": f"line-{begin + len(page)}" if page else None}

    def lookup_debit_card_country(self, asked):
        return {"country": "US" if asked["body"]["number"].startswith("40000084") else None}

    def start_identity_check(self, asked):
        body, _ = self.order("check", asked)
        reference, page = (self.minted(what, asked["Idempotency-Key"]) for what in ("check", "page"))
        self.pages[page] = reference
        self.checks.setdefault(reference, {"status": "pending", "retry_after_ms": 50})
        return {**body, "reference": reference, "url": f"{self.address}/person/{page}"}

    def get_identity_check(self, asked):
        insist(asked["reference"] in self.checks, "no such check", "not_found")
        return {"reference": asked["reference"], **self.checks[asked["reference"]]}

    def persons_page(self, page, answer):
        """No affair of the document. Its address is the only secret that a person has; the first answer stays."""
        insist(page in self.pages, "no such page", "not_found")
        insist(answer in (None, "pass", "fail"), "the answer is pass or fail")
        if answer and self.checks[self.pages[page]]["status"] == "pending":
            state = {"status": "passed"} if answer == "pass" else {"status": "failed", "reason": "not_proven"}
            self.checks[self.pages[page]] = state
        return {"questions": {"Are you who you say you are?": ["?answer=pass", "?answer=fail"]}}

    def search_merchants(self, asked):
        wanted = (asked["q"] or "").strip().lower()
        found = [{**each, "status": "accepted"} for each in MERCHANTS if wanted in each["name"].lower()]
        return page_of("merchants", found, "id", asked)

    def get_exchange_rates(self, asked):
        return {"source": "stub", "as_of_ms": self.started_ms,
                "usd_per_unit": {"USD": "1", "EUR": "1.08", "GBP": "1.27", "INR": "0.0119", "JPY": "0.0067"}}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are two writes: else a kept connection waits between them

    def handle(self):
        with contextlib.suppress(ConnectionError):  # who asks may go away at any time
            super().handle()

    def do_GET(self):
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))  # or it would be taken for the next request
        try:
            self.send(200, self.answer(raw))
        except (ValueError, RecursionError) as wrong:
            code, message = wrong.args if isinstance(wrong, Refused) else ("invalid_request", str(wrong))
            self.send(STATUS_OF[code], {"error": {"code": code, "message": message}})

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

    def answer(self, raw):
        provider, (path, _, query) = self.server.provider, self.path.partition("?")
        segments = [unquote(each, errors="strict") for each in path.split("/")[1:]]  # one may hold an encoded slash
        query = {name: values[0] for name, values in parse_qs(query, errors="strict").items()}
        if self.command == "GET" and segments[0] == "person" and len(segments) == 2:
            with provider.lock:
                return provider.persons_page(segments[1], query.get("answer"))
        if self.command == "POST" and segments[0] == "control" and len(segments) == 2:
            with provider.lock:
                return provider.control(segments[1], json.loads(raw))
        bearer = self.headers.get("Authorization", "").encode()
        insist(hmac.compare_digest(bearer, b"Bearer " + provider.secret), "not the secret", "unauthorized")
        operation, given = self.operation_at(segments)
        asked = self.read(operation, {"path": given, "query": query, "header": self.headers}, raw)
        with provider.lock:
            provider.tell_what_is_due()
            return getattr(provider, method_name(operation["operationId"]))(asked)

    def operation_at(self, segments):
        """The document's operation at this address, and the values of its path parameters."""
        for template, operations in DOCUMENT["paths"].items():
            parts, method = template.split("/")[1:], self.command.lower()
            given = {part[1:-1]: segment for part, segment in zip(parts, segments) if part[0] == "{"}
            filled = [given.get(part[1:-1]) if part[0] == "{" else part for part in parts]
            if method in operations and filled == segments:
                return operations[method], given
        raise Refused("invalid_request", "no such operation")

    def read(self, operation, places, raw):
        """All that the document names, by its name there; None for what was left out."""
        asked = {}
        for parameter in operation.get("parameters", ()):
            name, schema = parameter["name"], parameter["schema"]
            value = places[parameter["in"]].get(name) or None
            value = json.loads(value) if value and schema["type"] == "integer" else value
            insist(not parameter["required"] if value is None else fits(value, schema), f"not such a {name}")
            asked[name] = value
        if "requestBody" in operation:
            asked["body"] = json.loads(raw)
            json.dumps(asked["body"], ensure_ascii=False).encode()  # half a surrogate pair is no text
            schema = operation["requestBody"]["content"]["application/json"]["schema"]
            insist(fits(asked["body"], schema), "the body is not what the document says")
        return asked

    def send(self, status, body):
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        """Silent: the caller reads only the first line of the output."""


def main():
    parser = argparse.ArgumentParser(description="A stub of a Purser provider.")
    parser.add_argument("--token-file", type=Path, required=True)
    parser.add_argument("--port", type=int, default=0)
    arguments = parser.parse_args()
    ThreadingHTTPServer.request_queue_size = 128  # else many who come at once wait for a second
    server = ThreadingHTTPServer(("127.0.0.1", arguments.port), Handler)
    server.provider = Provider(arguments.token_file.read_text("utf-8"), f"http://127.0.0.1:{server.server_port}")
    print(f"serving at {server.provider.address}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
