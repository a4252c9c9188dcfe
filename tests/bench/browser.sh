#!/usr/bin/env bash
# Pages that plov-bench makes, of every command that needs no RDMA device, in a real browser. Called
# with the paths of plov-bench, plovd and the sample page's program.
set -euo pipefail

tool=$1 plovd=$2 sample=$3
work=$(mktemp -d "${TMPDIR:-/tmp}/plov-test-XXXXXX")
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work

# page COMMAND OPTION...: its page, of a tiny run.
page() {
  "$tool" "$1" --quick --html "$work/$1.html" "${@:2}" > "$work/text"
}

"$sample" > "$work/sample.html" # ends with 77 where plov-bench was built without Chart.js
page busy --rounds 1 --plovd "$plovd"
page compare --items 2000 --rounds 2 --duration 2ms --plovd "$plovd"
page designs --value-bytes 16,64 --plovd "$plovd"
page evict --workload twitter:4,twitter:7 --plovd "$plovd"
page fabric --fabric shm --plovd "$plovd"
page run --sweep --workload herd-50 --items 1000 --duration 50ms --rounds 2 --plovd "$plovd"
page scale --axis items,clients --memory 1G --plovd "$plovd"
page table
python3 -B "$(dirname "${BASH_SOURCE[0]}")/browser.py" ${KEEP:+--keep "$KEEP"} "$work/sample.html" \
  "$work"/[!s]*.html "$work/scale.html"
