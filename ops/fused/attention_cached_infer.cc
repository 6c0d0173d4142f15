// Shape of attention_cached.yaml, and what it refuses.
#include <string>

#include "ops/fused/fused_infer.h"
#include "ops/infer.h"
#include "ops/manipulation/manipulation_infer.h"
#include "tensor/dtype.h"
#include "tensor/error.h"

namespace proa::inline v0::ops::infer {
namespace {

void RequireRank4(const char* op, const char* name, const Tensor& t) {
  PROA_REQUIRE(t.rank() == 4, op, ": ", name, " must have 4 dims; it is ",
               Describe(t));
}

// What a key has of its query, and a value of its key: some sizes; the one that
// is free is called `free_size`.
void RequireSizes(const char* op, const char* name, const Tensor& t,
                  const char* of, const Tensor& other, int free_dim,
                  const char* free_size) {
  RequireRank4(op, name, t);
  std::string wanted;
  bool differ = false;
  for (int d = 0; d < 4; ++d) {
    wanted += d == 0 ? "[" : ", ";
    wanted += d == free_dim ? free_size : std::to_string(other.size(d));
    differ |= d != free_dim && Differ(t.size(d), other.size(d));
  }
  PROA_REQUIRE(!differ, op, ": ", name, " must be ", wanted, "], as ", of,
               " is ", Describe(other), "; it is ", Describe(t));
}

void RequireDType(const char* op, const char* name, const Tensor& t,
                  const Tensor& query) {
  if (t.dtype() == query.dtype()) return;
  ThrowTypeError(std::string(op) + ": " + name +
                 " must have the dtype of query, " +
                 std::string(Name(query.dtype())) + "; it is " + Describe(t));
}

}  // namespace

Shape attention_cached(const char* op, const Tensor& query,
                       const Tensor& past_key, const Tensor& key,
                       const Tensor& past_value, const Tensor& value,
                       const Tensor& mask) {
  RequireRank4(op, "query", query);
  RequireSizes(op, "past_key", past_key, "query", query, 1, "S");
  RequireSizes(op, "key", key, "query", query, 1, "S");
  RequireSizes(op, "past_value", past_value, "past_key", past_key, 3, "E");
  RequireSizes(op, "value", value, "key", key, 3, "E");
  PROA_REQUIRE(!Differ(value.size(3), past_value.size(3)), op,
               ": value must be [", key.size(0), ", ", key.size(1), ", ",
               key.size(2), ", ", past_value.size(3), "], as past_value is ",
               Describe(past_value), "; it is ", Describe(value));
  RequireDType(op, "past_key", past_key, query);
  RequireDType(op, "key", key, query);
  RequireDType(op, "past_value", past_value, query);
  RequireDType(op, "value", value, query);
  // Integers have no softmax.
  if (!IsFloat(query.dtype())) {
    ThrowTypeError(std::string(op) + ": query and key must be floating; they " +
                   "are of " + std::string(Name(query.dtype())));
  }
  if (mask.defined()) {
    if (!IsFloat(mask.dtype())) {
      ThrowTypeError(std::string(op) + ": mask must be a float tensor; it is " +
                     Describe(mask));
    }
    const int64_t whole[] = {query.size(0), query.size(2), query.size(1),
                             AddSizes(op, past_key.size(1), key.size(1))};
    bool fits = mask.rank() <= 4;
    for (int d = 1; fits && d <= mask.rank(); ++d) {
      const int64_t size = mask.size(mask.rank() - d);
      fits = size == 1 || !Differ(size, whole[4 - d]);
    }
    PROA_REQUIRE(fits, op, ": mask does not broadcast to [", whole[0], ", ",
                 whole[1], ", ", whole[2], ", ", whole[3], "]; it is ",
                 Describe(mask));
  }
  return {query.size(0), query.size(1), query.size(2), value.size(3)};
}

}  // namespace proa::inline v0::ops::infer
