"""The part of the stub that carries USDC from one chain to the other; both chains are its own. Written, as `stub.py`, from
the document alone."""

import base64
import binascii
import hashlib
import hmac
import time

from stub_rules import decimal, insist

FEE = decimal("0.01")


def raw(text):
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as wrong:
        raise ValueError("not Base64") from wrong


def text(data):
    return base64.b64encode(data).decode()


class Bridge:
    """Each operation under the document's name of it, beside those of `Provider`."""

    def __init__(self):
        self.signed, self.burned, self.mints = {}, set(), {}  # by transaction; transactions; by nonce
        self.crossed = []  # transactions that were burned or minted, and when

    def sign_burn(self, asked):
        transfer = asked["body"]
        transaction = f"burn-{len(self.signed)}-{self.minted('burn', transfer['transfer_id'])}"
        self.signed[transaction] = transfer
        burn = {"transaction": transaction, "bytes": text(transaction.encode()), "burned_amount": str(decimal(transfer["amount"]) + FEE),
                "event_key": hashlib.sha256(transaction.encode()).hexdigest()}
        return {"transfer_id": transfer, "burn": burn}

    def known(self, burn):
        insist(raw(burn["bytes"]).decode() == burn["transaction"], "not the bytes of this burn", "rejected")
        insist(burn["transaction"] in self.signed, "no such burn", "rejected")
        return burn["transaction"]

    def submit_burn(self, asked):
        transaction = self.known(asked["body"])
        if transaction not in self.burned:
            self.crossed.append((transaction, time.monotonic()))
        self.burned.add(transaction)
        return {"submitted_transaction": transaction, "status": "settled", "transaction": transaction}

    def lookup_burn(self, asked):
        transaction = self.known(asked["body"])
        there = {"status": "confirmed", "transaction": transaction} if transaction in self.burned else {"status": "pending"}
        return {"subject": transaction, **there}

    def message_of(self, transaction):
        transfer = self.signed[transaction]
        return f"{transaction} {transfer['to']} {transfer['amount']}".encode()

    def listed_bridge_transfers(self):
        for transaction, at in list(self.crossed):
            is_minted = hashlib.sha256(self.message_of(transaction)).hexdigest() in self.mints
            yield {"key": transaction, "product": "bridge transfer", "amount": self.signed[transaction]["amount"],
                   "currency": "USDC", "returned_transfer_id": None, "status": "completed" if is_minted else "held",
                   "at_ms": self.wall_ms(at)}

    def seal(self, message):
        return hmac.new(self.secret, b"attested " + message, hashlib.sha256).digest()

    def get_burn_attestation(self, asked):
        transaction = self.known(asked["body"])
        if transaction not in self.burned:
            return {"transaction": transaction, "status": "pending", "retry_after_ms": 10}
        transfer, message = self.signed[transaction], self.message_of(transaction)
        attested = {"nonce": hashlib.sha256(message).hexdigest(), "message": text(message), "to": transfer["to"],
                    "attestation": text(self.seal(message)), "is_usdc": True, "amount": transfer["amount"]}
        return {"transaction": transaction, "status": "complete", "attested": attested}

    def reattest_message(self, asked):
        raise ValueError("no attestation expires here")

    def sign_mint(self, asked):
        message = asked["body"]
        return {"nonce": message["nonce"], "mint": {"bytes": text(raw(message["attestation"]) + raw(message["message"])),
                                                    "transaction": ""}}

    def submit_mint(self, asked):
        sent = raw(asked["body"]["bytes"])
        insist(hmac.compare_digest(sent[:32], self.seal(sent[32:])), "not a message that was attested", "rejected")
        nonce, answer = hashlib.sha256(sent[32:]).hexdigest(), {"sha256": hashlib.sha256(sent).hexdigest()}
        if nonce in self.mints:
            return {**answer, "status": "nonce_used"}
        self.mints[nonce] = "mint-" + self.minted("mint", nonce)
        self.crossed.append((sent[32:].decode().split()[0], time.monotonic()))
        return {**answer, "status": "minted", "transaction": self.mints[nonce]}

    def lookup_mint(self, asked):
        nonce = asked["body"]["nonce"]
        there = {"status": "confirmed", "transaction": self.mints[nonce]} if nonce in self.mints else {"status": "pending"}
        return {"subject": nonce, **there}
