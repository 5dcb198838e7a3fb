#!/bin/bash
# schemathesis over the server's own description: schemathesis_test.sh TRINE SCHEMATHESIS
# What a schema cannot say (the vocabulary, one of two fields) is refused all the same, so "valid data must be
# accepted" is left out.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
trine=$(realpath "$1")
schemathesis=$(realpath -s "$2")
work=$(mktemp -d)  # it leaves a folder where it runs
cd "$work"
log=$work/log
"$trine" serve "$root/models/k3-nano" --port 0 --concurrency 4 --context 1024 --max-tokens 16 2>"$log" &
server=$!
trap 'kill $server; rm -rf "$work"' EXIT
for _ in $(seq 300); do
  url=$(grep -oE 'http://[^ ]+' "$log" | head -1 || true)
  [[ -n $url ]] && curl -fs "$url/health" >/dev/null && break
  sleep 0.1
done
"$schemathesis" run "$url/openapi.json" --max-examples 25 --workers 2 --seed 1 --exclude-checks positive_data_acceptance
