#!/bin/sh
# apt.sh PURPOSE PACKAGE...: installs packages from Debian if we may, names the command if we may not.
purpose="$1"
shift
line="apt-get install -y --no-install-recommends $*"

if command -v apt-get >/dev/null; then
    [ "$(id -u)" = 0 ] && as_root="env"
    [ -z "$as_root" ] && command -v sudo >/dev/null && sudo -n true 2>/dev/null && as_root="sudo"
    if [ -n "$as_root" ]; then
        $as_root apt-get update -qq && DEBIAN_FRONTEND=noninteractive $as_root $line -qq && exit 0
    fi
fi
echo "$purpose. To install, run:"
echo "    sudo $line"
