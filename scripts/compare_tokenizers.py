#!/usr/bin/env python3
"""Our tokenizers beside Hugging Face's `tokenizers` on one thread, in turns, on the same documents, with the same ids.

  compare_tokenizers.py PROGRAM VOCABULARY... [--rounds N] [--megabytes N] [--texts english,code,chinese] [--work FOLDER]

PROGRAM is build/release/bench/tokenizer_speed. A VOCABULARY is a tokenizer.json (or .json.xz), or a GGUF file of byte-level BPE
(model gpt2), from which the same tokenizer is built for Hugging Face. With A=B they read A and we read B.

Texts are made from what a Debian machine has, the same on every run on one machine, each cut into documents of 10 KB to 1 MB:
  english   manual pages in /usr/share/man/man*, without their macros
  code      C and C++ headers of /usr/include and Python sources of /usr/lib/python3*
  chinese   lines that are Chinese for the most part, out of the packages manpages-zh and debian-reference-zh-cn (fetched with
            apt-get download). They hold a few megabytes: sentences are repeated in new orders until there is enough, so that words
            come again but passages do not.
Both sides encode every document once before the rounds. Their own cache stays on. Times are those of encoding alone.
"""

import argparse
import gzip
import lzma
import os
import random
import re
import statistics
import struct
import subprocess
import sys
import time

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import numpy  # noqa: E402
import tokenizers  # noqa: E402

PACKAGES = ["manpages-zh", "debian-reference-zh-cn"]


def files_under(*roots, endings=("",)):
    found = []
    for root in roots:
        for folder, _, names in os.walk(root):
            found += [os.path.join(folder, n) for n in names if n.endswith(endings) and not os.path.islink(os.path.join(folder, n))]
    return sorted(found)


def read(path):
    try:
        with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
            return file.read().decode()
    except (UnicodeDecodeError, OSError):
        return ""


def gather(paths, size, change=lambda t: t):
    random.Random(1).shuffle(paths)
    parts, have, seen = [], 0, set()
    for path in paths:
        text = change(read(path))
        if not text or text in seen:
            continue
        seen.add(text)
        parts.append(text)
        have += len(text.encode())
        if have >= size:
            return "\n".join(parts)
    print(f"only {have} bytes found", file=sys.stderr)
    return "\n".join(parts)


def english(size, _work):
    def prose(text):
        lines = [line for line in text.split("\n") if not line.startswith((".", "'"))]
        return re.sub(r"\\f[A-Z0-9]|\\&|\\", "", "\n".join(lines))

    roots = [f"/usr/share/man/man{n}" for n in range(1, 9)]
    return gather(files_under(*roots, endings=(".gz",)), size, prose)


def code(size, _work):
    python = [f"/usr/lib/{d}" for d in os.listdir("/usr/lib") if d.startswith("python3")]
    return gather(files_under("/usr/include", *python, endings=(".h", ".hpp", ".py")), size)


