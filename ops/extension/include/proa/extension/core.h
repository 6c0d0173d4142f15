// Part of "proa/extension.h": errors, dtypes, places, and the host's functions.
#ifndef PROA_EXTENSION_CORE_H_
#define PROA_EXTENSION_CORE_H_

#include <complex>
#include <cstdint>
#include <cstring>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "proa/extension_abi.h"

namespace proa {
// Hidden: two extensions in one process share nothing of this.
namespace extension __attribute__((visibility("hidden"))) {

  // What went wrong; `kind` decides which exception the user of the op sees
  // (PROA_VALUE_ERROR: ValueError, ...). Any other std::exception is a
  // RuntimeError.
  class Error : public std::runtime_error {
   public:
    Error(int32_t kind, const std::string& text)
        : std::runtime_error(text), kind_(kind) {}
    explicit Error(const std::string& text) : Error(PROA_ERROR, text) {}
    int32_t kind() const { return kind_; }

   private:
    int32_t kind_;
  };

  template <typename... Parts>
  std::string Text(const Parts&... parts) {
    std::ostringstream out;
    (out << ... << parts);
    return out.str();
  }

  // The table that the host gave; set before any op runs.
  inline const ProaHost*& HostSlot() {
    static const ProaHost* host = nullptr;
    return host;
  }
  inline const ProaHost& Host() {
    if (HostSlot() == nullptr) {
      throw Error("this library is not loaded as an extension of Proa");
    }
    return *HostSlot();
  }
  inline void Check(int32_t kind) {
    if (kind == PROA_OK) return;
    int32_t last = kind;
    const std::string text = Host().last_error(&last);
    throw Error(kind, text);
  }

  // Elements ------------------------------------------------------------------

  // 16-bit floats, to be computed with as float.
  struct float16 {
    uint16_t x = 0;
    float16() = default;
    float16(float value) {  // NOLINT: numbers convert
      uint32_t f;
      std::memcpy(&f, &value, 4);
      const uint32_t sign = f >> 16 & 0x8000u;
      f &= 0x7fffffffu;
      if (f > 0x7f800000u) {
        x = static_cast<uint16_t>(sign | 0x7e00u);
      } else if (f >= 0x47800000u) {
        x = static_cast<uint16_t>(sign | 0x7c00u);
      } else if (f < 0x38800000u) {  // subnormal: in units of 2^-24
        float magnitude;
        std::memcpy(&magnitude, &f, 4);
        magnitude += 0.5f;  // rounds at 2^-24, to even
        uint32_t bits;
        std::memcpy(&bits, &magnitude, 4);
        x = static_cast<uint16_t>(sign | (bits - 0x3f000000u));
      } else {
        f += 0xc8000fffu + (f >> 13 & 1u);
        x = static_cast<uint16_t>(sign | f >> 13);
      }
    }
    operator float() const {  // NOLINT
      const uint32_t sign = (x & 0x8000u) << 16;
      const uint32_t rest = x & 0x7fffu;
      float value;
      if (rest >= 0x7c00u) {
        const uint32_t f = sign | 0x7f800000u | (rest & 0x3ffu) << 13;
        std::memcpy(&value, &f, 4);
      } else if (rest < 0x400u) {
        value = static_cast<float>(rest) * 0x1p-24f;
        if (sign != 0) value = -value;
      } else {
        const uint32_t f = sign | ((rest << 13) + 0x38000000u);
        std::memcpy(&value, &f, 4);
      }
      return value;
    }
  };

  struct bfloat16 {
    uint16_t x = 0;
    bfloat16() = default;
    bfloat16(float value) {  // NOLINT: numbers convert
      uint32_t f;
      std::memcpy(&f, &value, 4);
      if ((f & 0x7fffffffu) > 0x7f800000u) {
        x = static_cast<uint16_t>(f >> 16 | 0x40u);
      } else {
        x = static_cast<uint16_t>((f + 0x7fffu + (f >> 16 & 1u)) >> 16);
      }
    }
    operator float() const {  // NOLINT
      const uint32_t f = static_cast<uint32_t>(x) << 16;
      float value;
      std::memcpy(&value, &f, 4);
      return value;
    }
  };

  // Two numbers side by side, as a complex tensor holds them.
  template <typename T>
  struct complex {
    T real = 0;
    T imag = 0;
    complex() = default;
    complex(T re, T im = 0) : real(re), imag(im) {}              // NOLINT
    complex(std::complex<T> c) : complex(c.real(), c.imag()) {}  // NOLINT
    operator std::complex<T>() const { return {real, imag}; }    // NOLINT
    friend complex operator+(complex a, complex b) {
      return {a.real + b.real, a.imag + b.imag};
    }
    friend complex operator-(complex a, complex b) {
      return {a.real - b.real, a.imag - b.imag};
    }
    friend complex operator-(complex a) { return {-a.real, -a.imag}; }
    friend complex operator*(complex a, complex b) {
      return std::complex<T>(a) * std::complex<T>(b);
    }
    friend complex operator/(complex a, complex b) {
      return std::complex<T>(a) / std::complex<T>(b);
    }
    complex& operator+=(complex b) { return *this = *this + b; }
    complex& operator-=(complex b) { return *this = *this - b; }
    complex& operator*=(complex b) { return *this = *this * b; }
    friend bool operator==(complex a, complex b) {
      return a.real == b.real && a.imag == b.imag;
    }
    friend bool operator!=(complex a, complex b) { return !(a == b); }
  };
  template <typename T>
  complex<T> conj(complex<T> c) {
    return {c.real, -c.imag};
  }
  using complex64 = complex<float>;
  using complex128 = complex<double>;

