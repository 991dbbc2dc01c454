#!/usr/bin/env bash
# What `make docs` makes: the pages that come from the option table, man pages and completions in build/docs, and all documents as a
# site in build/site when mkdocs is installed.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."

scripts/generate_docs build/release/ingle build/docs
scripts/check_docs.py
echo "man pages and completions: build/docs (read one with: man -l build/docs/man1/ingle.1)"
if command -v mkdocs >/dev/null; then
  mkdocs build --quiet --site-dir build/site
  echo "site: build/site/index.html"
else
  echo "no site: mkdocs is not installed (Debian: apt-get install mkdocs)"
fi
