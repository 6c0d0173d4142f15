// Programs for Python: recording, running, saving, loading, control flow.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "autograd/grad_state.h"
#include "jit/clone.h"
#include "jit/constant.h"
#include "jit/control_flow.h"
#include "jit/executor.h"
#include "jit/pass.h"
#include "jit/program.h"
#include "jit/program_file.h"
#include "jit/prune.h"
#include "jit/recorder.h"
#include "jit/recording_block.h"
#include "jit/reference/import.h"
#include "jit/reference/load.h"
#include "jit/text.h"
#include "python/core/casters.h"
#include "python/core/constructor.h"
#include "python/core/file_status.h"
#include "python/core/gil.h"
#include "python/core/module.h"
#include "python/core/symbolic.h"
#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/interpreters.h"

namespace pybind11::detail {
template <>
class type_caster<std::shared_ptr<proa::jit::Program>>
    : public proa::python::SharedCaster<proa::jit::Program> {};
}  // namespace pybind11::detail

namespace proa::inline v0::python {
namespace {

namespace py = pybind11;
using jit::Module;
using jit::Program;
using jit::ValueId;
using jit::ValueInfo;
using ProgramPtr = std::shared_ptr<Program>;
using Tensors = std::vector<Tensor>;
constexpr std::string_view kTestMode[] = {"test_mode"};

ValueId IdIn(const ProgramPtr& program, const Tensor& t) {
  if (t.is_symbolic()) {
    const jit::Symbol& symbol = jit::SymbolOf(t);
    PROA_REQUIRE(program->Shares(symbol.program(), symbol.id()),
                 "a value of another program: ", Describe(t));
    return symbol.id();
  }
  return program->Capture(t);
}

std::vector<ValueId> IdsIn(const ProgramPtr& program, const Tensors& ts) {
  std::vector<ValueId> ids;
  for (const Tensor& t : ts) {
    if (!t.defined()) ThrowTypeError("an output is None; expected Tensor");
    ids.push_back(IdIn(program, t));
  }
  return ids;
}

ValueId InputNamed(const Program& program, const std::string& name) {
  const ValueId id = program.Find(name);
  PROA_REQUIRE(
      id != jit::kNoValue && program.value(id).kind == jit::ValueKind::kInput,
      "the program has no input '", name, "'");
  return id;
}

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

// A module loaded from a file (or made by parsing a program's text).
struct LoadedModule {
  Module module;
  std::vector<bool> gradients;  // GradientsOfCaptured when it was made
  std::shared_ptr<const jit::Executor> compiled;  // by WithPasses, else null

  explicit LoadedModule(Module m)
      : module(std::move(m)), gradients(GradientsOfCaptured()) {}

  std::shared_ptr<const jit::Executor> Executor() const {
    if (compiled != nullptr) return compiled;
    return jit::ExecutorOf(*module.program, module.outputs);
  }

  // The same module and tensors, run after these passes in place of the default
  // ones. What is changed of the program later is not seen.
  LoadedModule WithPasses(const std::vector<std::string>& passes) const {
    const std::vector<std::string_view> names(passes.begin(), passes.end());
    LoadedModule out = *this;
    out.compiled = std::make_shared<const jit::Executor>(
        *module.program, module.outputs, jit::Changes::kAll, names);
    return out;
  }

  // Replay under all interpreters, autocast too: what is recorded of it with
  // symbolic inputs is the model in the types that autocast chooses, the
  // parameters cast for good.
  Tensors Replay(const Tensors& inputs) const {
    return Executor()->Replay(Feeds(inputs));
  }

  std::vector<std::pair<ValueId, Tensor>> Feeds(const Tensors& inputs) const {
    PROA_REQUIRE(inputs.size() == module.inputs.size(), "the model takes ",
                 module.inputs.size(), " inputs, ", inputs.size(), " given");
    std::vector<std::pair<ValueId, Tensor>> fed;
    for (size_t i = 0; i < inputs.size(); ++i) {
      fed.emplace_back(module.inputs[i], inputs[i]);
    }
    return fed;
  }

  Tensors Run(const Tensors& inputs) const {
    const auto fed = Feeds(inputs);
    const auto executor = Executor();
    const GilRelease release;
    return executor->Run(fed);
  }

  // Through the front doors, under the interpreters that are active: gradients
  // flow, and a program that is being recorded takes the operations in. But for
  // autocast: its casts were recorded, or there were none.
  Tensors Call(const Tensors& inputs) const {
    const InterpreterScope scope = InterpreterScope::Forbid(kAutocast);
    return Executor()->Replay(Feeds(inputs));
  }

  // Of each captured tensor whether it requires a gradient: what a recording
  // that follows gradients holds for.
  std::vector<bool> GradientsOfCaptured() const {
    std::vector<bool> flags;
    for (const ValueInfo& v : module.program->values()) {
      if (v.kind != jit::ValueKind::kCaptured) continue;
      flags.push_back((v.captured.flags() & kDifferentiate) != 0);
    }
    return flags;
  }

  std::vector<std::string> InputNames() const {
    std::vector<std::string> names;
    for (ValueId id : module.inputs)
      names.push_back(module.program->value(id).name);
    return names;
  }

