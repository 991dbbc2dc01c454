# Short names for the CMake presets and scripts; `make` alone builds a release. BUILD_TYPE-independent: see CMakePresets.json.
MAKEFLAGS += --no-print-directory
JOBS ?= $(shell nproc)

.PHONY: all test test-all check asan tsan fuzz bench golden docs format hooks clean
.DEFAULT_GOAL := all

define build  # preset, targets
	@cmake --preset $(1) >/dev/null
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

bench: all  ## the micro-benchmarks of kernels and loaders
	@for program in build/release/bench/*_bench; do echo "== $$program"; $$program || exit 1; done

golden:  ## makes the golden models and logits anew (PyTorch + transformers; the result is committed)
	@python3 scripts/make_golden.py

docs: all  ## man pages, and the site when mkdocs is installed
	@scripts/build_docs.sh

format:  ## formats in place
	@scripts/check_format.sh --fix

hooks:  ## runs the checks of .githooks before each commit
	@git config core.hooksPath .githooks

clean:
	@rm -rf build
