// repr and str of a Tensor: a header as Paddle writes it, and the elements.
#include <Python.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "autograd/grad_state.h"
#include "ops/report/report.h"
#include "python/core/error.h"
#include "python/core/gil.h"
#include "python/core/tensor_object.h"
#include "python/core/tensor_parts.h"
#include "tensor/print.h"
#include "tensor/row_sparse.h"

namespace proa::inline v0::python {

PyObject* Repr(PyObject* self) {
  return Guarded([&] {
    const Tensor& t = Unwrap(self);
    const bool stops = !autograd::RequiresGrad(t);
    const auto elements = [&](const auto& write) {
      return WithoutGil(t.place().is_cpu() ? 0 : kWorthReleasing, write);
    };
    std::string text;
    if (t.is_symbolic()) {
      text = absl::StrCat(TensorTextHead(t, stops), "symbolic)");
    } else if (IsRowSparse(t)) {
      const auto part = [&](const Tensor& x, int indent) {
        return elements(
            [&] { return FormatElements(x, GetPrintOptions(), indent); });
      };
      text = absl::StrCat(
          TensorTextHead(t, stops),
          "rows=", part(RowsOf(t), kTensorTextIndent + 5),
          ",\n       values=", part(ValuesOf(t), kTensorTextIndent + 7), ")");
    } else {
      text = elements([&] { return TensorText(t, stops); });
    }
    return PyUnicode_FromStringAndSize(text.data(),
                                       static_cast<Py_ssize_t>(text.size()));
  });
}

}  // namespace proa::inline v0::python
