#!/usr/bin/env bash
# The set-ups in packaging/prometheus and packaging/grafana: a Prometheus that scrapes a plovd and knows the
# alerts, and what Grafana is told to load.
# shellcheck source=tests/metrics/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
packaging=$(realpath "$here/../../packaging")
command -v prometheus > /dev/null || { echo "skipped: prometheus is not installed"; exit 77; }

start_with_metrics
expect 0 put user:1 Ada
mkdir "$work/etc"
cp "$packaging/prometheus/alerts.yml" "$work/etc"
sed -e "s/127.0.0.1:9150/127.0.0.1:$port/" -e 's/_interval: 15s/_interval: 1s/' \
  "$packaging/prometheus/prometheus.yml" > "$work/etc/prometheus.yml"
grep -q "127.0.0.1:$port" "$work/etc/prometheus.yml" || fail "prometheus.yml scrapes another address than it says"
promtool check config "$packaging/prometheus/prometheus.yml" > "$work/out" 2> "$work/err" || fail "promtool check config"

setpriv --pdeathsig KILL prometheus --config.file="$work/etc/prometheus.yml" --storage.tsdb.path="$work/data" \
  --web.listen-address=127.0.0.1:0 2> "$work/prometheus.log" &
prometheus=$!
listens() { web=$(sed -n 's/.*msg="Listening on" address=\([0-9.:]*\).*/\1/p' "$work/prometheus.log") && [[ -n $web ]]; }
wait_for listens
listens || { cat "$work/prometheus.log"; exit 1; }
# asks PATH FILTER: the filter finds something in what Prometheus answers.
asks() {
  python3 -ISc '
import json, sys, urllib.request
answer = json.load(urllib.request.urlopen(sys.argv[1], timeout=60))["data"]
print(json.dumps(answer))
sys.exit(0 if eval(sys.argv[2], {"answer": answer}) else 1)' "http://$web/api/v1/$1" "$2" > "$work/out"
}
wait_for asks 'query?query=sum(plov_items)' 'answer["result"] and answer["result"][0]["value"][1] == "1"'
wait_for asks 'targets' '[t["health"] for t in answer["activeTargets"]] == ["up"]'
rules='[rule for group in answer["groups"] for rule in group["rules"]]'
wait_for asks 'rules' "len($rules) > 5 and all(rule['health'] == 'ok' for rule in $rules)"
wait_for asks 'alerts' '[alert["labels"]["alertname"] for alert in answer["alerts"]] == []'
# A server that goes is told of.
end_server KILL
wait_for asks 'alerts' '[alert["labels"]["alertname"] for alert in answer["alerts"]] == ["PlovDown"]'
kill -TERM "$prometheus"
wait "$prometheus" || fail "Prometheus ended with $?"

# The dashboard asks for a data source of this type, and Grafana looks where it is installed.
grafana=$packaging/grafana
provisioning=$grafana/provisioning
grep -q '"type": "datasource"' "$grafana/plov.json" || fail "plov.json does not choose a data source"
grep -q '^    type: prometheus$' "$provisioning/datasources/plov.yml" || fail "the data source is no Prometheus"
path=$(sed -n 's/^ *path: //p' "$provisioning/dashboards/plov.yml")
grep -q "plov.json -t $path\$" "$provisioning/datasources/plov.yml" || fail "plov.json is installed elsewhere than in $path"
