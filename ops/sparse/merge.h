// Places in order: which ones there are, and where each stands among them.
#ifndef PROA_OPS_SPARSE_MERGE_H_
#define PROA_OPS_SPARSE_MERGE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "ops/primitives/cpu/sort.h"

namespace proa::inline v0::ops::cpu {

// The different ones of `places` (>= 0) in order, each once; `*inverse`, if
// given, becomes the number that each of `places` has among them.
inline std::vector<int64_t> Distinct(std::span<const int64_t> places,
                                     std::vector<int64_t>* inverse) {
  const int64_t n = static_cast<int64_t>(places.size());
  std::vector<KeyIndex<uint64_t>> items(n), scratch;
  for (int64_t i = 0; i < n; ++i) {
    items[i] = {static_cast<uint64_t>(places[i]), i};
  }
  SortByKey(&items, &scratch);
  std::vector<int64_t> out;
  if (inverse != nullptr) inverse->resize(n);
  for (const auto& item : items) {
    const int64_t place = static_cast<int64_t>(item.key);
    if (out.empty() || out.back() != place) out.push_back(place);
    if (inverse != nullptr) {
      (*inverse)[item.index] = static_cast<int64_t>(out.size()) - 1;
    }
  }
  return out;
}

// Calls f(i, k) for each wanted[i] that is known[k]; both rise.
template <typename F>
void ForEachFound(std::span<const int64_t> wanted,
                  std::span<const int64_t> known, F&& f) {
  size_t k = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    while (k < known.size() && known[k] < wanted[i]) ++k;
    if (k == known.size()) return;
    if (known[k] == wanted[i]) {
      f(static_cast<int64_t>(i), static_cast<int64_t>(k));
    }
  }
}

}  // namespace proa::inline v0::ops::cpu

#endif  // PROA_OPS_SPARSE_MERGE_H_
