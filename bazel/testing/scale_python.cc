// Python module _scale: the toy kernel with pybind11.
#include "absl/strings/str_format.h"
#include "bazel/testing/scale.h"
#include "pybind11/pybind11.h"
#include "pybind11/stl.h"

PYBIND11_MODULE(_scale, m) {
  m.def("scale", &proa::isa::sse2::Scale);
  m.def("describe", [] {
    return absl::StrFormat("%s, %s", proa::isa::sse2::Name(),
                           proa::isa::avx2::Name());
  });
}
