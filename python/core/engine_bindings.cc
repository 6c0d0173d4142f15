// What runs models for predictors: programs as compiled, ONNX Runtime, and both
// together; engines of parts may be objects of Python.
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inference/compile.h"
#include "inference/engine.h"
#include "inference/onnxruntime_engine.h"
#include "inference/subgraphs.h"
#include "inference/watching.h"
#include "jit/pass.h"
#include "jit/program_file.h"
#include "python/core/casters.h"
#include "python/core/error.h"
#include "python/core/gil.h"
#include "python/core/loaded_module.h"
#include "python/core/module.h"
#include "tensor/error.h"
#include "tensor/shape.h"

namespace proa::inline v0::python {
namespace {

namespace py = pybind11;
using inference::Engine;

// As Python holds it.
struct HeldEngine {
  std::shared_ptr<const Engine> engine;
};

std::vector<inference::Hook> HooksOf(const std::vector<py::function>& calls) {
  std::vector<inference::Hook> hooks;
  for (const py::function& call : calls) {
    hooks.push_back(
        [call](std::string_view op, const std::string& name, const Tensor& t) {
          const GilAcquire gil;
          CallingPython([&] { call(std::string(op), name, t); });
        });
  }
  return hooks;
}

Tensors Run(const HeldEngine& held, const Tensors& inputs,
            const std::vector<py::function>& input_hooks,
            const std::vector<py::function>& output_hooks) {
  const size_t wanted = held.engine->inputs().size();
  PROA_REQUIRE(inputs.size() == wanted, "the model takes ", wanted, " inputs, ",
               inputs.size(), " given");
  for (size_t i = 0; i < wanted; ++i) {
    PROA_REQUIRE(inputs[i].defined(), "input '", held.engine->inputs()[i].name,
                 "' is None");
  }
  const inference::Hooks hooks = {HooksOf(input_hooks), HooksOf(output_hooks)};
  const GilRelease release;
  return held.engine->Run(inputs, hooks);
}

std::vector<std::string> Names(const std::vector<Engine::Port>& ports) {
  std::vector<std::string> names;
  for (const Engine::Port& p : ports) names.push_back(p.name);
  return names;
}

py::list Specs(const std::vector<Engine::Port>& ports) {
  py::list specs;
  for (const Engine::Port& p : ports) {
    std::vector<int64_t> sizes;
    for (const int64_t n : p.meta.shape)
      sizes.push_back(IsUnknown(n) ? kUnknownDim : n);
    specs.append(py::make_tuple(std::move(sizes), p.meta.dtype));
  }
  return specs;
}

// An object of Python with `run(values)`, as what runs a part.
class PythonEngine final : public Engine {
 public:
  PythonEngine(py::object runner, std::string name)
      : runner_(Ref::Borrow(runner.ptr())), name_(std::move(name)) {}

  Tensors Run(const Tensors& inputs, const inference::Hooks&) const override {
    const GilAcquire gil;
    const py::object made = CallingPython([&] {
      return py::reinterpret_borrow<py::object>(runner_.get())
          .attr("run")(inputs);
    });
    try {
      return made.cast<Tensors>();
    } catch (const py::cast_error&) {
      ThrowTypeError("run of the engine " + name_ +
                     " must give a list of tensors, not " +
                     TypeName(made.ptr()));
    }
  }
  void CheckHooks() const override {}
  std::string Plan() const override { return name_; }

 private:
  const Ref runner_;
  const std::string name_;
};

// An object of Python that claims and compiles (proa/inference/subgraphs.py).
class PythonSubgraphEngine final : public inference::SubgraphEngine {
 public:
  explicit PythonSubgraphEngine(const py::object& engine)
      : engine_(engine),
        name_(engine.attr("name").cast<std::string>()),
        least_(engine.attr("least_operations").cast<size_t>()) {}

  std::string name() const override { return name_; }
  size_t least_operations() const override { return least_; }

  std::vector<bool> Claims(const jit::Module& whole) const override {
    return CallingPython(
               [&] { return engine_.attr("claims")(LoadedModule(whole)); })
        .cast<std::vector<bool>>();
  }

  absl::StatusOr<std::shared_ptr<const Engine>> Compile(
      const jit::Module& part,
      const inference::SubgraphSettings& settings) const override {
    try {
      const py::object made = CallingPython([&] {
        return engine_.attr("compile")(LoadedModule(part), settings);
      });
      if (py::isinstance<HeldEngine>(made)) {
        return made.cast<const HeldEngine&>().engine;
      }
      return std::make_shared<PythonEngine>(made, name_);
    } catch (const py::error_already_set& error) {
      if (!error.matches(PyExc_ValueError) &&
          !error.matches(PyExc_NotImplementedError)) {
        throw;
      }
      return absl::UnimplementedError(TextOf(error.value().ptr()));
    }
  }

