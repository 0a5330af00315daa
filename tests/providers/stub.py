"""A stub of a Purser provider, written from `docs/providers.openapi.json` and "What a provider must hold to" in
`docs/providers.md` alone, to prove that these two are enough. It shares no code with the service.

    python3 -u stub.py --token-file FILE [--port 0]

All ports at one address. What it was told is in memory only, so it does not hold to a restart as a real provider must;
callbacks, which are optional, it does not make: it is asked.
"""

import argparse
import datetime
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
from urllib.parse import parse_qs, unquote

DELAY_S = 0.03  # from an order to its result: long enough for the first answer to be `pending`
ORDER_RETRY_MS = 10
CHECK_RETRY_MS = 50
MOST_REPORTS = 1000
MOST_BODY_BYTES = 65536
STATUS_OF = {"refused": 422, "key_reused": 409, "not_found": 404, "invalid_request": 400, "unauthorized": 401,
             "not_now": 503, "unknown": 504}
RAILS = ("push_to_card", "bank_payment", "app_payment")
CARD_TYPES = ("Non-Reloadable U.S.", "Non-Reloadable International", "Reloadable")
BILLING_ADDRESS = {"line1": "1 Stub Street", "city": "Dover", "state": "DE", "postal_code": "19901", "country": "US"}
RATES = {"USD": "1", "EUR": "1.08", "GBP": "1.27", "CHF": "1.13", "INR": "0.0119", "JPY": "0.0067"}
PERSONS_PAGE = (b'<!doctype html><title>Identity check</title><p>Are you who you say you are? '
                b'<a href="?answer=pass">Yes</a> <a href="?answer=fail">No</a>')


def product(product_id, name, category, countries, currency, values, fee_rate):
    return {"product_id": product_id, "name": name, "brand": name.split()[0], "category": category,
            "countries": countries, "currency": currency, "values": values, "fee_rate": fee_rate, "in_stock": True,
            "description": f"{name}, for tests.", "terms": "Worth nothing anywhere."}


PRODUCTS = [
    product("stub-world", "Everywhere Card", "Shopping", None, "USD",
            {"kind": "range", "least": "5", "most": "500", "step": "1"}, "0.01"),
    product("stub-us", "Diner Gift Card", "Food", ["US"], "USD",
            {"kind": "fixed", "amounts": ["10", "25", "50", "100"]}, "0.02"),
    product("stub-eu", "Kino Voucher", "Entertainment", ["DE", "FR"], "EUR",
            {"kind": "fixed", "amounts": ["15.50", "30"]}, "0.03"),
]
MERCHANTS = [  # by name, as a search without words lists them; accepted for so many of CARD_TYPES
    {"id": "m-1", "name": "Acorn Books", "category": "Books", "countries": ["US"], "url": "https://acorn.example"},
    {"id": "m-2", "name": "Birch Cloud", "category": "Software", "countries": [], "url": "https://birch.example"},
    {"id": "m-3", "name": "Cedar Market", "category": "Groceries", "countries": ["DE", "FR"], "url": None},
    {"id": "m-4", "name": "Dogwood Travel", "category": "Travel", "countries": [], "url": None},
]


class Refused(Exception):
    """A refusal in the form and with the status that the protocol has for its code."""

    def __init__(self, code, message):
        super().__init__(message)
        self.status = STATUS_OF[code]
        self.body = {"error": {"code": code, "message": message}}


def insist(holds, message):
    if not holds:
        raise Refused("invalid_request", message)


# What a body may hold. Each reader gives back what is compared when a key comes again: amounts as numbers, so that "5"
# and "5.00" are one order.

def text(value):
    insist(isinstance(value, str), "a text was expected")
    return value


def text_like(pattern, convert=str):
    def read_text(value):
        insist(re.fullmatch(pattern, text(value)), f"a text like {pattern} was expected")
        return convert(value)
    return read_text


def integer(value):
    insist(isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31, "a number was expected")
    return value


def month(value):
    insist(1 <= integer(value) <= 12, "a month was expected")
    return value


