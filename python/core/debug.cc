#include "python/core/debug.h"

#include <Eigen/src/Core/util/Macros.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "diagnostics/call_log.h"
#include "diagnostics/crash_handler.h"
#include "diagnostics/numeric_check.h"
#include "ops/kernel.h"
#include "ops/onednn/guards.h"
#include "ops/onednn/library_version.h"
#include "ops/primitives/cpu/streaming.h"
#include "pybind11/stl.h"
#include "python/core/anomaly.h"
#include "python/core/error.h"
#include "tensor/allocation_hooks.h"
#include "tensor/parallel.h"
#include "tensor/system_memory.h"

namespace proa::inline v0::python {
namespace {

namespace py = pybind11;

void SetCheck(int action, std::vector<std::string> only,
              std::vector<std::string> except) {
  SetNumericCheck(
      {static_cast<NumericAction>(action), std::move(only), std::move(except)});
  // For the lines of the forward calls whose backward makes a NaN.
  RequireForwardTraces(action != 0);
}

py::dict BuildInfo() {
  py::dict d;
#if defined(__clang__)
  d["compiler"] = absl::StrCat("clang ", __clang_version__);
#else
  d["compiler"] = absl::StrCat("gcc ", __VERSION__);
#endif
  d["c++"] = static_cast<int64_t>(__cplusplus);
  d["eigen"] = absl::StrCat(EIGEN_WORLD_VERSION, ".", EIGEN_MAJOR_VERSION, ".",
                            EIGEN_MINOR_VERSION);
  d["onednn"] = onednn::LibraryVersion();
  d["instruction_set"] = Name(MachineIsa());
  d["cpus"] = AvailableCpus();
  d["threads"] = GetNumThreads();
  return d;
}

}  // namespace

void BindDebug(py::module_& parent) {
  parent.def(
      "located",
      [](const py::handle& exception) {
        if (!PyExceptionInstance_Check(exception.ptr())) {
          ThrowPython(PyExc_TypeError, "located: not an exception");
        }
        return py::reinterpret_steal<py::object>(Located(exception.ptr()));
      },
      py::arg("exception"),
      "The exception, with a note on the line of the user's program.");
  py::module_ m = parent.def_submodule("debug", "What FLAGS switch.");
  m.def("set_numeric_check", &SetCheck, py::arg("action"), py::arg("only"),
        py::arg("except_"),
        "0: off, 1: raise for the first NaN or Inf that an op makes, 2: report "
        "each on stderr.");
  m.def("numeric_check", [] {
    const NumericCheck& c = GetNumericCheck();
    return py::make_tuple(static_cast<int>(c.action), c.only, c.except);
  });
  m.def("set_call_log", &SetCallLog, py::arg("on"),
        "A line on stderr for each op call.");
  m.def("set_call_stack_level", &SetCallStackLevel, py::arg("level"));
  m.def("call_stack_level", &GetCallStackLevel);
  m.def("enable_crash_handler", &EnableCrashHandler);
  m.def("disable_crash_handler", &DisableCrashHandler);
  m.def("crash_handler_enabled", &CrashHandlerEnabled);
  m.def("set_onednn_guards", &onednn::SetGuards, py::arg("on"),
        "Whether buffers that oneDNN is handed lie in guarded pages.");
  m.def("set_stream_bytes", &ops::cpu::SetStreamBytes, py::arg("bytes"),
        "The least bytes of a call whose results are stored past the caches; "
        "0: those of this machine.");
  m.def(
      "set_memory_fill",
      [](const std::string& fill) {
        SetMemoryFill(fill == "nan"     ? MemoryFill::kNan
                      : fill == "large" ? MemoryFill::kLarge
                                        : MemoryFill::kNone);
      },
      py::arg("fill"),
      "What is written into new memory: \"nan\", \"large\" or \"\" for "
      "nothing.");
  m.def("keeps_blocks", &KeepBlocks,
        "False if FLAGS_use_system_allocator was set when the process began.");
  m.def("build_info", &BuildInfo,
        "Versions and figures of this build, a dict.");
}

}  // namespace proa::inline v0::python
