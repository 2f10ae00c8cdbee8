#!/bin/sh
# Makes the virtual environment that every make target uses, or says in one sentence what is missing.
set -eu
venv=$1 lock=$2 python=${PYTHON:-python3}
command -v "$python" >/dev/null 2>&1 || { echo "eachnode needs Python 3.11 or newer, and '$python' is not there. Install python3, or say: make setup PYTHON=/path/to/python3" >&2; exit 1; }
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "eachnode needs Python 3.11 or newer; '$python' is $("$python" -V 2>&1). Say which to use: make setup PYTHON=python3.12" >&2; exit 1; }
"$python" -c 'import venv, ensurepip' 2>/dev/null || { echo "This Python cannot make virtual environments. On Debian or Ubuntu: apt-get install python3-venv" >&2; exit 1; }
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r "$lock"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --no-index -e .
echo "The environment is ready: $venv/bin/eachnode --help"
