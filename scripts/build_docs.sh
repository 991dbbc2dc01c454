#!/usr/bin/env bash
# Man pages into build/man, and the documents as a site into build/site when mkdocs is installed.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."

scripts/check_docs.py
build/release/ingle generate man build/man
echo "man pages: build/man (read one with: man -l build/man/ingle.1)"
if command -v mkdocs >/dev/null; then
  mkdocs build --quiet --site-dir "$PWD/build/site"
  echo "site: build/site/index.html"
else
  echo "no site: mkdocs is not installed (Debian: apt-get install mkdocs)"
fi
