// Programs for Python: recording, running, saving, loading, control flow.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autograd/grad_state.h"
#include "jit/clone.h"
#include "jit/constant.h"
#include "jit/control_flow.h"
#include "jit/executor.h"
#include "jit/liveness.h"
#include "jit/operation_flops.h"
#include "jit/pass.h"
#include "jit/program.h"
#include "jit/recorder.h"
#include "jit/recording_block.h"
#include "jit/text.h"
#include "python/core/casters.h"
#include "python/core/constructor.h"
#include "python/core/gil.h"
#include "python/core/loaded_module.h"
#include "python/core/module.h"
#include "python/core/symbolic.h"
#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::python {
namespace {

namespace py = pybind11;
using jit::Program;
using jit::ValueId;

// `with program.recording():` static mode of this thread.
class Recording {
 public:
  explicit Recording(ProgramPtr program) : program_(std::move(program)) {}
  void Enter() { scope_ = std::make_unique<jit::StaticModeScope>(program_); }
  void Exit() { scope_.reset(); }

 private:
  ProgramPtr program_;
  std::unique_ptr<jit::StaticModeScope> scope_;
};

// Runs what the fetches need and (unless `prune`) every change of captured
// tensors.
Tensors RunProgram(const ProgramPtr& program,
                   const std::map<std::string, Tensor>& feeds,
                   const Tensors& fetches, bool prune) {
  std::vector<std::pair<ValueId, Tensor>> fed;
  for (const auto& [name, t] : feeds) {
    fed.emplace_back(InputNamed(*program, name), t);
  }
  const auto executor =
      jit::ExecutorOf(*program, IdsIn(program, fetches),
                      prune ? jit::Changes::kNone : jit::Changes::kAll);
  const GilRelease release;
  return executor->Run(fed);
}

// Python callables as branches: they take and give tensors.
Tensors CallPython(const py::function& f, const Tensors& args) {
  py::list list;
  for (const Tensor& t : args) list.append(t);
  const py::object result = f(*py::tuple(list));
  if (result.is_none()) return {};
  if (IsTensor(result.ptr())) return {Unwrap(result.ptr())};
  return result.cast<Tensors>();
}

Tensors CondOf(const Tensor& predicate, const py::function& then,
               const py::function& otherwise) {
  return jit::Cond(
      predicate, [&] { return CallPython(then, {}); },
      [&] { return CallPython(otherwise, {}); });
}

Tensors LoopOf(const py::function& condition, const py::function& body,
               const Tensors& vars) {
  return jit::WhileLoop(
      [&](const Tensors& v) {
        const Tensors result = CallPython(condition, v);
        PROA_REQUIRE(result.size() == 1,
                     "while_loop: the condition gives one Tensor, not ",
                     result.size());
        return result[0];
      },
      [&](const Tensors& v) { return CallPython(body, v); }, vars);
}

void BindProgram(py::module_& m) {
  py::class_<Recording>(m, "Recording")
      .def("__enter__", [](Recording& r) { r.Enter(); })
      .def("__exit__", [](Recording& r, const py::args&) { r.Exit(); });

  py::class_<Program, ProgramPtr>(m, "Program")
      .def("__init__",
           Constructor<>([] { return std::make_shared<Program>(); }),
           kIsConstructor)
      .def(
          "add_input",
          [](const ProgramPtr& p, const std::string& name,
             const std::vector<int64_t>& shape, DType dtype,
             bool differentiable) {
            const Tensor t = jit::AddInput(
                p, name, Shape{std::span<const int64_t>(shape)}, dtype);
            differentiable = differentiable && IsDifferentiable(dtype);
            if (differentiable) autograd::SetRequiresGrad(t, true);
            p->value(jit::SymbolOf(t).id()).no_gradient = !differentiable;
            return t;
          },
          py::arg("name"), py::arg("shape"), py::arg("dtype"),
          py::arg("differentiable") = false)
      .def("follow_gradients", &Program::FollowGradients,
           "The recorded function's no_grad and detach hold when the program "
           "is called under autograd; to be said before recording.")
      .def(
          "text_of_dim",
          [](const ProgramPtr& p, int64_t name) {
            for (size_t v = 0; v < p->values().size(); ++v) {
              const Shape& shape = p->values()[v].meta.shape;
              for (int d = 0; d < shape.rank(); ++d) {
                if (shape[d] != name) continue;
                return absl::StrCat("%", v, ".shape[", d, "]");
              }
            }
            return std::string("?");
          },
          py::arg("name"), "`%0.shape[1]`: the first value with this dim.")
      .def(
          "value_number",
          [](const ProgramPtr& p, const Tensor& t) { return IdIn(p, t); },
          "Which value of the program a symbolic tensor is now.")
      .def(
          "capture",
          [](const ProgramPtr& p, const Tensor& t, const std::string& name) {
            const ValueId id = p->Capture(t, name);
            if (p->value(id).name.empty()) p->value(id).name = name;
          },
          py::arg("tensor"), py::arg("name"))
      .def("recording", [](const ProgramPtr& p) { return Recording(p); })
      .def(
          "find",
          [](const ProgramPtr& p, const std::string& name) {
            const ValueId id = p->FindAny(name);
            return id == jit::kNoValue ? Tensor() : jit::MakeSymbolic(p, id);
          },
          py::arg("name"))
      .def(
          "value",
          [](const ProgramPtr& p, ValueId id) {
            PROA_REQUIRE(
                id >= 0 && id < static_cast<ValueId>(p->values().size()),
                "the program has no value %", id);
            return jit::MakeSymbolic(p, id);
          },
          py::arg("number"), "The tensor of a number in the text.")
      .def("run", &RunProgram, py::arg("feeds"), py::arg("fetches"),
           py::arg("prune") = false)
      .def(
          "module",
          [](const ProgramPtr& p, const std::vector<std::string>& inputs,
             const Tensors& outputs,
             const std::vector<std::string>& output_names) {
            return LoadedModule(MakeModule(p, inputs, outputs, output_names));
          },
          py::arg("inputs"), py::arg("outputs"),
          py::arg("output_names") = std::vector<std::string>())
      .def("reparse", &Reparse, py::arg("inputs"), py::arg("outputs"))
      .def_property_readonly("captured",
                             [](const Program& p) {
                               std::vector<std::pair<std::string, Tensor>> out;
                               for (ValueId id : p.captured()) {
                                 out.emplace_back(p.value(id).name,
                                                  p.value(id).captured);
                               }
                               return out;
                             })
      .def(
          "clone",
          [](const ProgramPtr& p, bool for_test) {
            ProgramPtr copy = jit::Clone(*p);
            copy->NoteCopyOf(p);
            if (for_test) jit::RunPasses(copy, {}, kTestMode);
            return copy;
          },
          py::arg("for_test") = false,
          "A copy with the same numbers of values, which handles of this one "
          "name there too.")
      .def(
          "run_passes",
          [](const ProgramPtr& p, const std::vector<std::string>& passes,
             const Tensors& outputs) {
            const std::vector<std::string_view> names(passes.begin(),
                                                      passes.end());
            return jit::RunPasses(p, IdsIn(p, outputs), names);
          },
          py::arg("passes"), py::arg("outputs"),
          "Changes the program; true if something changed.")
      .def(
          "prune",
          [](const ProgramPtr& p, const Tensors& outputs,
             const Tensors& inputs) {
            const jit::Liveness needed = jit::Analyze(
                *p, IdsIn(p, outputs), jit::Changes::kNone, IdsIn(p, inputs));
            size_t i = 0;
            std::erase_if(p->block().operations, [&](const jit::Operation&) {
              return needed.skip[i++];
            });
          },
          py::arg("outputs"), py::arg("inputs"),
          "Leaves the operations that these values need, and none that updates "
          "anything.")
      .def("choose_passes", &jit::ChoosePasses, py::arg("passes"),
           "What runs over it in each plan, in place of the default passes.")
      .def(
          "plan",
          [](const ProgramPtr& p, const Tensors& fetches) {
            return jit::ToText(
                jit::ExecutorOf(*p, IdsIn(p, fetches))->program());
          },
          py::arg("fetches"), "The text of what runs for these fetches.")
      .def_property_readonly(
          "num_operations",
          [](const Program& p) { return p.block().operations.size(); })
      .def("flops", &jit::FlopsOfOperations,
           "Floating point operations of each operation, by known sizes.")
      .def_property_readonly("input_names",
                             [](const Program& p) {
                               std::vector<std::string> names;
                               for (ValueId id : p.inputs()) {
                                 names.push_back(p.value(id).name);
                               }
                               return names;
                             })
      .def("__str__", [](const Program& p) { return jit::ToText(p); });
}

void BindJit(py::module_& m) {
  InstallSymbolic({.elements = &jit::ElementsOfConstant,
                   .name = [](const Tensor& t, const char* name) {
                     const jit::Symbol& s = jit::SymbolOf(t);
                     s.program()->NameResult(s.id(), name);
                   }});
  BindProgram(m);
  BindLoadedModules(m);
  m.def("cond", &CondOf, py::arg("predicate"), py::arg("then"),
        py::arg("otherwise"));
  m.def("while_loop", &LoopOf, py::arg("condition"), py::arg("body"),
        py::arg("vars"));
  m.def("passes", [] {
    py::dict out;
    for (const jit::Pass& p : jit::AllPasses()) out[p.name] = p.doc;
    return out;
  });
  m.def("default_passes", [] {
    std::vector<std::string> names;
    for (std::string_view name : jit::DefaultPasses()) names.emplace_back(name);
    return names;
  });
  m.def(
      "set_pass_checks",
      [](bool verify, const py::object& dump) {
        jit::PassDebugging debugging;
        debugging.verify = debugging.compare = verify;
        if (!dump.is_none()) {
          debugging.dump = [dump](const char* pass, const std::string& before,
                                  const std::string& after) {
            const py::gil_scoped_acquire gil;
            dump(pass, before, after);
          };
        }
        jit::SetPassDebugging(std::move(debugging));
      },
      py::arg("verify"), py::arg("dump") = py::none(),
      "Whether the form of a program is checked after each pass, and what it "
      "gives on arguments that are made up; dump(pass, before, after) "
      "is called with the texts where a pass changed something.");
  m.def("is_symbolic",
        [](const Tensor& t) { return t.defined() && t.is_symbolic(); });
  m.def("program_of",
        [](const Tensor& t) { return jit::SymbolOf(t).program(); });
  m.def(
      "dim_name", [](const Tensor& t, int axis) { return t.size(axis); },
      py::arg("x"), py::arg("axis"),
      "What an unknown dim of a symbolic tensor is called: a number of its own "
      "for each size, the same wherever shape inference hands it on.");
  m.def(
      "record_into",
      [](const ProgramPtr& program) { jit::SetStaticProgram(program); },
      py::arg("program"),
      "Ops of this thread are recorded into the program, or into none.");
  m.def(
      "take_elements", [](const Tensor& t) { return jit::TakeElements(t); },
      "Gives a constant of a program its elements, so that it leaves the "
      "program; False for other values of programs.");
  m.def("set_size_type", [](const py::object& t) { SetSizeType(t.ptr()); });
  m.def("in_static_mode",
        [] { return (thread_interpreters.forced & kRecord) != 0; });
  m.def(
      "eager_mode", [] { return Recording(nullptr); },
      "`with eager_mode():` ops without symbolic arguments run at once.");
}

const ModulePart part(&BindJit);

}  // namespace

}  // namespace proa::inline v0::python
