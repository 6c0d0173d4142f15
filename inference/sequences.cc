#include "inference/sequences.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "tensor/dtype.h"
#include "tensor/error.h"

namespace proa::inline v0::inference {

std::vector<Lengths> FindLengths(const std::vector<std::string>& names,
                                 const std::vector<std::string>& of) {
  std::vector<Lengths> found;
  for (size_t place = 0; place < of.size(); ++place) {
    for (size_t level = 0;; ++level) {
      const auto at =
          std::ranges::find(names, absl::StrCat(of[place], "@LENGTHS", level));
      if (at == names.end()) break;
      found.push_back({static_cast<size_t>(at - names.begin()), place, level});
    }
  }
  return found;
}

proa::Tensor LengthsOfEnds(const std::vector<size_t>& ends) {
  PROA_REQUIRE(!ends.empty() && ends[0] == 0 && std::ranges::is_sorted(ends),
               "a LoD rises from 0");
  const auto n = static_cast<int64_t>(ends.size()) - 1;
  proa::Tensor t = proa::Tensor::Empty({n}, DType::kInt64);
  for (int64_t i = 0; i < n; ++i) {
    t.data<int64_t>()[i] = static_cast<int64_t>(ends[i + 1] - ends[i]);
  }
  return t;
}

std::vector<size_t> EndsOfLengths(const proa::Tensor& lengths) {
  std::vector<size_t> ends = {0};
  for (int64_t i = 0; i < lengths.numel(); ++i) {
    ends.push_back(ends.back() +
                   static_cast<size_t>(lengths.data<int64_t>()[i]));
  }
  return ends;
}

}  // namespace proa::inline v0::inference
