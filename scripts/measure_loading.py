#!/usr/bin/env python3
"""How long a model takes to load beside reading its file, both from an empty page cache, in turns.

    sudo scripts/measure_loading.py MODEL.gguf [MODEL.gguf ...] [--rounds 8] [--ingle build/release/ingle [OTHER ...]]

Needs root, to empty the page cache. Prints medians and quartiles of `cat MODEL` and of the load_seconds that
`ingle run --json` reports, and their ratio. --warm leaves the file in the page cache.
"""
import argparse
import json
import random
import statistics
import subprocess
import time


def empty_page_cache():
    subprocess.run(["sync"], check=True)
    with open("/proc/sys/vm/drop_caches", "w") as control:
        control.write("3")
    time.sleep(0.3)


def seconds_of_cat(model):
    start = time.monotonic()
    subprocess.run(["cat", model], stdout=subprocess.DEVNULL, check=True)
    return time.monotonic() - start


def seconds_of_loading(program, model):
    run = [program, "run", "--raw", "-m", model, "-p", "a", "-n", "1", "-c", "128", "--json"]
    answer = subprocess.run(run, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    return json.loads(answer.stdout)["timings"]["load_seconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--ingle", nargs="+", default=["build/release/ingle"])
    parser.add_argument("--warm", action="store_true")
    arguments = parser.parse_args()
    for model in arguments.models:
        seconds = {name: [] for name in ["cat", *arguments.ingle]}
        for _ in range(arguments.rounds):
            for name in random.sample(list(seconds), len(seconds)):
                if arguments.warm:
                    seconds_of_cat(model)
                else:
                    empty_page_cache()
                if name != "cat":  # the program itself and its libraries are not what is measured
                    subprocess.run([name, "--version"], stdout=subprocess.DEVNULL, check=True)
                seconds[name].append(seconds_of_cat(model) if name == "cat" else seconds_of_loading(name, model))
        for name, values in seconds.items():
            low, median, high = statistics.quantiles(values, n=4, method="inclusive")
            ratio = median / statistics.median(seconds["cat"])
            print(f"{model}  {name}  {median:.2f} s ({low:.2f}-{high:.2f})  {ratio:.2f} of cat", flush=True)


if __name__ == "__main__":
    main()
