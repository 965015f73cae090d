# Runs the shared test server and ends it when no test binary uses it any more.
# Arguments: run folder, folder of the Postgres programs, path of pgbouncer or "",
# seconds to linger. A user of the server holds a shared lock on ../users.lock;
# whoever starts or stops a server holds ../start.lock.
run=$1 bin=$2 bouncer=$3 linger=$4
cd "$run" || exit 1
exec </dev/null >>server.log 2>&1
"$bin/postgres" -D "$run/data" -k "$run" &
pg=$!
pb=
if [ -n "$bouncer" ]; then
  "$bouncer" -q pgbouncer.ini &
  pb=$!
fi
while kill -0 $pg 2>/dev/null; do
  flock -x ../users.lock true
  sleep "$linger"
  exec 9<../start.lock
  flock -x 9
  if flock -x -n ../users.lock true; then
    [ "$(cat ../current)" = "$(basename "$run")" ] && rm -f ../current
    [ -n "$pb" ] && kill -INT $pb
    kill -INT $pg
    wait
  fi
  exec 9<&-
done
[ -n "$pb" ] && kill -KILL $pb 2>/dev/null
cd / && rm -rf "$run"
