#!/usr/bin/env bash
# Pages that plov-bench makes, in a real browser. Called with the paths of plov-bench, plovd and
# the sample page's program.
set -euo pipefail

tool=$1 plovd=$2 sample=$3
work=$(mktemp -d "${TMPDIR:-/tmp}/plov-test-XXXXXX")
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work

"$sample" > "$work/sample.html"
"$tool" fabric --fabric shm --quick --plovd "$plovd" --html "$work/fabric.html" > "$work/text"
"$tool" scale --quick --axis items,clients --memory 1G --plovd "$plovd" \
  --html "$work/scale.html" > "$work/text"
"$tool" run --quick --sweep --workload herd-50 --items 1000 --duration 50ms --rounds 2 \
  --plovd "$plovd" --html "$work/run.html" > "$work/text"
"$tool" compare --quick --items 2000 --rounds 2 --duration 2ms --plovd "$plovd" \
  --html "$work/compare.html" > "$work/text"
python3 -B "$(dirname "${BASH_SOURCE[0]}")/browser.py" "$work/fabric.html" "$work/scale.html" \
  "$work/run.html" "$work/compare.html" "$work/sample.html"
