// proa::Error, the one exception of the core, and the macro that throws it.
//
// Front doors throw; the edges (Python, C API) catch and translate the code to
// the native exception. One sentence shape:
//   multiply: shapes do not broadcast at dim 1; x is [2, 3] float32,
//   y is [4] float32
// Parsing and files use absl::StatusOr instead. Broken invariants are CHECKs.
#ifndef PROA_TENSOR_ERROR_H_
#define PROA_TENSOR_ERROR_H_

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace proa::inline v0 {

// Whether errors remember the C++ frames that threw them. Off: it costs far
// more than the error itself.
void SetErrorFrames(bool on);

class Error : public std::runtime_error {
 public:
  Error(absl::StatusCode code, const std::string& message);
  absl::StatusCode code() const { return code_; }
  // Where it was thrown, a line for each frame, innermost first; "" unless
  // SetErrorFrames was on.
  std::string frames() const;

  // Throws the same error, from where it was thrown, with `note` on a line of
  // its own after its text.
  [[noreturn]] void ThrowWith(const std::string& note) const;
  // The same with `prefix` before its text.
  [[noreturn]] void ThrowAfter(const std::string& prefix) const;

 protected:
  struct Frames;
  // `error` with other words.
  Error(const Error& error, const std::string& message);
  [[noreturn]] virtual void ThrowAgain(const std::string& message) const;

 private:
  absl::StatusCode code_;
  std::shared_ptr<const Frames> frames_;
};

// How codes meet Python: kInvalidArgument ValueError, kOutOfRange IndexError,
// kUnimplemented NotImplementedError, kResourceExhausted MemoryError,
// kNotFound FileNotFoundError, kPermissionDenied PermissionError,
// kFailedPrecondition and others RuntimeError; TypeError is thrown by
// ThrowTypeError below.
[[noreturn]] void ThrowError(absl::StatusCode code, const std::string& message);

// An argument of the wrong kind (dtype, None, not a tensor): Python's
// TypeError.
class TypeError : public Error {
 public:
  explicit TypeError(const std::string& message)
      : Error(absl::StatusCode::kInvalidArgument, message) {}

 private:
  using Error::Error;
  [[noreturn]] void ThrowAgain(const std::string& message) const override;
};
[[noreturn]] void ThrowTypeError(const std::string& message);

// Throws Error for a status that is not OK.
void ThrowIfError(const absl::Status& status);

namespace error_internal {
// absl::StrCat as it comes with Debian takes no std::string_view.
inline absl::string_view Piece(std::string_view s) {
  return {s.data(), s.size()};
}
template <typename T>
requires(!std::is_same_v<T, std::string_view>) const T& Piece(const T& v) {
  return v;
}
}  // namespace error_internal

template <typename... Args>
[[noreturn]] __attribute__((noinline, cold)) void Fail(absl::StatusCode code,
                                                       const Args&... args) {
  ThrowError(code, absl::StrCat(error_internal::Piece(args)...));
}
template <typename... Args>
[[noreturn]] __attribute__((noinline, cold)) void FailArgument(
    const Args&... args) {
  ThrowError(absl::StatusCode::kInvalidArgument,
             absl::StrCat(error_internal::Piece(args)...));
}

}  // namespace proa::inline v0

// PROA_REQUIRE(cond, "add: ", ...): throws kInvalidArgument unless `cond`.
#define PROA_REQUIRE(cond, ...)          \
  do {                                   \
    if (!(cond)) [[unlikely]] {          \
      ::proa::FailArgument(__VA_ARGS__); \
    }                                    \
  } while (false)

#endif  // PROA_TENSOR_ERROR_H_