 private:
  const py::object engine_;  // lives no longer than the call of `split`
  const std::string name_;
  const size_t least_;
};

HeldEngine Split(const LoadedModule& whole, const py::object& engine,
                 const inference::SubgraphSettings& settings,
                 const std::vector<std::string>& own_passes,
                 const py::function& warn) {
  return {inference::Split(
      whole.module(), PythonSubgraphEngine(engine), settings,
      [&](jit::Module part) {
        return inference::MakeProgramEngine(
            inference::Compile(std::move(part), {.passes = own_passes}),
            settings.threads);
      },
      [&](const std::string& sentence) {
        CallingPython([&] { warn(sentence); });
      })};
}

const ModulePart part([](py::module_& m) {
  py::class_<inference::LowPrecision>(m, "LowPrecision")
      .def(py::init([](DType dtype, bool keeps_io,
                       const std::vector<std::string>& lower,
                       const std::vector<std::string>& raise) {
             return inference::LowPrecision{
                 {.dtype = dtype, .lower = lower, .raise = raise}, keeps_io};
           }),
           py::arg("dtype"), py::arg("keeps_io"), py::arg("lower"),
           py::arg("raise_"));
  m.def("ops_beside", &inference::OpsBeside, py::arg("names"));
  m.def(
      "in_precision",
      [](const LoadedModule& module, const inference::LowPrecision& low) {
        return LoadedModule(inference::InPrecision(module.module(), low));
      },
      py::arg("module"), py::arg("low"));

  py::class_<HeldEngine>(m, "Engine")
      .def("run", &Run, py::arg("inputs"),
           py::arg("input_hooks") = std::vector<py::function>(),
           py::arg("output_hooks") = std::vector<py::function>(),
           "Results of a tensor for each input, from many threads at once. "
           "Hooks are called with the name of each operation that runs, and "
           "the name and value of what it reads, or makes.")
      .def(
          "check_hooks",
          [](const HeldEngine& held) { held.engine->CheckHooks(); },
          "Raises where nobody is shown what is computed on the way.")
      .def_property_readonly(
          "plan", [](const HeldEngine& held) { return held.engine->Plan(); },
          "What runs, as text.")
      .def_property_readonly(
          "input_names",
          [](const HeldEngine& held) { return Names(held.engine->inputs()); })
      .def_property_readonly(
          "output_names",
          [](const HeldEngine& held) { return Names(held.engine->outputs()); })
      .def_property_readonly(
          "input_specs",
          [](const HeldEngine& held) { return Specs(held.engine->inputs()); })
      .def_property_readonly("output_specs", [](const HeldEngine& held) {
        return Specs(held.engine->outputs());
      });
  m.def(
      "program_engine",
      [](const LoadedModule& module, const std::vector<std::string>& passes,
         const std::optional<inference::LowPrecision>& low,
         const std::optional<std::string>& dump_folder,
         const std::vector<std::string>& dumped_passes, int threads) {
        return HeldEngine{inference::MakeProgramEngine(
            inference::Compile(module.module(),
                               {passes, low, dump_folder, dumped_passes}),
            threads)};
      },
      py::arg("module"), py::arg("passes"), py::arg("low") = py::none(),
      py::arg("dump_folder") = py::none(),
      py::arg("dumped_passes") = std::vector<std::string>(),
      py::arg("threads") = 0,
      "A program as predictors run it (inference/compile.h): what is changed "
      "of it later is not seen.");
  m.def(
      "onnxruntime_engine",
      [](const std::string& path, const std::string& library, int threads,
         bool optimized) {
        const GilRelease release;
        return HeldEngine{inference::OnnxRuntimeEngineOfFile(
            path, {library, threads, optimized})};
      },
      py::arg("path"), py::arg("library"), py::arg("threads"),
      py::arg("optimized"));

  py::class_<inference::SubgraphSettings>(m, "SubgraphSettings")
      .def(py::init([](int threads, bool optimized, const std::string& folder) {
             return inference::SubgraphSettings{threads, optimized, folder};
           }),
           py::arg("threads") = 0, py::arg("optimized") = true,
           py::arg("folder") = "")
      .def_readonly("threads", &inference::SubgraphSettings::threads)
      .def_readonly("optimized", &inference::SubgraphSettings::optimized)
      .def_readonly("folder", &inference::SubgraphSettings::folder);
  m.def("split", &Split, py::arg("module"), py::arg("engine"),
        py::arg("settings"), py::arg("own_passes"), py::arg("warn"),
        "A module as parts for an engine and parts that run here after these "
        "passes; `warn(sentence)` is told which parts the engine declines.");

  const auto names = [](std::span<const std::string_view> passes) {
    return std::vector<std::string>(passes.begin(), passes.end());
  };
  m.def("inference_passes", [names] { return names(jit::InferencePasses()); });
  m.def("export_passes", [names] { return names(jit::ExportPasses()); });
});

}  // namespace
}  // namespace proa::inline v0::python
