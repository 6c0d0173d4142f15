// The profiler for Python: `_C.profiler`.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "autograd/node.h"
#include "ops/profile.h"
#include "profiler/chrome_trace.h"
#include "profiler/events.h"
#include "profiler/folded_stacks.h"
#include "profiler/html_report.h"
#include "profiler/merge.h"
#include "profiler/output.h"
#include "profiler/perfetto.h"
#include "profiler/profile_file.h"
#include "profiler/recording.h"
#include "profiler/statistics.h"
#include "profiler/summary.h"
#include "pybind11/stl.h"
#include "python/core/constructor.h"
#include "python/core/error.h"
#include "python/core/file_status.h"
#include "python/core/gil.h"
#include "python/core/module.h"

namespace pybind11::detail {
template <>
class type_caster<std::shared_ptr<proa::profiler::Recording>>
    : public proa::python::SharedCaster<proa::profiler::Recording> {};
}  // namespace pybind11::detail

namespace proa::inline v0::python {
namespace {

namespace py = pybind11;
using profiler::Event;
using profiler::Recording;
using RecordingPtr = std::shared_ptr<Recording>;

// Names may have any bytes; Python's str is what UTF-8 there is.
py::object Text(const char* s) {
  if (s == nullptr) return py::none();
  return py::reinterpret_steal<py::object>(Check(PyUnicode_DecodeUTF8(
      s, static_cast<Py_ssize_t>(std::string_view(s).size()), "replace")));
}

// The bytes of a str; surrogates, which UTF-8 has not, become "?".
const char* InternText(const py::handle& text) {
  if (!PyUnicode_Check(text.ptr())) {
    ThrowPython(PyExc_TypeError,
                "profiler: a name must be a str, not " + TypeName(text.ptr()));
  }
  Py_ssize_t size = 0;
  if (const char* s = PyUnicode_AsUTF8AndSize(text.ptr(), &size)) {
    return profiler::Intern({s, static_cast<size_t>(size)});
  }
  PyErr_Clear();
  const Ref bytes =
      Ref::New(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "replace"));
  return profiler::Intern(PyBytes_AS_STRING(bytes.get()));
}

// A range between two calls.
class OpenRange {
 public:
  OpenRange(const py::str& name, const py::str& category)
      : name_(InternText(name)), category_(InternText(category)) {}
  void Begin() { range_ = profiler::BeginRange(); }
  void End() { profiler::EndRange(&range_, name_, category_); }

