#!/bin/sh
# Says clearly what is missing when the Python that make would use cannot run Floeberg. Usage: check_python.sh PYTHON
python=$1
if ! command -v "$python" >/dev/null 2>&1; then
    echo "Floeberg needs Python 3.11 or newer, and '$python' is not on PATH." >&2
    echo "Install Python 3.11+, or name one: make PYTHON=/path/to/python3.11 <target>" >&2
    exit 1
fi
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "Floeberg needs Python 3.11 or newer; '$python' is $("$python" --version 2>&1)." >&2
    echo "Name a newer one: make PYTHON=/path/to/python3.11 <target>" >&2
    exit 1
fi
if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
    echo "'$python' has no venv module (on Debian: apt-get install python3-venv)." >&2
    exit 1
fi
