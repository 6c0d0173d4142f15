#include "tensor/error.h"

#include <string>

namespace proa::inline v0 {

void ThrowError(absl::StatusCode code, const std::string& message) {
  throw Error(code, message);
}

void ThrowTypeError(const std::string& message) { throw TypeError(message); }

void ThrowIfError(const absl::Status& status) {
  if (status.ok()) return;
  const absl::string_view message = status.message();
  throw Error(status.code(), std::string(message.data(), message.size()));
}

}  // namespace proa::inline v0
