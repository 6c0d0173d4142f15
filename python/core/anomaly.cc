#include "python/core/anomaly.h"

#include <Python.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autograd/anomaly.h"
#include "python/core/call_stack.h"
#include "python/core/gil.h"

namespace proa::inline v0::python {
namespace {

namespace py = pybind11;
using autograd::AnomalyMode;

constexpr int kMaxFrames = 8;

// What the user asked for, and whether a check needs traces besides.
int asked = 0;
bool traces_required = false;

void Apply() {
  const int least = static_cast<int>(AnomalyMode::kTrace);
  autograd::SetAnomalyMode(static_cast<AnomalyMode>(
      traces_required ? std::max(asked, least) : asked));
}

// As in a traceback, the innermost frame last.
std::string Format(const std::vector<Frame>& frames, const std::string& layer) {
  const GilAcquire gil;
  std::string text;
  for (auto f = frames.rbegin(); f != frames.rend(); ++f) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", "  File \"", f->file,
                    "\", line ", f->line, ", in ", f->function);
    const std::string line = SourceText(*f);
    if (!line.empty()) absl::StrAppend(&text, "\n    ", line);
  }
  if (!layer.empty()) absl::StrAppend(&text, "\n  in layer ", layer);
  return text;
}

autograd::ForwardTrace Trace() {
  const GilAcquire gil;
  std::vector<Frame> frames = UserFrames(kMaxFrames);
  if (frames.empty()) return {};
  return [frames = std::move(frames), layer = RunningLayer()] {
    return Format(frames, layer);
  };
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

void RequireForwardTraces(bool required) {
  traces_required = required;
  Apply();
}

void BindAnomalyMode(py::module_& m) {
  autograd::InstallAnomalyHandlers({.trace = &Trace, .annotate = &Annotate});
  m.def(
      "set_anomaly_mode",
      [](int mode) {
        asked = mode;
        Apply();
      },
      py::arg("mode"),
      "0: off, 1: remember forward calls, 2: and check gradients for NaN and "
      "Inf.");
  m.def(
      "anomaly_mode", [] { return asked; },
      "What set_anomaly_mode was given last.");
}

}  // namespace proa::inline v0::python
