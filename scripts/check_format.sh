#!/usr/bin/env bash
# C++ files must read as .clang-format lays them out. A table that says in its first line which script generated it is not
# looked at.
#   scripts/check_format.sh           complains, with file and line
#   scripts/check_format.sh --fix     formats in place
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."

mode=(--dry-run -Werror)
case "${1:-}" in
  "") ;;
  --fix) mode=(-i) ;;
  *) echo "usage: scripts/check_format.sh [--fix]" >&2; exit 2 ;;
esac

files=()
while IFS= read -r -d '' file; do
  IFS= read -r first <"$file" || true
  [[ $first =~ [Gg]enerated\ by\ scripts/ ]] || files+=("$file")
done < <(find src apps include tests bench -type f \( -name '*.h' -o -name '*.cpp' -o -name '*.inl' \) -print0 | sort -z)

clang-format "${mode[@]}" "${files[@]}"
