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

// Dims 0, 2 and 3 of the query.
void RequireKey(const char* op, const char* name, const Tensor& key,
                const Tensor& query) {
  RequireRank4(op, name, key);
  for (const int d : {0, 2, 3}) {
    PROA_REQUIRE(!Differ(key.size(d), query.size(d)), op, ": ", name,
                 " must be [", query.size(0), ", S, ", query.size(2), ", ",
                 query.size(3), "], as query is ", Describe(query), "; it is ",
                 Describe(key));
  }
}

// Dims 0, 1 and 2 of the key.
void RequireValue(const char* op, const char* name, const Tensor& value,
                  const Tensor& key) {
  RequireRank4(op, name, value);
  for (const int d : {0, 1, 2}) {
    PROA_REQUIRE(!Differ(value.size(d), key.size(d)), op, ": ", name,
                 " must be [", key.size(0), ", ", key.size(1), ", ",
                 key.size(2), ", E], as its key is ", Describe(key), "; it is ",
                 Describe(value));
  }
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
  RequireKey(op, "past_key", past_key, query);
  RequireKey(op, "key", key, query);
  RequireValue(op, "past_value", past_value, past_key);
  RequireValue(op, "value", value, key);
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
