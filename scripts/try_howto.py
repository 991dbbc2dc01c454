#!/usr/bin/env python3
"""Follows the pages of docs/how-to-add literally, on a copy of the tree, and runs what they say should then work.

    scripts/try_howto.py [PAGE...]      e.g. format command; all pages when none is named

A page marks its code blocks with a comment on the line before:

    <!-- new file: PATH -->                the block is the whole file
    <!-- PATH, after: TEXT -->             the block's lines go behind the one line of PATH that contains TEXT
    <!-- run -->                           the block's commands must succeed (in the tree; $BUILD is its build folder)

The copy and its build stay in build/howto, so a second run only builds what changed. Prints `git diff --stat` of what each page adds and
changes.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "how-to-add"
WORK = ROOT / "build" / "howto"
BLOCK = re.compile(r"^<!-- (?P<mark>.+?) -->\n\s*```\w*\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


class Wrong(Exception):
    pass


def tracked_files():
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True,
                            capture_output=True).stdout
    return [name for name in listed.decode().split("\0") if name and (ROOT / name).is_file()]


def write_if_changed(path, data):
    """Times of files that stay the same stay the same, so that nothing is built twice."""
    if not path.exists() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def steps_of(page):
    for match in BLOCK.finditer(page.read_text(encoding="utf-8")):
        yield match["mark"], match["text"]


def apply(page, files):
    """Applies a page's blocks to {path: text}; returns the commands it wants run."""
    commands, changed = [], False
    for mark, text in steps_of(page):
        if mark == "run":
            commands.append(text)
        elif mark.startswith("new file: "):
            path = mark.removeprefix("new file: ")
            if path in files:
                raise Wrong(f"{page.name}: {path} exists already")
            files[path] = text
            changed = True
        elif match := re.fullmatch(r"(\S+), after: (.+)", mark):
            path, anchor = match.groups()
            lines = files.get(path, "").splitlines(keepends=True)
            found = [number for number, line in enumerate(lines) if anchor in line]
            if len(found) != 1:
                raise Wrong(f"{page.name}: {path} has {len(found)} lines with '{anchor}', expected one")
            lines.insert(found[0] + 1, text)
            files[path] = "".join(lines)
            changed = True
        else:
            raise Wrong(f"{page.name}: unknown mark '{mark}'")
    if not commands or not changed:
        raise Wrong(f"{page.name}: changes nothing or runs nothing")
    return commands


def git(tree, *arguments):
    """With a repository that only serves to compare: its index is the tree before the page."""
    return subprocess.run(["git", f"--git-dir={WORK / 'git'}", f"--work-tree={tree}", *arguments], cwd=tree, check=True,
                          stdout=subprocess.PIPE, text=True).stdout


def changes(tree):
    new = git(tree, "ls-files", "--others", "--exclude-standard", "-z").split("\0")[:-1]
    git(tree, "add", "--intent-to-add", "--", *new)
    return git(tree, "diff", "--stat=120")


def follow(page):
    tree = WORK / "tree"
    files = {name: (ROOT / name).read_bytes() for name in tracked_files()}
    texts = {}
    for name, data in files.items():
        try:
            texts[name] = data.decode()
        except UnicodeDecodeError:
            continue
    commands = apply(page, texts)
    files.update({name: text.encode() for name, text in texts.items()})
    for name, data in files.items():
        write_if_changed(tree / name, data)
        if os.access(ROOT / name, os.X_OK) or (not (ROOT / name).exists() and data.startswith(b"#!")):
            (tree / name).chmod(0o755)
    for path in sorted(tree.rglob("*"), reverse=True):
        if path.is_file() and path.relative_to(tree).as_posix() not in files:
            path.unlink()  # of the page before
    shutil.rmtree(WORK / "git", ignore_errors=True)
    git(ROOT, "init", "--quiet")
    git(ROOT, "add", "--all")
    print(f"== {page.stem}", changes(tree), sep="\n", end="", flush=True)
    environment = os.environ | {"BUILD": str(WORK / "build")}
    for command in commands:
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=tree, check=True, env=environment,
                              stdout=subprocess.PIPE, text=True)
        print(done.stdout, end="", flush=True)
        if "] 0 tests from" in done.stdout:
            raise Wrong(f"{page.name}: a filter matched no test")


def main():
    pages = [PAGES / f"{name}.md" for name in sys.argv[1:]] or sorted(PAGES.glob("*.md"))
    try:
        for page in pages:
            if not page.is_file():
                raise Wrong(f"no page {page}")
            follow(page)
    except Wrong as wrong:
        sys.exit(f"try_howto.py: {wrong}")
    except subprocess.CalledProcessError as failed:
        sys.exit(f"try_howto.py: {page.name}: a command failed with {failed.returncode}")
    print(f"{len(pages)} pages followed")


if __name__ == "__main__":
    main()
