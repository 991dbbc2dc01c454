#!/usr/bin/env python3
"""Includes go one way: a folder may include only what its row below names (docs/architecture.md shows the same table).

    scripts/check_includes.py [ROOT]

Prints one line for each include that goes where it may not, and exits with 1 if there was any.
"""

import pathlib
import re
import sys

# What src/FOLDER may include, beside itself, base/ and ingle/error.h. A name with a dot is one header, not a folder.
SOURCE_FOLDERS = {
    "base": [],
    "quant": [],
    "tensor": ["quant"],
    "gguf": ["quant", "tensor", "ingle/input_files.h", "ingle/unfinished_file.h"],
    "text": ["ingle/answer.h"],  # plain data, and the parser behind it
    "convert": ["quant", "tensor", "gguf", "text"],
    "batch": ["quant", "tensor"],  # quant: a cache's type is a block format
    "backend": ["quant", "tensor", "batch"],
    "nn": ["tensor", "batch", "backend/backend.h"],
    # text/tokenizer.h: the plain struct Vocabulary, which a loader fills from the file.
    "models": ["nn", "gguf", "quant", "tensor", "batch", "backend/backend.h", "text/tokenizer.h"],
    "runtime": ["quant", "tensor", "gguf", "text", "convert", "batch", "backend/backend.h", "backend/processor.h", "nn", "models", "ingle"],
}
BACKENDS = ["cpu", "cuda", "vulkan"]  # folders of src/backend that never include one another
# The one file that knows all backends; what a backend shows it is its factory.
BACKEND_REGISTRY = "src/backend/registry.cpp"

SUFFIXES = {".h", ".cpp", ".inl", ".cu", ".comp"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')


def own_headers(root):
    """Names under which project headers are included: `quant/format.h`, `ingle/model.h`."""
    for base in ("src", "include"):
        folder = root / base
        if folder.is_dir():
            yield from (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.suffix in SUFFIXES)


def allowed_in_source(path, target):
    """Whether src/... file `path` may include `target`; both with forward slashes, relative to the root and to src."""
    folder = path.split("/")[1]
    if folder not in SOURCE_FOLDERS:
        return f"src/{folder} has no row in scripts/check_includes.py"
    if target == "ingle/error.h" or target.startswith("base/"):
        return None
    if target.startswith("backend/"):
        reason = check_backend(path, folder, target)
        if reason or folder == "backend":
            return reason
    for permitted in [folder, *SOURCE_FOLDERS[folder]]:
        if target == permitted or target.startswith(permitted + "/"):
            return None
    return f"src/{folder} may include {', '.join([folder, 'base', *SOURCE_FOLDERS[folder]])}"


def check_backend(path, folder, target):
    theirs = target.split("/")[1]
    if theirs not in BACKENDS:
        return None
    ours = path.split("/")[2] if folder == "backend" else None
    if ours == theirs or path == BACKEND_REGISTRY:
        return None
    return f"only {BACKEND_REGISTRY} and the backend itself may include backend/{theirs}"


def allowed_in_include(target):
    return None if target.startswith("ingle/") else "the public API may include only ingle/"


def allowed_in_app(root, path, target):
    app = root.joinpath(*pathlib.PurePosixPath(path).parts[:2])
    if target.startswith(("ingle/", "apps/")) or (app / target).is_file() or (root / path).parent.joinpath(target).is_file():
        return None
    return "apps may include only ingle/ and their own headers"


def problem(root, path, bracket, target, headers):
    top = path.split("/")[0]
    if ".." in target.split("/") and top not in ("tests", "bench"):
        return "write the path from src, without .."
    if bracket == "<":
        return "the project's own headers are included with quotes" if target in headers else None
    if top == "src":
        return allowed_in_source(path, target)
    if top == "include":
        return allowed_in_include(target)
    if top == "apps":
        return allowed_in_app(root, path, target)
    return None  # tests and bench may look inside


def check(root):
    headers = set(own_headers(root))
    for top in ("src", "include", "apps", "tests", "bench"):
        for file in sorted((root / top).rglob("*")):
            if file.suffix not in SUFFIXES:
                continue
            path = file.relative_to(root).as_posix()
            for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
                match = INCLUDE.match(line)
                if match and (reason := problem(root, path, *match.groups(), headers)):
                    yield f'{path}:{number}: includes "{match.group(2)}": {reason}'


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    if not (root / "src").is_dir():
        sys.exit(f"check_includes.py: no folder src in {root}")
    problems = list(check(root))
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