def rail(value):
    insist(value in RAILS, "no such rail")
    return value


def payee(value):
    insist(isinstance(value, dict) and value.get("kind") in list(PAYEES), "no such kind of payee")
    known = {name: value.get(name) for name in PAYEES[value["kind"]]}  # others are not forbidden by the document here
    return {"kind": value["kind"], **read(known, PAYEES[value["kind"]])}


def read(body, fields):
    insist(isinstance(body, dict) and body.keys() == fields.keys(), f"exactly these were expected: {', '.join(fields)}")
    return {name: read_field(body[name]) for name, read_field in fields.items()}


amount = text_like("[0-9]+([.][0-9]{1,2})?", Decimal)
usdc = text_like("[0-9]+([.][0-9]{1,6})?", Decimal)
rate = text_like("[0-9]+([.][0-9]+)?", Decimal)
card_number = text_like("[0-9]{12,19}")
count = text_like("[0-9]{1,18}", int)

CARD_ORDER = {"card_id": text, "amount": amount}
GIFT_ORDER = {"product_id": text, "country": text, "amount": amount, "fee_rate": rate}
PAYOUT_ORDER = {"payout_id": text, "rail": rail, "amount": amount, "currency": text, "payee": payee}
PAYEES = {
    "card": {"number": card_number, "exp_month": month, "exp_year": integer},
    "bank": {"routing_number": text, "account_number": text, "account_holder_name": text},
    "app": {"platform": text_like("venmo|paypal"), "recipient": text, "first_name": text, "last_name": text,
            "email": text},
}


class Request:
    """What was asked, read as the protocol says."""

    def __init__(self, method, target, headers, body):
        path, _, query = target.partition("?")
        self.method, self.headers, self._body = method, headers, body
        try:  # split first: a segment may hold an encoded slash
            self.segments = [unquote(segment, errors="strict") for segment in path.split("/")[1:]]
            self._query = parse_qs(query, keep_blank_values=True, errors="strict")
        except ValueError:
            raise Refused("invalid_request", "the address is no UTF-8") from None

    def body(self, fields):
        """The body as sent, and what of it counts when it is compared."""
        try:
            body = json.loads(self._body)
            json.dumps(body, ensure_ascii=False).encode()  # half a surrogate pair is no text
        except (ValueError, RecursionError):
            raise Refused("invalid_request", "the body is no JSON") from None
        return body, read(body, fields)

    def key(self):
        key = self.headers.get("Idempotency-Key", "")
        insist(key, "an Idempotency-Key was expected")
        return key

    def given(self, name):
        return self._query.get(name, [None])[0]

    def needed(self, name, read_text=text):
        insist(name in self._query, f"{name} was expected")
        return read_text(self.given(name))


class Order:
    """An order under its key; `told` is its definite state, which is due after a while unless it is known at once."""

    def __init__(self, key, body, content, told, due_at):
        self.key, self.body, self.content, self.told, self.due_at = key, body, content, told, due_at

    def state(self):
        is_due = time.monotonic() >= self.due_at
        return self.told if is_due else {"status": "pending", "retry_after_ms": ORDER_RETRY_MS}


def with_check_digit(digits):
    """Luhn: from the right, every second digit counts double, and the digits of that are added up."""
    total = sum(sum(divmod(int(digit) * (2 if place % 2 == 0 else 1), 10)) for place, digit in enumerate(digits[::-1]))
    return digits + str(-total % 10)


def comes_in(values, wanted):
    if values["kind"] == "fixed":
        return wanted in [Decimal(each) for each in values["amounts"]]
    least, most, step = (Decimal(values[name]) for name in ("least", "most", "step"))
    return least <= wanted <= most and (wanted - least) % step == 0


def redeemable_in(product, country):
    return product["countries"] is None or country in product["countries"]


