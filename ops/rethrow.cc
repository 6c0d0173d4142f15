#include "ops/rethrow.h"

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace proa::inline v0::ops {

void RethrowFrom(const char* op, const Error& error) {
  std::string_view text = error.what();
  const std::string_view name = op;
  if (text.starts_with(name)) {
    text.remove_prefix(name.size());
    if (text.starts_with(":") || text.starts_with("_:")) throw;
  }
  error.ThrowAfter(absl::StrCat(op, ": "));
}

}  // namespace proa::inline v0::ops
