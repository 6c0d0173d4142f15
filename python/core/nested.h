// Tensors in nested lists, tuples and dicts: taking them out, putting others in
// their places. A *pattern* is the same nesting with the number of each tensor
// (in order, from 0) in its place, and None in the place of all else.
//
//   std::vector<Tensor> tensors;
//   Ref pattern = TakeTensors(o, tensors);           // {"a": [0, 1], "b":
//   None} Ref back = FillPattern(pattern.get(), grads);    // {"a": [g0, g1],
//   "b": None}
#ifndef PROA_PYTHON_CORE_NESTED_H_
#define PROA_PYTHON_CORE_NESTED_H_

#include <Python.h>

#include <span>
#include <vector>

#include "python/core/error.h"
#include "tensor/tensor.h"

namespace proa::inline v0::python {

inline bool IsNesting(PyObject* o) {
  return PyTuple_Check(o) || PyList_Check(o) || PyDict_Check(o);
}

// Appends the tensors in `o` and returns its pattern. Throws RecursionError for
// a nesting that contains itself.
Ref TakeTensors(PyObject* o, std::vector<Tensor>& tensors);

// `tensors` in the nesting of a pattern.
Ref FillPattern(PyObject* pattern, std::span<const Tensor> tensors);

// `o` with its tensors replaced, one after the other; keeps the types of lists,
// tuples (named ones too) and dicts. `next` is advanced.
Ref ReplaceTensors(PyObject* o, const Tensor*& next);

// Puts what `o` has at the places of a pattern into `out`: a Tensor, or None,
// which leaves the element undefined; None for a whole nesting counts for all
// in it, and a list may leave out what is no tensor. `what` names `o` in the
// TypeError or ValueError for what does not fit.
void MatchPattern(PyObject* pattern, PyObject* o, const char* what,
                  std::span<Tensor> out);

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_NESTED_H_
