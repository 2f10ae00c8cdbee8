#!/bin/sh
# Shows on a really clean system that two commands are enough. Needs root, debootstrap and a network; by hand, not in CI.
#   sh scripts/clean_machine.sh FOLDER [tests…]
# Makes a minimal Debian with python3, python3-venv and make in FOLDER (which must not exist), unpacks the last commit
# there without git, and in it: what is missing is said; `make up` and tests as root; the same again without a network;
# the same as an ordinary user; the wheel in an empty environment. Set PIP_* and proxies in the environment if need be.
set -eu
root=$1
shift
tests=${*:-tests/decisions tests/objects tests/runtime tests/embedded}
top=$(cd "$(dirname "$0")/.." && pwd)
visitor=12345
[ ! -e "$root" ] || { echo "$root is there already; name a new folder" >&2; exit 1; }

debootstrap --variant=minbase --include=ca-certificates bookworm "$root"
cat /etc/ssl/certs/ca-certificates.crt > "$root/etc/ssl/certs/ca-certificates.crt"
unpack() { mkdir -p "$root$1" && git -C "$top" archive HEAD | tar -x -C "$root$1"; }
inside() { PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$@"; }
as_root() { inside "$root" sh -ec "cd /src; $1"; }
as_visitor() { inside --userspec=$visitor:$visitor "$root" sh -ec "export HOME=/visitor; cd /visitor/src; $1"; }
up='timeout -s INT 15 make up > up.out 2>&1 || [ $? -eq 124 ]; cat up.out; grep -qx ready up.out'

unpack /src
unpack /visitor/src
chown -R $visitor:$visitor "$root/visitor"

say() { printf '\n== %s\n' "$*"; }
say "without python3"
! as_root 'sh scripts/make_environment.sh .venv requirements/dev.txt'
inside "$root" apt-get install --yes --quiet --no-install-recommends python3 make > /dev/null
say "without python3-venv"
! as_root 'make setup'
inside "$root" apt-get install --yes --quiet --no-install-recommends python3-venv > /dev/null

say "as root"
as_root "make setup; $up"
say "again, without a network: nothing is made, everything works"
unshare --net sh -c "ip link set lo up; PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot '$root' sh -ec 'cd /src; make setup; .venv/bin/python -m pytest -q -n 2 $tests'"
say "as an ordinary user"
as_visitor "make setup; $up; .venv/bin/python -m pytest -q -n 2 $tests"
say "the wheel, in an empty environment"
as_visitor 'make wheel; python3 -m venv /visitor/empty; /visitor/empty/bin/pip install -q dist/eachnode-*.whl; cd /; /visitor/empty/bin/eachnode --version'
say "every step went well"
