// What --check-ops says: each operation and each layer once, by its worst.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "apps/ingle/explain.h"
#include "apps/ingle/json_text.h"
#include "apps/ingle/setup.h"

namespace ingle::app {
namespace {

const std::vector<OpCheck> kChecks = {
    {.op = "norm", .layer = 1, .calls = 4, .error = std::numeric_limits<double>::infinity(), .step = 2, .row = 7},
    {.op = "linear", .layer = 0, .calls = 3, .unchecked = 2, .error = 2.5e-7, .weight = "blk.0.ffn_up.weight"},
    {.op = "norm", .layer = -1, .calls = 1},
};

TEST(CheckTables, HaveEveryOperationAndEveryLayerOnceByItsWorst) {
  const std::string text = check_tables(kChecks, "a test");
  EXPECT_EQ(text,
            "operations of a test, beside their scalar definitions\n"
            "\n"
            "operation  where                               layer  difference  calls  unchecked\n"
            "norm       step 2, row 7                           1         inf      5          0\n"
            "linear     step 0, row 0, blk.0.ffn_up.weight      0     2.5e-07      3          2\n"
            "\n"
            "layer    operation  difference  calls  unchecked\n"
            "1        norm              inf      4          0\n"
            "0        linear        2.5e-07      3          2\n"
            "outside  norm          0.0e+00      1          0\n");
}

TEST(CheckTables, JsonHasEveryLineAndNullForWhatIsNoNumber) {
  EXPECT_EQ(json_text(to_json(std::span(kChecks).first(1))),
            R"([{"op":"norm","layer":1,"calls":4,"unchecked":0,"error":null,"weight":"","step":2,"row":7}])");
}

}  // namespace
}  // namespace ingle::app