def chinese(size, work):
    folder = os.path.join(work, "chinese")
    if not os.path.isdir(folder):
        os.makedirs(folder)
        subprocess.run(["apt-get", "download", *PACKAGES], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for name in sorted(os.listdir(folder)):
            if name.endswith(".deb"):
                subprocess.run(["dpkg", "-x", name, "files"], cwd=folder, check=True)
    sentences = []
    for path in files_under(os.path.join(folder, "files")):
        for line in re.sub(r"<[^>]*>|\\f[A-Z0-9]|\\&", "", read(path)).split("\n"):
            if len(re.findall(r"[\u3400-\u9fff]", line)) * 2 >= len(line.replace(" ", "")) > 8:
                sentences += [s for s in re.split(r"(?<=[。！？；])", line) if s.strip()]
    sentences = sorted(set(sentences))
    once = sum(len(s.encode()) for s in sentences)
    print(f"chinese: {once / 1e6:.1f} MB of different sentences, each {size / once:.1f} times", file=sys.stderr)
    parts, have, rng = [], 0, random.Random(2)
    while have < size:
        rng.shuffle(sentences)
        for s in sentences:
            parts.append(s + ("\n\n" if rng.random() < 0.15 else ""))
            have += len(parts[-1].encode())
            if have >= size:
                break
    return "".join(parts)


def documents(text):
    sizes, out, at, n = [10_000, 30_000, 100_000, 300_000, 1_000_000], [], 0, 0
    while at < len(text):
        out.append(text[at : at + sizes[n % len(sizes)]])
        at += len(out[-1])
        n += 1
    return out


RG = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
CJK = r"[\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]+"
PRE = {
    "gpt-2": [RG],
    "mpt": [RG],
    "refact": [r"\p{N}", RG],
    "deepseek-coder": [r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", CJK, r"\p{N}"],
}


def from_gguf(path):
    """The tokenizer of a GGUF file with byte-level BPE; special tokens are not parsed."""
    from gguf import GGUFReader

    fields = GGUFReader(path).fields
    strings = lambda key: [bytes(fields[key].parts[i]).decode() for i in fields[key].data]  # noqa: E731
    pre = fields["tokenizer.ggml.pre"].contents()
    tokens, merges = strings("tokenizer.ggml.tokens"), strings("tokenizer.ggml.merges")
    t = tokenizers.Tokenizer(tokenizers.models.BPE({t: i for i, t in enumerate(tokens)}, [tuple(m.split(" ")) for m in merges]))
    steps = [tokenizers.pre_tokenizers.Split(tokenizers.Regex(e), "isolated") for e in PRE[pre]]
    t.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        steps + [tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    if pre == "mpt":
        t.normalizer = tokenizers.normalizers.NFC()
    kinds = fields["tokenizer.ggml.token_type"]
    added = [t for t, i in zip(tokens, kinds.data) if int(kinds.parts[i][0]) == 4]
    t.add_tokens([tokenizers.AddedToken(a, normalized=False) for a in added])
    return t


def load(path, work):
    """Their tokenizer, and the path that our program reads."""
    if "=" in path:
        path, ours = path.split("=")
        return load(path, work)[0], ours
    if path.endswith(".gguf"):
        return from_gguf(path), path
    if path.endswith(".xz"):
        plain = os.path.join(work, os.path.basename(os.path.dirname(os.path.abspath(path))) + ".json")
        with lzma.open(path) as source, open(plain, "wb") as target:
            target.write(source.read())
        path = plain
    t = tokenizers.Tokenizer.from_file(path)
    t.encode_special_tokens = True  # as ours: what looks like a control token in a text is text
    return t, path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("vocabularies", nargs="+")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--megabytes", type=float, default=10)
    parser.add_argument("--texts", default="english,code,chinese")
    parser.add_argument("--work", default="/tmp/compare_tokenizers")
    options = parser.parse_args()
    os.makedirs(options.work, exist_ok=True)
    print(f"tokenizers {tokenizers.__version__}, one thread, {options.rounds} rounds in turns; seconds: median (least - most)")
    print(f"{'vocabulary':<16}{'text':<9}{'MB':>6}{'ids':>9}  {'ours':<26}{'theirs':<26}{'ratio':<22}ids")
    for vocabulary in options.vocabularies:
        theirs, path = load(vocabulary, options.work)
        name = os.path.basename(path).replace("ggml-vocab-", "").rsplit(".", 1)[0]
        for kind in options.texts.split(","):
            docs = documents(globals()[kind](int(options.megabytes * 1e6), options.work))
            packed, ids = (os.path.join(options.work, f"{kind}.{end}") for end in ("documents", "ids"))
            with open(packed, "wb") as file:
                for doc in docs:
                    file.write(struct.pack("<I", len(doc.encode())) + doc.encode())
            ours = subprocess.Popen([options.program, path, packed, ids], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            expected = numpy.concatenate([numpy.array(theirs.encode(d, add_special_tokens=False).ids, numpy.int32) for d in docs])
            times = ([], [])
            for _ in range(options.rounds):
                ours.stdin.write("\n")
                ours.stdin.flush()
                times[0].append(float(ours.stdout.readline().split()[0]))
                start = time.perf_counter()
                for doc in docs:
                    theirs.encode(doc, add_special_tokens=False)
                times[1].append(time.perf_counter() - start)
            ours.stdin.close()
            ours.wait()
            found = numpy.fromfile(ids, numpy.int32)
            same = "same" if numpy.array_equal(found, expected) else f"DIFFER ({len(found)} and {len(expected)})"
            ratios = [t / o for o, t in zip(*times)]
            show = lambda v, f: f"{statistics.median(v):{f}} ({min(v):{f}} - {max(v):{f}})"  # noqa: E731
            size = sum(len(d.encode()) for d in docs) / 1e6
            print(f"{name:<16}{kind:<9}{size:>6.1f}{len(expected):>9}  {show(times[0], '.3f'):<26}{show(times[1], '.2f'):<26}{show(ratios, '.1f'):<22}{same}", flush=True)


if __name__ == "__main__":
    main()