  enum class DataType : int32_t {
    UNDEFINED = -1,
    BOOL = PROA_BOOL,
    UINT8 = PROA_UINT8,
    INT8 = PROA_INT8,
    INT16 = PROA_INT16,
    INT32 = PROA_INT32,
    INT64 = PROA_INT64,
    FLOAT16 = PROA_FLOAT16,
    BFLOAT16 = PROA_BFLOAT16,
    FLOAT32 = PROA_FLOAT32,
    FLOAT64 = PROA_FLOAT64,
    COMPLEX64 = PROA_COMPLEX64,
    COMPLEX128 = PROA_COMPLEX128,
  };

  inline const char* Name(DataType t) {
    constexpr const char* kNames[] = {
        "bool",    "uint8",    "int8",    "int16",   "int32",     "int64",
        "float16", "bfloat16", "float32", "float64", "complex64", "complex128"};
    const auto i = static_cast<int32_t>(t);
    return i >= 0 && i < 12 ? kNames[i] : "undefined";
  }
  inline std::ostream& operator<<(std::ostream& out, DataType t) {
    return out << Name(t);
  }

  // The dtype whose elements are T.
  template <typename T>
  struct CppTypeToDataType;
#define PROA_EXTENSION_DTYPE(T, name)                  \
  template <>                                          \
  struct CppTypeToDataType<T> {                        \
    static constexpr DataType value = DataType::name;  \
    static constexpr DataType Type() { return value; } \
  }
  PROA_EXTENSION_DTYPE(bool, BOOL);
  PROA_EXTENSION_DTYPE(uint8_t, UINT8);
  PROA_EXTENSION_DTYPE(int8_t, INT8);
  PROA_EXTENSION_DTYPE(int16_t, INT16);
  PROA_EXTENSION_DTYPE(int32_t, INT32);
  PROA_EXTENSION_DTYPE(int64_t, INT64);
  PROA_EXTENSION_DTYPE(float16, FLOAT16);
  PROA_EXTENSION_DTYPE(bfloat16, BFLOAT16);
  PROA_EXTENSION_DTYPE(float, FLOAT32);
  PROA_EXTENSION_DTYPE(double, FLOAT64);
  PROA_EXTENSION_DTYPE(complex64, COMPLEX64);
  PROA_EXTENSION_DTYPE(complex128, COMPLEX128);
  PROA_EXTENSION_DTYPE(std::complex<float>, COMPLEX64);
  PROA_EXTENSION_DTYPE(std::complex<double>, COMPLEX128);
#undef PROA_EXTENSION_DTYPE

  // Places --------------------------------------------------------------------

  enum class AllocationType : int32_t { UNDEFINED = -1, CPU = 0, GPU = 1 };

  class Place {
   public:
    constexpr Place() = default;
    constexpr Place(int32_t kind, int32_t index) : place_{kind, index} {}
    constexpr Place(AllocationType kind)  // NOLINT: a kind is a place
        : place_{static_cast<int32_t>(kind), 0} {}
    constexpr Place(ProaPlace place) : place_(place) {}  // NOLINT
    AllocationType GetType() const {
      return static_cast<AllocationType>(place_.kind);
    }
    int8_t GetDeviceId() const { return static_cast<int8_t>(place_.index); }
    ProaPlace abi() const { return place_; }
    friend bool operator==(const Place& a, const Place& b) {
      return a.place_.kind == b.place_.kind && a.place_.index == b.place_.index;
    }
    friend bool operator!=(const Place& a, const Place& b) { return !(a == b); }

   private:
    ProaPlace place_ = {0, 0};
  };

  class CPUPlace : public Place {
   public:
    constexpr CPUPlace() : Place(0, 0) {}
  };
  class GPUPlace : public Place {
   public:
    explicit constexpr GPUPlace(int32_t index = 0) : Place(1, index) {}
  };

  enum class DataLayout : int32_t {
    UNDEFINED = 0,
    NHWC = 1,
    NCHW = 2,
    ANY = 3
  };

  // An optional tensor, shape or dtype: std::optional with two more names.
  template <typename T>
  class optional : public std::optional<T> {
   public:
    using std::optional<T>::optional;
    T& get() { return this->value(); }
    const T& get() const { return this->value(); }
    T* get_ptr() { return this->has_value() ? &**this : nullptr; }
    const T* get_ptr() const { return this->has_value() ? &**this : nullptr; }
    bool is_initialized() const { return this->has_value(); }
  };
  inline constexpr std::nullopt_t none = std::nullopt;

}  // namespace extension
}  // namespace proa

// Throws an Error of the parts, in one text.
#define PROA_THROW(...) \
  throw ::proa::extension::Error(::proa::extension::Text(__VA_ARGS__))
// PROA_CHECK(x.is_cpu(), "x lies elsewhere"): throws unless the condition
// holds.
#define PROA_CHECK(condition, ...)                                             \
  do {                                                                         \
    if (!(condition)) {                                                        \
      throw ::proa::extension::Error(                                          \
          PROA_VALUE_ERROR,                                                    \
          ::proa::extension::Text(::proa::extension::FailedCheck(__VA_ARGS__), \
                                  " (", #condition, " is false, ", __FILE__,   \
                                  ":", __LINE__, ")"));                        \
    }                                                                          \
  } while (false)

namespace proa {
namespace extension __attribute__((visibility("hidden"))) {
  template <typename... Parts>
  std::string FailedCheck(const Parts&... parts) {
    if constexpr (sizeof...(parts) == 0) {
      return "a check failed";
    } else {
      return Text(parts...);
    }
  }
}  // namespace extension
}  // namespace proa

#endif  // PROA_EXTENSION_CORE_H_
