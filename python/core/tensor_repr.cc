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

namespace proa::inline v0::python {

PyObject* Repr(PyObject* self) {
  return Guarded([&] {
    const Tensor& t = Unwrap(self);
    std::string text = absl::StrCat(
        "Tensor(shape=", ToString(t.shape()), ", dtype=",
        absl::string_view(Name(t.dtype()).data(), Name(t.dtype()).size()), ", place=Place(",
        ToString(t.place()), "), stop_gradient=", autograd::RequiresGrad(t) ? "False" : "True",
        ",\n       ");
    if (t.is_symbolic()) {
      text += "symbolic)";
    } else {
      constexpr int kIndent = 7;  // below the first character of the elements
      text += WithoutGil(t.place().is_cpu() ? 0 : kWorthReleasing, [&] {
        return FormatElements(t, GetPrintOptions(), kIndent);
      });
      text += ")";
    }
    return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
  });
}

}  // namespace proa::inline v0::python
