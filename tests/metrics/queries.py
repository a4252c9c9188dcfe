#!/usr/bin/env python3
"""Prints the queries of a Grafana dashboard as a file of Prometheus rules, which promtool can check."""

import json
import sys


def main(path):
    with open(path, encoding="utf-8") as file:
        dashboard = json.load(file)
    variables = {variable["name"] for variable in dashboard["templating"]["list"]}
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    if not queries or not {"datasource", "instance"} <= variables:
        sys.exit("the dashboard has no queries, or not the variables that they use")
    rules = []
    for number, query in enumerate(queries):
        query = query.replace("$__rate_interval", "1m").replace("$instance", ".*")
        if "$" in query:
            sys.exit(f"a variable that nobody sets: {query}")
        rules.append({"record": f"plov_dashboard:{number}", "expr": query})
    json.dump({"groups": [{"name": "dashboard", "rules": rules}]}, sys.stdout)  # JSON is YAML


if __name__ == "__main__":
    main(sys.argv[1])
