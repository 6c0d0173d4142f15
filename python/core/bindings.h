// Where the generated bindings of each op family register: functions for
// `_C.ops`, methods of Tensor, and functions behind Python's operators. Read
// once, when the module is made.
#ifndef PROA_PYTHON_CORE_BINDINGS_H_
#define PROA_PYTHON_CORE_BINDINGS_H_

#include <Python.h>

#include <span>

#include "python/core/arguments.h"
#include "python/core/tensor_operators.h"
#include "tensor/tensor.h"

namespace proa::inline v0::python {

// One C function, called with self null and all arguments, the tensor of a
// method first; `doc` starts with the text signature that `inspect` reads.
struct Binding {
  const char* name;
  FastFunction function;
  const char* doc;
};

struct UnaryBinding {
  UnaryOperator slot;
  Tensor (*function)(const Tensor& x);
};
struct BinaryBinding {
  BinaryOperator slot;
  Tensor (*function)(const Tensor& x, const Tensor& y);
};

struct FamilyBindings {
  const char* family;
  std::span<Signature* const> signatures;
  std::span<const Binding> functions;
  std::span<const Binding> methods;
  std::span<const UnaryBinding> unary;
  std::span<const BinaryBinding> binary;
};

// A static object of generated code.
class BindingRegistration {
 public:
  explicit BindingRegistration(const FamilyBindings& bindings);
};

// Called once each by the module: names become interned strings; the functions
// behind operators are put in place; the namespace `_C.ops` is filled.
void PrepareBindings();
void AddGeneratedMethods(PyObject* type);
void AddOpFunctions(PyObject* module);

}  // namespace proa::inline v0::python

#endif  // PROA_PYTHON_CORE_BINDINGS_H_
