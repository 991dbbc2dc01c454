#!/usr/bin/env bash
# Installs from Debian 12's packages what ingle needs and what is not there yet; with nothing missing it only asks dpkg.
#   scripts/install_dependencies.sh         what building and ./quickstart need
#   scripts/install_dependencies.sh --dev   also what ./check needs
# Why each package is here: docs/dependencies.md.
set -euo pipefail

build=(
  g++ cmake ninja-build pkg-config          # compiler and build
  libfmt-dev libboost-json1.81-dev          # formatting, JSON
  libpcre2-dev libedit-dev libxxhash-dev    # Unicode regex, line editing, checksums
  python3-pip ca-certificates               # fetching the model (./quickstart)
)
dev=(
  libgtest-dev libgmock-dev googletest      # tests; the sources are for the cross build
  libbenchmark-dev                          # micro-benchmarks
  clang-format                              # format check
  xz-utils                                  # packed test data
  libsimde-dev                              # runs kernels of instruction sets this processor lacks
  g++-aarch64-linux-gnu qemu-user           # NEON kernels: cross build, run
)

say() { printf '%s\n' "$*" >&2; }

wanted=("${build[@]}")
case "${1:-}" in
  "") ;;
  --dev) wanted+=("${dev[@]}") ;;
  -h | --help) sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 0 ;;
  *) say "install_dependencies.sh: unknown option '$1' (known: --dev, --help)"; exit 2 ;;
esac

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  say "This is not a Debian system: make sure that it has what these packages hold: ${wanted[*]}"
  exit 0  # the build says what is missing
fi

# One call for all; a package that was removed but configured before is not "installed".
installed=$(dpkg-query -W -f '${db:Status-Abbrev}${binary:Package}\n' "${wanted[@]}" 2>/dev/null | sed -n 's/^ii *//p' || true)
missing=()
for package in "${wanted[@]}"; do
  grep -qE "^${package//+/\\+}(:.*)?$" <<<"$installed" || missing+=("$package")
done
[[ ${#missing[@]} -gt 0 ]] || exit 0

as_root=()
if [[ $EUID -ne 0 ]]; then
  if ! command -v sudo >/dev/null; then
    say "These packages are missing and this is not root: run as root: apt-get install ${missing[*]}"
    exit 1
  fi
  as_root=(sudo)
fi

say "Installing ${#missing[@]} Debian packages (why: docs/dependencies.md): ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
run_apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 "$@" >"$log" 2>&1
}
# Lists that are missing or old make an install fail: refresh them first, but let an install decide (a mirror may be down).
run_apt update || { say "apt-get update failed, trying with the lists that are there:"; tail -n 2 "$log" >&2; }
if ! run_apt install --no-install-recommends "${missing[@]}"; then
  say "apt-get install failed; its last lines:"
  tail -n 15 "$log" >&2
  exit 1
fi
