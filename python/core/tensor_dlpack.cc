// DLPack's Python protocol: __dlpack__, __dlpack_device__ and from_dlpack.
#include "python/core/tensor_dlpack.h"

#include <Python.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "autograd/grad_state.h"
#include "ops/elementwise/elementwise_ops.h"
#include "python/core/arguments.h"
#include "python/core/convert.h"
#include "python/core/error.h"
#include "python/core/gil.h"
#include "python/core/tensor_object.h"
#include "python/core/tensor_parts.h"
#include "tensor/copy.h"
#include "tensor/device.h"
#include "tensor/dlpack.h"
#include "tensor/error.h"

namespace proa::inline v0::python {
namespace {

constexpr char kVersioned[] = "dltensor_versioned";
constexpr char kUsedVersioned[] = "used_dltensor_versioned";
constexpr char kLegacy[] = "dltensor";
constexpr char kUsedLegacy[] = "used_dltensor";

// A capsule that no consumer took gives the tensor back.
void DestroyVersioned(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, kVersioned)) return;
  auto* t = static_cast<dlpack::ManagedTensorVersioned*>(
      PyCapsule_GetPointer(capsule, kVersioned));
  if (t->deleter != nullptr) t->deleter(t);
}
void DestroyLegacy(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, kLegacy)) return;
  auto* t = static_cast<dlpack::ManagedTensor*>(
      PyCapsule_GetPointer(capsule, kLegacy));
  if (t->deleter != nullptr) t->deleter(t);
}

bool IsOurs(dlpack::Device a, dlpack::Device b) {
  return a.device_type == b.device_type && a.device_id == b.device_id;
}

// A pair of int, which `name` must be.
std::pair<int, int> Pair(PyObject* o, const char* name) {
  int first, second;
  if (!PyTuple_Check(o) || !PyArg_ParseTuple(o, "ii", &first, &second)) {
    PyErr_Clear();
    ThrowTypeError(absl::StrCat("__dlpack__: ", name,
                                " must be a pair of int, not ",
                                PyTuple_Check(o) ? TextOf(o) : TypeName(o)));
  }
  return {first, second};
}

// (type, id) of `dl_device`, or the tensor's own device for None.
dlpack::Device WantedDevice(PyObject* o, const Tensor& t) {
  if (!Given(o)) return DLPackDevice(t.place());
  const auto [type, id] = Pair(o, "dl_device");
  return {type, id};
}

constexpr const char* names[] = {"self", "stream", "max_version", "dl_device",
                                 "copy"};
constinit Signature signature("__dlpack__", names, 5, 1);

PyObject* DLPack(PyObject* self, PyObject* const* args, Py_ssize_t nargs,
                 PyObject* kwnames) {
  return Guarded([&]() -> PyObject* {
    PyObject* a[5];
    Bind(signature, self, args, nargs, kwnames, a);
    const Tensor& x = Unwrap(self);
    if (autograd::RequiresGrad(x)) {
      ThrowPython(
          PyExc_BufferError,
          "__dlpack__: gradients do not flow through DLPack; export detach()");
    }
    const dlpack::Device device = WantedDevice(a[3], x);
    const bool other_place = !IsOurs(device, DLPackDevice(x.place()));
    const bool copy = Given(a[4]) && ToBool(signature, 4, a[4]);
    if (other_place && a[4] == Py_False) {
      ThrowPython(PyExc_BufferError,
                  "__dlpack__: another device needs a copy, but copy=False");
    }
    Tensor t = x;
    if (copy || other_place) {
      const Place place = PlaceOfDLPack(device);
      t = WithoutGil(Elements(x), [&] { return CopyTo(x, place); });
    }
    // We do not know the consumer's stream; when all work is done, any will do.
    if (!t.place().is_cpu())
      WithoutGil(kWorthReleasing, [&] {
        Synchronize(t.place());
        return 0;
      });
    const int major = Given(a[2]) ? Pair(a[2], "max_version").first : 0;
    try {
      if (major >= 1) {
        auto* managed = ToDLPack(t, copy || other_place);
        return Check(PyCapsule_New(managed, kVersioned, &DestroyVersioned));
      }
      return Check(PyCapsule_New(ToDLPackLegacy(t), kLegacy, &DestroyLegacy));
    } catch (const Error& e) {
      ThrowPython(PyExc_BufferError, e.what());
    }
  });
}

PyObject* DLPackDeviceOf(PyObject* self, PyObject*) {
  return Guarded([&] {
    const dlpack::Device d = DLPackDevice(Unwrap(self).place());
    return Check(Py_BuildValue("(ii)", static_cast<int>(d.device_type),
                               static_cast<int>(d.device_id)));
  });
}

Tensor FromCapsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, kVersioned)) {
    auto* managed = static_cast<dlpack::ManagedTensorVersioned*>(
        PyCapsule_GetPointer(capsule, kVersioned));
    Tensor t = FromDLPack(managed);
    CheckStatus(PyCapsule_SetName(capsule, kUsedVersioned));
    return t;
  }
  if (PyCapsule_IsValid(capsule, kLegacy)) {
    auto* managed = static_cast<dlpack::ManagedTensor*>(
        PyCapsule_GetPointer(capsule, kLegacy));
    Tensor t = FromDLPack(managed);
    CheckStatus(PyCapsule_SetName(capsule, kUsedLegacy));
    return t;
  }
  FailArgument(
      "from_dlpack: the capsule holds no DLPack tensor, or was used before");
}

// The capsule of a producer: of this version of the protocol, or of the one
// before.
Ref CapsuleOf(PyObject* o) {
  const Ref method = Ref::NewOrNull(PyObject_GetAttrString(o, "__dlpack__"));
  if (!method) {
    PyErr_Clear();
    ThrowTypeError(
        "from_dlpack: an object with __dlpack__ or a capsule is needed, not " +
        TypeName(o));
  }
  const Ref keywords = Ref::New(Py_BuildValue(
      "{s(ii)}", "max_version", static_cast<int>(dlpack::kVersion.major),
      static_cast<int>(dlpack::kVersion.minor)));
  const Ref none = Ref::New(PyTuple_New(0));
  Ref capsule =
      Ref::NewOrNull(PyObject_Call(method.get(), none.get(), keywords.get()));
  if (capsule) return capsule;
  if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw PythonError();
  PyErr_Clear();  // knows no max_version
  return Ref::New(PyObject_CallNoArgs(method.get()));
}

}  // namespace

Tensor TensorFromDLPack(PyObject* o) {
  if (PyCapsule_CheckExact(o)) return FromCapsule(o);
  const Ref capsule = CapsuleOf(o);
  return FromCapsule(capsule.get());
}

PyObject* MakeDLPackCapsule(const Tensor& t) {
  return Check(PyCapsule_New(ToDLPackLegacy(t), kLegacy, &DestroyLegacy));
}

void AddDLPackMethods(Methods* methods) {
  methods->push_back(
      {"__dlpack__",
       reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&DLPack)),
       METH_FASTCALL | METH_KEYWORDS,
       "__dlpack__($self, stream=None, max_version=None, dl_device=None, "
       "copy=None)\n--\n\n"
       "A DLPack capsule over the elements."});
  methods->push_back(
      {"__dlpack_device__", &DLPackDeviceOf, METH_NOARGS,
       "__dlpack_device__($self)\n--\n\nDLPack's (device type, device id)."});
}

}  // namespace proa::inline v0::python
