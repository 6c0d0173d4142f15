#include "tensor/print.h"

#include <algorithm>
#include <complex>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tensor/copy.h"
#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/number_format.h"
#include "tensor/shape.h"

namespace proa::inline v0 {
namespace {

constinit std::mutex options_mutex;

PrintOptions& Options() {
  static PrintOptions* options = new PrintOptions;
  return *options;
}

// Made at load; tensor/fork_locks.h says why.
[[maybe_unused]] const auto& at_load = Options();

// Writes the element at an address.
using ElementWriter = std::function<std::string(const char*)>;

// The elements that will be shown, on the CPU, and where they are in the
// tensor.
class Shown {
 public:
  Shown(const Tensor& t, const PrintOptions& options)
      : tensor(t),
        edge(options.edgeitems),
        summarized(t.numel() > options.threshold) {}

  // Indices of dim `axis` that are shown; -1 stands for "...".
  std::vector<int64_t> Indices(int axis) const {
    const int64_t n = tensor.size(axis);
    std::vector<int64_t> indices;
    if (!summarized || n <= 2 * edge) {
      for (int64_t i = 0; i < n; ++i) indices.push_back(i);
      return indices;
    }
    for (int64_t i = 0; i < edge; ++i) indices.push_back(i);
    indices.push_back(-1);
    for (int64_t i = n - edge; i < n; ++i) indices.push_back(i);
    return indices;
  }

  const char* At(const char* base, int axis, int64_t i) const {
    return base + i * tensor.strides()[axis] * ItemSize(tensor.dtype());
  }

  void ForEach(const std::function<void(const char*)>& visit) const {
    Walk(0, static_cast<const char*>(tensor.raw_data()), visit);
  }

  const Tensor tensor;
  const int64_t edge;
  const bool summarized;

 private:
  void Walk(int axis, const char* base,
            const std::function<void(const char*)>& visit) const {
    if (axis == tensor.rank()) return visit(base);
    for (int64_t i : Indices(axis)) {
      if (i >= 0) Walk(axis + 1, At(base, axis, i), visit);
    }
  }
};

ElementWriter BoolWriter(const Shown& shown) {
  const char* yes = shown.tensor.rank() > 0 ? " True" : "True";
  return [yes](const char* p) {
    return std::string(*reinterpret_cast<const bool*>(p) ? yes : "False");
  };
}

template <typename T>
ElementWriter IntegerWriter(const Shown& shown) {
  const auto text = [](const char* p) {
    return std::to_string(static_cast<int64_t>(*reinterpret_cast<const T*>(p)));
  };
  size_t width = 0;
  shown.ForEach(
      [&](const char* p) { width = std::max(width, text(p).size()); });
  return [text, width](const char* p) {
    const std::string s = text(p);
    return std::string(width - std::min(width, s.size()), ' ') + s;
  };
}

template <typename T>
ElementWriter FloatWriter(const Shown& shown, const PrintOptions& options) {
  std::vector<double> values;
  const auto value = [](const char* p) {
    return static_cast<double>(*reinterpret_cast<const T*>(p));
  };
  shown.ForEach([&](const char* p) { values.push_back(value(p)); });
  const FloatFormat format(values, kDTypeOf<T>, options.precision,
                           options.sci_mode);
  return [value, format](const char* p) { return format(value(p)); };
}

template <typename T>
ElementWriter ComplexWriter(const Shown& shown, const PrintOptions& options) {
  std::vector<double> real, imag;
  shown.ForEach([&](const char* p) {
    const T v = *reinterpret_cast<const T*>(p);
    real.push_back(v.real());
    imag.push_back(v.imag());
  });
  const FloatFormat re(real, kDTypeOf<T>, options.precision, options.sci_mode);
  const FloatFormat im(imag, kDTypeOf<T>, options.precision, options.sci_mode,
                       /*always_sign=*/true);
  return [re, im](const char* p) {
    const T v = *reinterpret_cast<const T*>(p);
    std::string text = im(v.imag());
    text.insert(text.find_last_not_of(' ') + 1, "j");
    return re(v.real()) + text;
  };
}

ElementWriter MakeWriter(const Shown& shown, const PrintOptions& options) {
  return VisitDType(shown.tensor.dtype(), [&]<typename T>(TypeTag<T>) {
    constexpr DType kType = kDTypeOf<T>;
    if constexpr (kType == DType::kBool) {
      return BoolWriter(shown);
    } else if constexpr (IsInteger(kType)) {
      return IntegerWriter<T>(shown);
    } else if constexpr (IsFloat(kType)) {
      return FloatWriter<T>(shown, options);
    } else {
      return ComplexWriter<T>(shown, options);
    }
  });
}

class Writer {
 public:
  Writer(const Shown& shown, ElementWriter element)
      : shown_(shown), element_(std::move(element)) {}