def offer_of(product_id, country, wanted):
    product = PRODUCT_BY_ID.get(product_id)
    if product is None:
        return {"status": "unknown_product"}
    if not redeemable_in(product, country):
        return {"status": "not_in_country"}
    if not comes_in(product["values"], wanted):
        return {"status": "not_this_amount", "values": product["values"]}
    return {"status": "open", "currency": product["currency"], "fee_rate": product["fee_rate"]}


def distance(wanted, product):
    """0 for a match, 1 for one with slips, None for none."""
    known = " ".join((product["name"], product["brand"], product["category"])).lower()
    if wanted in known:
        return 0
    return 1 if all(difflib.get_close_matches(word, known.split(), cutoff=0.7) for word in wanted.split()) else None


def page_of(found, id_name, request):
    """The page asked for, or None when it should begin behind something that was not found; and whether more follow."""
    limit, behind = request.needed("limit", count), request.given("starting_after")
    ids = [each[id_name] for each in found]
    if behind is not None and behind not in ids:
        return None, False
    begin = 0 if behind is None else ids.index(behind) + 1
    return found[begin:begin + limit], begin + limit < len(found)


PRODUCT_BY_ID = {each["product_id"]: each for each in PRODUCTS}


class Provider:
    """What was ordered, and the operations. Its caller holds the lock."""

    def __init__(self, secret):
        self._secret = secret.encode()
        self._started_ms = time.time_ns() // 1_000_000
        self.address = None
        self.lock = threading.Lock()
        self._orders = {}  # by kind and key: a key belongs to one operation, since each may be served elsewhere
        self._cards, self._checks, self._payouts, self._accounts = {}, {}, {}, set()
        self._on_their_way = deque()  # payouts, the first due first
        self._words = []  # in the order told; a word's number is its place here, from 1

    def is_authorized(self, header):
        return hmac.compare_digest((header or "").encode(), b"Bearer " + self._secret)

    def _minted(self, what, key):
        """The same for the same key, and for nobody to guess: whoever asks again can only find what there is."""
        return hmac.new(self._secret, f"{what}\n{key}".encode(), hashlib.sha256).hexdigest()

    def _digits(self, what, key, length):
        return str(int(self._minted(what, key), 16) % 10**length).zfill(length)

    def _order(self, kind, request, fields, decide):
        """The order under this key: the first one, or a new one of which `decide` says what becomes of it and when."""
        key, (body, content) = request.key(), request.body(fields)
        order = self._orders.get((kind, key))
        if order is None:
            told, delay = decide(key, body, content)
            order = self._orders[kind, key] = Order(key, body, content, told, time.monotonic() + delay)
        elif order.content != content:
            raise Refused("key_reused", "this key belongs to another order")
        return order

    # Cards

    def order_card(self, request):
        order = self._order("card", request, CARD_ORDER, self._make_card)
        return {**order.body, **order.state()}

    def _make_card(self, key, body, content):
        if content["amount"] == Decimal("6.66"):
            return {"status": "declined", "reason": "declined"}, 0
        reference = "card-" + self._minted("card", key)[:24]
        self._cards[reference] = body["amount"]
        card = {"reference": reference, "number": with_check_digit("4" + self._digits("number", key, 14)),
                "exp_month": 12, "exp_year": datetime.date.today().year + 3}
        return {"status": "ready", "card": card}, DELAY_S

    def _known_card(self, reference):
        if reference not in self._cards:
            raise Refused("not_found", "no such card")
        return reference

    def card_activity(self, request, reference):
        return {"reference": reference, "available": self._cards[self._known_card(reference)], "transactions": []}

    def card_cvv(self, request, reference):
        return {"cvv": self._digits("cvv", self._known_card(reference), 3)}

    def billing_address(self, request):
        return BILLING_ADDRESS

    # Gift cards

    def search_gift_cards(self, request):
        wanted, country, currency, category = map(request.given, ("q", "country", "currency", "category"))
        wanted = (wanted or "").strip().lower()
        found = [each for each in PRODUCTS if distance(wanted, each) is not None
                 and (country is None or redeemable_in(each, country))
                 and (currency is None or each["currency"] == currency)
                 and (category is None or each["category"].lower() == category.lower())]
        found.sort(key=lambda each: distance(wanted, each))
        products, has_more = page_of(found, "product_id", request)
        named = {country for each in found for country in each["countries"] or []}
        return {"products": products, "has_more": has_more, "count": len(found),
                "countries": {country: sum(redeemable_in(each, country) for each in found) for country in named},
                "currencies": Counter(each["currency"] for each in found),
                "categories": Counter(each["category"] for each in found)}

    def gift_card_product(self, request, product_id):
        return {"product": PRODUCT_BY_ID.get(product_id)}

    def gift_card_offer(self, request, product_id):
        return offer_of(product_id, request.needed("country"), request.needed("amount", amount))

    def order_gift_card(self, request):
        order = self._order("gift card", request, GIFT_ORDER, self._make_gift_card)
        return {"order": order.body, **order.state()}

    def _make_gift_card(self, key, body, content):
        offer = offer_of(content["product_id"], content["country"], content["amount"])
        if offer["status"] != "open":
            return {"status": "declined", "reason": offer["status"]}, 0
        if content["fee_rate"] < Decimal(offer["fee_rate"]):
            return {"status": "declined", "reason": "price_changed"}, 0
        return {"status": "ready", "redemption_code": self._minted("code", key)[:16].upper(),
                "pin_code": self._digits("pin", key, 4), "redemption_url": None}, DELAY_S

    # Payouts

    def _tell(self, payout, state):
        payout.append({"payout_id": payout[0]["payout_id"] if payout else None, "sequence": len(payout) + 1, **state})
        self._words.append(payout[-1])

    def tell_what_is_due(self):
        """Before anything else is looked at or told, so that nobody can see that no clock tells it."""
        while self._on_their_way and self._on_their_way[0][0] <= time.monotonic():
            _, payout, reference = self._on_their_way.popleft()
            if payout[-1]["status"] == "in_process":
                self._tell(payout, {"status": "complete", "reference": reference})

    def order_payout(self, request):
        return self._order("payout", request, PAYOUT_ORDER, self._make_payout).told[-1]

    def _make_payout(self, key, body, content):
        payout_id = content["payout_id"]
        # Words name the payout alone: of two under one name nobody could tell which is meant.
        insist(payout_id not in self._payouts, "this payout was ordered with another key")
        words = []
        self._payouts[payout_id] = key, words
        self._tell(words, {"payout_id": payout_id, "status": "in_process", "retry_after_ms": ORDER_RETRY_MS})
        self._on_their_way.append((time.monotonic() + DELAY_S, words, "paid-" + self._minted("payout", key)[:24]))
        return words, 0

    def recall_payout(self, request, payout_id):
        key, (ordered_with, words) = request.key(), self._payouts.get(payout_id, (None, None))
        if words is None:
            raise Refused("not_found", "no such payout")
        if key != ordered_with:
            raise Refused("key_reused", "this is not the key of that payout's order")
        if words[-1]["status"] == "in_process":
            self._tell(words, {"status": "cancelled", "reason": "recalled"})
        is_back = words[-1]["status"] == "cancelled"
        return {"payout_id": payout_id, "outcome": "recalled" if is_back else "too_late"}

    def payout_reports(self, request):
        after, limit = request.needed("after", count), min(request.needed("limit", count), MOST_REPORTS)
        return {"reports": [{"number": number, **word}
                            for number, word in enumerate(self._words[after:after + limit], after + 1)]}

    def debit_card_country(self, request):
        _, content = request.body({"number": card_number})
        return {"country": "US" if content["number"].startswith("40000084") else None}

    # People

    def begin_check(self, request):
        return self._order("check", request, {"wallet": text}, self._make_check).told

    def _make_check(self, key, body, content):
        reference = "check-" + self._minted("check", key)[:24]
        self._checks[reference] = {"status": "pending", "retry_after_ms": CHECK_RETRY_MS}
        url = f"{self.address}/person/{reference}/{self._minted('page', reference)}"
        return {"wallet": content["wallet"], "reference": reference, "url": url}, 0

    def check_status(self, request, reference):
        if reference not in self._checks:
            raise Refused("not_found", "no such check")
        return {"reference": reference, **self._checks[reference]}

    def answer_check(self, request, reference, page_secret):
        """The person's own page. The first answer stays."""
        state, answer = self.check_status(request, reference), request.given("answer")
        if not hmac.compare_digest(page_secret.encode(), self._minted("page", reference).encode()):
            raise Refused("not_found", "no such page")
        insist(answer in (None, "pass", "fail"), "the answer is pass or fail")
        if answer and state["status"] == "pending":
            failed = {"status": "failed", "reason": "not_proven"}
            self._checks[reference] = {"status": "passed"} if answer == "pass" else failed
        return PERSONS_PAGE

    def open_account(self, request):
        _, content = request.body({"holder": text})
        deposit_address = "0x" + hashlib.sha256(content["holder"].encode()).hexdigest()[:40]
        self._accounts.add(deposit_address)
        return {"holder": content["holder"], "status": "open", "deposit_address": deposit_address}

    def _known_account(self, address):
        if address.lower() not in self._accounts:  # an address on Base is the same in either case
            raise Refused("not_found", "no such account")
        return address

    def account_balance(self, request, address):
        return {"deposit_address": self._known_account(address), "balance": "0"}

    def account_deposit(self, request, address, transaction):
        self._known_account(address)
        request.needed("amount", usdc)
        return {"transaction": transaction, "amount": request.given("amount"), "credited": False}

    # Tables

    def search_merchants(self, request):
        card_type, wanted = request.needed("card_type"), (request.given("q") or "").strip().lower()
        insist(card_type in CARD_TYPES, "no such type of card")
        found = [{**each, "status": "accepted" if card_type == "Reloadable" or not each["countries"] else "unknown"}
                 for each in MERCHANTS if wanted in each["name"].lower() or each["url"] == wanted]
        found.sort(key=lambda each: not each["name"].lower().startswith(wanted))
        merchants, has_more = page_of(found, "id", request)
        return {"merchants": merchants, "has_more": has_more}

    def exchange_rates(self, request):
        return {"source": "stub", "as_of_ms": self._started_ms, "usd_per_unit": RATES}


