#include "python/core/device.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ops/infer.h"
#include "ops/onednn/reorders.h"
#include "python/core/casters.h"
#include "python/core/constructor.h"
#include "python/core/gil.h"
#include "tensor/allocator.h"
#include "tensor/device.h"
#include "tensor/device_plugin.h"
#include "tensor/error.h"
#include "tensor/execution.h"
#include "tensor/generator.h"
#include "tensor/malloc_blocks.h"
#include "tensor/parallel.h"
#include "tensor/print.h"

namespace proa::inline v0::python {
namespace {

namespace py = pybind11;

// An ExecutionScope as a `with` statement.
class ThreadScope {
 public:
  explicit ThreadScope(int n) : n_(n) {}
  void Enter() { scope_.emplace(Execution{.num_threads = n_}); }
  void Exit() { scope_.reset(); }

 private:
  int n_;
  std::optional<ExecutionScope> scope_;
};

Place PlaceOr(std::optional<Place> place) {
  return place ? *place : ops::infer::DefaultPlace();
}

Place SetDevice(const py::object& device) {
  const std::optional<Place> place = FindPlace(device.ptr());
  if (!place)
    ThrowTypeError("set_device: device must be a place or its name, not " +
                   TypeName(device.ptr()));
  RuntimeOf(*place);  // throws for a device that is not there
  ops::infer::SetDefaultPlace(*place);
  return *place;
}

int DeviceCount(std::string_view kind_name) {
  DeviceKind kind;
  if (!FindDeviceKind(kind_name, &kind)) return 0;
  DeviceRuntime* runtime = FindDeviceRuntime(kind);
  return runtime == nullptr ? 0 : runtime->device_count();
}

std::string LoadPlugin(const std::string& path) {
  return DeviceKindName(LoadDevicePlugin(path));
}

Allocator& AllocatorOf(std::optional<Place> place) {
  const Place p = PlaceOr(place);
  return RuntimeOf(p).allocator(p.index);
}

py::dict Figures(std::optional<Place> place) {
  const MemoryFigures f = AllocatorOf(place).Figures();
  py::dict out;
  out["allocated"] = f.allocated;
  out["peak_allocated"] = f.peak_allocated;
  out["reserved"] = f.reserved;
  out["peak_reserved"] = f.peak_reserved;
  out["releasable"] = f.releasable;
  out["largest_free"] = f.largest_free;
  out["cap"] = f.cap;
  out["allocations"] = f.allocations;
  return out;
}

void BindMemory(py::module_& m) {
  const auto place = py::arg("place") = py::none();
  m.def("memory_figures", &Figures, place,
        "Bytes handed out and held on a device.");
  m.def(
      "memory_reset_peak",
      [](std::optional<Place> p) { AllocatorOf(p).ResetPeak(); }, place);
  m.def(
      "memory_release",
      [](std::optional<Place> p) { return AllocatorOf(p).Release(); }, place,
      "Gives unused memory back to the system; returns how many bytes.");
  m.def(
      "memory_set_cap",
      [](int64_t bytes, std::optional<Place> p) {
        AllocatorOf(p).SetCap(bytes);
      },
      py::arg("bytes"), place, "Bounds what is held of a device's memory.");
  m.def("memory_keep_malloc", &KeepMallocBlocks,
        "Lets malloc keep what is given back to it; returns whether it does.");
}

void BindRandom(py::module_& m) {
  m.def(
      "seed", [](int64_t seed) { SeedAll(static_cast<uint64_t>(seed)); },
      py::arg("seed"), "Seeds the generators of all devices.");
  m.def(
      "initial_seed",
      [](std::optional<Place> p) {
        return DefaultGenerator(PlaceOr(p)).seed();
      },
      py::arg("place") = py::none());
  m.def(
      "get_rng_state",
      [](std::optional<Place> p) {
        const GeneratorState s = DefaultGenerator(PlaceOr(p)).state();
        return py::make_tuple(s.seed, s.offset);
      },
      py::arg("place") = py::none(),
      "The state of a generator: (seed, offset).");
  m.def(
      "set_rng_state",
      [](std::pair<uint64_t, uint64_t> state, std::optional<Place> p) {
        DefaultGenerator(PlaceOr(p)).set_state({state.first, state.second});
      },
      py::arg("state"), py::arg("place") = py::none());
}

void BindPrinting(py::module_& m) {
  m.def("get_printoptions", [] {
    const PrintOptions o = GetPrintOptions();
    py::dict out;
    out["precision"] = o.precision;
    out["threshold"] = o.threshold;
    out["edgeitems"] = o.edgeitems;
    out["linewidth"] = o.linewidth;
    out["sci_mode"] = o.sci_mode;
    return out;
  });
  m.def(
      "set_printoptions",
      [](std::optional<int> precision, std::optional<int64_t> threshold,
         std::optional<int64_t> edgeitems, std::optional<bool> sci_mode,
         std::optional<int> linewidth) {
        PrintOptions o = GetPrintOptions();
        if (precision) o.precision = *precision;
        if (threshold) o.threshold = *threshold;
        if (edgeitems) o.edgeitems = *edgeitems;
        if (sci_mode) o.sci_mode = sci_mode;
        if (linewidth) o.linewidth = *linewidth;
        SetPrintOptions(o);
      },
      py::arg("precision") = py::none(), py::arg("threshold") = py::none(),
      py::arg("edgeitems") = py::none(), py::arg("sci_mode") = py::none(),
      py::arg("linewidth") = py::none());
}

}  // namespace

void BindDevice(py::module_& m) {
  m.def("set_device", &SetDevice, py::arg("device"),
        "Where new tensors lie from now on.");
  m.def("get_device", [] { return ToString(ops::infer::DefaultPlace()); });
  m.def("device_count", &DeviceCount, py::arg("kind") = "gpu");
  m.def(
      "has_devices",
      [](std::string_view kind_name) {
        DeviceKind kind;
        return FindDeviceKind(kind_name, &kind) &&
               FindDeviceRuntime(kind) != nullptr;
      },
      py::arg("kind"),
      "Whether this build or a plugin knows devices of a kind, be there any or "
      "none.");
  m.def(
      "device_properties",
      [](Place place) {
        const DeviceProperties p = RuntimeOf(place).Properties(place.index);
        py::dict out;
        out["name"] = p.name;
        out["memory"] = p.memory;
        out["major"] = p.major;
        out["minor"] = p.minor;
        out["multiprocessors"] = p.multiprocessors;
        return out;
      },
      py::arg("place"), "What the runtime of a device says of it.");
  m.def("load_device_plugin", &LoadPlugin, py::arg("path"),
        "Makes a shared library's devices known; returns the name of their "
        "kind.");
  m.def(
      "synchronize",
      [](std::optional<Place> p) {
        const GilRelease release;
        Synchronize(PlaceOr(p));
      },
      py::arg("place") = py::none(), "Waits for all work on a device.");
  m.def(
      "set_default_dtype",
      [](DType t) {
        PROA_REQUIRE(IsFloat(t),
                     "set_default_dtype: only floating point types can be the "
                     "default, not ",
                     Name(t));
        ops::infer::SetDefaultDType(t);
      },
      py::arg("dtype"));
  m.def("get_default_dtype", [] { return ops::infer::DefaultDType(); });
  m.def("set_num_threads", &SetNumThreads, py::arg("n"));
  m.def("get_num_threads", &GetNumThreads);
  py::class_<ThreadScope>(m, "ThreadScope",
                          "with ThreadScope(n): the computations of this "
                          "Python thread use n threads; 0: as before.")
      .def("__init__", Constructor<int>([](int n) {
             return std::make_unique<ThreadScope>(n);
           }),
           kIsConstructor, py::arg("num_threads"))
      .def("__enter__", [](ThreadScope& s) { s.Enter(); })
      .def("__exit__", [](ThreadScope& s, const py::args&) { s.Exit(); });
  m.def(
      "reorder_counts",
      [] {
        const onednn::ReorderCounts n = onednn::GetReorderCounts();
        py::dict counts;
        counts["data"] = n.data;
        counts["weights"] = n.weights;
        return counts;
      },
      "How often elements were moved to another memory format for a kernel "
      "(ops/onednn/reorders.h).");
  BindMemory(m);
  BindRandom(m);
  BindPrinting(m);
}

}  // namespace proa::inline v0::python
