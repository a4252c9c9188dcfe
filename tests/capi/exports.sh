#!/usr/bin/env bash
# Checks that libplov.so exports its public API, all of it and nothing else.
#
#   tests/capi/exports.sh LIBPLOV HEADER...
set -euo pipefail

readonly library=$1 headers=("${@:2}")
exported=$(nm --dynamic --demangle --defined-only "$library" | cut -d' ' -f3-)
readonly exported
status=0

# The C++ API is the members of Client, and CodeName.
others=$(grep -vE '^(plov_[a-z_]+$|plov::Client::|plov::CodeName\()' <<< "$exported" || true)
if [[ -n $others ]]; then
  printf 'exported, and not part of the API:\n%s\n' "$others"
  status=1
fi
grep -q '^plov::CodeName(plov::Code)$' <<< "$exported" || {
  echo "plov::CodeName is not exported"
  status=1
}

declared=$(grep -hoE '^PLOV_API .*' "${headers[@]}" | grep -oE 'plov_[a-z_]+\(' | tr -d '(' | sort)
named=$(grep -E '^plov_[a-z_]+$' <<< "$exported" | sort)
diff <(echo "$declared") <(echo "$named") || {
  echo "the headers (<) and the exported C functions (>) differ"
  status=1
}
exit "$status"
