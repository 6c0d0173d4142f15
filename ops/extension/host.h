// The host's side of the C interface (include/proa/extension_abi.h): the table
// of functions that extensions get, and the ways of values across.
#ifndef PROA_OPS_EXTENSION_HOST_H_
#define PROA_OPS_EXTENSION_HOST_H_

#include <span>
#include <vector>

#include "ops/extension/custom_op.h"
#include "ops/extension/include/proa/extension_abi.h"
#include "ops/value.h"

namespace proa::inline v0::ops {

const ProaHost& ExtensionHost();

// Boxed arguments as the interface has them; valid as long as this and they
// are.
class AbiValues {
 public:
  AbiValues(const std::vector<CustomParam>& params,
            std::span<const Value> args);
  const ProaValue* data() const { return values_.data(); }
  size_t size() const { return values_.size(); }

 private:
  std::vector<ProaValue> values_;
  std::vector<std::vector<ProaTensor>> tensors_;
  std::vector<std::vector<std::string>> strings_;
  std::vector<std::vector<ProaText>> texts_;
};

// The value, as an attribute (or None).
Value FromAbi(const ProaValue& v);

// Throws the error that an extension set, as function `what` of it returned
// `kind`; without one set, that it set none.
[[noreturn]] void ThrowExtensionError(int32_t kind, const char* what);

// What a kernel and inference write to.
int32_t SinkResult(void* results, size_t output, ProaTensor tensor);
int32_t SinkMeta(void* metas, size_t output, const ProaMeta* meta);

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_EXTENSION_HOST_H_
