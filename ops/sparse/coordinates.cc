#include "ops/sparse/coordinates.h"

#include <algorithm>
#include <limits>

#include "ops/primitives/cpu/gather.h"
#include "tensor/error.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops::cpu {
namespace {

constexpr int64_t kGrain = 16384;

template <typename F>
void VisitIndex(DType dtype, F f) {
  if (dtype == DType::kInt32) {
    f(int32_t{});
  } else {
    f(int64_t{});
  }
}

// What an index of `dtype` may be at most.
int64_t Largest(DType dtype) {
  return dtype == DType::kInt32 ? std::numeric_limits<int32_t>::max()
                                : std::numeric_limits<int64_t>::max();
}

void RequireFits(const char* op, int64_t number, DType dtype) {
  PROA_REQUIRE(number <= Largest(dtype), op, ": ", number,
               " does not fit in an index of int32; give indices of int64");
}

}  // namespace

std::vector<int64_t> PlacesOf(const char* op, const Tensor& indices,
                              const Shape& shape) {
  shape.numel();  // refuses what no number counts
  const int64_t count = indices.size(1);
  std::vector<int64_t> places(count, 0);
  VisitIndex(indices.dtype(), [&]<typename T>(T) {
    const T* from = indices.data<T>();
    for (int d = 0; d < shape.rank(); ++d, from += count) {
      const int64_t n = shape[d];
      parallel_for(0, count, kGrain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t index = from[i];
          if (static_cast<uint64_t>(index) >= static_cast<uint64_t>(n)) {
            FailIndex(op, index, d * count + i, indices.shape(), n, d, false);
          }
          places[i] = places[i] * n + index;
        }
      });
    }
  });
  return places;
}

Tensor IndicesAt(const char* op, std::span<const int64_t> places,
                 const Shape& shape, DType dtype) {
  const int64_t count = static_cast<int64_t>(places.size());
  const Tensor out = Tensor::Empty({shape.rank(), count}, dtype);
  if (count == 0) return out;
  VisitIndex(dtype, [&]<typename T>(T) {
    T* to = out.data<T>();
    parallel_for(0, count, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t rest = places[i];
        for (int d = shape.rank() - 1; d >= 0; --d) {
          const int64_t index = rest % shape[d];
          rest /= shape[d];
          RequireFits(op, index, dtype);
          to[d * count + i] = static_cast<T>(index);
        }
      }
    });
  });
  return out;
}

Tensor NumbersIn(const char* op, std::span<const int64_t> numbers,
                 DType dtype) {
  const Tensor out =
      Tensor::Empty({static_cast<int64_t>(numbers.size())}, dtype);
  VisitIndex(dtype, [&]<typename T>(T) {
    std::transform(numbers.begin(), numbers.end(), out.data<T>(),
                   [&](int64_t number) {
                     RequireFits(op, number, dtype);
                     return static_cast<T>(number);
                   });
  });
  return out;
}

bool Rise(std::span<const int64_t> places) {
  return std::adjacent_find(places.begin(), places.end(),
                            std::greater_equal<>()) == places.end();
}

void RequireCoalesced(const char* op, const char* name, const Tensor& indices,
                      std::span<const int64_t> places) {
  const auto at =
      std::adjacent_find(places.begin(), places.end(), std::greater_equal<>());
  PROA_REQUIRE(at == places.end(), op, ": ", name,
               " must rise in row-major order, each once; the one at ",
               at - places.begin() + 1,
               " does not come after the one before it; coalesce the tensor "
               "first; ",
               name, " is ", Describe(indices));
}

}  // namespace proa::inline v0::ops::cpu