  py::list InputSpecs() const { return Specs(module.inputs); }
  py::list OutputSpecs() const { return Specs(module.outputs); }

  py::list Specs(const std::vector<ValueId>& ids) const {
    py::list specs;
    for (ValueId id : ids) {
      const TensorMeta& m = module.program->value(id).meta;
      specs.append(py::make_tuple(
          std::vector<int64_t>(m.shape.begin(), m.shape.end()), m.dtype));
    }
    return specs;
  }

  std::vector<std::pair<std::string, Tensor>> Captured() const {
    std::vector<std::pair<std::string, Tensor>> out;
    for (ValueId id : module.program->captured()) {
      out.emplace_back(module.program->value(id).name,
                       module.program->value(id).captured);
    }
    return out;
  }
};

Module MakeModule(const ProgramPtr& program,
                  const std::vector<std::string>& inputs,
                  const Tensors& outputs,
                  const std::vector<std::string>& output_names) {
  Module m;
  m.program = program;
  for (const std::string& name : inputs) {
    m.inputs.push_back(InputNamed(*program, name));
  }
  for (const Tensor& t : outputs) {
    if (!t.defined()) ThrowTypeError("an output is None; expected Tensor");
    m.outputs.push_back(jit::RefTo(program, t).id);
  }
  m.output_names = output_names;
  for (size_t i = m.output_names.size(); i < outputs.size(); ++i) {
    m.output_names.push_back(absl::StrCat("output_", i));
  }
  return m;
}

// The part of the program that `outputs` depend on, through its text and back.
LoadedModule Reparse(const ProgramPtr& program,
                     const std::vector<std::string>& inputs,
                     const Tensors& outputs) {
  Module m = jit::Prune(MakeModule(program, inputs, outputs, {}));
  Tensors captured;
  for (ValueId id : m.program->captured()) {
    captured.push_back(m.program->value(id).captured);
  }
  absl::flat_hash_map<int64_t, ValueId> numbers;
  absl::StatusOr<ProgramPtr> parsed =
      jit::ParseText(jit::ToText(*m.program), captured, &numbers);
  ThrowIfError(parsed.status());
  m.program = *std::move(parsed);
  for (ValueId& id : m.inputs) id = numbers.at(id);
  for (ValueId& id : m.outputs) id = numbers.at(id);
  return LoadedModule(std::move(m));
}

// The program of a text as `str(program)` writes it. `inputs` and `outputs` are
// numbers of values in the text.
LoadedModule Parse(const std::string& text, const Tensors& captured,
                   const std::vector<int64_t>& inputs,
                   const std::vector<int64_t>& outputs) {
  absl::flat_hash_map<int64_t, ValueId> numbers;
  absl::StatusOr<ProgramPtr> parsed = jit::ParseText(text, captured, &numbers);
  ThrowIfError(parsed.status());
  const auto id_of = [&](int64_t number) {
    const auto it = numbers.find(number);
    PROA_REQUIRE(it != numbers.end(), "parse_program: the text makes no %",
                 number);
    return it->second;
  };
  Module m;
  m.program = *std::move(parsed);
  for (int64_t n : inputs) m.inputs.push_back(id_of(n));
  for (int64_t n : outputs) {
    m.outputs.push_back(id_of(n));
    m.output_names.push_back(absl::StrCat("output_", m.outputs.size() - 1));
  }
  return LoadedModule(std::move(m));
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
          "plan",
          [](const ProgramPtr& p, const Tensors& fetches) {
            return jit::ToText(
                jit::ExecutorOf(*p, IdsIn(p, fetches))->program());
          },
          py::arg("fetches"), "The text of what runs for these fetches.")
      .def_property_readonly(
          "num_operations",
          [](const Program& p) { return p.block().operations.size(); })
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

void Save(const Module& module, const std::string& prefix) {
  CheckPath(prefix);
  absl::Status saved;
  {
    const GilRelease release;
    saved = jit::SaveModule(module, prefix);
  }
  CheckFileStatus(saved);
}

void BindModule(py::module_& m) {
  py::class_<LoadedModule>(m, "LoadedModule")
      .def("run", &LoadedModule::Run, py::arg("inputs"))
      .def("call", &LoadedModule::Call, py::arg("inputs"))
      .def("replay", &LoadedModule::Replay, py::arg("inputs"),
           "As call, with the casts of autocast where that is on.")
      .def("with_passes", &LoadedModule::WithPasses, py::arg("passes"),
           "The same, run after these passes in place of the default ones.")
      .def_property_readonly("plan",
                             [](const LoadedModule& l) {
                               return jit::ToText(l.Executor()->program());
                             })
      .def(
          "same_gradients",
          [](const LoadedModule& l) {
            return l.gradients == l.GradientsOfCaptured();
          },
          "Whether the captured tensors that require gradients are those that "
          "did when the module was made.")
      .def_property_readonly(
          "context", [](const LoadedModule& l) { return l.module.context; })
      .def_property_readonly("input_names", &LoadedModule::InputNames)
      .def_property_readonly("input_specs", &LoadedModule::InputSpecs)
      .def_property_readonly("output_specs", &LoadedModule::OutputSpecs)
      .def_property_readonly(
          "output_names",
          [](const LoadedModule& l) { return l.module.output_names; })
      .def_property_readonly("captured", &LoadedModule::Captured)
      .def(
          "set_captured",
          [](LoadedModule& l, const std::string& name, const Tensor& t) {
            const ValueId id = l.module.program->Find(name);
            PROA_REQUIRE(id != jit::kNoValue && t.defined(),
                         "the program captures no '", name, "'");
            l.module.program->SetCaptured(id, t);
          },
          py::arg("name"), py::arg("tensor"))
      .def_property_readonly(
          "program", [](const LoadedModule& l) { return l.module.program; })
      // None for files of 0.1, which did not say.
      .def_property_readonly(
          "trainable", [](const LoadedModule& l) { return l.module.trainable; })
      .def("save", [](const LoadedModule& l, const std::string& prefix) {
        Save(l.module, prefix);
      });

  m.def(
      "save_program",
      [](const std::string& prefix, const ProgramPtr& program,
         const std::vector<std::string>& inputs, const Tensors& outputs,
         const std::vector<std::string>& output_names,
         const std::optional<std::vector<std::string>>& trainable,
         bool keep_state,
         const std::vector<std::pair<std::string, std::string>>& context,
         bool for_test) {
        const jit::Changes changes =
            keep_state ? jit::Changes::kRead : jit::Changes::kNone;
        Module whole = MakeModule(program, inputs, outputs, output_names);
        if (for_test) {
          whole.program = jit::Clone(*program);
          jit::RunPasses(whole.program, whole.outputs, kTestMode);
        }
        Module module = jit::Prune(whole, changes);
        module.trainable = trainable;
        module.context = context;
        Save(module, prefix);
      },
      py::arg("prefix"), py::arg("program"), py::arg("inputs"),
      py::arg("outputs"), py::arg("output_names") = std::vector<std::string>(),
      py::arg("trainable") = py::none(), py::arg("keep_state") = false,
      py::arg("context") = std::vector<std::pair<std::string, std::string>>(),
      py::arg("for_test") = false,
      "`keep_state`: changes of captured tensors that the outputs read are "
      "part of the file.");
  m.def("parse_program", &Parse, py::arg("text"), py::arg("captured"),
        py::arg("inputs"), py::arg("outputs"));
  m.def(
      "load_program",
      [](const std::string& path, const std::optional<std::string>& parameters,
         bool mapped) {
        CheckPath(path);
        if (parameters.has_value()) CheckPath(*parameters);
        const jit::Parameters kind =
            mapped ? jit::Parameters::kMapped : jit::Parameters::kCopied;
        absl::StatusOr<Module> module = absl::UnknownError("");
        {
          const GilRelease release;
          module =
              parameters.has_value()
                  ? jit::reference::LoadAnyModel(
                        jit::reference::ModelFiles{path, *parameters}, kind)
                  : jit::reference::LoadAnyModel(path, kind);
        }
        CheckFileStatus(module.status());
        return LoadedModule(*std::move(module));
      },
      py::arg("path"), py::arg("parameters") = py::none(),
      py::arg("mapped") = false,
      "A prefix or folder, or the file of a program and that of its "
      "parameters ('': one beside it for each). `mapped`: parameters of our "
      "own files are not read but mapped, shared by processes.");
  m.def(
      "parse_program_files",
      [](const std::string& program, const std::string& parameters) {
        absl::StatusOr<Module> module =
            jit::reference::ParseAnyModel(program, parameters);
        ThrowIfError(module.status());
        return LoadedModule(*std::move(module));
      },
      py::arg("program"), py::arg("parameters"),
      "The contents of the two files, as bytes.");
  m.def("default_passes", [] {
    std::vector<std::string> names;
    for (std::string_view name : jit::DefaultPasses()) {
      names.emplace_back(name);
    }
    return names;
  });
  m.def(
      "reference_op_types", [] { return jit::reference::KnownTypes(); },
      "The op types of PaddlePaddle 1.x and 2.x that programs may have.");
}

void BindJit(py::module_& m) {
  InstallSymbolic({.elements = &jit::ElementsOfConstant,
                   .name = [](const Tensor& t, const char* name) {
                     const jit::Symbol& s = jit::SymbolOf(t);
                     s.program()->NameResult(s.id(), name);
                   }});
  BindProgram(m);
  BindModule(m);
  m.def("cond", &CondOf, py::arg("predicate"), py::arg("then"),
        py::arg("otherwise"));
  m.def("while_loop", &LoopOf, py::arg("condition"), py::arg("body"),
        py::arg("vars"));
  m.def("passes", [] {
    py::dict out;
    for (const jit::Pass& p : jit::AllPasses()) out[p.name] = p.doc;
    return out;
  });
  m.def(
      "set_pass_checks",
      [](bool verify, const py::object& dump) {
        jit::PassDebugging debugging;
        debugging.verify = verify;
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
      "Whether the verifier runs after each pass; dump(pass, before, after) "
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
