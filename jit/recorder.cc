#include "jit/recorder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "jit/constant.h"
#include "jit/recording_block.h"
#include "jit/symbolic_view.h"
#include "ops/call_site.h"
#include "ops/int_array.h"
#include "ops/interpreter.h"
#include "profiler/events.h"
#include "tensor/dtype.h"
#include "tensor/error.h"

namespace proa::inline v0::jit {
namespace {

thread_local std::shared_ptr<Program> static_program;

// Calls f(t) for each tensor among the arguments, undefined ones too.
template <typename F>
void ForEachTensor(std::span<const Value> args, const F& f) {
  for (const Value& v : args) {
    if (const auto* t = std::get_if<Tensor>(&v)) f(*t);
    if (const auto* a = std::get_if<IntArray>(&v)) f(a->tensor());
    if (const auto* ts = std::get_if<std::vector<Tensor>>(&v)) {
      for (const Tensor& t : *ts) f(t);
    }
  }
}

// The program that an operation belongs to: that of its symbolic arguments,
// which must agree, else the program of static mode. Constants go anywhere.
// Null if there are only constants, and no static mode.
std::shared_ptr<Program> ProgramOf(const char* op,
                                   std::span<const Value> args) {
  std::shared_ptr<Program> found;
  ForEachTensor(args, [&](const Tensor& t) {
    if (!t.defined() || !t.is_symbolic() || IsConstant(t)) return;
    const std::shared_ptr<Program>& p = SymbolOf(t).program();
    PROA_REQUIRE(found == nullptr || found == p, op,
                 ": arguments belong to different programs");
    found = p;
  });
  return found != nullptr ? found : static_program;
}

// The arguments of a call that no program records. The constants among them get
// their elements: they leave their program.
std::vector<Value> WithElements(const char* op, std::span<const Value> args) {
  ForEachTensor(args, [&](const Tensor& t) {
    PROA_REQUIRE(!t.defined() || TakeElements(t), op,
                 ": no program is being recorded; an argument is ", Describe(t),
                 ", a value of a program");
  });
  std::vector<Value> out(args.begin(), args.end());
  for (Value& v : out) {
    const auto* a = std::get_if<IntArray>(&v);
    if (a != nullptr && a->is_symbolic()) v = IntArray(a->tensor());
  }
  return out;
}

// What an operation writes into. A detached handle of a tensor that the program
// has is that tensor: a file would have two of them, of which one stays as it
// was.
ValueRef RefToChanged(const std::shared_ptr<Program>& program,
                      const Tensor& t) {
  if (t.defined() && !t.is_symbolic() && t.numel() > 0 &&
      program->FindCaptured(t) == kNoValue) {
    for (ValueId id : program->captured()) {
      const Tensor& held = program->value(id).captured;
      if (held.storage() == t.storage() && held.raw_data() == t.raw_data() &&
          held.shape() == t.shape() && held.strides() == t.strides() &&
          held.dtype() == t.dtype()) {
        return RefTo(program, held);
      }
    }
  }
  return RefTo(program, t);
}

Argument ToArgument(const std::shared_ptr<Program>& program, const Value& v,
                    bool changed) {
  if (const auto* t = std::get_if<Tensor>(&v); t != nullptr && changed)
    return RefToChanged(program, *t);
  if (const auto* t = std::get_if<Tensor>(&v)) return RefTo(program, *t);
  if (const auto* ts = std::get_if<std::vector<Tensor>>(&v)) {
    std::vector<ValueRef> refs;
    refs.reserve(ts->size());
    for (const Tensor& t : *ts) refs.push_back(RefTo(program, t));
    return refs;
  }
  if (const auto* a = std::get_if<IntArray>(&v)) {
    if (a->is_symbolic()) return RefTo(program, a->tensor());
    std::vector<int64_t> sizes(a->values().begin(), a->values().end());
    for (int64_t& n : sizes) n = IsNamed(n) ? kUnknownDim : n;
    return Value(std::move(sizes));
  }
  return v;
}

// True if an evaluation under autograd would differentiate the call, or what
// differentiates its region. `operands` are what it is called with, `args` what
// is recorded of them.
bool LeadsGradients(const Program& program, const OpDefinition& op,
                    std::span<const Value> operands,
                    std::span<const Argument> args) {
  if ((op.traits & kTraitDifferentiable) == 0) return false;
  if (IsInFollowingRegion(program)) {
    // An input may have got its gradient after it was made.
    bool differentiates = false;
    ForEachTensor(operands, [&](const Tensor& t) {
      differentiates |= t.defined() && (t.flags() & kDifferentiate) != 0;
    });
    if (differentiates) return true;
  }
  if (!program.follows_gradients()) return false;
  const auto leads = [&](ValueRef r) {
    if (r.id == kNoValue) return false;
    const ValueInfo& v = program.value(r.id);
    return v.kind == ValueKind::kCaptured
               ? (v.captured.flags() & kDifferentiate) != 0
               : !v.no_gradient && IsDifferentiable(v.meta.dtype);
  };
  return std::ranges::any_of(args, [&](const Argument& a) {
    if (const auto* ref = std::get_if<ValueRef>(&a)) return leads(*ref);
    const auto* refs = std::get_if<std::vector<ValueRef>>(&a);
    return refs != nullptr && std::ranges::any_of(*refs, leads);
  });
}

// What a view of sizes shows of them.
Shape ElementsOfView(const OpDefinition& op, std::span<const Value> args) {
  const auto* x = std::get_if<Tensor>(&args[0]);
  if (x == nullptr || !x->is_symbolic() || x->dtype() != DType::kInt64) {
    return Shape();
  }
  const Symbol& symbol = SymbolOf(*x);
  const std::vector<int64_t>& sizes =
      symbol.program()->value(symbol.id()).sizes;
  if (sizes.empty()) return Shape();
  for (const Value& v : args.subspan(1)) {
    const auto* a = std::get_if<IntArray>(&v);
    const auto* t = std::get_if<Tensor>(&v);
    if ((a != nullptr && a->is_symbolic()) || (t != nullptr && t->defined())) {
      return Shape();
    }
  }
  Tensor elements = Tensor::Empty(x->shape(), DType::kInt64);
  std::ranges::copy(sizes, elements.data<int64_t>());
  std::vector<Value> numbers(args.begin(), args.end());
  numbers[0] = std::move(elements);
  Value part;
  const InterpreterScope plain = InterpreterScope::Forbid(kAllInterpreters);
  op.call(numbers, {&part, 1});
  return Shape(IntArray(std::get<Tensor>(part)).values());
}

// Sizes keep their identity on their way through tensors.
std::vector<int64_t> KnownElements(const OpDefinition& op,
                                   std::span<const Value> args,
                                   const TensorMeta& meta) {
  if (meta.dtype != DType::kInt64 || meta.shape.rank() > 1 ||
      op.outputs.size() != 1 || op.outputs[0].is_list) {
    return {};
  }
  const Shape known = op.elements != nullptr        ? op.elements(args)
                      : op.fuse == FuseClass::kView ? ElementsOfView(op, args)
                                                    : Shape();
  if (known.rank() != meta.shape.numel()) return {};
  return {known.begin(), known.end()};
}

// Appends the call; the results are symbolic.
void Append(const std::shared_ptr<Program>& program, const OpDefinition& op,
            std::span<const Value> args,
            std::vector<std::vector<TensorMeta>> metas,
            std::span<Value> results) {
  Operation operation;
  operation.op = &op;
  if (const std::string where = CallSiteWithCode(); !where.empty()) {
    operation.where = profiler::Intern(where);
  }
  for (size_t i = 0; i < args.size(); ++i) {
    operation.args.push_back(
        ToArgument(program, args[i], (op.changes >> i & 1) != 0));
  }
  const bool constant = GivesConstant(*program, op, args);
  const bool differentiable =
      LeadsGradients(*program, op, args, operation.args);
  for (size_t i = 0; i < metas.size(); ++i) {
    std::vector<Tensor> made;
    std::vector<ValueId> ids;
    for (TensorMeta& meta : metas[i]) {
      std::vector<int64_t> sizes = KnownElements(op, args, meta);
      ids.push_back(program->AddValue(ValueKind::kResult, std::move(meta)));
      program->value(ids.back()).sizes = std::move(sizes);
      program->value(ids.back()).constant = constant;
      program->value(ids.back()).no_gradient = !differentiable;
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

void Record(const OpDefinition& op, std::span<const Value> args,
            std::span<Value> results) {
  if (GivenResults::Take(op, results)) return;
  if (op.infer == nullptr) return op.call(args, results);
  const std::shared_ptr<Program> program = ProgramOf(op.name, args);
  if (program == nullptr) {
    return op.call(WithElements(op.name, args), results);
  }

  std::vector<std::vector<TensorMeta>> metas(op.outputs.size());
  op.infer(args, metas);
  Append(program, op, args, std::move(metas), results);
}

thread_local constinit GivenResults* given_results = nullptr;

const bool installed = [] {
  InstallInterpreter(kRecord, &Record);
  return true;
}();

}  // namespace

void RecordCall(const OpDefinition& op, std::span<const Value> args,
                std::vector<std::vector<TensorMeta>> metas,
                std::span<Value> results) {
  const std::shared_ptr<Program> program = ProgramOf(op.name, args);
  PROA_REQUIRE(program != nullptr, op.name, ": no program is being recorded");
  Append(program, op, args, std::move(metas), results);
}

GivenResults::GivenResults(const OpDefinition& op, std::vector<Value> results)
    : op_(&op),
      results_(std::move(results)),
      outer_(std::exchange(given_results, this)),
      forced_(InterpreterScope::Force(kRecord)) {}

GivenResults::~GivenResults() { given_results = outer_; }

bool GivenResults::Take(const OpDefinition& op, std::span<Value> results) {
  GivenResults* const given = given_results;
  if (given == nullptr || given->op_ != &op) [[likely]]
    return false;
  given_results = given->outer_;
  std::ranges::move(given->results_, results.begin());
  return true;
}

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
    PROA_REQUIRE(d >= 0 || IsUnknown(d), "input '", name, "': shape ",
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

bool TakeElements(const Tensor& t) {
  if (!t.is_symbolic()) return true;
  const Tensor elements = ElementsOfConstant(t);
  if (elements.defined()) Rebind(t, elements.Alias());
  return elements.defined();
}

std::shared_ptr<Program> StaticProgram() {
  return (ActiveInterpreters(0) & kRecord) != 0 ? static_program : nullptr;
}

void SetStaticProgram(std::shared_ptr<Program> program) {
  static_program = std::move(program);
  if (static_program != nullptr) {
    thread_interpreters.forced |= kRecord;
  } else {
    thread_interpreters.forced &= ~kRecord;
  }
}

StaticModeScope::StaticModeScope(std::shared_ptr<Program> program)
    : previous_(static_program), previous_forced_(thread_interpreters.forced) {
  SetStaticProgram(std::move(program));
}

StaticModeScope::~StaticModeScope() {
  static_program = std::move(previous_);
  thread_interpreters.forced = previous_forced_;
}

}  // namespace proa::inline v0::jit
