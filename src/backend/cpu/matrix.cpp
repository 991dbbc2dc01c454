#include "backend/cpu/matrix.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/half.h"

namespace ingle::cpu {
namespace {

const IntFormat* find_int_format(const CpuKernels& kernels, DType type) {
  const auto* end = kernels.int_formats + kernels.int_format_count;
  const auto* found = std::find_if(kernels.int_formats, end, [&](const IntFormat& f) { return f.type == type; });
  return found == end ? nullptr : found;
}

const FloatFormat* find_float_format(const CpuKernels& kernels, DType type) {
  const auto* end = kernels.float_formats + kernels.float_format_count;
  const auto* found = std::find_if(kernels.float_formats, end, [&](const FloatFormat& f) { return f.type == type; });
  return found == end ? nullptr : found;
}

bool is_float(DType type) { return type == DType::kF32 || type == DType::kF16 || type == DType::kBF16; }

// The integer format that packs w, if one does.
const IntFormat* int_format_for(const CpuKernels& kernels, const ConstTensorView& w) {
  const IntFormat* format = find_int_format(kernels, w.type);
  return format != nullptr && w.shape.columns() % (32 * format->unit_blocks) == 0 ? format : nullptr;
}

void set_int_format(CpuMatrix& m, const IntFormat& format, int panel_rows) {
  m.int_format = &format;
  m.product_bits = format.bits;
  m.input_bytes = static_cast<double>(kActivationBytes) / 32;
  m.panel_bytes = format.packed_bytes_per_row(m.blocks()) * static_cast<size_t>(panel_rows);
}

void pack_ints(CpuMatrix& m, const ConstTensorView& w, int panel_rows, MatrixStorage& memory, ThreadPool& pool) {
  const int64_t panels = m.panels(panel_rows);
  m.storage = memory.allocate(m.panel_bytes * static_cast<size_t>(panels));
  TaskCounter tasks(panels, 4);
  pool.run([&](int) {
    int64_t begin, end;
    while (tasks.next(begin, end)) {
      for (int64_t p = begin; p < end; ++p) {
        m.pack_panel(w, p, panel_rows,
                     reinterpret_cast<uint8_t*>(m.storage.data) + static_cast<size_t>(p) * m.panel_bytes);
      }
    }
  });
}

// One number of a float panel.
size_t float_bytes(DType type) { return type == DType::kF32 ? 4 : 2; }

void store_float(DType type, float x, std::byte* out) {
  if (type == DType::kF32) {
    std::memcpy(out, &x, 4);
    return;
  }
  const uint16_t half = type == DType::kF16 ? f32_to_f16(x) : f32_to_bf16(x);
  std::memcpy(out, &half, 2);
}

void pack_floats(CpuMatrix& m, const ConstTensorView& w, const FloatFormat& format, int panel_rows,
                 MatrixStorage& memory, ThreadPool& pool) {
  m.float_format = &format;
  const size_t size = float_bytes(format.type);
  m.panel_bytes = size * static_cast<size_t>(panel_rows) * static_cast<size_t>(m.columns);
  const int64_t panels = m.panels(panel_rows);
  m.storage = memory.allocate(m.panel_bytes * static_cast<size_t>(panels));
  const Format& file = format_of(w.type);
  // Decoding a row at a time; buffers are made before the region, which must not throw.
  std::vector<std::vector<float>> rows(static_cast<size_t>(pool.size()),
                                       std::vector<float>(static_cast<size_t>(m.columns)));
  TaskCounter tasks(panels);
  pool.run([&](int thread) {
    float* row = rows[static_cast<size_t>(thread)].data();
    int64_t begin, end;
    while (tasks.next(begin, end)) {
      std::byte* panel = m.storage.data + static_cast<size_t>(begin) * m.panel_bytes;
      for (int r = 0; r < panel_rows; ++r) {
        const int64_t index = begin * panel_rows + r;
        if (index >= m.rows) break;  // fresh memory is zero
        file.decode(w.row(index), row, m.columns);
        for (int64_t k = 0; k < m.columns; ++k) {
          store_float(format.type, row[k], panel + static_cast<size_t>(k * panel_rows + r) * size);
        }
      }
    }
  });
}

// Whether every weight is finite and small enough for f16.
bool fits_half(const ConstTensorView& w) {
  std::vector<float> row(static_cast<size_t>(w.shape.columns()));
  const Format& file = format_of(w.type);
  for (int64_t r = 0; r < w.shape.rows(); ++r) {
    file.decode(w.row(r), row.data(), w.shape.columns());
    for (float x : row) {
      if (!(std::fabs(x) < 65504.0f)) return false;
    }
  }
  return true;
}

std::unique_ptr<CpuMatrix> describe_matrix(std::string name, const ConstTensorView& w) {
  INGLE_CHECK(w.shape.rank == 2 || w.shape.rank == 1);
  auto m = std::make_unique<CpuMatrix>();
  m->name = std::move(name);
  m->file_type = w.type;
  m->rows = w.shape.rows();
  m->columns = w.shape.columns();
  return m;
}

// Of a quantised weight that no packed kernel takes: what is left of a block's bits when scales are taken off.
int bits_of(const Format& format) {
  const auto block_bits = 8 * static_cast<int64_t>(format.block_bytes);
  return static_cast<int>(std::clamp<int64_t>((block_bits - 1) / format.block_elements, 1, 8));
}

constexpr size_t kWeightPiece = size_t{64} << 20;

}  // namespace

MatrixStorage::Part MatrixStorage::allocate(size_t bytes) {
  const size_t rounded = (bytes + 63) & ~size_t{63};
  const std::lock_guard lock(mutex_);
  if (piece_ == nullptr || used_ + rounded > piece_->size()) {
    piece_ = std::make_shared<AlignedBuffer>(std::max(rounded, kWeightPiece));
    used_ = 0;
  }
  std::byte* data = piece_->data() + used_;
  used_ += rounded;
  return {piece_, data, bytes};
}

std::unique_ptr<CpuMatrix> pack_matrix(std::string name, const ConstTensorView& w, const CpuKernels& kernels,
                                       Precision precision, MatrixStorage& memory, ThreadPool& pool) {
  auto m = describe_matrix(std::move(name), w);
  const int panel_rows = kernels.panel_rows;
  if (precision == Precision::kExact && !is_float(w.type)) {
    m->storage = memory.allocate(w.bytes());
    std::memcpy(m->storage.data, w.data, w.bytes());
    m->file_rows = w;
    m->file_rows.data = m->storage.data;
    m->layout = fmt::format("{} rows, decoded to f32 per use, f32 product", format_of(w.type).name);
    m->reason = "exact: nothing is rounded after decoding";
  } else if (const IntFormat* ints = int_format_for(kernels, w); ints != nullptr) {
    set_int_format(*m, *ints, panel_rows);
    pack_ints(*m, w, panel_rows, memory, pool);
    m->layout = fmt::format("{} x{}, int8 product ({})", ints->name, panel_rows, kernels.name);
    m->reason = "packed kernel for this format";
  } else if (is_float(w.type)) {
    const FloatFormat* floats = find_float_format(kernels, w.type);
    pack_floats(*m, w, *floats, panel_rows, memory, pool);
    m->layout = fmt::format("{} x{}, f32 product ({})", floats->name, panel_rows, kernels.name);
    m->reason = "float weights keep their precision";
  } else {
    const DType target = fits_half(w) ? DType::kF16 : DType::kF32;
    const FloatFormat* floats = find_float_format(kernels, target);
    pack_floats(*m, w, *floats, panel_rows, memory, pool);
    m->layout = fmt::format("{} x{}, f32 product ({})", floats->name, panel_rows, kernels.name);
    m->product_bits = bits_of(format_of(w.type));
    m->reason = fmt::format("{} has no packed kernel on {}", format_of(w.type).name, kernels.name);
  }
  m->bytes = m->storage.bytes;
  return m;
}

void CpuMatrix::pack_panel(const ConstTensorView& w, int64_t index, int panel_rows, uint8_t* out) const noexcept {
  const uint8_t* file[64];
  for (int r = 0; r < panel_rows; ++r) {
    const int64_t row = index * panel_rows + r;
    file[r] = row < rows ? reinterpret_cast<const uint8_t*>(w.row(row)) : nullptr;
  }
  int_format->pack(file, blocks(), out);
}

std::unique_ptr<CpuMatrix> map_matrix(std::string name, const ConstTensorView& w, const CpuKernels& kernels,
                                      Precision precision) {
  auto m = describe_matrix(std::move(name), w);
  m->file_rows = w;
  const std::string_view type = format_of(w.type).name;
  const IntFormat* ints = precision == Precision::kExact ? nullptr : int_format_for(kernels, w);
  if (ints != nullptr) {
    set_int_format(*m, *ints, kernels.panel_rows);
    m->layout = fmt::format("{} rows of the mapped file, packed x{} per use, int8 product ({})", type,
                            kernels.panel_rows, kernels.name);
  } else {
    m->layout = fmt::format("{} rows of the mapped file, decoded to f32 per use, f32 product", type);
  }
  m->reason = "weights stay in the mapped file";
  return m;
}

std::unique_ptr<CpuMatrix> table_matrix(std::string name, const ConstTensorView& w) {
  auto m = describe_matrix(std::move(name), w);
  m->file_rows = w;
  m->layout = fmt::format("{} rows of the mapped file", format_of(w.type).name);
  m->reason = "read row by row";
  return m;
}

}  // namespace ingle::cpu
