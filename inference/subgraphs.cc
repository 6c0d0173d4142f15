// Splits a program between engines, and runs its parts in order.
#include "inference/subgraphs.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "jit/clone.h"
#include "jit/effects.h"
#include "jit/pass.h"
#include "jit/uses.h"
#include "tensor/error.h"
#include "tensor/fork_locks.h"

namespace proa::inline v0::inference {
namespace {

using jit::Operation;
using jit::ValueId;
using jit::ValueKind;

struct Registry {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<const SubgraphEngine>> engines;
};

Registry& Engines() {
  static auto* registry = [] {
    auto* made = new Registry;
    HoldWhileForking(made->mutex);
    return made;
  }();
  return *registry;
}

// Made at load; tensor/fork_locks.h says why.
[[maybe_unused]] const auto& at_load = Engines();

// Operations by their places, of one kind, in the order in which they run.
struct Part {
  bool is_claimed;
  std::vector<size_t> operations;
};

class Splitter {
 public:
  explicit Splitter(const jit::Program& program)
      : program_(program),
        operations_(program.block().operations),
        maker_(program.values().size(), kNone),
        uses_(operations_.size()) {
    for (size_t i = 0; i < operations_.size(); ++i) {
      jit::ForEachResult(operations_[i], [&](ValueId id) { maker_[id] = i; });
    }
    for (size_t i = 0; i < operations_.size(); ++i) {
      const Operation& o = operations_[i];
      jit::ForEachUse(o, [&](ValueId id) {
        if (IsOfBlock(id)) uses_[i].insert(id);
      });
      is_ordered_ |= (o.op->traits & kTraitRandom) != 0 ||
                     jit::ChangesTensors(o) || jit::ReachesOut(o);
    }
  }

  // As few as there can be, whoever begins.
  std::vector<Part> Parts(const std::vector<bool>& claimed) const {
    std::vector<Part> first = Parts(claimed, true),
                      second = Parts(claimed, false);
    return first.size() <= second.size() ? first : second;
  }

  // What a part needs from outside, but for captured tensors.
  std::vector<ValueId> Takes(const Part& part) const {
    std::set<ValueId> out;
    for (const size_t i : part.operations) {
      for (const ValueId id : uses_[i]) {
        if (program_.value(id).kind != ValueKind::kCaptured) out.insert(id);
      }
    }
    for (const size_t i : part.operations) {
      jit::ForEachResult(operations_[i], [&](ValueId id) { out.erase(id); });
    }
    return {out.begin(), out.end()};
  }

  // What it makes and another one, or the caller, needs.
  std::vector<ValueId> Gives(const Part& part, const std::vector<Part>& all,
                             const std::unordered_set<ValueId>& outputs) const {
    std::unordered_set<ValueId> needed = outputs;
    for (const Part& other : all) {
      if (&other == &part) continue;
      for (const size_t i : other.operations) {
        needed.insert(uses_[i].begin(), uses_[i].end());
      }
    }
    std::vector<ValueId> out;
    for (const size_t i : part.operations) {
      jit::ForEachResult(operations_[i], [&](ValueId id) {
        if (needed.contains(id)) out.push_back(id);
      });
    }
    return out;
  }

  // The part as a program of its own.
  jit::Module ModuleOf(const Part& part, const std::vector<ValueId>& takes,
                       const std::vector<ValueId>& gives) const {
    jit::Module out;
    out.program = std::make_shared<jit::Program>();
    std::vector<ValueId> ids(program_.values().size(), jit::kNoValue);
    for (const ValueId id : takes) {
      TensorMeta meta = program_.value(id).meta;
      // Names of open sizes are those of the whole program.
      for (int64_t& d : meta.shape.dims()) d = IsUnknown(d) ? kUnknownDim : d;
      ids[id] = out.program->AddValue(ValueKind::kInput, std::move(meta),
                                      absl::StrCat("v", id));
      out.inputs.push_back(ids[id]);
    }
    for (const size_t i : part.operations) {
      for (const ValueId id : uses_[i]) {
        const jit::ValueInfo& v = program_.value(id);
        if (v.kind == ValueKind::kCaptured && ids[id] == jit::kNoValue) {
          ids[id] = out.program->AddValue(v);
        }
      }
    }
    for (const size_t i : part.operations) {
      Operation copy =
          jit::CopyOperation(program_, operations_[i], *out.program, ids);
      out.program->block().operations.push_back(std::move(copy));
    }
    for (const ValueId id : gives) {
      out.outputs.push_back(ids[id]);
      out.output_names.push_back(absl::StrCat("v", id));
    }
    return out;
  }