PERSONS_ROUTE = "GET person * *"
ROUTES = [(route.split(), operation) for route, operation in (
    (PERSONS_ROUTE, Provider.answer_check),
    ("GET v1 billing-address", Provider.billing_address),
    ("POST v1 card-accounts", Provider.open_account),
    ("GET v1 card-accounts *", Provider.account_balance),
    ("GET v1 card-accounts * deposits *", Provider.account_deposit),
    ("POST v1 cards", Provider.order_card),
    ("GET v1 cards *", Provider.card_activity),
    ("GET v1 cards * cvv", Provider.card_cvv),
    ("POST v1 debit-card-country", Provider.debit_card_country),
    ("POST v1 gift-card-orders", Provider.order_gift_card),
    ("GET v1 gift-cards", Provider.search_gift_cards),
    ("GET v1 gift-cards *", Provider.gift_card_product),
    ("GET v1 gift-cards * offer", Provider.gift_card_offer),
    ("POST v1 identity-checks", Provider.begin_check),
    ("GET v1 identity-checks *", Provider.check_status),
    ("GET v1 merchants", Provider.search_merchants),
    ("GET v1 payout-reports", Provider.payout_reports),
    ("POST v1 payouts", Provider.order_payout),
    ("POST v1 payouts * recall", Provider.recall_payout),
    ("GET v1 rates", Provider.exchange_rates),
)]


def operation_for(request):
    asked = [request.method, *request.segments]
    for route, operation in ROUTES:
        if len(route) == len(asked) and all(part in ("*", given) for part, given in zip(route, asked)):
            return operation, [given for part, given in zip(route, asked) if part == "*"]
    raise Refused("invalid_request", "no such operation")
