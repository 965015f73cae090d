"""libolm as a child process: one JSON request a line on standard input, one JSON answer a line on standard output.

Driven by internal/letterbox/olmtest. Needs Debian's python3-olm. Accounts and sessions are kept here under
numbers that the answers name.
"""
import json
import sys

import olm

kept = []


def keep(thing):
    kept.append(thing)
    return len(kept) - 1


def message(r):
    return (olm.OlmPreKeyMessage if r["typ"] == 0 else olm.OlmMessage)(r["body"])


def account(r):
    if "pickle" in r:
        a = olm.Account.from_pickle(r["pickle"].encode(), r["key"])
    else:
        a = olm.Account()
    return {"n": keep(a), "curve": a.identity_keys["curve25519"], "ed": a.identity_keys["ed25519"]}


def one_time(r):
    a = kept[r["n"]]
    a.generate_one_time_keys(r["count"])
    keys = list(a.one_time_keys["curve25519"].values())
    if r.get("publish", True):
        a.mark_keys_as_published()
    return {"keys": keys}


def fallback(r):
    a = kept[r["n"]]
    a.generate_fallback_key()
    keys = list(a.fallback_key["curve25519"].values())
    a.mark_keys_as_published()
    return {"keys": keys}


def outbound(r):
    s = olm.OutboundSession(kept[r["n"]], r["curve"], r["key"])
    return {"n": keep(s), "id": s.id}


def inbound(r):
    a = kept[r["n"]]
    s = olm.InboundSession(a, message(r), r["curve"])
    text = s.decrypt(message(r))
    a.remove_one_time_keys(s)
    return {"n": keep(s), "id": s.id, "text": text}


def matches(r):
    return {"yes": kept[r["n"]].matches(message(r), r["curve"])}


def encrypt(r):
    m = kept[r["n"]].encrypt(r["text"])
    return {"typ": m.message_type, "body": m.ciphertext}


def decrypt(r):
    return {"text": kept[r["n"]].decrypt(message(r))}


def sign(r):
    return {"signature": kept[r["n"]].sign(r["text"])}


def verify(r):
    olm.ed25519_verify(r["ed"], r["text"], r["signature"])
    return {}


def pickle(r):
    return {"pickle": kept[r["n"]].pickle(r["key"]).decode()}


ops = {f.__name__: f for f in (account, one_time, fallback, outbound, inbound, matches, encrypt, decrypt, sign, verify, pickle)}

for line in sys.stdin:
    request = json.loads(line)
    try:
        answer = ops[request["op"]](request)
    except Exception as e:  # whatever libolm says is an answer
        answer = {"error": f"{type(e).__name__}: {e}"}
    print(json.dumps(answer), flush=True)
