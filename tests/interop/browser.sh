#!/bin/sh
# Shows the page of electd and the lab to Debian's chromium: browser.sh PROGRAM [SCREENSHOTS]. It says what is missing, and ends with 1
# if something does not work. `make interop` calls it.
set -u
program=$(realpath "$1") shots=${2:+$(realpath "$2")}
cd "$(dirname "$0")/browser"
say() { printf '%-8s %s\n' "$1" "$2"; }
missing() { say missing "$1: the page in a browser"; exit 0; }

chromium=$(command -v chromium) || missing chromium
command -v npm >/dev/null || missing npm
node -e 'process.exit(Number(parseInt(process.versions.node) < 20))' 2>/dev/null || missing "node, 20 or later"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
mkdir "$dir/nodes" && cp ./* "$dir" && cd "$dir"
timeout 60 npm ci --ignore-scripts --no-audit --no-fund >npm 2>&1 || missing "playwright-core and axe-core, which npm cannot fetch ($(tail -n 1 npm))"
timeout 300 node page.mjs "$program" "$chromium" "$dir/nodes" ${shots:+"$shots"} && timeout 180 node lab.mjs "$program" "$chromium"
