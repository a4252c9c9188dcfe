#!/usr/bin/env bash
# The systemd unit, as systemd judges it. Called with its path and plovd's and plov's.
set -euo pipefail

if ! command -v systemd-analyze > /dev/null; then
  echo "skipped: there is no systemd-analyze here"
  exit 77
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/plov-test-XXXXXX")
trap 'rm -rf "$work"' EXIT
sed -e "s#^ExecStart=[^ ]*#ExecStart=\"$2\"#" -e "s#^ExecStartPost=[^ ]*/plov #ExecStartPost=\"$3\" #" \
  -e '/^Documentation=/d' "$1" > "$work/plovd@main.service"

systemd-analyze verify "$work/plovd@main.service" 2>&1 | tee "$work/said"
if grep -q "$work" "$work/said"; then exit 1; fi
# Tenths of its scale, of which 20 and less are SAFE.
systemd-analyze security --offline=true --threshold=19 "$work/plovd@main.service" | tail -n 1
