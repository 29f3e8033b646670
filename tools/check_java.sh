#!/bin/sh
# Says clearly what is missing when Spark could not start: it needs Java 17 or newer.
how_to_get_it() {
    echo "  Debian, Ubuntu:  apt-get install openjdk-17-jre-headless" >&2
    echo "  Fedora, RHEL:    dnf install java-17-openjdk-headless" >&2
    echo "  macOS:           brew install openjdk@17" >&2
    echo "  conda:           conda install -c conda-forge openjdk=17" >&2
    echo "or set JAVA_HOME to one that is installed. Without Java: make test-quick, python examples/without_spark.py." >&2
    exit 1
}
java=${JAVA_HOME:+$JAVA_HOME/bin/}java
if ! command -v "$java" >/dev/null 2>&1; then
    echo "Spark needs Java 17 or newer, and there is no ${java} (PATH, JAVA_HOME). Get one:" >&2
    how_to_get_it
fi
version=$("$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1)
if [ "${version:-0}" -lt 17 ]; then
    echo "Spark needs Java 17 or newer; $java is version ${version:-unknown}. Get a newer one:" >&2
    how_to_get_it
fi
