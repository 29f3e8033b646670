#!/bin/sh
# Says clearly what is missing when Spark could not start: it needs Java 17 or newer.
java=${JAVA_HOME:+$JAVA_HOME/bin/}java
if ! command -v "$java" >/dev/null 2>&1; then
    echo "Spark needs Java 17 or newer, and no java was found (PATH, JAVA_HOME)." >&2
    echo "Install a JDK (on Debian: apt-get install openjdk-17-jre-headless) or set JAVA_HOME." >&2
    exit 1
fi
version=$("$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1)
if [ "${version:-0}" -lt 17 ]; then
    echo "Spark needs Java 17 or newer; $java is version ${version:-unknown}. Set JAVA_HOME to a newer one." >&2
    exit 1
fi
