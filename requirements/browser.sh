#!/bin/sh
# What the report's tests in a real browser need from the system; without it they are left out.
command -v chromedriver >/dev/null && command -v chromium >/dev/null && exit 0
exec sh "$(dirname "$0")/apt.sh" "Tests of the report in a browser need Chromium" \
    chromium chromium-driver
