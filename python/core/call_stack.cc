#include "python/core/call_stack.h"

#include <Python.h>

#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/call_site.h"
#include "profiler/events.h"
#include "python/core/error.h"
#include "python/core/gil.h"

namespace proa::inline v0::python {
namespace {

namespace py = pybind11;

// Puts aside an exception that is on its way, which calls would disturb, and
// drops one that they raised.
class QuietScope {
 public:
  QuietScope() { PyErr_Fetch(&type_, &value_, &traceback_); }
  ~QuietScope() {
    BeforeGivingBack();
    PyErr_Restore(type_, value_, traceback_);
  }
  QuietScope(const QuietScope&) = delete;
  QuietScope& operator=(const QuietScope&) = delete;

 private:
  PyObject* type_;
  PyObject* value_;
  PyObject* traceback_;
};

// Files below this folder, the package's own, are not the user's.
const std::string& OwnFolder() {
  static const auto* folder = new std::string([]() -> std::string {
    const Ref package = Ref::NewOrNull(PyImport_ImportModule("proa"));
    const Ref file = Ref::NewOrNull(
        package ? PyObject_GetAttrString(package.get(), "__file__") : nullptr);
    const char* path = file ? PyUnicode_AsUTF8(file.get()) : nullptr;
    if (path == nullptr) {
      PyErr_Clear();
      return "<no package>";
    }
    const std::string_view view(path);
    return std::string(view.substr(0, view.rfind('/') + 1));
  }());
  return *folder;
}

bool IsOurs(std::string_view file) {
  return file.starts_with(OwnFolder()) || file.starts_with("<frozen");
}

const char* Utf8(PyObject* text) {
  const char* s = PyUnicode_AsUTF8(text);
  if (s == nullptr) PyErr_Clear();
  return s;
}

// Calls f(frame, code) from the innermost frame outwards until it gives false.
template <typename F>
void WalkFrames(F&& f) {
  Ref at = Ref::Borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (at) {
    auto* frame = reinterpret_cast<PyFrameObject*>(at.get());
    const Ref code =
        Ref::NewOrNull(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
    if (!f(frame, reinterpret_cast<PyCodeObject*>(code.get()))) return;
    at = Ref::NewOrNull(reinterpret_cast<PyObject*>(PyFrame_GetBack(frame)));
  }
}

PyObject* layer_call = nullptr;  // the code of Layer.__call__
PyObject* layer_path = nullptr;
PyObject* layer_inputs = nullptr;

Ref LocalOf(PyFrameObject* frame, const char* name) {
  const Ref locals = Ref::New(
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(frame), "f_locals"));
  return Ref::New(PyMapping_GetItemString(locals.get(), name));
}

// The layers whose __call__ is on the stack, innermost first.
Ref RunningLayers() {
  Ref layers = Ref::New(PyList_New(0));
  WalkFrames([&](PyFrameObject* frame, PyCodeObject* code) {
    if (reinterpret_cast<PyObject*>(code) != layer_call) return true;
    CheckStatus(PyList_Append(layers.get(), LocalOf(frame, "self").get()));
    return true;
  });
  return layers;
}

const char* SourceLineHook() {
  const GilAcquire gil;
  const std::vector<Frame> frames = UserFrames(1);
  return frames.empty() ? nullptr : profiler::Intern(LineText(frames[0]));
}

std::string CodeHook() {
  const GilAcquire gil;
  const std::vector<Frame> frames = UserFrames(1);
  return frames.empty() ? std::string() : SourceText(frames[0]);
}

std::string LayerHook() {
  const GilAcquire gil;
  return RunningLayer();
}

}  // namespace

std::vector<Frame> UserFrames(int most, bool* inside) {
  std::vector<Frame> frames;
  const QuietScope quiet;
  bool innermost = true;
  WalkFrames([&](PyFrameObject* frame, PyCodeObject* code) {
    const char* file = Utf8(code->co_filename);
    const bool ours = file == nullptr || IsOurs(file);
    if (innermost && inside != nullptr) *inside = ours;
    innermost = false;
    if (ours) return true;
    const char* name = Utf8(code->co_name);
    frames.push_back(
        {file, name != nullptr ? name : "?", PyFrame_GetLineNumber(frame)});
    return static_cast<int>(frames.size()) < most;
  });
  return frames;
}

std::string LineText(const Frame& frame) {
  const size_t slash = frame.file.rfind('/');
  return absl::StrCat(
      slash == std::string::npos ? frame.file : frame.file.substr(slash + 1),
      ":", frame.line);
}

std::string SourceText(const Frame& frame) {
  const QuietScope quiet;
  try {
    return py::module_::import("linecache")
        .attr("getline")(frame.file, frame.line)
        .attr("strip")()
        .cast<std::string>();
  } catch (py::error_already_set&) {
    return {};
  } catch (const py::builtin_exception&) {
    return {};
  }
}

std::string RunningLayer() {
  if (layer_call == nullptr) return {};
  const QuietScope quiet;
  try {
    const Ref layers = RunningLayers();
    if (PyList_GET_SIZE(layers.get()) == 0) return {};
    CheckStatus(PyList_Reverse(layers.get()));
    const Ref text = Ref::New(
        PyObject_CallFunctionObjArgs(layer_path, layers.get(), nullptr));
    const char* path = Utf8(text.get());
    return path != nullptr ? path : "";
  } catch (const PythonError&) {
    PyErr_Clear();
    return {};
  }
}

std::string InputsOfRunningLayer() {
  if (layer_call == nullptr) return {};
  const QuietScope quiet;
  try {
    Ref text;
    WalkFrames([&](PyFrameObject* frame, PyCodeObject* code) {
      if (reinterpret_cast<PyObject*>(code) != layer_call) return true;
      text = Ref::New(PyObject_CallFunctionObjArgs(
          layer_inputs, LocalOf(frame, "inputs").get(),
          LocalOf(frame, "kwargs").get(), nullptr));
      return false;
    });
    const char* inputs = text ? Utf8(text.get()) : nullptr;
    return inputs != nullptr ? inputs : "";
  } catch (const PythonError&) {
    PyErr_Clear();
    return {};
  }
}

void BindCallStack(py::module_& m) {
  InstallCallSiteHooks(
      {.source_line = &SourceLineHook, .code = &CodeHook, .layer = &LayerHook});
  m.def(
      "set_layer_call",
      [](const py::object& code, const py::object& path,
         const py::object& inputs) {
        layer_call = code.inc_ref().ptr();
        layer_path = path.inc_ref().ptr();
        layer_inputs = inputs.inc_ref().ptr();
      },
      py::arg("code"), py::arg("path"), py::arg("inputs"),
      "The code of Layer.__call__; what names the last of a list of layers; "
      "what describes the arguments of a call.");
  m.def(
      "running_layer", [] { return RunningLayer(); },
      "The layer that is being called, \"Mlp.hidden (Linear)\"; '' if none "
      "is.");
}

}  // namespace proa::inline v0::python
