#!/usr/bin/env bash
# plov-torture --cluster: a short run in which servers are killed and stopped, shards move and ZooKeeper is away now and
# then; options that cannot be. Called with the paths of plovd, plov and plov-torture.
# shellcheck source=tests/torture/tool.sh
source "$(dirname "${BASH_SOURCE[0]}")/tool.sh"

# Wrong command lines.
torture 2 --cluster 2 && says '\-\-cluster'
torture 2 --cluster 3 --listen "$uri" && says '\-\-listen with \-\-cluster is rdma://HOST:PORT'
torture 2 --cluster 3 --server "$uri" && says 'own'
torture 2 --cluster 3 --faults stop,power && says '\-\-faults power needs \-\-log'
torture 2 --cluster 3 --log "$work/logs" --commit acked && says '\-\-commit is without \-\-cluster'
torture 2 --read-from any-replica && says '\-\-read-from needs \-\-cluster'
torture 2 --cluster 3 --max-age 1s && says '\-\-max-age needs \-\-read-from any-replica'
torture 2 --faults stop,move,zookeeper && says '\-\-faults move,zookeeper needs \-\-cluster'

if [[ ! -e /usr/share/java/zookeeper.jar ]] || ! command -v java > /dev/null; then
  torture 3 --plovd "$plovd" --cluster 3 && says 'needs a ZooKeeper to start'
  echo "cluster.sh: no ZooKeeper here: apt-get install zookeeper default-jre-headless"
  exit 77
fi

# Nothing that was acknowledged is lost, and others take over.
torture '0|4' --plovd "$plovd" --cluster 4 --log "$work/logs" --duration 20s --keys 5000 --json "$work/v.json"
verdict "v['counts']['violations'] == 0 and v['options']['cluster'] == 4"
# On a busy machine so short a run does not come to all of them; the tool says which are missing.
verdict "v['counts']['promotions'] > 0 and sum(v['faults'][f] > 0 for f in ('cut', 'move', 'zookeeper')) > 1"
verdict "v['counts']['deposed_gets'] >= v['counts']['deposed_stale']"
verdict "v['counts']['server_lives'] == 1 + v['faults']['kill-server'] + 4 * v['faults']['power']"
shows 'server lives: [0-9]*, promotions: [1-9]'
