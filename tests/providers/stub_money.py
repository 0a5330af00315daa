"""The part of the stub that keeps holders' money: balances at the card issuer and what they load, accounts at the bank.
Written, as `stub.py`, from the document and "What a provider must hold to" alone."""

import base64
import hashlib
import time
from decimal import Decimal

from stub_rules import decimal, insist

MOVES = {("open", "pause"): "paused", ("paused", "resume"): "open", ("open", "close"): "closed", ("paused", "close"): "closed"}


def named(body, *names):
    """What an answer repeats of its order."""
    return {name: body[name] for name in names}


class Money:
    """Each operation under the document's name of it, beside those of `Provider`, whose `order`, `minted` and `digits` it uses."""

    def __init__(self):
        self.balances = {}  # what is left of each holder's balance at the issuer, by deposit address
        self.arrived = {}  # deposits that count: the amount, by address and transaction
        self.reloadables, self.changed = {}, []  # by reference; references in the order of changes
        self.holds = {}  # by key
        self.documents, self.bank_accounts, self.paid_in = {}, {}, []
        self.program_lines, self.balance_lines = [], []  # what became of an order or a card, and when

    def judged(self, kind, asked, judge):
        """The first order under this key and its result, which `judge` finds once."""
        is_new = (kind, asked["Idempotency-Key"]) not in self.orders
        if is_new and kind in ("reloadable card", "hold"):
            self.program_lines.append((kind, asked["Idempotency-Key"], time.monotonic()))
        return self.order(kind, asked, judge() if is_new else None)

    def listed_program(self):
        for kind, key, at in list(self.program_lines):
            body, _, result, _ = self.orders[kind, key]
            captured = self.holds.get(key, {"captured": None})["captured"]
            statuses = {"open": "completed", "held": {None: "held", True: "completed", False: "returned"}[captured]}
            yield {"key": key, "product": kind, "amount": body["amount"], "currency": "USD", "returned_transfer_id": None,
                   "status": statuses.get(result["status"], "declined"), "at_ms": self.wall_ms(at)}

    def listed_balances(self):
        for reference, at in list(self.balance_lines):
            card = self.reloadables[reference]
            yield {"key": card["key"], "product": "balance", "amount": str(card["available"]), "currency": "USD",
                   "returned_transfer_id": None, "status": "completed", "at_ms": self.wall_ms(at)}

    def listed_deposits(self):
        for paid in list(self.paid_in):
            yield {"key": paid["reference"], "product": "deposit", "amount": paid["amount"], "currency": "USD",
                   "returned_transfer_id": paid["returned_transfer_id"], "status": "completed",
                   "at_ms": self.wall_ms(paid["at"])}

    def took(self, address, amount):
        """Takes the amount from the balance. False if the balance is too small."""
        address, amount = address.lower(), decimal(amount)
        has_it = amount <= self.balances.get(address, Decimal(0))
        if has_it:
            self.balances[address] -= amount
        return has_it

    def open_issuer_account(self, asked):
        deposit_address = "0x" + hashlib.sha256(asked["body"]["wallet"].encode()).hexdigest()[:40]
        self.balances.setdefault(deposit_address, Decimal(0))
        return {**asked["body"], "status": "open", "deposit_address": deposit_address}

    def get_issuer_account_balance(self, asked):
        address = asked["address"].lower()  # on Base case says nothing
        insist(address in self.balances, "no such account", "not_found")
        return {"deposit_address": asked["address"], "balance": str(self.balances[address])}

    def get_issuer_account_deposit(self, asked):
        self.get_issuer_account_balance(asked)
        counts = self.arrived.get((asked["address"].lower(), asked["transaction"])) == decimal(asked["amount"])
        return {"transaction": asked["transaction"], "amount": asked["amount"], "credited": counts}

    def control(self, what, body):
        """Not part of the document: USDC that arrives on Base, money paid into an on-ramp."""
        if what == "deposits":
            transaction = f"0x{len(self.arrived) + 1:064x}"
            self.arrived[body["address"].lower(), transaction] = decimal(body["amount"])
            self.balances[body["address"].lower()] += decimal(body["amount"])
            return {"transaction": transaction}
        insist(what == "bank-deposits" and self.bank_accounts[body["account_id"]]["account_type"] == "onramp", "no such on-ramp")
        self.paid_in.append({**named(body, "reference", "account_id", "amount"), "sender": "Sender",
                             "returned_transfer_id": None, "at": time.monotonic()})
        return {}

    def open_reloadable_card(self, asked):
        key, body = asked["Idempotency-Key"], asked["body"]
        reference = "reloadable-" + self.minted("reloadable", key)

        def judge():
            if not self.took(body["deposit_address"], body["amount"]):
                return {"status": "insufficient_balance"}
            self.reloadables[reference] = {**named(body, "card_id", "deposit_address"), "available": decimal(body["amount"]),
                                           "sequence": 0, "state": "open", "key": key}
            self.balance_lines.append((reference, time.monotonic()))
            number = self.card_number("reloadable " + key)
            return {"status": "open", "card": {"reference": reference, "number": number, "exp_month": 12,
                                               "exp_year": self.years() + 3}}

        first, state = self.judged("reloadable card", asked, judge)
        return {**named(first, "card_id", "deposit_address", "amount"), **state}

    def held(self, reference):
        insist(reference in self.reloadables, "no such card", "not_found")
        return self.reloadables[reference]

    def get_reloadable_card_balance(self, asked):
        return {"reference": asked["reference"], "available": str(self.held(asked["reference"])["available"])}

    def get_reloadable_card_cvv(self, asked):
        self.held(asked["reference"])
        return {"cvv": self.digits("reloadable cvv", asked["reference"], 3)}

    def standing(self, reference):
        card = self.reloadables[reference]
        return {**named(card, "card_id", "sequence", "state"), "available": str(card["available"]),
                "released": "0", "transactions": []}

    def apply_card_action(self, asked):
        reference, body, key = asked["reference"], asked["body"], asked["Idempotency-Key"]
        card = self.reloadables.get(reference)
        insist(card and card["card_id"] == body["card_id"], "no such card", "rejected")
        to = MOVES.get((card["state"], body["action"])) if ("card action", key) not in self.orders else None
        self.order("card action", asked)
        if to:
            card["state"], card["sequence"] = to, card["sequence"] + 1
            self.changed.append(reference)
            self.balance_lines.append((reference, time.monotonic()))
        if to == "closed":
            self.balances[card["deposit_address"].lower()] += card["available"]
            card["available"] = Decimal(0)
        return {"key": key, **self.standing(reference)}

    def list_card_events(self, asked):
        events = self.changed[asked["after"]:asked["after"] + min(asked["limit"], 1000)]
        return {"events": [{"position": position, **self.standing(each)} for position, each in enumerate(events, asked["after"] + 1)]}

    def create_balance_hold(self, asked):
        def judge():
            if not self.took(asked["body"]["deposit_address"], asked["body"]["amount"]):
                return {"status": "insufficient_balance"}
            self.holds[asked["Idempotency-Key"]] = {**asked["body"], "captured": None}
            return {"status": "held"}

        first, state = self.judged("hold", asked, judge)
        ended = self.holds.get(asked["Idempotency-Key"], {"captured": None})["captured"]
        return {**first, **(state if ended is None else {"status": "settled", "captured": ended})}

    def get_balance_hold(self, asked):
        kept = self.holds.get(asked["key"])
        status = {None: "held", True: "captured", False: "released"}[kept["captured"]] if kept else "not_found"
        return {"key": asked["key"], "status": status}

    def settle_balance_hold(self, asked):
        insist(asked["key"] == asked["Idempotency-Key"], "path and header name two holds")
        hold, captured = self.holds.get(asked["key"]), asked["body"]["captured"]
        insist(hold, "there is no hold under this key", "rejected")
        insist(hold["captured"] in (None, captured), "it has ended the other way", "rejected")
        if hold["captured"] is None and not captured:
            self.balances[hold["deposit_address"].lower()] += decimal(hold["amount"])
        if hold["captured"] is None:
            self.program_lines.append(("hold", asked["key"], time.monotonic()))
        hold["captured"] = captured
        return {"key": asked["key"], "captured": captured}

    def upload_bank_document(self, asked):
        self.documents[asked["document_id"]] = base64.b64decode(asked["body"]["content"], validate=True)
        return {"document_id": asked["document_id"]}

    def submit_bank_application(self, asked):
        answer = {"application_id": asked["body"]["application_id"], "key": asked["Idempotency-Key"]}
        papers = asked["body"]["documents"]
        missing = [each["document_id"] for each in papers if each["document_id"] not in self.documents]
        if missing:
            return {**answer, "status": "documents_required", "document_ids": missing}
        for each in papers:
            actual = hashlib.sha256(self.documents[each["document_id"]]).hexdigest()
            insist(actual == each["sha256"], "a document is not what was announced", "rejected")
        customer = "customer-" + self.minted("customer", asked["body"]["application_id"])
        _, state = self.judged("application", asked, lambda: {"status": "approved", "customer": customer})
        return {**answer, **state}

    def open_bank_account(self, asked):
        account_id, account_type = asked["body"]["account_id"], asked["body"]["account_type"]

        def judge():
            self.bank_accounts[account_id] = {"account_type": account_type, "balance": Decimal(0)}
            return {"status": "open", "bank_name": "Stub Bank", "routing_number": "021000021",
                    "account_number": self.digits("account", account_id, 12), "memo": None}

        first, state = self.judged("bank account", asked, judge)
        return {**named(first, "account_id", "customer"), **state}

    def get_bank_account_balance(self, asked):
        insist(asked["account_id"] in self.bank_accounts, "no such account", "not_found")
        return {"account_id": asked["account_id"], "balance": str(self.bank_accounts[asked["account_id"]]["balance"])}

    def create_bank_transfer(self, asked):
        body = asked["body"]
        change = decimal(body["amount"]) * (1 if body["direction"] == "to_account" else -1)

        def judge():
            account = self.bank_accounts.get(body["account_id"])
            if account is None or account["balance"] + change < 0:
                return {"status": "failed", "reason": "no such account" if account is None else "insufficient funds"}
            account["balance"] += change
            return {"status": "complete", "reference": "moved-" + self.minted("move", asked["Idempotency-Key"])}

        first, state = self.judged("bank transfer", asked, judge)
        return {**named(first, "transfer_id", "amount"), **state}

    def list_bank_deposits(self, asked):
        events = self.paid_in[asked["after"]:asked["after"] + min(asked["limit"], 1000)]
        return {"deposits": [{"position": position, **named(each, "reference", "account_id", "amount", "sender", "returned_transfer_id")}
                             for position, each in enumerate(events, asked["after"] + 1)]}
