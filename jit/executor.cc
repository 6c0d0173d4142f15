#include "jit/executor.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "jit/evaluate.h"
#include "jit/plan.h"
#include "tensor/error.h"
#include "tensor/interpreters.h"

namespace proa::inline v0::jit {
namespace {

bool Fits(const Shape& declared, const Shape& given) {
  if (declared.rank() != given.rank()) return false;
  for (int i = 0; i < given.rank(); ++i) {
    if (!IsUnknown(declared[i]) && declared[i] != given[i]) return false;
  }
  return true;
}

void CheckFeed(const ValueInfo& input, const Tensor& t) {
  PROA_REQUIRE(t.defined() && !t.is_symbolic(), "input '", input.name,
               "' needs a tensor with values");
  const TensorMeta& m = input.meta;
  if (t.dtype() != m.dtype) {
    ThrowTypeError(absl::StrCat(
        "input '", input.name, "' is ", Describe(t), "; expected ",
        absl::string_view(Name(m.dtype).data(), Name(m.dtype).size())));
  }
  PROA_REQUIRE(Fits(m.shape, t.shape()), "input '", input.name, "' is ",
               Describe(t), "; expected shape ", ToString(m.shape));
}

// The executors of a program, latest first.
class Kept final : public Program::Attachment {
 public:
  struct Entry {
    std::vector<ValueId> outputs;
    Changes changes;
    std::shared_ptr<const Executor> executor;
  };
  static constexpr size_t kMost = 16;

  Kept(uint64_t version, std::vector<Entry> entries)
      : version(version), entries(std::move(entries)) {}
  const uint64_t version;
  const std::vector<Entry> entries;
};

}  // namespace

Executor::Executor(const Program& program, std::vector<ValueId> fetches,
                   Changes changes)
    : plan_(std::make_unique<const Plan>(
          MakePlan(program, std::move(fetches), changes))) {}

Executor::Executor(const Program& program, std::vector<ValueId> fetches,
                   Changes changes, std::span<const std::string_view> passes)
    : plan_(std::make_unique<const Plan>(
          MakePlan(program, std::move(fetches), changes, passes))) {}

Executor::~Executor() = default;

const Program& Executor::program() const { return *plan_->program; }

std::vector<Tensor> Executor::Run(
    std::span<const std::pair<ValueId, Tensor>> feeds) const {
  const Program& program = *plan_->program;
  for (const auto& [id, tensor] : feeds) {
    PROA_REQUIRE(id >= 0 &&
                     id < static_cast<ValueId>(program.values().size()) &&
                     program.value(id).kind == ValueKind::kInput,
                 "feed %", id, " is no input of the program");
    CheckFeed(program.value(id), tensor);
  }
  const InterpreterScope scope =
      InterpreterScope::Forbid(kAllInterpreters & ~kProfile);
  return Replay(feeds);
}

std::vector<Tensor> Executor::Replay(
    std::span<const std::pair<ValueId, Tensor>> feeds) const {
  const Program& program = *plan_->program;
  Environment env(program.values().size());
  for (ValueId id : plan_->captured) env[id] = program.value(id).captured;
  for (const auto& [id, tensor] : feeds) env[id] = tensor;
  for (ValueId id : plan_->inputs) {
    PROA_REQUIRE(env[id].defined(), "input '", program.value(id).name,
                 "' is not fed");
  }
  Evaluate(program, program.block(), env, &plan_->liveness.last_use);
  std::vector<Tensor> out;
  out.reserve(plan_->outputs.size());
  for (ValueId id : plan_->outputs) out.push_back(env[id]);
  return out;
}

std::shared_ptr<const Executor> ExecutorOf(const Program& program,
                                           const std::vector<ValueId>& fetches,
                                           Changes changes) {
  const auto kept = std::static_pointer_cast<Kept>(program.attachment());
  const bool fresh = kept != nullptr && kept->version == program.version();
  if (fresh) {
    for (const Kept::Entry& e : kept->entries) {
      if (e.changes == changes && e.outputs == fetches) return e.executor;
    }
  }
  auto executor = std::make_shared<const Executor>(program, fetches, changes);
  std::vector<Kept::Entry> entries = {{fetches, changes, executor}};
  if (fresh) {
    for (const Kept::Entry& e : kept->entries) {
      if (entries.size() < Kept::kMost) entries.push_back(e);
    }
  }
  program.Attach(std::make_shared<Kept>(program.version(), std::move(entries)));
  return executor;
}

}  // namespace proa::inline v0::jit
