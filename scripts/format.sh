#!/bin/bash
# clang-format over all C++ of the project.
#   scripts/format.sh [FILE...]          rewrites
#   scripts/format.sh --check [FILE...]  lists what would change; exit 1 if anything would
set -euo pipefail
cd "$(dirname "$0")/.."

mode=(-i)
if [[ ${1:-} == --check ]]; then
  mode=(--dry-run --Werror)
  shift
fi
files=("$@")
if [[ $# -eq 0 ]]; then
  mapfile -t files < <(find apps bench examples fuzz include src tests \( -name '*.cc' -o -name '*.h' \) | sort)
fi
clang-format --style=file "${mode[@]}" "${files[@]}"
# Moved trailing comments settle in the second pass.
[[ ${mode[0]} != -i ]] || clang-format --style=file -i "${files[@]}"
