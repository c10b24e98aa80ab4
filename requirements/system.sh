#!/bin/sh
# What rendering MuJoCo without a screen needs from the system.
[ "$(uname)" = Linux ] || exit 0
python3 -c "import ctypes; [ctypes.CDLL(f'lib{name}.so.1') for name in ('EGL', 'GL')]" 2>/dev/null && exit 0
exec sh "$(dirname "$0")/apt.sh" "Rendering MuJoCo without a screen needs system libraries" \
    libegl1 libegl-mesa0 libgl1 libgl1-mesa-dri
