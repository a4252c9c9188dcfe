#!/usr/bin/env bash
# Pages that plov-bench makes, in a real browser. Called with the paths of plov-bench, plovd and
# the sample page's program.
set -euo pipefail

tool=$1 plovd=$2 sample=$3
work=$(mktemp -d "${TMPDIR:-/tmp}/plov-test-XXXXXX")
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work

"$sample" > "$work/sample.html" \
  "$work/scale.html"
"$tool" fabric --fabric shm --quick --plovd "$plovd" --html "$work/fabric.html" > "$work/text"
"$tool" scale --quick --axis items,clients --memory 1G --plovd "$plovd" --html "$work/scale.html" > "$work/text"
python3 -B "$(dirname "${BASH_SOURCE[0]}")/browser.py" "$work/fabric.html" "$work/sample.html" \
  "$work/scale.html"
