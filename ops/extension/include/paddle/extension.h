// "proa/extension.h" by the names that sources of custom operators have which
// were written for the reference. They compile as they are.
#ifndef PADDLE_EXTENSION_H_
#define PADDLE_EXTENSION_H_

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "proa/extension.h"  // IWYU pragma: export

namespace paddle {
using namespace ::proa::extension;  // NOLINT: names of the same library

// Places as values, comparable with what Tensor::place() gives.
struct PlaceType {
  static constexpr Place kUNK = Place(-1, 0);
  static constexpr Place kCPU = Place(0, 0);
  static constexpr Place kGPU = Place(1, 0);
};

namespace experimental {
using namespace ::proa::extension;  // NOLINT
}  // namespace experimental
}  // namespace paddle

namespace phi {
using ::proa::extension::AllocationType;
using ::proa::extension::CPUPlace;
using ::proa::extension::DataType;
using ::proa::extension::GPUPlace;
using ::proa::extension::Place;
namespace dtype {
using ::proa::extension::bfloat16;
using ::proa::extension::complex;
using ::proa::extension::float16;
}  // namespace dtype
}  // namespace phi

// Errors that PADDLE_ENFORCE throws: printf's formats.
namespace common {
namespace errors {
struct Message {
  int32_t kind;
  std::string text;
};
#define PADDLE_EXTENSION_ERROR(name, error)                         \
  template <typename... Args>                                       \
  Message name(const char* format, const Args&... args) {           \
    if constexpr (sizeof...(args) == 0) {                           \
      return {error, format};                                       \
    } else {                                                        \
      const int n = std::snprintf(nullptr, 0, format, args...);     \
      std::string text(n > 0 ? static_cast<size_t>(n) : 0, '\0');   \
      std::snprintf(text.data(), text.size() + 1, format, args...); \
      return {error, text};                                         \
    }                                                               \
  }
PADDLE_EXTENSION_ERROR(InvalidArgument, PROA_VALUE_ERROR)
PADDLE_EXTENSION_ERROR(NotFound, PROA_ERROR)
PADDLE_EXTENSION_ERROR(OutOfRange, PROA_INDEX_ERROR)
PADDLE_EXTENSION_ERROR(Unimplemented, PROA_NOT_IMPLEMENTED)
PADDLE_EXTENSION_ERROR(PreconditionNotMet, PROA_ERROR)
PADDLE_EXTENSION_ERROR(Unavailable, PROA_ERROR)
PADDLE_EXTENSION_ERROR(Fatal, PROA_ERROR)
PADDLE_EXTENSION_ERROR(External, PROA_ERROR)
#undef PADDLE_EXTENSION_ERROR
}  // namespace errors
}  // namespace common
namespace phi {
namespace errors = ::common::errors;
}  // namespace phi

#define PD_THROW(...) PROA_THROW(__VA_ARGS__)
#define PD_CHECK(...) PROA_CHECK(__VA_ARGS__)
#define PADDLE_THROW(message)                                             \
  do {                                                                    \
    const auto proa_message = message;                                    \
    throw ::proa::extension::Error(proa_message.kind, proa_message.text); \
  } while (false)
#define PADDLE_ENFORCE(condition, message)   \
  do {                                       \
    if (!(condition)) PADDLE_THROW(message); \
  } while (false)
#define PADDLE_ENFORCE_NOT_NULL(pointer, message) \
  PADDLE_ENFORCE((pointer) != nullptr, message)
#define PADDLE_EXTENSION_COMPARE(a, op, b, message) \
  PADDLE_ENFORCE((a)op(b), message)
#define PADDLE_ENFORCE_EQ(a, b, ...) \
  PADDLE_EXTENSION_ENFORCE_2(a, ==, b, __VA_ARGS__)
#define PADDLE_ENFORCE_NE(a, b, ...) \
  PADDLE_EXTENSION_ENFORCE_2(a, !=, b, __VA_ARGS__)
