#!/bin/sh
# Makes the virtual environment that every make target uses, or says in one sentence what is missing.
#   PYTHON=python3.12 sh scripts/make_environment.sh .venv requirements/dev.txt
set -eu
venv=$1 lock=$2 python=${PYTHON:-python3}

missing() {
    echo "eachnode: $*" >&2
    exit 1
}

command -v "$python" >/dev/null 2>&1 ||
    missing "needs Python 3.11 or newer, and there is no '$python'. Install it (Debian, Ubuntu: apt-get install python3), or say where it is: make PYTHON=/path/to/python3"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    missing "needs Python 3.11 or newer, and '$python' is $("$python" -c 'import sys; print(".".join(map(str, sys.version_info[:3])))'). Say which other to use: make PYTHON=python3.12"
"$python" -c 'import venv, ensurepip' 2>/dev/null ||
    missing "this Python cannot make virtual environments. Install what is missing (Debian, Ubuntu: apt-get install python3-venv)"

# An environment that an interrupted or older Python left behind is made anew, so that a second try is like a first.
"$venv/bin/python" -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || {
    echo "eachnode: making the environment in $venv; this is done once and takes a minute" >&2
    "$python" -m venv --clear "$venv"
}
pip() { "$venv/bin/python" -m pip --quiet --disable-pip-version-check "$@"; }
pip install --require-hashes --requirement "$lock" ||
    missing "the packages in $lock could not be installed. The first run needs a package index; behind a mirror set PIP_INDEX_URL, behind a proxy HTTPS_PROXY"
# The project itself, from here, with the build backend that was just installed: no index is asked.
pip install --no-deps --no-build-isolation --no-index --editable .
# Where PYTHONDONTWRITEBYTECODE is set, every start would compile every module again: half of its time.
"$venv/bin/python" -m compileall -q src
echo "eachnode: the environment is ready; $venv/bin/eachnode --help tells what it can do" >&2
