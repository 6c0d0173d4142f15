#include "python/core/error.h"

#include <cxxabi.h>

#include <atomic>
#include <new>
#include <stdexcept>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "python/core/call_stack.h"
#include "python/core/exceptions.h"
#include "python/core/gil.h"
#include "python/core/pybind.h"
#include "tensor/error.h"
#include "tensor/system_memory.h"

namespace proa::inline v0::python {
namespace {

constinit std::atomic<int> call_stack_level{1};

// The line of the user's program, which tracebacks have above the package's own
// frames.
std::string CallSiteNote(const char* message) {
  bool inside = false;
  const std::vector<Frame> frames = UserFrames(1, &inside);
  const std::string layer = RunningLayer();
  std::string note;
  if (!frames.empty() && (inside || !layer.empty())) {
    const std::string line = LineText(frames[0]);
    // Checks of numbers and programs say it themselves.
    if (absl::StrContains(message, line)) return {};
    note = absl::StrCat("  at ", line, ", in ", frames[0].function);
    const std::string source = SourceText(frames[0]);
    if (!source.empty()) absl::StrAppend(&note, ": ", source);
  }
  if (!layer.empty()) {
    absl::StrAppend(&note, note.empty() ? "" : "\n", "  in layer ", layer);
    const std::string inputs = InputsOfRunningLayer();
    if (!inputs.empty()) absl::StrAppend(&note, ", called with ", inputs);
  }
  return note;
}

void AddNote(PyObject* exception, const std::string& note) {
  if (note.empty()) return;
  const Ref added = Ref::NewOrNull(
      PyObject_CallMethod(exception, "add_note", "s", note.c_str()));
  if (!added) PyErr_Clear();  // of Python 3.10
}

// For what this package lacks of memory, a program can do something.
constexpr const char* kMemoryHint =
    "  what takes less: smaller batches; no_grad() where nothing is trained; "
    "autograd.recompute, which keeps fewer tensors for backward; "
    "float16 or bfloat16";

// Sets the error, with the notes that belong to it.
void SetWithNotes(PyObject* kind, const char* message,
                  const std::string& frames) {
  const int level = call_stack_level.load(std::memory_order_relaxed);
  if (level == 0) return PyErr_SetString(kind, message);
  const std::string site = CallSiteNote(message);
  PyErr_SetString(kind, message);
  const bool memory = kind == PyExc_MemoryError;
  if (site.empty() && frames.empty() && !memory) return;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  AddNote(value, site);
  if (memory) AddNote(value, kMemoryHint);
  if (!frames.empty()) AddNote(value, absl::StrCat("C++ frames:\n", frames));
  PyErr_Restore(type, value, traceback);
}

// Is it "name: what is wrong"?
bool BeginsWithName(std::string_view text) {
  const size_t end = text.find_first_of(" :");
  return end != std::string_view::npos && end > 0 && text[end] == ':';
}

void SetFromError(const Error& e) {
  const ExceptionKind kind = KindOf(e);
  const char* text = e.what();
  // The user's words, not those of an op that stands for his statement; those
  // of the function that requires something, which begin with its name.
  constexpr std::string_view kAssert = "assert_: ", kRequire = "require: ";
  if (std::string_view(text).starts_with(kAssert)) text += kAssert.size();
  if (std::string_view(text).starts_with(kRequire) &&
      BeginsWithName(text + kRequire.size())) {
    text += kRequire.size();
  }
  SetWithNotes(kind.type, WithWord(kind.word, text).c_str(),
               call_stack_level >= 2 ? e.frames() : std::string());
}

}  // namespace

void SetCallStackLevel(int level) {
  call_stack_level = level;
  SetErrorFrames(level >= 2);
}

int GetCallStackLevel() { return call_stack_level; }

void ThrowPython(PyObject* type, const std::string& message) {
  // Those by which Python's protocols ask are no mistakes.
  if (type == PyExc_AttributeError || type == PyExc_StopIteration) {
    PyErr_SetString(type, message.c_str());
  } else {
    const ExceptionKind kind = KindOf(type);
    SetWithNotes(kind.type, WithWord(kind.word, message).c_str(), {});
  }
  throw PythonError();
}

void ThrowCallError(const std::string& message) {
  SetWithNotes(PyExc_TypeError, message.c_str(), {});
  throw PythonError();
}

namespace {

// The exception that belongs to the current C++ one. May itself run out of
// memory.
void SetFromCurrent() {
  try {
    throw;
  } catch (const abi::__forced_unwind&) {
    SleepForever();  // Python ends this thread
  } catch (const PythonError&) {
    if (PyErr_Occurred() == nullptr) {
      PyErr_SetString(PyExc_SystemError,
                      "an error was reported but not described");
    }
  } catch (pybind11::error_already_set& e) {
    e.restore();
  } catch (const pybind11::builtin_exception& e) {
    e.set_error();
  } catch (const Error& e) {
    SetFromError(e);
  } catch (const std::bad_alloc&) {
    // Ours may be what others lack.
    GiveBackMemory();
    SetWithNotes(PyExc_MemoryError, "out of host memory", {});
  } catch (const std::length_error& e) {
    PyErr_Format(PyExc_MemoryError, "a size is beyond all memory (%s)",
                 e.what());
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "unknown C++ exception");
  }
}

}  // namespace

void SetPythonError() noexcept {
  try {
    SetFromCurrent();
  } catch (...) {  // no memory for the words, or for what looks for them
    PyErr_NoMemory();
  }
}

PyObject* Located(PyObject* exception) {
  const ExceptionKind kind =
      KindOf(reinterpret_cast<PyObject*>(Py_TYPE(exception)));
  Ref out = Ref::Borrow(exception);
  const Ref args = Ref::New(PyObject_GetAttrString(exception, "args"));
  if (*kind.word != '\0' && PyTuple_GET_SIZE(args.get()) == 1) {
    const std::string message = WithWord(kind.word, TextOf(exception));
    out = Ref::New(PyObject_CallFunction(kind.type, "s", message.c_str()));
  }
  if (GetCallStackLevel() > 0) {
    AddNote(out.get(), CallSiteNote(TextOf(out.get()).c_str()));
  }
  return out.release();
}

std::string TextOf(PyObject* o) {
  const Ref text = Ref::NewOrNull(PyObject_Str(o));
  const char* utf8 = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  if (utf8 == nullptr) {
    PyErr_Clear();
    return "?";
  }
  return utf8;
}

std::string TypeName(PyObject* o) {
  if (o == Py_None) return "None";
  return Py_TYPE(o)->tp_name;
}

}  // namespace proa::inline v0::python
