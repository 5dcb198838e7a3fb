#!/bin/bash
# Installs the Debian packages that trine is built from, without questions: as root, or through
# sudo, or not at all but with the exact line to run. Says nothing when all are there.
#   scripts/deps.sh        what a build and its tests need
#   scripts/deps.sh --ci   and what the slower lanes of .ci/run need
set -euo pipefail

packages=(
  g++ cmake ninja-build pkgconf
  nlohmann-json3-dev libcli11-dev libhwloc-dev libicu-dev libssl-dev libboost-dev libedit-dev
  libgtest-dev libsimde-dev python3
)
if [[ ${1:-} == --ci ]]; then
  packages+=(clang libclang-rt-14-dev llvm clang-format clang-tidy ccache man-db
    curl python3-venv python3-selenium chromium chromium-driver json-schema-test-suite)
elif [[ $# -gt 0 ]]; then
  echo "usage: scripts/deps.sh [--ci]" >&2
  exit 2
fi

if ! command -v dpkg-query >/dev/null; then
  echo "deps: this is not a Debian system; needed are the equivalents of: ${packages[*]}" >&2
  exit 0
fi

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ $state == installed ]] || missing+=("$package")
done
[[ ${#missing[@]} -eq 0 ]] && exit 0

line="apt-get install -y --no-install-recommends ${missing[*]}"
if [[ $(id -u) -eq 0 ]]; then
  as_root=()
elif command -v sudo >/dev/null && { [[ -t 0 ]] || sudo -n true 2>/dev/null; }; then
  as_root=(sudo)
else
  echo "deps: ${#missing[@]} Debian packages are missing, and installing them needs root. Run:" >&2
  echo "  sudo apt-get update && sudo $line" >&2
  exit 3
fi

echo "== installing ${#missing[@]} Debian packages: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
# The package lists of a fresh machine may be empty or old: fetch them only when needed.
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive $line ||
  { "${as_root[@]}" apt-get update &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive $line; }
