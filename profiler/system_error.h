// A failed system call as an absl::Status that keeps errno and the path, so
// that the edge to another language can give its own error of that kind
// (OSError of Python) instead of a guess by the status code.
#ifndef PROA_PROFILER_SYSTEM_ERROR_H_
#define PROA_PROFILER_SYSTEM_ERROR_H_

#include <optional>
#include <string>

#include "absl/status/status.h"

namespace proa::inline v0::profiler {

struct SystemFailure {
  int number = 0;    // errno
  std::string path;  // as the caller named the file
  std::string what;  // "cannot be written: No space left on device"
};

// "<path>: <what>: <text of errno>". Codes: kNotFound, kPermissionDenied,
// kResourceExhausted for a full disk, quota or size limit, else kUnknown.
absl::Status SystemError(int number, const std::string& path, const char* what);
// The same with a sentence of one's own instead of errno's.
absl::Status SystemErrorSaying(int number, const std::string& path,
                               const std::string& what);

// What SystemError was told; nothing for other statuses.
std::optional<SystemFailure> SystemFailureOf(const absl::Status& status);

}  // namespace proa::inline v0::profiler

#endif  // PROA_PROFILER_SYSTEM_ERROR_H_
