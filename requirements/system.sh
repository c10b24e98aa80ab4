#!/bin/sh
# What rendering MuJoCo without a screen needs from the system: installed if we may, named if we may not.
packages="libegl1 libegl-mesa0 libgl1 libgl1-mesa-dri"
line="apt-get install -y --no-install-recommends $packages"

[ "$(uname)" = Linux ] || exit 0
python3 -c "import ctypes; [ctypes.CDLL(f'lib{name}.so.1') for name in ('EGL', 'GL')]" 2>/dev/null && exit 0

if command -v apt-get >/dev/null; then
    [ "$(id -u)" = 0 ] && as_root="env"
    [ -z "$as_root" ] && command -v sudo >/dev/null && sudo -n true 2>/dev/null && as_root="sudo"
    if [ -n "$as_root" ]; then
        $as_root apt-get update -qq && DEBIAN_FRONTEND=noninteractive $as_root $line -qq && exit 0
    fi
fi
echo "Rendering MuJoCo without a screen needs system libraries. To install them, run:"
echo "    sudo $line"
