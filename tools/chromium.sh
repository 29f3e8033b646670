#!/bin/sh
# Prints the path of a Chromium, installing Debian's where there is none: by apt as root, otherwise unpacked into the folder that
# is given. Fails with a line on stderr that says why there is none.
set -eu
into=$1
mkdir -p "$into"
log=$into/chromium.log

found() {
    for program in "${FLOEBERG_CHROMIUM:-}" chromium chromium-browser "$into/chromium"; do
        if [ -n "$program" ] && command -v "$program"; then exit 0; fi
    done
}

refuse() {
    echo "no Chromium: $1 (set FLOEBERG_CHROMIUM to the path of one)" >&2
    exit 1
}

unpack() {
    cd "$into"
    packages=$(apt-get -s install --no-install-recommends chromium 2>>"$log" | sed -n 's/^Inst \([^ ]*\).*/\1/p')
    test -n "$packages" || return 1
    rm -rf debs root && mkdir debs root
    (cd debs && apt-get -q download $packages >>"$log" 2>&1) || return 1
    for package in debs/*.deb; do dpkg -x "$package" root || return 1; done
    rm -rf debs
    folders=$(find "$PWD/root" -name '*.so*' -exec dirname {} \; | sort -u | tr '\n' ':')
    printf '#!/bin/sh\nLD_LIBRARY_PATH="%s${LD_LIBRARY_PATH:-}" exec "%s" "$@"\n' "$folders" "$PWD/root/usr/lib/chromium/chromium" >chromium
    chmod +x chromium
}

found
command -v apt-get >/dev/null || refuse "it is not installed, and there is no apt-get to install it by"
if [ "$(id -u)" = 0 ]; then
    install="env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends chromium"
    $install >"$log" 2>&1 || { apt-get update -q >>"$log" 2>&1 && $install >>"$log" 2>&1; } || refuse "apt-get could not install it, see $log"
else
    (unpack) || refuse "apt-get could not download it without root, see $log"
fi
found
refuse "the package chromium brought no program"