  // Of its operations.
  std::string NamesOf(const Part& part) const {
    return absl::StrJoin(part.operations, ", ", [&](std::string* s, size_t i) {
      s->append(operations_[i].op->name);
    });
  }

 private:
  static constexpr size_t kNone = ~size_t{0};

  bool IsOfBlock(ValueId id) const {
    const ValueKind kind = program_.value(id).kind;
    return kind == ValueKind::kInput || kind == ValueKind::kCaptured ||
           maker_[id] != kNone;
  }

  std::vector<Part> Parts(const std::vector<bool>& claimed,
                          bool is_claimed) const {
    std::vector<bool> done(operations_.size());
    std::vector<size_t> rest(operations_.size());
    for (size_t i = 0; i < rest.size(); ++i) rest[i] = i;
    std::vector<Part> out;
    for (; !rest.empty(); is_claimed = !is_claimed) {
      Part part{is_claimed, {}};
      bool stopped = false;
      for (const size_t i : rest) {
        const bool fits = !stopped && claimed[i] == is_claimed &&
                          std::ranges::all_of(uses_[i], [&](ValueId id) {
                            return maker_[id] == kNone || done[maker_[id]];
                          });
        if (fits) {
          part.operations.push_back(i);
          done[i] = true;
        } else {
          stopped |= is_ordered_;
        }
      }
      std::erase_if(rest, [&](size_t i) { return done[i]; });
      if (!part.operations.empty()) out.push_back(std::move(part));
    }
    return out;
  }

  const jit::Program& program_;
  const std::vector<Operation>& operations_;
  std::vector<size_t> maker_;            // by value: the operation
  std::vector<std::set<ValueId>> uses_;  // by operation: values of the block
  bool is_ordered_ = false;  // some draw, or change what others may read
};

// Runs parts one behind the other.
class SplitEngine final : public Engine {
 public:
  struct Step {
    std::shared_ptr<const Engine> engine;
    std::vector<ValueId> takes, gives;
    std::string plan;  // who computes what
  };

  SplitEngine(const jit::Module& module, std::string other,
              std::vector<Step> steps)
      : other_(std::move(other)),
        steps_(std::move(steps)),
        ids_(module.inputs),
        results_(module.outputs) {
    const jit::Program& program = *module.program;
    for (const ValueId id : module.inputs) {
      inputs_.push_back({program.value(id).name, program.value(id).meta});
    }
    for (size_t i = 0; i < module.outputs.size(); ++i) {
      const jit::ValueInfo& v = program.value(module.outputs[i]);
      outputs_.push_back({module.output_names[i], v.meta});
      if (v.kind == ValueKind::kCaptured) {
        held_.emplace(module.outputs[i], v.captured);
      }
    }
  }

  std::vector<proa::Tensor> Run(const std::vector<proa::Tensor>& inputs,
                                const Hooks&) const override {
    std::unordered_map<ValueId, proa::Tensor> at = held_;
    for (size_t i = 0; i < inputs.size(); ++i) at[ids_[i]] = inputs[i];
    for (const Step& step : steps_) {
      std::vector<proa::Tensor> given;
      for (const ValueId id : step.takes) given.push_back(at.at(id));
      std::vector<proa::Tensor> made = step.engine->Run(given, {});
      PROA_REQUIRE(made.size() == step.gives.size(), "inference: a part (",
                   step.plan, ") gave ", made.size(), " results, not ",
                   step.gives.size());
      for (size_t i = 0; i < step.gives.size(); ++i) {
        at[step.gives[i]] = std::move(made[i]);
      }
    }
    std::vector<proa::Tensor> out;
    for (const ValueId id : results_) out.push_back(at.at(id));
    return out;
  }

