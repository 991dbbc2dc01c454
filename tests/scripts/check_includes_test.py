"""The include check finds each kind of wrong direction, and only those: run on small trees made for the purpose."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECKER = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "check_includes.py"


def run_on(files):
    """Writes {path: text} into an empty tree and returns (exit status, lines)."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "src").mkdir()
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        done = subprocess.run([sys.executable, CHECKER, root], capture_output=True, text=True)
        return done.returncode, (done.stdout + done.stderr).splitlines()


class CheckIncludes(unittest.TestCase):
    def assert_refused(self, files, *parts):
        status, lines = run_on(files)
        self.assertEqual(status, 1, lines)
        self.assertEqual(len(lines), 1, lines)
        for part in parts:
            self.assertIn(part, lines[0])

    def assert_allowed(self, files):
        self.assertEqual(run_on(files), (0, []))

    def test_a_folder_may_not_include_one_to_its_right(self):
        self.assert_refused(
            {"src/base/a.h": '#pragma once\n#include "quant/format.h"\n'}, "src/base/a.h:2", '"quant/format.h"')

    def test_a_folder_may_include_those_its_row_names(self):
        self.assert_allowed({"src/gguf/a.cpp": '#include "gguf/a.h"\n#include "tensor/tensor.h"\n#include "base/error.h"\n'})

    def test_text_knows_no_tensors(self):
        self.assert_refused({"src/text/a.cpp": '#include "tensor/tensor.h"\n'}, "src/text may include")

    def test_everybody_may_include_the_error_type_but_no_other_public_header(self):
        self.assert_allowed({"src/quant/a.cpp": '#include "ingle/error.h"\n'})
        self.assert_refused({"src/quant/a.cpp": '#include "ingle/model.h"\n'}, "ingle/model.h")

    def test_blocks_see_the_backend_interface_and_no_concrete_backend(self):
        self.assert_allowed({"src/nn/a.h": '#include "backend/backend.h"\n'})
        self.assert_refused({"src/nn/a.h": '#include "backend/cpu/kernels.h"\n'}, "backend/cpu")
        self.assert_refused({"src/nn/a.h": '#include "backend/other.h"\n'}, "src/nn may include")

    def test_backends_never_include_one_another(self):
        self.assert_refused({"src/backend/cuda/a.cpp": '#include "backend/cpu/pool.h"\n'}, "backend/cpu")
        self.assert_allowed({"src/backend/cpu/a.cpp": '#include "backend/cpu/pool.h"\n'})

    def test_only_the_registry_knows_the_backends(self):
        self.assert_allowed({"src/backend/registry.cpp": '#include "backend/cpu/cpu_backend.h"\n'})
        self.assert_refused({"src/backend/helper.cpp": '#include "backend/cpu/cpu_backend.h"\n'}, "registry.cpp")

    def test_apps_see_the_public_api_and_themselves(self):
        own = {"apps/ingle/options.h": "", "apps/ingle/commands/run.h": ""}
        self.assert_allowed(own | {"apps/ingle/commands/run.cpp": '#include "options.h"\n#include "commands/run.h"\n'})
        self.assert_allowed({"apps/ingle/main.cpp": '#include "ingle/ingle.h"\n#include "apps/ingle/options.h"\n'})
        self.assert_refused({"apps/ingle/main.cpp": '#include "runtime/kv_cache.h"\n'}, "apps may include only")

    def test_the_public_api_hides_the_source(self):
        self.assert_refused({"include/ingle/model.h": '#include "gguf/gguf.h"\n'}, "public API")

    def test_tests_and_benchmarks_may_look_inside(self):
        self.assert_allowed({"tests/gguf/a_test.cpp": '#include "backend/cpu/pool.h"\n', "bench/b.cpp": '#include "gguf/gguf.h"\n'})

    def test_paths_with_two_dots_are_no_way_round(self):
        self.assert_refused({"src/text/a.cpp": '#include "../tensor/tensor.h"\n'}, "without ..")

    def test_angle_brackets_are_no_way_round(self):
        self.assert_refused(
            {"src/tensor/tensor.h": "", "src/text/a.cpp": "#include <tensor/tensor.h>\n"}, "with quotes")

    def test_a_new_folder_needs_a_row(self):
        self.assert_refused({"src/audio/a.h": '#include "base/error.h"\n'}, "has no row")

    def test_a_spaced_directive_is_still_an_include(self):
        self.assert_refused({"src/base/a.inl": '  #  include "gguf/gguf.h"\n'}, "gguf/gguf.h")


if __name__ == "__main__":
    unittest.main()
