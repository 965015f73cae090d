"""The readers and the writer of spools as agent-talk has them, written from contract letters 4.3, 4.4, 5.1, 5.2 and 6.2 alone.

Run by /usr/bin/python3 from the tests of internal/letterbox/spool; it knows nothing of our code.

  spool.py hook SPOOL[:SPOOL…]        the Codex hook: cursor first, head fingerprint, lock; prints the ids it hands over
  spool.py monitor SID HOME           the Claude Code monitor: waits for the session map, follows the session's spool and the
                                      inbox from their ends, prints each record once; ends when its input ends
  spool.py requests SID HOME          the monitor of contact requests: only their spool, one print for what differs by its time alone
  spool.py write USER HOME STREAM MAX the spool writer: lines of standard input, `ts`, the session map, flock, rotation at MAX bytes
  spool.py gc USER HOME DAYS          its collection
"""

import fcntl
import hashlib
import json
import os
import re
import select
import sys
import time


def out(text):
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


# ---- the Codex hook (5.2) ---------------------------------------------------------------------------------------------------


def drain(path, entry):
    """New records behind the cursor, and the cursor behind them."""
    try:
        with open(path, "rb") as f:
            data = f.read()
    except OSError:
        return [], entry
    offset, ids = entry.get("offset", 0), list(entry.get("ids", []))
    sha, sha_len = entry.get("sha", ""), entry.get("sha_len", 0)
    if offset > len(data):
        offset = 0
    elif sha and hashlib.sha256(data[:sha_len]).hexdigest() != sha:
        offset = 0
    if offset == len(data):
        return [], entry
    end = data.rfind(b"\n", offset) + 1
    if end <= offset:
        return [], entry
    found = []
    for line in data[offset:end].split(b"\n"):
        try:
            r = json.loads(line)
        except ValueError:
            continue
        if not isinstance(r, dict) or r.get("kind") == "contact" or not r.get("text"):
            continue
        if r.get("id") in ids:
            continue
        ids.append(r.get("id"))
        found.append(r)
    n = min(end, 256)
    return found, {"offset": end, "ids": ids[-500:], "sha": hashlib.sha256(data[:n]).hexdigest(), "sha_len": n}


def hook(spools):
    found = []
    by_dir = {}
    for p in spools:
        by_dir.setdefault(os.path.dirname(os.path.abspath(p)), []).append(os.path.abspath(p))
    for folder, paths in by_dir.items():
        state_path = os.path.join(folder, ".codex-hook-state.json")
        with open(state_path + ".lock", "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                with open(state_path) as f:
                    state = json.load(f)
            except (OSError, ValueError):
                state = {}
            for p in paths:
                got, state[p] = drain(p, state.get(p, {}))
                found += got
            with open(state_path + ".tmp", "w") as f:
                json.dump(state, f)
            os.rename(state_path + ".tmp", state_path)
    for r in found:
        out(r["id"])


# ---- the monitors (5.1) -----------------------------------------------------------------------------------------------------


class Tail:
    """A file from its end on, by name: what tail -n 0 -F does."""

    def __init__(self, path):
        self.path, self.f, self.ino, self.carry = path, None, None, b""
        self.open(end=True)

    def open(self, end):
        try:
            self.f = open(self.path, "rb")
        except OSError:
            self.f = None
            return
        self.ino, self.carry = os.fstat(self.f.fileno()).st_ino, b""
        if end:
            self.f.seek(0, os.SEEK_END)

    def read(self):
        if self.f is None:
            self.open(end=False)
            return []
        data = self.f.read()
        try:
            st = os.stat(self.path)
        except OSError:
            st = None
        if not data and (st is None or st.st_ino != self.ino):
            self.f.close()
            self.open(end=False)
            data = self.f.read() if self.f else b""
        elif st is not None and st.st_ino == self.ino and st.st_size < self.f.tell():
            self.f.seek(0)
            self.carry = b""
            data = self.f.read()
        *lines, self.carry = (self.carry + data).split(b"\n")
        return [line.decode("utf-8") for line in lines if line]


FIRST_ID = re.compile(r'"id"\s*:\s*"([^"]*)"')
TIME = re.compile(r',?\s*"ts"\s*:\s*"[^"]*"')


def monitor(sid, home, stream):
    entry = os.path.join(home, ".agent-talk", "by-session", re.sub(r"[^A-Za-z0-9._-]", "_", sid))
    while not os.path.exists(entry):
        if ended(0.05):
            return
    with open(entry) as f:
        user = f.read().strip()
    spool = os.path.join(user, "sessions", sid + (".requests.ndjson" if stream == "requests" else ".ndjson"))
    paths = [spool] if stream == "requests" else [spool, os.path.join(user, "inbox.ndjson")]
    for p in paths:
        open(p, "a").close()
    tails, seen = [Tail(p) for p in paths], set()
    out("ready")
    last = False
    while True:
        for t in tails:
            for line in t.read():
                if '"from":' not in line:  # the documented recipe greps for it
                    continue
                if stream == "requests":
                    key = TIME.sub("", line)
                else:
                    m = FIRST_ID.search(line)
                    key = m.group(1) if m else line
                if key not in seen:
                    seen.add(key)
                    out(line)
        if last:
            return
        last = ended(0.02)


def ended(wait):
    return bool(select.select([sys.stdin], [], [], wait)[0])


# ---- the writer (4.3) -------------------------------------------------------------------------------------------------------


def sessions(user, home):
    folder, real = os.path.join(home, ".agent-talk", "by-session"), os.path.realpath(user)
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    found = []
    for n in names:
        with open(os.path.join(folder, n)) as f:
            if os.path.realpath(f.read().strip()) == real:
                found.append(n)
    return found


def append(path, line, limit):
    if limit and os.path.exists(path) and os.path.getsize(path) >= limit:
        os.rename(path, path + ".1")
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        os.write(fd, line.encode("utf-8") + b"\n")
    finally:
        os.close(fd)


def write(user, home, stream, limit):
    os.makedirs(os.path.join(user, "sessions"), mode=0o700, exist_ok=True)
    for line in sys.stdin:
        line = line.strip()
        try:
            r = json.loads(line)
            if isinstance(r, dict) and not r.get("ts"):
                r["ts"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            line = json.dumps(r)
        except ValueError:
            pass
        found = sessions(user, home)
        end = ".requests.ndjson" if stream == "requests" else ".ndjson"
        for sid in found:
            append(os.path.join(user, "sessions", sid + end), line, limit)
        if stream == "messages":
            append(os.path.join(user, "inbox.ndjson"), line, limit)
        elif not found:
            append(os.path.join(user, "requests.ndjson"), line, limit)
        out("ok")


def gc(user, home, days):
    live, folder = set(sessions(user, home)), os.path.join(user, "sessions")
    for name in sorted(os.listdir(folder)):
        m = re.match(r"(.*?)(\.requests)?\.ndjson(\.1)?$", name)
        if not m or name.startswith("."):
            continue
        path = os.path.join(folder, name)
        if m.group(1) not in live or time.time() - os.path.getmtime(path) > days * 86400:
            os.remove(path)
            out("removed " + name)


if __name__ == "__main__":
    what, args = sys.argv[1], sys.argv[2:]
    if what == "hook":
        hook(args[0].split(":"))
    elif what == "monitor":
        monitor(args[0], args[1], "messages")
    elif what == "requests":
        monitor(args[0], args[1], "requests")
    elif what == "write":
        write(args[0], args[1], args[2], int(args[3]))
    elif what == "gc":
        gc(args[0], args[1], float(args[2]))
    else:
        sys.exit(2)