  void CheckHooks() const override {
    Fail(absl::StatusCode::kUnimplemented, "hooks: ", other_,
         " does not show what its operations read and make, and computes parts "
         "of the model");
  }

  std::string Plan() const override {
    return absl::StrJoin(steps_, "\n", [](std::string* s, const Step& step) {
      s->append(step.plan);
    });
  }

 private:
  const std::string other_;
  const std::vector<Step> steps_;
  const std::vector<ValueId> ids_, results_;
  std::unordered_map<ValueId, proa::Tensor> held_;
};

}  // namespace

void RegisterSubgraphEngine(std::shared_ptr<const SubgraphEngine> engine) {
  Registry& all = Engines();
  const std::string name = engine->name();
  std::lock_guard lock(all.mutex);
  all.engines[name] = std::move(engine);
}

std::shared_ptr<const SubgraphEngine> FindSubgraphEngine(
    const std::string& name) {
  Registry& all = Engines();
  std::vector<std::string> names;
  {
    std::lock_guard lock(all.mutex);
    const auto found = all.engines.find(name);
    if (found != all.engines.end()) return found->second;
    for (const auto& [other, engine] : all.engines) names.push_back(other);
  }
  FailArgument("inference: no engine for parts of programs is named '", name,
               names.empty()
                   ? "'; none is registered"
                   : absl::StrCat("'; there are ", absl::StrJoin(names, ", ")));
}

std::shared_ptr<const Engine> Split(
    const jit::Module& module, const SubgraphEngine& engine,
    const SubgraphSettings& settings,
    const std::function<std::shared_ptr<const Engine>(jit::Module part)>& own,
    const std::function<void(const std::string& sentence)>& warn) {
  jit::Module whole = module;
  whole.program = jit::Clone(*module.program);
  jit::RunPasses(whole.program, whole.outputs, jit::ExportPasses());
  const jit::Program& program = *whole.program;
  const Splitter splitter(program);
  std::vector<bool> claimed = engine.Claims(whole);
  PROA_REQUIRE(claimed.size() == program.block().operations.size(),
               "inference: the engine ", engine.name(), " claims ",
               claimed.size(), " operations of ",
               program.block().operations.size());
  std::vector<Part> parts;
  for (bool settled = false; !settled;) {
    parts = splitter.Parts(claimed);
    settled = true;
    for (const Part& part : parts) {
      if (!part.is_claimed ||
          part.operations.size() >= engine.least_operations()) {
        continue;
      }
      for (const size_t i : part.operations) claimed[i] = false;
      settled = false;
    }
  }
  const std::unordered_set<ValueId> outputs(whole.outputs.begin(),
                                            whole.outputs.end());
  std::vector<SplitEngine::Step> steps;
  for (const Part& part : parts) {
    SplitEngine::Step step;
    step.takes = splitter.Takes(part);
    step.gives = splitter.Gives(part, parts, outputs);
    jit::Module of_part = splitter.ModuleOf(part, step.takes, step.gives);
    std::string who = "proa";
    if (part.is_claimed && !step.gives.empty()) {
      auto made = engine.Compile(of_part, settings);
      if (made.ok()) {
        step.engine = *std::move(made);
        who = engine.name();
      } else {
        warn(absl::StrCat(engine.name(), " declines a part (",
                          splitter.NamesOf(part),
                          "), which runs here: ", made.status().message()));
      }
    }
    if (step.engine == nullptr) step.engine = own(std::move(of_part));
    step.plan = absl::StrCat(who, ": ", splitter.NamesOf(part));
    steps.push_back(std::move(step));
  }
  return std::make_shared<SplitEngine>(whole, engine.name(), std::move(steps));
}

}  // namespace proa::inline v0::inference