 private:
  const char* name_;
  const char* category_;
  profiler::OpenRange range_;
};

uint64_t LastGradNode() { return autograd::internal::sequence_block.next - 1; }

py::dict EventAsDict(const Recording& r, const Event& e) {
  py::dict d;
  d["kind"] = static_cast<int>(e.kind);
  d["name"] = Text(e.name);
  d["category"] = Text(e.category);
  d["start_ns"] = e.start_ns;
  d["end_ns"] = e.end_ns;
  d["value"] = e.value;
  d["total"] = e.total;
  d["path"] = Text(e.path);
  d["correlation"] = e.correlation;
  d["thread"] = e.thread;
  d["shapes"] = e.details == nullptr ? py::none() : Text(e.details->shapes);
  d["source"] = e.details == nullptr ? py::none() : Text(e.details->source);
  d["flops"] = e.details == nullptr ? 0 : e.details->flops;
  d["bytes"] = e.details == nullptr ? 0 : e.details->bytes;
  return d;
}

py::list Events(const Recording& r) {
  py::list events;
  for (const Event& e : r.events) events.append(EventAsDict(r, e));
  return events;
}

py::list Threads(const Recording& r) {
  py::list threads;
  for (const profiler::ThreadInfo& t : r.threads) {
    py::dict d;
    d["system_id"] = t.system_id;
    d["name"] = Text(t.name.c_str());
    d["process"] = t.process;
    d["device"] = Text(t.device.c_str());
    threads.append(d);
  }
  return threads;
}

py::list Processes(const Recording& r) {
  py::list processes;
  for (const profiler::ProcessInfo& p : r.processes) {
    py::dict d;
    d["system_id"] = p.system_id;
    d["name"] = Text(p.name.c_str());
    d["host"] = Text(p.host.c_str());
    processes.append(d);
  }
  return processes;
}

py::dict RowAsDict(const Recording& r, const profiler::Row& row) {
  py::dict d;
  d["name"] = Text(row.name.c_str());
  d["shapes"] = Text(row.shapes.c_str());
  d["category"] = Text(row.category.c_str());
  d["thread"] = row.thread < 0 ? py::object(py::none()) : py::int_(row.thread);
  d["calls"] = row.calls;
  d["total_ns"] = row.total_ns;
  d["self_ns"] = row.self_ns;
  d["min_ns"] = row.min_ns;
  d["max_ns"] = row.max_ns;
  d["avg_ns"] = row.avg_ns();
  d["backward_ns"] = row.backward_ns;
  d["kernel_ns"] = row.kernel_ns;
  d["flops"] = row.flops;
  d["bytes"] = row.bytes;
  d["gflops_per_s"] = row.gflops_per_s();
  d["gbytes_per_s"] = row.gbytes_per_s();
  d["of_roof"] = row.of_roof(r.roof);
  return d;
}

template <typename T>
T OneOf(const std::map<std::string, T>& choices, const std::string& name) {
  const auto at = choices.find(name);
  if (at == choices.end()) {
    ThrowPython(PyExc_ValueError, "profiler: '" + name + "' is not known");
  }
  return at->second;
}

py::list Table(const Recording& r, const std::string& group,
               std::vector<std::string> categories, bool by_thread,
               bool device) {
  using profiler::GroupBy;
  static const std::map<std::string, GroupBy> kGroups = {
      {"name", GroupBy::kName},
      {"shapes", GroupBy::kNameAndShapes},
      {"category", GroupBy::kCategory},
      {"path", GroupBy::kPath},
      {"source", GroupBy::kSource}};
  std::vector<profiler::Row> rows;
  const profiler::TableOptions options{
      OneOf(kGroups, group), std::move(categories), by_thread, device};
  {
    const GilRelease release;
    rows = profiler::Table(r, options);
  }
  py::list out;
  for (const profiler::Row& row : rows) out.append(RowAsDict(r, row));
  return out;
}

py::list Memory(const Recording& r) {
  py::list out;
  for (const profiler::MemoryRow& row : profiler::MemoryTable(r)) {
    py::dict d;
    d["place"] = Text(row.place.c_str());
    d["tag"] = Text(row.tag.c_str());
    d["op"] = Text(row.op.c_str());
    d["allocations"] = row.allocations;
    d["frees"] = row.frees;
    d["allocated_bytes"] = row.allocated_bytes;
    d["freed_bytes"] = row.freed_bytes;
    d["largest_bytes"] = row.largest_bytes;
    out.append(d);
  }
  return out;
}

py::list MemoryPeaks(const Recording& r) {
  py::list out;
  for (const profiler::PlaceMemory& p : profiler::MemoryPeaks(r)) {
    py::dict d;
    d["place"] = Text(p.place.c_str());
    d["peak_bytes"] = p.peak_bytes;
    d["peak_ns"] = p.peak_ns;
    d["first_bytes"] = p.first_bytes;
    d["last_bytes"] = p.last_bytes;
    out.append(d);
  }
  return out;
}

py::object Summary(const Recording& r, const std::string& order, bool shapes,
                   bool by_thread, const std::string& unit,
                   const std::vector<std::string>& views) {
  using profiler::SortedBy;
  static const std::map<std::string, SortedBy> kOrders = {
      {"total", SortedBy::kTotal},     {"self", SortedBy::kSelf},
      {"average", SortedBy::kAverage}, {"max", SortedBy::kMax},
      {"min", SortedBy::kMin},         {"calls", SortedBy::kCalls}};
  static const std::map<std::string, profiler::View> kViews = {
      {"overview", profiler::kOverviewView}, {"step", profiler::kStepView},
      {"layer", profiler::kLayerView},       {"op", profiler::kOpView},
      {"kernel", profiler::kKernelView},     {"user", profiler::kUserView},
      {"memory", profiler::kMemoryView},     {"thread", profiler::kThreadView},
      {"source", profiler::kSourceView}};
  profiler::SummaryOptions options{.sorted_by = OneOf(kOrders, order),
                                   .shapes = shapes,
                                   .by_thread = by_thread,
                                   .time_unit = unit,
                                   .views = 0};
  for (const std::string& view : views) options.views |= OneOf(kViews, view);
  std::string text;
  {
    const GilRelease release;
    text = profiler::Summary(r, options);
  }
  return Text(text.c_str());
}

// Python's names of its threads, by the system's number.
void NameThreads(Recording& r, const std::map<int64_t, std::string>& names) {
  for (profiler::ThreadInfo& t : r.threads) {
    const auto at = names.find(t.system_id);
    if (at != names.end() && t.device.empty()) t.name = at->second;
  }
}

template <typename F>
void Export(const std::string& path, bool gzip, F&& write) {
  CheckPath(path);
  absl::Status status;
  {
    const GilRelease release;
    status = profiler::WriteFile(path, gzip, write);
  }
  CheckFileStatus(status);
}

void ExportChrome(const Recording& r, const std::string& path, bool gzip,
                  std::optional<int64_t> max_bytes) {
  profiler::ChromeTraceOptions options;
  if (max_bytes) options.max_bytes = *max_bytes;
  Export(path, gzip, [&](profiler::Output& out) {
    return profiler::WriteChromeTrace(r, options, out);
  });
}

void ExportFolded(const Recording& r, const std::string& path) {
  Export(path, false, [&](profiler::Output& out) {
    return profiler::WriteFoldedStacks(r, out);
  });
}

void ExportPerfetto(const Recording& r, const std::string& path) {
  Export(path, false, [&](profiler::Output& out) {
    return profiler::WritePerfettoTrace(r, out);
  });
}

void ExportHtml(const Recording& r, const std::string& path) {
  profiler::HtmlReportOptions options;
  if (!r.processes.empty()) options.title = "Profile of " + r.processes[0].name;
  Export(path, false, [&](profiler::Output& out) {
    return profiler::WriteHtmlReport(r, options, out);
  });
}

RecordingPtr Merge(const std::vector<RecordingPtr>& recordings) {
  const GilRelease release;
  std::vector<Recording> copies;
  for (const RecordingPtr& r : recordings) copies.push_back(*r);
  return std::make_shared<Recording>(profiler::Merge(copies));
}

void Save(const Recording& r, const std::string& path) {
  Export(path, false,
         [&](profiler::Output& out) { return profiler::WriteProfile(r, out); });
}

RecordingPtr Load(const std::string& path) {
  absl::StatusOr<Recording> r = absl::UnknownError("");
  {
    const GilRelease release;
    r = profiler::LoadProfile(path);
  }
  CheckFileStatus(r.status());
  return std::make_shared<Recording>(*std::move(r));
}

void Start(int64_t events_per_thread, int64_t max_bytes, uint32_t details) {
  if (events_per_thread < 0 || max_bytes < 0) {
    ThrowPython(PyExc_ValueError,
                "profiler: room for events must not be negative");
  }
  profiler::Start({events_per_thread, max_bytes, details});
}

RecordingPtr Take() {
  const GilRelease release;
  return std::make_shared<Recording>(profiler::Take());
}

py::object SetPath(const py::object& path) {
  const char* before =
      profiler::PathScope::Set(path.is_none() ? nullptr : InternText(path));
  return Text(before);
}

void BindRecording(py::module_& m) {
  py::class_<Recording, RecordingPtr>(m, "Recording", "What was recorded.")
      .def("__len__", [](const Recording& r) { return r.events.size(); })
      .def_readonly("start_ns", &Recording::start_ns)
      .def_readonly("stop_ns", &Recording::stop_ns)
      .def_readonly("dropped", &Recording::dropped)
      .def_readonly("clock_steps", &Recording::clock_steps)
      .def_property(
          "roof",
          [](const Recording& r) {
            return py::make_tuple(r.roof.gflops_per_s, r.roof.gbytes_per_s);
          },
          [](Recording& r, std::pair<double, double> roof) {
            r.roof = {roof.first, roof.second};
          })
      .def("events", &Events, "All events, a dict each.")
      .def("threads", &Threads)
      .def("processes", &Processes)
      .def("name_threads", &NameThreads, py::arg("names"))
      .def("export_chrome", &ExportChrome, py::arg("path"),
           py::arg("gzip") = false, py::arg("max_bytes") = py::none())
      .def("export_folded", &ExportFolded, py::arg("path"))
      .def("export_html", &ExportHtml, py::arg("path"))
      .def("export_perfetto", &ExportPerfetto, py::arg("path"))
      .def("save", &Save, py::arg("path"))
      .def("table", &Table, py::arg("group"), py::arg("categories"),
           py::arg("by_thread"), py::arg("device"))
      .def("memory", &Memory)
      .def("memory_peaks", &MemoryPeaks)
      .def("summary", &Summary, py::arg("order"), py::arg("shapes"),
           py::arg("by_thread"), py::arg("time_unit"), py::arg("views"));
}

void BindProfiler(py::module_& parent) {
  InstallProfileHooks({.last_grad_node = &LastGradNode});
  py::module_ m =
      parent.def_submodule("profiler", "The recorder under proa.profiler.");
  m.attr("SHAPES") = static_cast<int>(profiler::kShapes);
  m.attr("SOURCE") = static_cast<int>(profiler::kSource);
  m.attr("FLOPS") = static_cast<int>(profiler::kFlops);
  m.attr("KERNELS") = static_cast<int>(profiler::kKernels);
  m.attr("MEMORY") = static_cast<int>(profiler::kMemory);
  m.def("start", &Start, py::arg("events_per_thread"), py::arg("max_bytes"),
        py::arg("details"));
  m.def("take", &Take, "Stops, and gives what was recorded.");
  m.def("enabled", &profiler::Enabled);
  m.def("set_path", &SetPath, py::arg("path"));
  m.def("set_thread_name",
        [](const std::string& name) { profiler::SetThreadName(name); });
  m.def(
      "instant",
      [](const py::str& name, const py::str& category) {
        profiler::Instant(InternText(name), InternText(category));
      },
      py::arg("name"), py::arg("category") = "user");
  m.def(
      "counter",
      [](const py::str& name, double value, const py::str& category) {
        profiler::Counter(InternText(name), value, InternText(category));
      },
      py::arg("name"), py::arg("value"), py::arg("category") = "user");
  m.def("new_flow_id", &profiler::NewFlowId);
  m.def(
      "flow",
      [](const py::str& name, uint64_t id, bool begin,
         const py::str& category) {
        (begin ? profiler::FlowBegin : profiler::FlowEnd)(InternText(name), id,
                                                          InternText(category));
      },
      py::arg("name"), py::arg("id"), py::arg("begin"),
      py::arg("category") = "user");
  m.def("load", &Load, py::arg("path"));
  py::class_<OpenRange>(m, "Range", "A range between two calls.")
      .def("__init__",
           Constructor<const py::str&, const py::str&>(
               [](const py::str& name, const py::str& category) {
                 return std::make_unique<OpenRange>(name, category);
               }),
           kIsConstructor, py::arg("name"), py::arg("category") = "user")
      .def("begin", &OpenRange::Begin)
      .def("end", &OpenRange::End);
  BindRecording(m);
  m.def("merge", &Merge, py::arg("recordings"));
}

const ModulePart part(&BindProfiler);

}  // namespace
}  // namespace proa::inline v0::python
