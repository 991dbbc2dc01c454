#!/usr/bin/env python3
"""Differential fuzzing of the template engine: random templates, rendered with Jinja2 as transformers sets it up and
with ours. Texts must be equal, or both must fail; what differs on purpose is listed in EXPLAINED, everything else is a
finding and the exit status is 1.

Run by hand with a Python that has transformers 5.24 and Jinja2 3.1.6, after `ninja -C build/release render_templates`:
  fuzz_templates.py [--seed N] [--cases N] [--tool build/release/tests/render_templates] [--show N]
"""

import argparse
import copy
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys

from transformers.utils.chat_template_utils import _compile_jinja_template

from template_grammar import VARIABLES, Generator

ROOT = pathlib.Path(__file__).resolve().parent.parent
SECONDS_A_CASE = 2

# What differs on purpose: a reason, and how such a case is told from a finding. `ours` and `theirs` are (text, error);
# exactly one of each is None.
ADDRESS = re.compile(r"0x7f[0-9a-f]{10}", re.IGNORECASE)
FUNCTION = re.compile(
    r"(<|&lt;|%3C)(function|class|bound method|transformers|jinja2|TemplateReference|[\w-]+ [\w-]+ \w+ of \w+ object)",
    re.IGNORECASE,
)


def says(*words):
    return lambda source, ours, theirs: any(w in (ours[1] or "") or w in (theirs[1] or "") for w in words)


EXPLAINED = [
    ("integers are 127 bits wide here, without bound in Python", says("beyond 127 bits")),
    ("a lone surrogate is no text that could be written as UTF-8", says("surrogate")),
    (
        "functions, classes and bound methods print as such in Python",
        lambda source, ours, theirs: FUNCTION.search(theirs[0] or "") is not None,
    ),
    (
        "Jinja2's compiler writes a constant infinity as a name",
        lambda source, ours, theirs: re.search("NameError: name '(inf|nan)'", theirs[1] or "") is not None,
    ),
    (
        "Jinja2's compiler writes a negative constant without brackets: (-a) ** b becomes -a ** b",
        lambda source, ours, theirs: re.search(r"\(+-[\d.]+[^*]*\) *\*\*", source) is not None
        and (ours[0] or "").replace("-", "") == (theirs[0] or "").replace("-", ""),
    ),
    (
        "an address of Python's in a text that was taken apart again",
        lambda source, ours, theirs: ours[0] is not None and "0x7f0000000000" in re.sub(r"[\W_]", "", ours[0]).lower(),
    ),
    ("complex numbers are not supported", says("complex numbers are not supported")),
    (
        "methods that change a list or an object may be called here: SecurityError in the reference",
        lambda source, ours, theirs: "SecurityError" in (theirs[1] or "") and ours[0] is not None,
    ),
    (
        "generators and views are written as arrays by tojson here: TypeError in the reference",
        lambda source, ours, theirs: "tojson" in source
        and re.search(
            r"Object of type (generator|dict_\w+|reversed|list_reverseiterator|dict_reversekeyiterator"
            r"|range_iterator|tuple_reverseiterator) is not JSON",
            theirs[1] or "",
        )
        and ours[0] is not None,
    ),
    (
        "a slice of a constant that has none is undefined to Jinja2's optimizer, but a TypeError of any other expression",
        lambda source, ours, theirs: "not subscriptable by a slice" in (ours[1] or "") and theirs[0] is not None,
    ),
    ("Jinja2's compiler fails over names it lost track of", says("AssertionError: Tried to resolve a name")),
    (
        "`loop` is an iterator in Jinja2: going through it moves the loop on; here it cannot be iterated",
        says("'LoopContext' object is not iterable"),
    ),
    (
        "a limit of ours, where the reference has none",
        says("the limit is", "template: takes more", "template: nests", "nests deeper", "builds more"),
    ),
]


class Timeout(Exception):
    pass


def on_alarm(signum, frame):
    raise Timeout


def reference(source, variables):
    """(text, error) of Jinja2; None when it takes too long."""
    signal.setitimer(signal.ITIMER_REAL, SECONDS_A_CASE)
    try:
        return _compile_jinja_template(source).render(**copy.deepcopy(variables)), None
    except Timeout:
        return None
    except MemoryError:
        return None
    except Exception as e:
        return None, f"{type(e).__name__}: {e}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


class Ours:
    def __init__(self, tool):
        self.tool = tool
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [self.tool], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8", errors="replace"
        )

    def render(self, source, variables):
        self.process.stdin.write(json.dumps({"source": source, "variables": variables}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            code = self.process.wait()
            self.start()
            return None, f"CRASH: exit status {code}"
        answer = json.loads(line)
        return answer.get("text"), answer.get("error")


def verdict(source, ours, theirs):
    """'same', 'both fail', the reason of an explained difference, or None for a finding."""
    if ours[1] is not None and "CRASH" in ours[1]:
        return None
    if ours[1] is not None and theirs[1] is not None:
        return "both fail"
    if ours[1] is None and theirs[1] is None and ADDRESS.sub("0x", ours[0]) == ADDRESS.sub("0x", theirs[0]):
        return "same"
    for reason, holds in EXPLAINED:
        if holds(source, ours, theirs):
            return reason
    return None


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--cases", type=int, default=10000)
    options.add_argument("--tool", default=str(ROOT / "build/release/tests/render_templates"))
    options.add_argument("--show", type=int, default=20, help="findings to print")
    options.add_argument("--both-fail", action="store_true", help="print the errors of cases where both fail")
    given = options.parse_args()
    signal.signal(signal.SIGALRM, on_alarm)
    ours = Ours(given.tool)
    generator = Generator(random.Random(given.seed))
    counts, findings = {}, 0
    for _ in range(given.cases):
        source = generator.template()
        theirs = reference(source, VARIABLES)
        if theirs is None:
            counts["the reference takes too long: not compared"] = (
                counts.get("the reference takes too long: not compared", 0) + 1
            )
            continue
        our = ours.render(source, VARIABLES)
        said = verdict(source, our, theirs)
        counts[said or "FINDING"] = counts.get(said or "FINDING", 0) + 1
        if said == "both fail" and given.both_fail:
            print(json.dumps([source, our[1], theirs[1]], ensure_ascii=False))
        if said is None:
            findings += 1
            if findings <= given.show:
                print(
                    f"--- {source!r}\n  ours:   {our[0] if our[1] is None else '! ' + our[1]!r}\n  theirs: {theirs[0] if theirs[1] is None else '! ' + theirs[1]!r}"
                )
    for reason, count in sorted(counts.items(), key=lambda c: -c[1]):
        print(f"{count:8}  {reason}")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
