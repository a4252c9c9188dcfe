#!/usr/bin/env bash
# plov-bench cluster. Called with the paths of plov-bench and plovd.
set -euo pipefail

tool=$1 plovd=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/plov-test-XXXXXX")
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work

if [[ ! -e /usr/share/java/zookeeper.jar ]] || ! command -v java > /dev/null; then
  status=0
  "$tool" cluster --quick --plovd "$plovd" 2> "$work/err" || status=$?
  [[ $status == 3 ]] && grep -q 'needs a ZooKeeper to start' "$work/err"
  echo "cluster.sh: no ZooKeeper here: apt-get install zookeeper default-jre-headless"
  exit 77
fi

"$tool" cluster --quick --json --plovd "$plovd" > "$work/json"
python3 - "$work/json" << 'END_OF_CHECK'
import json, sys
study = json.load(open(sys.argv[1]))
ours = [row for row in study["harms"] if row["who"] == "plov"]
assert [row["server"] for row in ours] == ["killed", "stopped", "cut off", "moved"], study
assert all(row["acknowledged"] > 0 and row["puts_ms"]["least"] > 0 for row in study["harms"]), study
assert all(row["lost"] == 0 and row["failed"] == 0 for row in ours), study
assert "skipped" in study or len(study["harms"]) == 7, study
goals = {goal["name"]: goal for goal in study["goals"]}
assert len(goals) == 13 and goals["lost"]["measured"]["most"] == 0, goals
END_OF_CHECK
[[ -z $(find "$work" -maxdepth 1 -name 'plov-bench-*') ]]
