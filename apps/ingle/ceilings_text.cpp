#include "apps/ingle/ceilings_text.h"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace ingle::app {

namespace {

std::string billions(double number) { return fmt::format("{:.{}f}", number / 1e9, number < 1e10 ? 1 : 0); }

}  // namespace

std::string ceilings_line(const Ceilings& ceilings) {
  std::string text = fmt::format("{} thread{}: ", ceilings.threads, ceilings.threads == 1 ? "" : "s");
  if (ceilings.read_bytes_per_second > 0)
    text += fmt::format("reading {:.1f} GB/s; ", ceilings.read_bytes_per_second / 1e9);
  std::vector<std::string> rates, bits;
  for (const Ceilings::Int8& int8 : ceilings.int8) {
    rates.push_back(billions(int8.multiply_adds_per_second));
    bits.push_back(std::to_string(int8.bits));
  }
  if (!rates.empty()) text += fmt::format("int8 {}", fmt::join(rates, "/"));
  if (rates.size() > 1) text += fmt::format(" ({}-bit weights)", fmt::join(bits, "/"));
  if (!rates.empty()) text += ", ";
  if (ceilings.bf16_multiply_adds_per_second)
    text += fmt::format("bf16 {}, ", billions(*ceilings.bf16_multiply_adds_per_second));
  return text + fmt::format("f32 {} GMAC/s", billions(ceilings.f32_multiply_adds_per_second));
}

boost::json::object to_json(const Ceilings& ceilings) {
  boost::json::object object{{"read_bytes_per_second", ceilings.read_bytes_per_second}};
  for (const Ceilings::Int8& int8 : ceilings.int8) {
    const std::string kind = ceilings.int8.size() == 1 ? "int8" : fmt::format("int8_{}_bits", int8.bits);
    object[kind + "_multiply_adds_per_second"] = int8.multiply_adds_per_second;
  }
  if (ceilings.bf16_multiply_adds_per_second)
    object["bf16_multiply_adds_per_second"] = *ceilings.bf16_multiply_adds_per_second;
  object["f32_multiply_adds_per_second"] = ceilings.f32_multiply_adds_per_second;
  if (ceilings.huge_pages) object["huge_pages"] = *ceilings.huge_pages;
  return object;
}

}  // namespace ingle::app
