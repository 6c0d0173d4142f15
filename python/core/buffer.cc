#include "python/core/buffer.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

#include "python/core/error.h"
#include "python/core/gil.h"
#include "tensor/error.h"
#include "tensor/shape.h"

namespace proa::inline v0::python {
namespace {

class Buffer {
 public:
  explicit Buffer(PyObject* o)
      : ok_(PyObject_GetBuffer(o, &view_, PyBUF_FULL_RO) == 0) {}
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() {
    if (!ok_) return;
    BeforeGivingBack();
    PyBuffer_Release(&view_);
  }
  bool ok() const { return ok_; }
  const Py_buffer& view() const { return view_; }

 private:
  Py_buffer view_;
  bool ok_;
};

// How the elements of a buffer lie. Exporters leave out what they need not say
// (ctypes gives no strides).
struct BufferLayout {
  Shape shape;
  Strides strides;  // in bytes
  int ndim() const { return shape.rank(); }
};

BufferLayout LayoutOf(const Py_buffer& v) {
  PROA_REQUIRE(v.ndim >= 0 && v.itemsize > 0 && v.len >= 0,
               "to_tensor: the buffer has ", v.ndim, " dims, elements of ",
               v.itemsize, " bytes and ", v.len, " bytes in all");
  BufferLayout layout;
  if (v.shape != nullptr) {
    layout.shape =
        Shape(std::span<const int64_t>(v.shape, static_cast<size_t>(v.ndim)));
  } else if (v.ndim > 0) {
    PROA_REQUIRE(v.ndim == 1, "to_tensor: the buffer has ", v.ndim,
                 " dims, but no shape");
    layout.shape.push_back(v.len / v.itemsize);
  }
  int64_t elements = 1;
  for (const int64_t n : layout.shape) {
    PROA_REQUIRE(n >= 0 && !__builtin_mul_overflow(elements, n, &elements),
                 "to_tensor: the buffer has the shape ",
                 ToString(layout.shape));
  }
  for (int i = 0; v.suboffsets != nullptr && i < v.ndim; ++i) {
    PROA_REQUIRE(v.suboffsets[i] < 0,
                 "to_tensor: the buffer has its rows in different places "
                 "(suboffsets); copy it first");
  }
  if (v.strides != nullptr) {
    layout.strides = Strides(v.strides, v.strides + v.ndim);
    return layout;
  }
  PROA_REQUIRE(elements <= v.len / v.itemsize, "to_tensor: the buffer has ",
               v.len, " bytes, too few for the shape ", ToString(layout.shape),
               " with elements of ", v.itemsize, " bytes");
  layout.strides = ContiguousStrides(layout.shape);
  for (int64_t& stride : layout.strides) stride *= v.itemsize;
  return layout;
}

// The same elements in the same order with as few dims as can be: a picture is
// copied as one run, not pixel by pixel.
BufferLayout Merged(const BufferLayout& layout) {
  BufferLayout out;
  for (int i = 0; i < layout.ndim(); ++i) {
    const int64_t n = layout.shape[i], stride = layout.strides[i];
    if (n == 1) continue;
    int64_t reach;
    if (out.ndim() > 0 && !__builtin_mul_overflow(n, stride, &reach) &&
        out.strides.back() == reach) {
      out.shape[out.ndim() - 1] *= n;
      out.strides.back() = stride;
    } else {
      out.shape.push_back(n);
      out.strides.push_back(stride);
    }
  }
  return out;
}

// Copies the elements of a strided buffer one after the other to `out`.
template <typename From, typename To, typename Convert>
To* CopyElements(const char* from, const BufferLayout& v, int dim, To* out,
                 const Convert& convert) {
  if (dim == v.ndim()) {
    From element;
    std::memcpy(&element, from, sizeof(From));
    *out = convert(element);
    return out + 1;
  }
  const int64_t n = v.shape[dim];
  const int64_t stride = v.strides[dim];
  if (dim + 1 == v.ndim()) {
    if constexpr (std::is_same_v<From, To>) {
      if (stride == sizeof(From)) {
        std::memcpy(out, from, n * sizeof(From));
        return out + n;
      }
    }
    for (int64_t i = 0; i < n; ++i) {
      From element;
      std::memcpy(&element, from + i * stride, sizeof(From));
      out[i] = convert(element);
    }
    return out + n;
  }
  for (int64_t i = 0; i < n; ++i) {
    out = CopyElements<From>(from + i * stride, v, dim + 1, out, convert);
  }
  return out;
}

template <typename From, typename To, typename Convert>
Tensor Copy(const Py_buffer& v, DType dtype, const Convert& convert) {
  PROA_REQUIRE(v.itemsize == sizeof(From),
               "to_tensor: the buffer has elements of ", v.itemsize,
               " bytes; its format '", v.format == nullptr ? "B" : v.format,
               "' says ", sizeof(From));
  const BufferLayout layout = LayoutOf(v);
  Tensor t = Tensor::Empty(layout.shape, dtype);
  if (t.numel() > 0) {
    WithoutGil(t.numel(), [&] {
      CopyElements<From>(static_cast<const char*>(v.buf), Merged(layout), 0,
                         t.data<To>(), convert);
    });
  }
  return t;
}

template <typename T>
Tensor CopySame(const Py_buffer& v) {
  return Copy<T, T>(v, kDTypeOf<T>, [](T e) { return e; });
}

Tensor CopyUnsigned64(const Py_buffer& v) {
  bool fits = true;
  Tensor t = Copy<uint64_t, int64_t>(v, DType::kInt64, [&](uint64_t e) {
    fits &= e <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    return static_cast<int64_t>(e);
  });
  PROA_REQUIRE(
      fits, "to_tensor: an element of the uint64 array does not fit in int64");
  return t;
}

// bool is copied from bytes, of which any but 0 is true.
Tensor CopyBool(const Py_buffer& v) {
  return Copy<uint8_t, bool>(v, DType::kBool, [](uint8_t e) { return e != 0; });
}

Tensor CopyInteger(const Py_buffer& v, bool is_signed) {
  switch (v.itemsize) {
    case 1:
      return is_signed ? CopySame<int8_t>(v) : CopySame<uint8_t>(v);
    case 2:
      return is_signed ? CopySame<int16_t>(v)
                       : Copy<uint16_t, int32_t>(v, DType::kInt32,
                                                 [](uint16_t e) { return e; });
    case 4:
      return is_signed ? CopySame<int32_t>(v)
                       : Copy<uint32_t, int64_t>(v, DType::kInt64,
                                                 [](uint32_t e) { return e; });
    default:
      return is_signed ? CopySame<int64_t>(v) : CopyUnsigned64(v);
  }
}

Tensor CopyFormat(const Py_buffer& v, std::string_view format) {
  if (format == "?") return CopyBool(v);
  if (format == "e") return CopySame<float16>(v);
  if (format == "f") return CopySame<float>(v);
  if (format == "d") return CopySame<double>(v);
  if (format == "g") {
    return Copy<long double, double>(v, DType::kFloat64, [](long double e) {
      return static_cast<double>(e);
    });
  }
  if (format == "Zf") return CopySame<complex64>(v);
  if (format == "Zd") return CopySame<complex128>(v);
  if (format.size() == 1 && v.itemsize <= 8) {
    if (std::string_view("bhilqn").find(format[0]) != std::string_view::npos) {
      return CopyInteger(v, true);
    }
    if (std::string_view("BHILQN").find(format[0]) != std::string_view::npos) {
      return CopyInteger(v, false);
    }
  }
  ThrowTypeError("to_tensor: elements of format '" + std::string(format) +
                 "' are no numbers that a Tensor holds");
}

}  // namespace

std::optional<Tensor> CopyBuffer(PyObject* o) {
  if (!PyObject_CheckBuffer(o)) return std::nullopt;
  const Buffer buffer(o);
  if (!buffer.ok()) {
    PyErr_Clear();
    return std::nullopt;
  }
  const Py_buffer& v = buffer.view();
  std::string_view format = v.format == nullptr ? "B" : v.format;
  if (format.starts_with('>') || format.starts_with('!')) return std::nullopt;
  // '@', '=' and '<' are this machine's order (of the sizes, itemsize speaks).
  while (!format.empty() &&
         std::string_view("@=<").find(format[0]) != std::string_view::npos) {
    format.remove_prefix(1);
  }
  return CopyFormat(v, format);
}

const char* BufferFormat(DType t) {
  switch (t) {
    case DType::kBool:
      return "?";
    case DType::kUInt8:
      return "B";
    case DType::kInt8:
      return "b";
    case DType::kInt16:
      return "h";
    case DType::kInt32:
      return "i";
    case DType::kInt64:
      return "q";
    case DType::kFloat16:
      return "e";
    case DType::kBFloat16:
      return nullptr;
    case DType::kFloat32:
      return "f";
    case DType::kFloat64:
      return "d";
    case DType::kComplex64:
      return "Zf";
    case DType::kComplex128:
      return "Zd";
  }
  return nullptr;
}

}  // namespace proa::inline v0::python
