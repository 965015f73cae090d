# Appends letters as agent-talk's spool writer does: json.dumps, one write a line, flock on the spool, a rotation by rename when the
# file is large. Arguments: spool, number of letters, size at which to rotate once or 0, name of the writer.
import fcntl, json, os, sys

spool, count, limit, name = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]


def hold():
    while True:
        fd = os.open(spool, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        fcntl.flock(fd, fcntl.LOCK_EX)
        if os.path.exists(spool) and os.stat(spool).st_ino == os.fstat(fd).st_ino:
            return fd
        os.close(fd)


for i in range(count):
    line = json.dumps({"id": f"{name}{i:028d}", "from": "a" * 32, "name": "alice", "text": "é" * (i % 90 + 1), "ts": "2026-12-01T10:00:00Z"}) + "\n"
    fd = hold()
    if limit and os.fstat(fd).st_size >= limit:
        os.rename(spool, spool + ".1")
        os.close(fd)
        fd, limit = hold(), 0
    os.write(fd, line.encode())
    os.close(fd)
