// What this instruction set reaches at most: loops of nothing but multiply-adds on registers, and one of nothing but
// loads. Everything that is measured is held against them.
//
// A sum must be long enough in coming, and different enough from its neighbours, that a compiler neither merges nor
// drops it: hold() makes a value unknown to it, at the price of no instruction. The numbers change (zeros would draw
// less power than real ones and let the clock rise) and add up to nothing, so that no sum ever overflows.
template <class Vector>
INGLE_INLINE void hold(Vector& x) {
  asm volatile("" : INGLE_REGISTER(x));
}

// Of products that take two tokens at once.
template <int kBits, int kSums>
static int64_t pair_peak(Bytes w, Bytes x, int64_t repeats) noexcept {
  PairDot<kBits> dot[kSums / 2];
#pragma GCC unroll 16
  for (auto& d : dot) {
    d.start();
    hold(d.low), hold(d.high);
  }
  for (int64_t r = 0; r < repeats; ++r) {
#pragma GCC unroll 8
    for (int g = 0; g < 8; ++g) {
      hold(x);
#pragma GCC unroll 16
      for (auto& d : dot) d.step(w, w, x);
    }
  }
#pragma GCC unroll 16
  for (auto& d : dot) hold(d.low), hold(d.high);
  return repeats * 8 * kSums * 2 * kVectorBytes;
}

// As a tile does it: eight steps to a block, the weight made ready once, every step on an activation of its own.
template <int kBits, int kSums>
static int64_t int_peak(int64_t repeats) noexcept {
  using Dot = BlockDot<kBits>;
  constexpr uint8_t kWeight[4] = {7, 7, 13, 13};
  constexpr int8_t kActivation[4] = {90, -90, -55, 55};
  uint8_t activation[4];
  __builtin_memcpy(activation, kActivation, 4);
  Bytes w = broadcast4(kWeight), x = broadcast4(activation);
  hold(w);
  if constexpr (kTokenPairs) return pair_peak<kBits, kSums>(w, x, repeats);
  const typename Dot::Weight weight = Dot::prepare(w);
  I32 sum[kSums];
#pragma GCC unroll 16
  for (int i = 0; i < kSums; ++i) {
    sum[i] = set1_int(i);
    hold(sum[i]);
  }
  for (int64_t r = 0; r < repeats; ++r) {
    Dot dot[kSums];
#pragma GCC unroll 16
    for (int i = 0; i < kSums; ++i) dot[i].start(sum[i]);
#pragma GCC unroll 8
    for (int g = 0; g < 8; ++g) {
#pragma GCC unroll 16
      for (int i = 0; i < kSums; ++i) {
        hold(x);
        dot[i].step(weight, x, g);
        hold(dot[i].t);  // or additions are gathered behind all products, and those spill
      }
    }
#pragma GCC unroll 16
    for (int i = 0; i < kSums; ++i) sum[i] = dot[i].finish(sum[i]);
  }
#pragma GCC unroll 16
  for (int i = 0; i < kSums; ++i) hold(sum[i]);
  return repeats * 8 * kSums * kVectorBytes;
}

template <int kSums>
static int64_t float_peak(int64_t repeats) noexcept {
  F32 a = set1(0.7071f), b = set1(-0.5773f), c = set1(0.5773f);
  hold(a), hold(b), hold(c);
  F32 sum[kSums];
#pragma GCC unroll 16
  for (int i = 0; i < kSums; ++i) {
    sum[i] = set1(static_cast<float>(i));
    hold(sum[i]);
  }
  for (int64_t r = 0; r < repeats; ++r) {
#pragma GCC unroll 8
    for (int g = 0; g < 8; ++g) {
#pragma GCC unroll 16
      for (int i = 0; i < kSums; ++i) sum[i] = fma(a, g % 2 == 0 ? b : c, sum[i]);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kSums; ++i) hold(sum[i]);
  return repeats * 8 * kSums * kLanes;
}

// Sixteen vectors at a time; what is left over is read as well. `bytes` is a multiple of 64.
static void read_all(const uint8_t* p, size_t bytes) noexcept {
  constexpr size_t kStep = 16 * kVectorBytes;
  const uint8_t* end = p + bytes;
  for (; static_cast<size_t>(end - p) >= kStep; p += kStep) {
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      Bytes x = load_bytes(p + i * kVectorBytes);
      hold(x);
    }
  }
  for (; p < end; p += kVectorBytes) {
    Bytes x = load_bytes(p);
    hold(x);
  }
}

// How many sums hide an instruction's latency without running out of registers depends on what a step is made of: few
// and many are both tried, the faster counts.
// clang-format off
static constexpr PeakLoop kEveryBits[] = {
    {4, int_peak<4, 6>}, {4, int_peak<4, 12>},
    {5, int_peak<5, 4>}, {5, int_peak<5, 6>},
    {6, int_peak<6, 4>}, {6, int_peak<6, 6>},
    {8, int_peak<8, 6>}, {8, int_peak<8, 12>},
    {32, float_peak<8>}, {32, float_peak<12>},
};
static constexpr PeakLoop kOneForAll[] = {
    {8, int_peak<8, 8>}, {8, int_peak<8, 12>},
    {32, float_peak<8>}, {32, float_peak<12>},
};
// clang-format on
constexpr const PeakLoop* kPeaks = kFewBitsAreFaster ? kEveryBits : kOneForAll;
constexpr int kPeakCount =
    kFewBitsAreFaster ? sizeof(kEveryBits) / sizeof(PeakLoop) : sizeof(kOneForAll) / sizeof(PeakLoop);