  // `indent`: of the elements inside this bracket. `width`: of the line, less
  // the brackets that will close after it.
  std::string Block(int axis, const char* base, int indent, int width) const {
    const int axes_left = shown_.tensor.rank() - axis;
    if (axes_left == 0) return element_(base);
    if (axes_left == 1) return "[" + Row(axis, base, indent, width) + "]";
    std::string text = "[";
    const std::vector<int64_t> indices = shown_.Indices(axis);
    for (size_t k = 0; k < indices.size(); ++k) {
      if (k > 0) {
        text +=
            "," + std::string(axes_left - 1, '\n') + std::string(indent, ' ');
      }
      text += indices[k] < 0
                  ? "..."
                  : Block(axis + 1, shown_.At(base, axis, indices[k]),
                          indent + 1, width - 1);
    }
    return text + "]";
  }

 private:
  std::string Row(int axis, const char* base, int indent, int width) const {
    const int room = width - 1;  // for a comma or a bracket
    std::string text, line(indent, ' ');
    const std::vector<int64_t> indices = shown_.Indices(axis);
    for (size_t k = 0; k < indices.size(); ++k) {
      const std::string word =
          indices[k] < 0 ? "..." : element_(shown_.At(base, axis, indices[k]));
      if (k > 0) line += ", ";
      const bool begun = static_cast<int>(line.size()) > indent;
      if (begun && static_cast<int>(line.size() + word.size()) > room) {
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
        line.assign(indent, ' ');
      }
      line += word;
    }
    return (text + line).substr(indent);
  }

  const Shown& shown_;
  const ElementWriter element_;
};

void Check(const PrintOptions& o) {
  PROA_REQUIRE(o.precision >= 0 && o.precision <= 1000 && o.threshold >= 0 &&
                   o.edgeitems >= 0 && o.linewidth >= 1,
               "print: options out of range; precision is ", o.precision,
               ", threshold is ", o.threshold, ", edgeitems is ", o.edgeitems,
               ", linewidth is ", o.linewidth);
}

}  // namespace

PrintOptions GetPrintOptions() {
  std::lock_guard lock(options_mutex);
  return Options();
}

void SetPrintOptions(const PrintOptions& options) {
  Check(options);
  std::lock_guard lock(options_mutex);
  Options() = options;
}

std::string FormatElements(const Tensor& t, const PrintOptions& options,
                           int indent) {
  Check(options);
  PROA_REQUIRE(t.defined() && t.storage(),
               "print: needs a tensor with elements; x is ", Describe(t));
  if (t.numel() == 0) return "[]";
  const bool readable = t.place().is_cpu() && t.layout() == Layout::kStrided;
  const Shown shown(readable ? t : CopyTo(t, Place{}), options);
  const Writer writer(shown, MakeWriter(shown, options));
  return writer.Block(0, static_cast<const char*>(shown.tensor.raw_data()),
                      std::max(indent, 0) + 1, options.linewidth);
}

}  // namespace proa::inline v0
