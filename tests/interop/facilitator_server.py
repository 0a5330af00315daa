"""A facilitator of the published package x402, with both of its schemes, behind the server of the standard library.

    python facilitator_server.py KEY BASE_RPC SOLANA_RPC

KEY is 32 bytes in hexadecimal, the same key on both chains. Prints the address that it listens on.
"""

import json
import os
import sys
import threading
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from solders.keypair import Keypair
from x402.facilitator import x402FacilitatorSync
from x402.mechanisms.evm import FacilitatorWeb3Signer
from x402.mechanisms.evm.exact import register_exact_evm_facilitator
from x402.mechanisms.svm import FacilitatorKeypairSigner
from x402.mechanisms.svm.exact import register_exact_svm_facilitator
from x402.schemas import SettleRequest, VerifyRequest

key, base_rpc, solana_rpc = sys.argv[1:]
facilitator = x402FacilitatorSync()
register_exact_evm_facilitator(facilitator, FacilitatorWeb3Signer(key, base_rpc), networks="eip155:8453")
register_exact_svm_facilitator(
    facilitator,
    FacilitatorKeypairSigner(Keypair.from_seed(bytes.fromhex(key)), solana_rpc),
    networks="solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
)


def verify(body):
    asked = VerifyRequest.model_validate_json(body)
    return facilitator.verify(asked.payment_payload, asked.payment_requirements)


def settle(body):
    asked = SettleRequest.model_validate_json(body)
    return facilitator.settle(asked.payment_payload, asked.payment_requirements)


ROUTES = {
    ("GET", "/supported"): lambda _: facilitator.get_supported(),
    ("POST", "/verify"): verify,
    ("POST", "/settle"): settle,
}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        route = ROUTES.get((self.command, self.path))
        if route is None:
            return self.reply(404, b"{}")
        try:
            answer = route(body).model_dump_json(by_alias=True, exclude_none=True)
        except Exception as error:  # noqa: BLE001
            traceback.print_exc()
            return self.reply(500, json.dumps({"error": str(error)}).encode())
        return self.reply(200, answer.encode())

    def reply(self, status, body):
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


def ends_with_its_parent():
    sys.stdin.buffer.read()
    os._exit(0)


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=ends_with_its_parent, daemon=True).start()
print("127.0.0.1:%d" % server.server_port, flush=True)
server.serve_forever()
