#include "profiler/system_error.h"

#include <cerrno>
#include <charconv>
#include <cstring>

#include "absl/strings/cord.h"

namespace proa::inline v0::profiler {
namespace {

// Its text is "<errno> <length of the path> <path><what>".
constexpr const char* kPayload = "proa.system_failure";

absl::StatusCode CodeOf(int number) {
  switch (number) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return absl::StatusCode::kResourceExhausted;
    case ENOENT:
    case ENOTDIR:
      return absl::StatusCode::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::StatusCode::kPermissionDenied;
    default:
      return absl::StatusCode::kUnknown;
  }
}

}  // namespace

absl::Status SystemErrorSaying(int number, const std::string& path,
                               const std::string& what) {
  absl::Status status(CodeOf(number), path + ": " + what);
  const std::string head =
      std::to_string(number) + " " + std::to_string(path.size()) + " ";
  status.SetPayload(kPayload, absl::Cord(head + path + what));
  return status;
}

absl::Status SystemError(int number, const std::string& path,
                         const char* what) {
  return SystemErrorSaying(number, path,
                           std::string(what) + ": " + std::strerror(number));
}

std::optional<SystemFailure> SystemFailureOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kPayload);
  if (!payload.has_value()) return std::nullopt;
  const std::string text(*payload);
  SystemFailure failure;
  size_t length = 0;
  const char* const end = text.data() + text.size();
  const char* at = std::from_chars(text.data(), end, failure.number).ptr;
  if (at != end) at = std::from_chars(at + 1, end, length).ptr;
  if (at == end || static_cast<size_t>(end - at - 1) < length) {
    return std::nullopt;
  }
  failure.path.assign(at + 1, length);
  failure.what.assign(at + 1 + length, end);
  return failure;
}

}  // namespace proa::inline v0::profiler
