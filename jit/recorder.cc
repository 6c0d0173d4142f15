#include "jit/recorder.h"

#include "absl/strings/str_cat.h"
#include "jit/recording_block.h"
#include "jit/symbolic_view.h"
#include "ops/call_site.h"
#include "ops/interpreter.h"
#include "profiler/events.h"
#include "tensor/error.h"

namespace proa::inline v0::jit {
namespace {

thread_local std::shared_ptr<Program> static_program;

// The program that an operation belongs to: that of its symbolic arguments,
// which must agree, else the program of static mode.
class ProgramFinder {
 public:
  explicit ProgramFinder(const char* op) : op_(op) {}

  void See(const Tensor& t) {
    if (!t.defined() || !t.is_symbolic()) return;
    const std::shared_ptr<Program>& p = SymbolOf(t).program();
    PROA_REQUIRE(found_ == nullptr || found_ == p, op_,
                 ": arguments belong to different programs");
    found_ = p;
  }
  void See(const Value& v) {
    if (const auto* t = std::get_if<Tensor>(&v)) return See(*t);
    if (const auto* a = std::get_if<IntArray>(&v)) return See(a->tensor());
    if (const auto* ts = std::get_if<std::vector<Tensor>>(&v)) {
      for (const Tensor& t : *ts) See(t);
    }
  }
  std::shared_ptr<Program> Get() const {
    if (found_ != nullptr) return found_;
    PROA_REQUIRE(static_program != nullptr, op_,
                 ": no program is being recorded");
    return static_program;
  }

 private:
  const char* op_;
  std::shared_ptr<Program> found_;
};

Argument ToArgument(const std::shared_ptr<Program>& program, const Value& v) {
  if (const auto* t = std::get_if<Tensor>(&v)) return RefTo(program, *t);
  if (const auto* ts = std::get_if<std::vector<Tensor>>(&v)) {
    std::vector<ValueRef> refs;
    refs.reserve(ts->size());
    for (const Tensor& t : *ts) refs.push_back(RefTo(program, t));
    return refs;
  }
  if (const auto* a = std::get_if<IntArray>(&v)) {
    if (a->is_symbolic()) return RefTo(program, a->tensor());
    return Value(std::vector<int64_t>(a->values().begin(), a->values().end()));
  }
  return v;
}

void Record(const OpDefinition& op, std::span<const Value> args,
            std::span<Value> results) {
  if (op.infer == nullptr) return op.call(args, results);
  ProgramFinder finder(op.name);
  for (const Value& v : args) finder.See(v);
  const std::shared_ptr<Program> program = finder.Get();

  std::vector<std::vector<TensorMeta>> metas(op.outputs.size());
  op.infer(args, metas);
  Operation operation;
  operation.op = &op;
  if (const std::string where = CallSiteWithCode(); !where.empty()) {
    operation.where = profiler::Intern(where);
  }
  for (const Value& v : args) {
    operation.args.push_back(ToArgument(program, v));
  }
  for (size_t i = 0; i < metas.size(); ++i) {
    std::vector<Tensor> made;
    std::vector<ValueId> ids;
    for (TensorMeta& meta : metas[i]) {
      ids.push_back(program->AddValue(ValueKind::kResult, std::move(meta)));
      made.push_back(MakeSymbolic(program, ids.back()));
    }
    if (op.outputs[i].aliases >= 0) LinkSymbolicViews(op, args, i, made);
    operation.results.push_back(std::move(ids));
    if (op.outputs[i].is_list) {
      results[i] = std::move(made);
    } else {
      results[i] = std::move(made[0]);
    }
  }
  CurrentBlock(*program).operations.push_back(std::move(operation));
}

const bool installed = [] {
  InstallInterpreter(kRecord, &Record);
  return true;
}();

}  // namespace

const Symbol& SymbolOf(const Tensor& t) {
  PROA_REQUIRE(t.defined() && t.is_symbolic(),
               "not a value of a program: ", Describe(t));
  RenewSymbolicView(t);
  return static_cast<const Symbol&>(*t.impl()->symbol);
}

Tensor MakeSymbolic(const std::shared_ptr<Program>& program, ValueId id) {
  const TensorMeta& meta = program->value(id).meta;
  Tensor t = Tensor::Symbolic(meta.shape, meta.dtype, meta.place);
  t.impl()->flags |= kRecord;
  t.impl()->symbol = std::make_shared<const Symbol>(program, id);
  return t;
}

Tensor AddInput(const std::shared_ptr<Program>& program,
                const std::string& name, const Shape& shape, DType dtype) {
  for (const int64_t d : shape) {
    PROA_REQUIRE(d >= 0 || d == kUnknownDim, "input '", name, "': shape ",
                 ToString(shape), " has a negative size");
  }
  const ValueId other = program->Find(name);
  PROA_REQUIRE(
      other == kNoValue || program->value(other).kind != ValueKind::kInput,
      "the program already has an input '", name, "'");
  return MakeSymbolic(
      program,
      program->AddValue(ValueKind::kInput, {shape, dtype, Place{}}, name));
}

StaticModeScope::StaticModeScope(std::shared_ptr<Program> program)
    : previous_(std::exchange(static_program, std::move(program))),
      previous_forced_(thread_interpreters.forced) {
  if (static_program != nullptr) {
    thread_interpreters.forced |= kRecord;
  } else {
    thread_interpreters.forced &= ~kRecord;
  }
}

StaticModeScope::~StaticModeScope() {
  static_program = std::move(previous_);
  thread_interpreters.forced = previous_forced_;
}

}  // namespace proa::inline v0::jit
