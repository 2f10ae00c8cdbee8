#!/bin/sh
# Shows on a really clean Debian that two commands are enough. Needs root, debootstrap and a network; by hand, not in CI.
#   sh scripts/clean_machine.sh FOLDER [SUITE]          SUITE: bookworm (Python 3.11), trixie (3.13), bullseye (too old)
# Makes a minimal Debian in FOLDER (which must not exist) and unpacks the last commit there, without git. In it: what is
# missing is said; `make up` and `make test` work, as root and, without a network, as an ordinary user; a wheel, pip and
# pipx install the program. PIP_* and proxies are taken from the environment; nothing else is.
set -eu
root=$1 suite=${2:-bookworm}
top=$(cd "$(dirname "$0")/.." && pwd)
[ ! -e "$root" ] || { echo "$root is there already; name a new folder" >&2; exit 1; }
begun=$(date +%s)
say() { printf '\n== %s (%s s)\n' "$*" $(($(date +%s) - begun)); }

debootstrap --variant=minbase --include=ca-certificates "$suite" "$root" > "$root.log" 2>&1 || { cat "$root.log"; exit 1; }
cat /etc/ssl/certs/ca-certificates.crt > "$root/etc/ssl/certs/ca-certificates.crt"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
mount -t devpts devpts "$root/dev/pts"
trap 'umount "$root/dev/pts" "$root/dev/shm" "$root/proc"' EXIT

kept=$(env | grep -E '^(PIP_(INDEX_URL|CERT|PROXY|DEFAULT_TIMEOUT)|https?_proxy|HTTPS?_PROXY|SSL_CERT_FILE)=' || true)
offline() { unshare --net sh -ec 'ip link set lo up; exec "$@"' sh "$@"; }
inside() { # user, folder, commands; through $way, if set
    # shellcheck disable=SC2086 # each word of $kept is a setting
    ${way:-} env -i $kept PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME="$2" LANG=C.UTF-8 \
        chroot --userspec="$1" "$root" sh -ec "cd '$2/src'; $3"
}
as_root() { inside root /root "$1"; }
as_visitor() { inside visitor /home/visitor "$1"; }
refuses() { if "$@"; then echo "that should have been refused" >&2; exit 1; fi; }
install() { as_root "apt-get install --yes --no-install-recommends $*" > /dev/null 2>&1; }
up='make up > up.out 2>&1 & up=$!
    while kill -0 $up 2> /dev/null && ! grep -qx ready up.out; do sleep 1; done; kill $up; wait $up || true
    cat up.out; grep -qx ready up.out'

chroot "$root" useradd --create-home visitor
for home in /root /home/visitor; do
    mkdir "$root$home/src"
    git -C "$top" archive HEAD | tar -x -C "$root$home/src"
done
chown -R "$(stat -c %u:%g "$root/home/visitor")" "$root/home/visitor"

say "a minimal $suite; without python3"
refuses as_root 'sh scripts/make_environment.sh .venv requirements/dev.txt'
install python3 make
if ! as_root 'python3 -c "import sys; sys.exit(sys.version_info < (3, 11))"'; then
    say "a Python that is too old"
    refuses as_root 'make up'
    exit
fi
say "without python3-venv"
refuses as_root 'make up'
install python3-venv

say "as root: make up"
as_root "$up"
say "as root: make test"
as_root 'make test'
say "as an ordinary user: make up"
as_visitor "$up"
say "as an ordinary user, without a network: make up"
way=offline
as_visitor "$up"
say "as an ordinary user, without a network: make test"
as_visitor 'make test'
way=
say "the wheel in an empty environment, pip install . and pipx install ."
as_visitor 'make wheel; for what in dist/eachnode-*.whl .; do
    python3 -m venv --clear ~/empty; ~/empty/bin/pip install --quiet $what; (cd /; ~/empty/bin/eachnode --version); done'
install pipx
as_visitor 'pipx install .; (cd /; ~/.local/bin/eachnode --version; ~/.local/bin/kubectl-eachnode --version)'
say "every step went well"
