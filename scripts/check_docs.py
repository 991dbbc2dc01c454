#!/usr/bin/env python3
"""Documents point at things that exist: relative links, and files of this tree named in backquotes. The speed table of the
README is the one of docs/performance.md.

    scripts/check_docs.py [ROOT]
"""

import pathlib
import re
import sys

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)|!\[[^\]]*\]\(([^)\s]+)\)")
# `src/quant/format.h`, `scripts/fuzz.sh`: a path below a folder of ours, without wildcards or placeholders.
NAMED = re.compile(r"`((?:src|apps|include|tests|bench|scripts|docs|cmake|third_party)/[\w./-]+)`")
FENCE = re.compile(r"^(?:<!--.*-->\n)?\s*```.*?^\s*```\s*$", re.MULTILINE | re.DOTALL)


SPEED = re.compile(r"^<!-- speed table.*?-->$(.*?)^<!-- end of speed table -->$", re.MULTILINE | re.DOTALL)


def speed_table(page):
    match = SPEED.search(page.read_text(encoding="utf-8")) if page.is_file() else None
    return match and match.group(1).strip()


def problems(root):
    if (root / "README.md").is_file() and speed_table(root / "README.md") != speed_table(root / "docs" / "performance.md"):
        yield "README.md: its speed table is not the one of docs/performance.md"
    for page in sorted([*root.glob("*.md"), *(root / "docs").rglob("*.md")]):
        text = page.read_text(encoding="utf-8")
        invented = set(re.findall(r"^<!-- new file: (\S+) -->", text, re.MULTILINE))  # a how-to page's example
        text = FENCE.sub(lambda match: "\n" * match.group().count("\n"), text)
        for number, line in enumerate(text.splitlines(), 1):
            where = f"{page.relative_to(root)}:{number}"
            for match in LINK.finditer(line):
                target = match.group(1) or match.group(2)
                if "://" not in target and not target.startswith("mailto:") and not (page.parent / target).exists():
                    yield f"{where}: link to {target}, which is not there"
            for name in NAMED.findall(line):
                if "NAME" not in name and name not in invented and not (root / name.rstrip("/.")).exists():
                    yield f"{where}: names {name}, which is not there"


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    found = list(problems(root))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
