#include "runtime/matrix_place.h"

#include <charconv>
#include <map>

namespace ingle {

std::vector<MatrixPlace> places_of(const WeightStore& weights, const GgufFile& file) {
  std::vector<MatrixPlace> places;
  std::map<std::string, int64_t> rows_before;  // of a name that several parts of one matrix of a stack have
  for (const auto& matrix : weights.matrices) {
    const std::string& name = matrix->name;
    const size_t bracket = name.find('[');
    MatrixPlace place{.matrix = matrix.get(), .tensor = name.substr(0, bracket)};
    if (bracket != name.npos) {
      if (!name.ends_with(']')) continue;  // turned
      int64_t number = 0;
      const char* end = std::from_chars(name.data() + bracket + 1, name.data() + name.size(), number).ptr;
      if (*end == '.') {
        place.first_row = number;
      } else {
        const Shape shape = file.find(place.tensor)->shape;
        int64_t& before = rows_before[name];
        place.index = number;
        place.first_row = number * shape[shape.rank - 2] + before;
        before += matrix->rows;
      }
    }
    places.push_back(std::move(place));
  }
  return places;
}

}  // namespace ingle
