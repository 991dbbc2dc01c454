#!/usr/bin/env bash
# The NEON kernels on a machine that has none: cross-compiles what they need and runs the conformance suite under qemu.
#   scripts/check_neon.sh [GTEST OPTION...]
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."

if [[ $(uname -m) == aarch64 ]]; then
  echo "This machine runs NEON itself: the ordinary tests cover it."
  exit 0
fi
for tool in aarch64-linux-gnu-g++ qemu-aarch64; do
  if ! command -v "$tool" >/dev/null; then
    echo "check_neon.sh: no $tool (scripts/install_dependencies.sh --dev installs it)" >&2
    exit 1
  fi
done

build=${INGLE_NEON_BUILD:-build/aarch64}
cmake -S . -B "$build" -G Ninja --toolchain cmake/aarch64-linux-gnu.cmake -DCMAKE_BUILD_TYPE=Release -DINGLE_APPS=OFF \
  -DINGLE_BENCH=OFF -Dfmt_DIR="$PWD/cmake/cross/fmt" -DGTest_DIR="$PWD/cmake/cross/GTest" -DBoost_DIR="$PWD/cmake/cross/Boost" >/dev/null
ninja -C "$build" conformance_test
# INGLE_EMULATED: fewer shapes. The scalar kernels were tested where they are fast.
INGLE_EMULATED=1 qemu-aarch64 -L /usr/aarch64-linux-gnu "$build/tests/conformance_test" --gtest_brief=1 --gtest_filter='*neon*' "$@"