#define PADDLE_ENFORCE_GT(a, b, ...) \
  PADDLE_EXTENSION_ENFORCE_2(a, >, b, __VA_ARGS__)
#define PADDLE_ENFORCE_GE(a, b, ...) \
  PADDLE_EXTENSION_ENFORCE_2(a, >=, b, __VA_ARGS__)
#define PADDLE_ENFORCE_LT(a, b, ...) \
  PADDLE_EXTENSION_ENFORCE_2(a, <, b, __VA_ARGS__)
#define PADDLE_ENFORCE_LE(a, b, ...) \
  PADDLE_EXTENSION_ENFORCE_2(a, <=, b, __VA_ARGS__)
#define PADDLE_EXTENSION_ENFORCE_2(a, op, b, ...) \
  PADDLE_EXTENSION_COMPARE(a, op, b, (__VA_ARGS__))

#define PD_BUILD_OP(...) PROA_EXTENSION_BUILD(__VA_ARGS__, 0)
#define PD_BUILD_GRAD_OP(...) PROA_EXTENSION_BUILD(__VA_ARGS__, 1)
#define PD_BUILD_DOUBLE_GRAD_OP(...) PROA_EXTENSION_BUILD(__VA_ARGS__, 2)
#define PD_KERNEL(...) PROA_KERNEL(__VA_ARGS__)
#define PD_INFER_SHAPE(...) PROA_INFER_SHAPE(__VA_ARGS__)
#define PD_INFER_DTYPE(...) PROA_INFER_DTYPE(__VA_ARGS__)

#define PD_DISPATCH_FLOATING_TYPES(TYPE, NAME, ...) \
  PROA_DISPATCH_FLOATING(TYPE, NAME, __VA_ARGS__)
#define PD_DISPATCH_FLOATING_AND_HALF_TYPES(TYPE, NAME, ...) \
  PROA_DISPATCH_FLOATING_AND_HALF(TYPE, NAME, __VA_ARGS__)
#define PD_DISPATCH_INTEGRAL_TYPES(TYPE, NAME, ...) \
  PROA_DISPATCH_INTEGRAL(TYPE, NAME, __VA_ARGS__)
#define PD_DISPATCH_BOOL_AND_INTEGRAL_TYPES(TYPE, NAME, ...) \
  PROA_DISPATCH_BOOL_AND_INTEGRAL(TYPE, NAME, __VA_ARGS__)
#define PD_DISPATCH_COMPLEX_TYPES(TYPE, NAME, ...) \
  PROA_DISPATCH_COMPLEX(TYPE, NAME, __VA_ARGS__)
#define PD_DISPATCH_FLOATING_AND_INTEGRAL_TYPES(TYPE, NAME, ...) \
  PROA_DISPATCH_FLOATING_AND_INTEGRAL(TYPE, NAME, __VA_ARGS__)
#define PD_DISPATCH_FLOATING_AND_COMPLEX_TYPES(TYPE, NAME, ...) \
  PROA_DISPATCH_FLOATING_AND_COMPLEX(TYPE, NAME, __VA_ARGS__)
#define PD_DISPATCH_BOOL_AND_FLOATING_AND_INTEGRAL_TYPES(TYPE, NAME, ...) \
  PROA_DISPATCH_BOOL_AND_FLOATING_AND_INTEGRAL(TYPE, NAME, __VA_ARGS__)
#define PD_DISPATCH_FLOATING_AND_INTEGRAL_AND_COMPLEX_TYPES(TYPE, NAME, ...) \
  PROA_DISPATCH_FLOATING_AND_INTEGRAL_AND_COMPLEX(TYPE, NAME, __VA_ARGS__)
#define PD_DISPATCH_BOOL_AND_FLOATING_AND_INTEGRAL_AND_COMPLEX_TYPES(  \
    TYPE, NAME, ...)                                                   \
  PROA_DISPATCH_BOOL_AND_FLOATING_AND_INTEGRAL_AND_COMPLEX(TYPE, NAME, \
                                                           __VA_ARGS__)

#endif  // PADDLE_EXTENSION_H_
