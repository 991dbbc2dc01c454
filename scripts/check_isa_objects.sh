#!/usr/bin/env bash
# An object compiled for one instruction set may offer the linker nothing but its table of kernels. An inline function that it also
# defines could be the copy that the whole program gets, and then AVX code runs where it must not.
#   scripts/check_isa_objects.sh OBJECT...        looks at those whose path has /isa/ in it
set -euo pipefail

looked=0
failed=
for object in "$@"; do
  [[ $object == */isa/* ]] || continue
  looked=$((looked + 1))
  # W, V, u: what the linker may merge with others' copies. DW.ref is a pointer that every C++ object may have.
  if shared=$(nm -C --defined-only "$object" | grep -E '^[0-9a-f]+ [WVu] ' | grep -v ' DW\.ref\.'); then
    printf '%s defines functions or data that others may share:\n%s\n' "$object" "$shared"
    failed=yes
  fi
done
echo "$looked instruction set objects looked at"
[[ -z $failed && $looked -gt 0 ]]
