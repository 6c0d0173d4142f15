// repr and str of a Tensor: a header as Paddle writes it, and the elements.
#include <Python.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "autograd/grad_state.h"
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
    std::string text = absl::StrCat(
        "Tensor(shape=", ToString(t.shape()), ", dtype=",
        absl::string_view(Name(t.dtype()).data(), Name(t.dtype()).size()),
        ", place=Place(", ToString(t.place()),
        "), stop_gradient=", autograd::RequiresGrad(t) ? "False" : "True",
        ",\n       ");
    constexpr int kIndent = 7;  // below the first character of the elements
    const auto elements = [&](const Tensor& x, int indent) {
      return WithoutGil(x.place().is_cpu() ? 0 : kWorthReleasing, [&] {
        return FormatElements(x, GetPrintOptions(), indent);
      });
    };
    if (t.is_symbolic()) {
      text += "symbolic)";
    } else if (IsRowSparse(t)) {
      absl::StrAppend(&text, "rows=", elements(RowsOf(t), kIndent + 5),
                      ",\n       values=", elements(ValuesOf(t), kIndent + 7),
                      ")");
    } else {
      absl::StrAppend(&text, elements(t, kIndent), ")");
    }
    return PyUnicode_FromStringAndSize(text.data(),
                                       static_cast<Py_ssize_t>(text.size()));
  });
}

}  // namespace proa::inline v0::python
