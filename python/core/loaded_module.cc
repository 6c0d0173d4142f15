#include "python/core/loaded_module.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "autograd/engine.h"
#include "autograd/grad_state.h"
#include "jit/clone.h"
#include "jit/effects.h"
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
#include "python/core/file_status.h"
#include "python/core/gil.h"
#include "tensor/error.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::python {

namespace py = pybind11;
using jit::Module;
using jit::Program;
using jit::ValueId;

ValueId IdIn(const ProgramPtr& program, const Tensor& t) {
  PROA_REQUIRE(t.defined(), "a value of the program must be given, not None");
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

LoadedModule::LoadedModule(Module m) : module_(std::move(m)) {
  for (ValueId id : module_.program->captured()) {
    captured_.push_back({id, RequiresGrad(id)});
  }
}

std::shared_ptr<const jit::Executor> LoadedModule::Executor() const {
  return jit::ExecutorOf(*module_.program, module_.outputs);
}

Tensors LoadedModule::Run(const Tensors& inputs) const {
  const auto fed = Feeds(inputs);
  const auto executor = Executor();
  const GilRelease release;
  return executor->Run(fed);
}

Tensors LoadedModule::Call(const Tensors& inputs) const {
  const InterpreterScope scope = InterpreterScope::Forbid(kAutocast);
  return Executor()->Replay(Feeds(inputs));
}

bool LoadedModule::SameGradients() const {
  for (const Captured& c : captured_) {
    if (RequiresGrad(c.id) != c.requires_grad) return false;
  }
  return true;
}

std::vector<std::pair<ValueId, Tensor>> LoadedModule::Feeds(
    const Tensors& inputs) const {
  PROA_REQUIRE(inputs.size() == module_.inputs.size(), "the model takes ",
               module_.inputs.size(), " inputs, ", inputs.size(), " given");
  std::vector<std::pair<ValueId, Tensor>> fed;
  fed.reserve(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    fed.emplace_back(module_.inputs[i], inputs[i]);
  }
  return fed;
}

bool LoadedModule::RequiresGrad(ValueId captured) const {
  const Tensor& t = module_.program->value(captured).captured;
  return (t.flags() & kDifferentiate) != 0;
}

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

namespace {

std::vector<std::string> InputNames(const Module& module) {
  std::vector<std::string> names;
  for (ValueId id : module.inputs) {
    names.push_back(module.program->value(id).name);
  }
  return names;
}

py::list Specs(const Module& module, const std::vector<ValueId>& ids) {
  py::list specs;
  for (ValueId id : ids) {
    const TensorMeta& m = module.program->value(id).meta;
    specs.append(py::make_tuple(
        std::vector<int64_t>(m.shape.begin(), m.shape.end()), m.dtype));
  }
  return specs;
}

std::vector<std::pair<std::string, Tensor>> Captured(const Program& program) {
  std::vector<std::pair<std::string, Tensor>> out;
  for (ValueId id : program.captured()) {
    out.emplace_back(program.value(id).name, program.value(id).captured);
  }
  return out;
}

Tensors Changed(const Program& program) {
  const jit::Effects effects(program);
  Tensors out;
  for (ValueId id : program.captured()) {
    if (effects.is_changed(id)) out.push_back(program.value(id).captured);
  }
  return out;
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

void Save(const Module& module, const std::string& prefix) {
  CheckPath(prefix);
  absl::Status saved;
  {
    const GilRelease release;
    saved = jit::SaveModule(module, prefix);
  }
  CheckFileStatus(saved);
}

// What is to be said of a loaded file, as warnings of Python.
void Warn(const std::vector<std::string>& warnings, const std::string& file) {
  for (const std::string& text : warnings) {
    const std::string said = absl::StrCat(file, ": ", text);
    if (PyErr_WarnEx(PyExc_UserWarning, said.c_str(), 1) != 0) {
      throw py::error_already_set();
    }
  }
}

}  // namespace

void BindLoadedModules(py::module_& m) {
  py::class_<LoadedModule>(m, "LoadedModule")
      .def("run", &LoadedModule::Run, py::arg("inputs"))
      .def("call", &LoadedModule::Call, py::arg("inputs"))
      .def_property_readonly("plan",
                             [](const LoadedModule& l) {
                               return jit::ToText(l.Executor()->program());
                             })
      .def(
          "same_gradients",
          [](const LoadedModule& l) { return l.SameGradients(); },
          "Whether the captured tensors that require gradients are those that "
          "did when the module was made.")
      .def_property_readonly(
          "context", [](const LoadedModule& l) { return l.module().context; })
      .def_property_readonly(
          "input_names",
          [](const LoadedModule& l) { return InputNames(l.module()); })
      .def_property_readonly("input_specs",
                             [](const LoadedModule& l) {
                               return Specs(l.module(), l.module().inputs);
                             })
      .def_property_readonly("output_specs",
                             [](const LoadedModule& l) {
                               return Specs(l.module(), l.module().outputs);
                             })
      .def_property_readonly(
          "output_names",
          [](const LoadedModule& l) { return l.module().output_names; })
      .def_property_readonly(
          "output_numbers",
          [](const LoadedModule& l) {
            const std::vector<ValueId>& ids = l.module().outputs;
            return std::vector<int64_t>(ids.begin(), ids.end());
          },
          "Which values of the program the results are.")
      .def_property_readonly(
          "captured",
          [](const LoadedModule& l) { return Captured(*l.module().program); })
      .def_property_readonly(
          "changed",
          [](const LoadedModule& l) { return Changed(*l.module().program); },
          "The captured tensors that a call changes in place.")
      .def(
          "set_captured",
          [](LoadedModule& l, const std::string& name, const Tensor& t) {
            const ValueId id = l.module().program->Find(name);
            PROA_REQUIRE(id != jit::kNoValue && t.defined(),
                         "the program captures no '", name, "'");
            l.module().program->SetCaptured(id, t);
          },
          py::arg("name"), py::arg("tensor"))
      .def_property_readonly(
          "program", [](const LoadedModule& l) { return l.module().program; })
      // None for files of 0.1, which did not say.
      .def_property_readonly(
          "trainable",
          [](const LoadedModule& l) { return l.module().trainable; })
      .def_property_readonly(
          "training",
          [](const LoadedModule& l) -> std::optional<LoadedModule> {
            if (l.module().training == nullptr) return std::nullopt;
            return LoadedModule(*l.module().training);
          },
          "What it does while it is trained, over the same tensors; None where "
          "that is the same, or not known.")
      .def("save", [](const LoadedModule& l, const std::string& prefix) {
        Save(l.module(), prefix);
      });

  m.def(
      "save_program",
      [](const std::string& prefix, const ProgramPtr& program,
         const std::vector<std::string>& inputs, const Tensors& outputs,
         const std::vector<std::string>& output_names,
         const std::optional<std::vector<std::string>>& trainable,
         bool keep_state,
         const std::vector<std::pair<std::string, std::string>>& context,
         bool for_test, const std::optional<LoadedModule>& training) {
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
        if (training.has_value() || for_test) {
          auto trained = std::make_shared<Module>(
              training.has_value()
                  ? jit::Prune(training->module(), jit::Changes::kAll)
                  : jit::Prune(
                        MakeModule(program, inputs, outputs, output_names),
                        jit::Changes::kMade));
          trained->trainable = trainable;
          trained->context = context;
          for (auto& [name, value] : trained->context) {
            if (name == "training") value = "true";
          }
          if (jit::ToText(*trained->program) != jit::ToText(*module.program)) {
            module.training = std::move(trained);
          }
        }
        Save(module, prefix);
      },
      py::arg("prefix"), py::arg("program"), py::arg("inputs"),
      py::arg("outputs"), py::arg("output_names") = std::vector<std::string>(),
      py::arg("trainable") = py::none(), py::arg("keep_state") = false,
      py::arg("context") = std::vector<std::pair<std::string, std::string>>(),
      py::arg("for_test") = false, py::arg("training") = py::none(),
      "`keep_state`: changes of captured tensors that the outputs read are "
      "part of the file. `training`: what the model does while it is trained; "
      "`for_test`: the program is that, and the model what it does in a test.");
  m.def("parse_program", &Parse, py::arg("text"), py::arg("captured"),
        py::arg("inputs"), py::arg("outputs"));
  m.def(
      "load_program",
      [](const std::string& path, const std::optional<std::string>& parameters,
         bool mapped, bool with_training) {
        CheckPath(path);
        if (parameters.has_value()) CheckPath(*parameters);
        const jit::Parameters kind =
            mapped ? jit::Parameters::kMapped : jit::Parameters::kCopied;
        const jit::Training training =
            with_training ? jit::Training::kRead : jit::Training::kIgnored;
        absl::StatusOr<Module> module = absl::UnknownError("");
        {
          const GilRelease release;
          module = parameters.has_value()
                       ? jit::reference::LoadAnyModel(
                             jit::reference::ModelFiles{path, *parameters},
                             kind, training)
                       : jit::reference::LoadAnyModel(path, kind, training);
        }
        CheckFileStatus(module.status());
        Warn(module->warnings, path);
        return LoadedModule(*std::move(module));
      },
      py::arg("path"), py::arg("parameters") = py::none(),
      py::arg("mapped") = false, py::arg("with_training") = false,
      "A prefix or folder, or the file of a program and that of its "
      "parameters ('': one beside it for each). `mapped`: parameters of our "
      "own files are not read but mapped, shared by processes. "
      "`with_training`: `training` of what is loaded is read, too.");
  m.def(
      "parse_program_files",
      [](const std::string& program, const std::string& parameters) {
        absl::StatusOr<Module> module =
            jit::reference::ParseAnyModel(program, parameters);
        ThrowIfError(module.status());
        Warn(module->warnings, "the program");
        return LoadedModule(*std::move(module));
      },
      py::arg("program"), py::arg("parameters"),
      "The contents of the two files, as bytes.");
  m.def(
      "parse_whole_program",
      [](const std::string& program,
         const std::map<std::string, Tensor>& tensors) -> py::object {
        absl::StatusOr<jit::reference::WholeProgram> whole =
            jit::reference::ParseWholeProgram(
                program,
                {.follow =
                     [](const Tensor& t) {
                       autograd::SetRequiresGrad(t, true);
                     },
                 .gradients =
                     [](const Tensors& results, const Tensors& arguments,
                        const Tensors& grads) {
                       return autograd::Grad(results, arguments, grads,
                                             {.retain_graph = true}, true, {});
                     }},
                tensors);
        ThrowIfError(whole.status());
        if (whole->program == nullptr) return py::none();
        Warn(whole->warnings, "the program");
        return py::make_tuple(ProgramPtr(whole->program), whole->results,
                              whole->trainable);
      },
      py::arg("program"), py::arg("tensors"),
      "A program of PaddlePaddle as it was built, from its bytes, with tensors "
      "of these names where it keeps such, or zeros; what its "
      "variables hold by name; and the names of what is trained. None for a "
      "model for inference.");
  m.def(
      "parse_reference_tensor",
      [](const std::string& bytes, const std::string& what) {
        absl::StatusOr<Tensor> t =
            jit::reference::ParseReferenceTensor(bytes, what);
        ThrowIfError(t.status());
        return *std::move(t);
      },
      py::arg("bytes"), py::arg("what"),
      "A tensor as PaddlePaddle 1.x wrote each parameter into a file.");
  m.def(
      "reference_op_versions", [] { return jit::reference::KnownVersions(); },
      "The versions in which the op types are known, where they are not 0.");
  m.def(
      "reference_op_types", [] { return jit::reference::KnownTypes(); },
      "The op types of PaddlePaddle 1.x and 2.x that programs may have.");
  m.def(
      "reference_op_calls", [] { return jit::reference::CallsOfRules(); },
      "Of each of these types that has a rule, the ops and other functions "
      "that "
      "the rule calls.");
}

}  // namespace proa::inline v0::python
