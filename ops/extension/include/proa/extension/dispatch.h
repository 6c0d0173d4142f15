// Part of "proa/extension.h": the body of a kernel for each dtype.
//
//   PROA_DISPATCH_FLOATING(x.dtype(), "my_relu", [&] {
//     const data_t* in = x.data<data_t>();
//     ...
//   });
#ifndef PROA_EXTENSION_DISPATCH_H_
#define PROA_EXTENSION_DISPATCH_H_

#include "proa/extension/core.h"

#define PROA_EXTENSION_CASE(NAME, T, ...)   \
  case ::proa::extension::DataType::NAME: { \
    using data_t [[maybe_unused]] = T;      \
    return __VA_ARGS__();                   \
  }
#define PROA_EXTENSION_FLOATS(...)                 \
  PROA_EXTENSION_CASE(FLOAT32, float, __VA_ARGS__) \
  PROA_EXTENSION_CASE(FLOAT64, double, __VA_ARGS__)
#define PROA_EXTENSION_HALVES(...)                                      \
  PROA_EXTENSION_CASE(FLOAT16, ::proa::extension::float16, __VA_ARGS__) \
  PROA_EXTENSION_CASE(BFLOAT16, ::proa::extension::bfloat16, __VA_ARGS__)
#define PROA_EXTENSION_INTEGERS(...)               \
  PROA_EXTENSION_CASE(INT32, int32_t, __VA_ARGS__) \
  PROA_EXTENSION_CASE(INT64, int64_t, __VA_ARGS__) \
  PROA_EXTENSION_CASE(INT8, int8_t, __VA_ARGS__)   \
  PROA_EXTENSION_CASE(UINT8, uint8_t, __VA_ARGS__) \
  PROA_EXTENSION_CASE(INT16, int16_t, __VA_ARGS__)
#define PROA_EXTENSION_COMPLEXES(...)                                       \
  PROA_EXTENSION_CASE(COMPLEX64, ::proa::extension::complex64, __VA_ARGS__) \
  PROA_EXTENSION_CASE(COMPLEX128, ::proa::extension::complex128, __VA_ARGS__)
#define PROA_EXTENSION_BOOL(...) PROA_EXTENSION_CASE(BOOL, bool, __VA_ARGS__)

#define PROA_EXTENSION_SWITCH(TYPE, NAME, CASES)                            \
  [&] {                                                                     \
    const auto proa_dtype = TYPE;                                           \
    switch (proa_dtype) {                                                   \
      CASES                                                                 \
      default:                                                              \
        throw ::proa::extension::Error(                                     \
            PROA_TYPE_ERROR,                                                \
            ::proa::extension::Text(NAME, ": not for dtype ", proa_dtype)); \
    }                                                                       \
  }()

#define PROA_DISPATCH_FLOATING(TYPE, NAME, ...) \
  PROA_EXTENSION_SWITCH(TYPE, NAME, PROA_EXTENSION_FLOATS(__VA_ARGS__))
#define PROA_DISPATCH_FLOATING_AND_HALF(TYPE, NAME, ...)   \
  PROA_EXTENSION_SWITCH(TYPE, NAME,                        \
                        PROA_EXTENSION_FLOATS(__VA_ARGS__) \
                            PROA_EXTENSION_HALVES(__VA_ARGS__))
#define PROA_DISPATCH_INTEGRAL(TYPE, NAME, ...) \
  PROA_EXTENSION_SWITCH(TYPE, NAME, PROA_EXTENSION_INTEGERS(__VA_ARGS__))
#define PROA_DISPATCH_COMPLEX(TYPE, NAME, ...) \
  PROA_EXTENSION_SWITCH(TYPE, NAME, PROA_EXTENSION_COMPLEXES(__VA_ARGS__))
#define PROA_DISPATCH_FLOATING_AND_INTEGRAL(TYPE, NAME, ...) \
  PROA_EXTENSION_SWITCH(TYPE, NAME,                          \
                        PROA_EXTENSION_FLOATS(__VA_ARGS__)   \
                            PROA_EXTENSION_INTEGERS(__VA_ARGS__))
#define PROA_DISPATCH_BOOL_AND_INTEGRAL(TYPE, NAME, ...) \
  PROA_EXTENSION_SWITCH(TYPE, NAME,                      \
                        PROA_EXTENSION_BOOL(__VA_ARGS__) \
                            PROA_EXTENSION_INTEGERS(__VA_ARGS__))
#define PROA_DISPATCH_FLOATING_AND_COMPLEX(TYPE, NAME, ...) \
  PROA_EXTENSION_SWITCH(TYPE, NAME,                         \
                        PROA_EXTENSION_FLOATS(__VA_ARGS__)  \
                            PROA_EXTENSION_COMPLEXES(__VA_ARGS__))
#define PROA_DISPATCH_BOOL_AND_FLOATING_AND_INTEGRAL(TYPE, NAME, ...) \
  PROA_EXTENSION_SWITCH(TYPE, NAME,                                   \
                        PROA_EXTENSION_BOOL(__VA_ARGS__)              \
                            PROA_EXTENSION_FLOATS(__VA_ARGS__)        \
                                PROA_EXTENSION_INTEGERS(__VA_ARGS__))
#define PROA_DISPATCH_FLOATING_AND_INTEGRAL_AND_COMPLEX(TYPE, NAME, ...) \
  PROA_EXTENSION_SWITCH(TYPE, NAME,                                      \
                        PROA_EXTENSION_FLOATS(__VA_ARGS__)               \
                            PROA_EXTENSION_INTEGERS(__VA_ARGS__)         \
                                PROA_EXTENSION_COMPLEXES(__VA_ARGS__))
#define PROA_DISPATCH_BOOL_AND_FLOATING_AND_INTEGRAL_AND_COMPLEX(TYPE, NAME, \
                                                                 ...)        \
  PROA_EXTENSION_SWITCH(TYPE, NAME,                                          \
                        PROA_EXTENSION_BOOL(__VA_ARGS__)                     \
                            PROA_EXTENSION_FLOATS(__VA_ARGS__)               \
                                PROA_EXTENSION_INTEGERS(__VA_ARGS__)         \
                                    PROA_EXTENSION_COMPLEXES(__VA_ARGS__))

#endif  // PROA_EXTENSION_DISPATCH_H_
