// Tiles of the dot product: 16 integer accumulators and 4 weights of 32 registers; the float sums rest in L1 over a
// block.
constexpr int kTileTokens = 4;
constexpr bool kTokenPairs = false;
