#include "ops/nn/pool_places.h"

#include <limits>
#include <type_traits>

#include "ops/nn/float_copy.h"
#include "ops/primitives/cpu/strided_copy.h"

namespace proa::inline v0::ops {
namespace {

// out = zeros, and put(element, value) for each value where its place says.
template <typename Put>
void Place(const char* op, const PoolGeometry& g, const Tensor& values,
           const Tensor& places, const Tensor& out, Put put) {
  cpu::Zero(out);
  VisitFloat(values.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = values.data<T>();
    T* to = out.data<T>();
    ForEachPlace(op, g, places.data<int32_t>(), [&](int64_t o, int64_t i) {
      if (i >= 0) put(to[i], from[o]);
    });
  });
}

}  // namespace

void RequirePlaces(const char* op, const PoolGeometry& g) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  PROA_REQUIRE(
      g.in[0] <= kMost / g.in[1] && g.in[0] * g.in[1] <= kMost / g.in[2], op,
      ": an image of ", ToString(g.InputShape()),
      " is too large for int32 indices");
}

void AddToPlaces(const char* op, const PoolGeometry& g, const Tensor& values,
                 const Tensor& places, const Tensor& out) {
  Place(op, g, values, places, out, [](auto& to, auto value) {
    using T = std::remove_reference_t<decltype(to)>;
    to = T(to + value);
  });
}

void PutToPlaces(const char* op, const PoolGeometry& g, const Tensor& values,
                 const Tensor& places, const Tensor& out) {
  Place(op, g, values, places, out, [](auto& to, auto value) { to = value; });
}

}  // namespace proa::inline v0::ops
