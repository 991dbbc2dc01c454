// What a device can do at most, measured: the figures that speeds are shares of.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace ingle {

struct DeviceCeilings {
  struct Product {
    int bits = 0;                         // of the weights of an integer product; 16: bf16, 32: f32
    double multiply_adds_per_second = 0;  // of all threads
  };
  double read_bytes_per_second = 0;  // from memory, by all threads; 0: not measured
  std::vector<Product> products;     // by bits, ascending, each once; empty: the device has no probe
  std::optional<double> huge_pages;  // the share of the probe's memory that lies on huge pages, where it is known
};

struct CeilingProbe {
  double seconds_each = 0.1;  // of measuring, for each figure
  size_t read_bytes = 0;      // memory to read, much more than fits the caches; 0: reading is not measured
};

}  // namespace ingle
