#!/usr/bin/env bash
# clang-tidy on the C++ files that differ from a commit (HEAD when none is named), with the few checks of .clang-tidy.
#   scripts/lint.sh [COMMIT | --all]
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."

command -v clang-tidy >/dev/null || { echo "lint.sh: clang-tidy is not installed (Debian: apt-get install clang-tidy)" >&2; exit 1; }
[[ -f build/release/compile_commands.json ]] || cmake --preset release >/dev/null

if [[ ${1:-} == --all ]]; then
  list=(git ls-files)
else
  list=(git diff --name-only --diff-filter=ACMR "${1:-HEAD}" --)
fi
mapfile -t files < <("${list[@]}" 'src/*.cpp' 'apps/*.cpp' | grep -v '^src/backend/cpu/isa/\|dispatch_arm' || true)
[[ ${#files[@]} -gt 0 ]] || { echo "nothing to look at"; exit 0; }
printf '%s\0' "${files[@]}" | xargs -0 -P "$(nproc)" -n 1 clang-tidy -p build/release --quiet
