#include "python/core/anomaly.h"

#include <Python.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "autograd/anomaly.h"
#include "python/core/error.h"
#include "python/core/gil.h"

namespace proa::inline v0::python {
namespace {

namespace py = pybind11;
using autograd::AnomalyMode;

constexpr int kMaxFrames = 8;

// Frames of files below this folder, the package's own, are not the user's.
std::string& OwnFolder() {
  static auto* folder = new std::string;
  return *folder;
}

struct Frame {
  std::string file;
  std::string function;
  int line;
};

// The user's frames of this thread, innermost first.
std::vector<Frame> UserFrames() {
  std::vector<Frame> frames;
  auto frame = py::reinterpret_borrow<py::object>(
      reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (frame && !frame.is_none() && frames.size() < kMaxFrames) {
    const py::object code = frame.attr("f_code");
    auto file = code.attr("co_filename").cast<std::string>();
    if (OwnFolder().empty() || !absl::StartsWith(file, OwnFolder())) {
      const py::object line = frame.attr("f_lineno");
      frames.push_back({std::move(file),
                        code.attr("co_name").cast<std::string>(),
                        line.is_none() ? 0 : line.cast<int>()});
    }
    frame = frame.attr("f_back");
  }
  return frames;
}

// As in a traceback, the innermost frame last.
std::string Format(const std::vector<Frame>& frames) {
  const GilAcquire gil;
  std::string text;
  try {
    const py::object getline = py::module_::import("linecache").attr("getline");
    for (auto f = frames.rbegin(); f != frames.rend(); ++f) {
      absl::StrAppend(&text, text.empty() ? "" : "\n", "  File \"", f->file,
                      "\", line ", f->line, ", in ", f->function);
      const auto line =
          getline(f->file, f->line).attr("strip")().cast<std::string>();
      if (!line.empty()) absl::StrAppend(&text, "\n    ", line);
    }
  } catch (py::error_already_set& e) {
    e.discard_as_unraisable("anomaly mode");
  }
  return text;
}

autograd::ForwardTrace Trace() {
  const GilAcquire gil;
  try {
    std::vector<Frame> frames = UserFrames();
    if (frames.empty()) return {};
    return [frames = std::move(frames)] { return Format(frames); };
  } catch (py::error_already_set& e) {
    e.discard_as_unraisable("anomaly mode");
    return {};
  }
}

// Adds to a Python exception, which then shows it below its own traceback.
void Annotate(const std::string& note) {
  try {
    throw;
  } catch (py::error_already_set& e) {
    const GilAcquire gil;
    try {
      if (py::hasattr(e.value(), "add_note")) {
        e.value().attr("add_note")(note);
      } else {
        py::module_::import("warnings").attr("warn")(note);
      }
    } catch (py::error_already_set& inner) {
      inner.discard_as_unraisable("anomaly mode");
    }
  } catch (...) {
  }
}

}  // namespace

void BindAnomalyMode(py::module_& m) {
  autograd::InstallAnomalyHandlers({.trace = &Trace, .annotate = &Annotate});
  m.def(
      "set_anomaly_mode",
      [](int mode, std::string own_folder) {
        OwnFolder() = std::move(own_folder);
        autograd::SetAnomalyMode(static_cast<AnomalyMode>(mode));
      },
      py::arg("mode"), py::arg("own_folder"),
      "0: off, 1: remember forward calls, 2: and check gradients for NaN and "
      "Inf.");
  m.def(
      "anomaly_mode",
      [] { return static_cast<int>(autograd::GetAnomalyMode()); },
      "What set_anomaly_mode was given last.");
}

}  // namespace proa::inline v0::python
