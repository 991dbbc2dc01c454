#!/usr/bin/env bash
# Builds every fuzzer with clang and runs each for SECONDS_EACH (60) from its committed corpus; stops at the first finding.
#   SECONDS_EACH=600 scripts/fuzz.sh [NAME...]        e.g. gguf_fuzzer
# New inputs stay in build/fuzz/corpus; what crashed is in build/fuzz/findings, and `build/fuzz/tests/NAME FILE` repeats it.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."

for tool in clang++ llvm-symbolizer; do
  command -v $tool >/dev/null || { echo "fuzz.sh: needs $tool (Debian: apt-get install clang llvm libclang-rt-14-dev)" >&2; exit 1; }
done

cmake --preset fuzz -DINGLE_BENCH=OFF >/dev/null
names=("$@")
if [[ ${#names[@]} -eq 0 ]]; then
  mapfile -t names < <(find tests -path '*/fuzz/*_fuzzer.cpp' -printf '%f\n' | sed 's/\.cpp$//' | sort)
fi
[[ ${#names[@]} -gt 0 ]] || { echo "fuzz.sh: no fuzzer found" >&2; exit 1; }
ninja -C build/fuzz "${names[@]}"

for name in "${names[@]}"; do
  committed=$(echo tests/*/fuzz/corpus_"${name%_fuzzer}")
  [[ -d $committed ]] || { echo "fuzz.sh: $name has no corpus ($committed)" >&2; exit 1; }
  grown=build/fuzz/corpus/$name
  mkdir -p "$grown" build/fuzz/findings
  echo "== $name, ${SECONDS_EACH:-60} s"
  build/fuzz/tests/"$name" "$grown" "$committed" -max_total_time="${SECONDS_EACH:-60}" -rss_limit_mb=4096 -timeout=10 \
    -artifact_prefix=build/fuzz/findings/"$name"- -print_final_stats=1 2>&1 | tail -n 8
done
echo "all ${#names[@]} fuzzers clean"
