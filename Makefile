# Short names for the CMake presets and the scripts. `make` alone builds a release with its tests.
MAKEFLAGS += --no-print-directory
JOBS ?= $(shell nproc)

.PHONY: all test test-all check asan tsan fuzz bench gates golden docs howto format lint hooks clean
.DEFAULT_GOAL := all

define build  # preset, targets
	@cmake --preset $(1) -DINGLE_TESTS=ON $(if $(filter release,$(1)),-DINGLE_BENCH=ON) >/dev/null
	@cmake --build --preset $(1) -j $(JOBS) $(if $(2),--target $(2))
endef

all:  ## the program and the tests, release
	$(call build,release)

test: all  ## what takes about a minute: everything but tests labelled slow
	@ctest --preset release -j $(JOBS) --no-tests=error -LE slow

test-all: all  ## every test
	@ctest --preset release -j $(JOBS) --no-tests=error

check:  ## what continuous integration runs
	@./check

asan:  ## every test under AddressSanitizer and UndefinedBehaviorSanitizer
	$(call build,asan)
	@ctest --preset asan -j $(JOBS) --no-tests=error

tsan:  ## every test under ThreadSanitizer
	$(call build,tsan)
	@ctest --preset tsan -j $(JOBS) --no-tests=error

SECONDS_EACH ?= 60
fuzz:  ## each fuzzer for SECONDS_EACH (60), from its corpus
	@SECONDS_EACH=$(SECONDS_EACH) scripts/fuzz.sh

bench: gates  ## the micro-benchmarks of kernels and loaders
	@for program in build/release/bench/*_bench; do echo "== $$program"; $$program || exit 1; done

gates: all  ## each kernel's share of the ceiling that is measured beside it
	@build/release/bench/gates

golden:  ## makes the golden models and logits anew (PyTorch + transformers; the result is committed)
	@python3 scripts/make_golden.py

docs: all  ## man pages, and the site when mkdocs is installed
	@scripts/build_docs.sh

howto:  ## follows the how-to pages literally, on a copy of the tree
	@scripts/try_howto.py

lint:  ## clang-tidy on the files changed since the last commit
	@scripts/lint.sh

format:  ## formats in place
	@scripts/check_format.sh --fix

hooks:  ## runs the checks of .githooks before each commit
	@git config core.hooksPath .githooks

clean:
	@rm -rf build
