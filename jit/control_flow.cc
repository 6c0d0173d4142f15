#include "jit/control_flow.h"

#include "absl/strings/str_cat.h"
#include "jit/recorder.h"
#include "jit/recording_block.h"
#include "tensor/error.h"
#include "tensor/interpreters.h"
#include "tensor/interrupt.h"

namespace proa::inline v0::jit {
namespace {

constinit DifferentiateCond differentiate_cond = nullptr;
constinit DifferentiateLoop differentiate_loop = nullptr;

void CheckPredicate(const char* what, const Tensor& t) {
  PROA_REQUIRE(t.defined(), what, ": the condition is None");
  if (t.dtype() != DType::kBool) {
    ThrowTypeError(absl::StrCat(what, ": the condition is ", Describe(t),
                                "; expected bool"));
  }
  PROA_REQUIRE(t.numel() == 1 || t.numel() == kUnknownDim, what,
               ": the condition is ", Describe(t), "; expected one element");
}

// The meta that covers both.
TensorMeta Join(const char* what, size_t i, const TensorMeta& a,
                const TensorMeta& b) {
  PROA_REQUIRE(a.dtype == b.dtype && a.shape.rank() == b.shape.rank(), what,
               ": result ", i, " is ", ToString(a.shape), " ",
               absl::string_view(Name(a.dtype).data(), Name(a.dtype).size()),
               " on one way and ", ToString(b.shape), " ",
               absl::string_view(Name(b.dtype).data(), Name(b.dtype).size()),
               " on the other; dtypes and ranks must agree");
  TensorMeta joined = a;
  for (int d = 0; d < a.shape.rank(); ++d) {
    if (a.shape[d] != b.shape[d]) joined.shape[d] = kUnknownDim;
  }
  return joined;
}

TensorMeta MetaOf(const Tensor& t) { return {t.shape(), t.dtype(), t.place()}; }

void CheckDefined(const char* what, const TensorList& ts) {
  for (size_t i = 0; i < ts.size(); ++i) {
    if (!ts[i].defined()) {
      ThrowTypeError(
          absl::StrCat(what, ": result ", i, " is None; expected Tensor"));
    }
  }
}

std::vector<Tensor> WithoutRepetitions(std::vector<Tensor> ts) {
  std::vector<Tensor> out;
  for (Tensor& t : ts) {
    bool seen = false;
    for (const Tensor& o : out) seen |= o.is_same(t);
    if (!seen) out.push_back(std::move(t));
  }
  return out;
}

// Appends the operation to the block of the program and makes its results.
TensorList Append(const std::shared_ptr<Program>& program, Operation operation,
                  const std::vector<TensorMeta>& metas) {
  TensorList results;
  operation.results.emplace_back();
  for (const TensorMeta& meta : metas) {
    operation.results[0].push_back(program->AddValue(ValueKind::kResult, meta));
    results.push_back(MakeSymbolic(program, operation.results[0].back()));
  }
  CurrentBlock(*program).operations.push_back(std::move(operation));
  return results;
}

TensorList RecordCond(const Tensor& predicate,
                      const std::function<TensorList()>& then,
                      const std::function<TensorList()>& otherwise) {
  RecordedCond recorded;
  recorded.program = SymbolOf(predicate).program();
  recorded.predicate = predicate;
  Operation operation;
  operation.kind = OperationKind::kCond;
  operation.args.push_back(RefTo(recorded.program, predicate));
  TensorList results[2];
  {
    // The operation as a whole carries the grad node, not its parts.
    const InterpreterScope scope = InterpreterScope::Forbid(kDifferentiate);
    for (int i = 0; i < 2; ++i) {
      RegionScope region(recorded.program);
      results[i] = i == 0 ? then() : otherwise();
      CheckDefined("cond", results[i]);
      operation.regions.push_back(region.Finish(results[i]));
      recorded.reads.insert(recorded.reads.end(),
                            region.outer_tensors().begin(),
                            region.outer_tensors().end());
    }
  }
  PROA_REQUIRE(results[0].size() == results[1].size(), "cond: one way gives ",
               results[0].size(), " tensors, the other ", results[1].size());
  std::vector<TensorMeta> metas;
  for (size_t i = 0; i < results[0].size(); ++i) {
    metas.push_back(
        Join("cond", i, MetaOf(results[0][i]), MetaOf(results[1][i])));
  }
  recorded.reads = WithoutRepetitions(std::move(recorded.reads));
  recorded.then = operation.regions[0].get();
  recorded.otherwise = operation.regions[1].get();
  TensorList out = Append(recorded.program, std::move(operation), metas);
  if (differentiate_cond != nullptr && GradEnabled()) {
    differentiate_cond(recorded, out);
  }
  return out;
}

struct RecordedLoop {
  Operation operation;
  std::vector<TensorMeta> results;
  std::vector<Tensor> reads;
};

// One try at recording the loop with variables of these metas.
RecordedLoop TryLoop(const std::shared_ptr<Program>& program,
                     const std::function<Tensor(const TensorList&)>& condition,
                     const std::function<TensorList(const TensorList&)>& body,
                     const std::vector<TensorMeta>& metas) {
  RecordedLoop loop;
  loop.operation.kind = OperationKind::kWhile;
  for (int part = 0; part < 2; ++part) {
    RegionScope region(program);
    TensorList vars;
    for (const TensorMeta& meta : metas) {
      region.block().arguments.push_back(
          program->AddValue(ValueKind::kRegionArgument, meta));
      vars.push_back(MakeSymbolic(program, region.block().arguments.back()));
    }
    TensorList returns;
    if (part == 0) {
      returns = {condition(vars)};
      CheckPredicate("while_loop", returns[0]);
    } else {
      returns = body(vars);
      CheckDefined("while_loop", returns);
      for (const Tensor& t : returns) loop.results.push_back(MetaOf(t));
    }
    loop.operation.regions.push_back(region.Finish(returns));
    loop.reads.insert(loop.reads.end(), region.outer_tensors().begin(),
                      region.outer_tensors().end());
  }
  return loop;
}

TensorList RecordLoop(const std::shared_ptr<Program>& program,
                      const std::function<Tensor(const TensorList&)>& condition,
                      const std::function<TensorList(const TensorList&)>& body,
                      const TensorList& vars) {
  std::vector<TensorMeta> metas;
  for (const Tensor& t : vars) metas.push_back(MetaOf(t));
  // A dim that the body changes becomes unknown, which may change others:
  // repeat until it settles (each turn makes at least one dim unknown).
  RecordedLoop loop;
  for (bool settled = false; !settled;) {
    const InterpreterScope scope = InterpreterScope::Forbid(kDifferentiate);
    loop = TryLoop(program, condition, body, metas);
    PROA_REQUIRE(loop.results.size() == metas.size(), "while_loop: body gives ",
                 loop.results.size(), " tensors for ", metas.size(),
                 " variables");
    settled = true;
    for (size_t i = 0; i < metas.size(); ++i) {
      TensorMeta joined = Join("while_loop", i, metas[i], loop.results[i]);
      settled &= joined.shape == metas[i].shape;
      metas[i] = std::move(joined);
    }
  }
  for (const Tensor& t : vars) {
    loop.operation.args.push_back(RefTo(program, t));
    loop.reads.push_back(t);
  }
  TensorList out = Append(program, std::move(loop.operation), metas);
  if (differentiate_loop != nullptr && GradEnabled()) {
    differentiate_loop(loop.reads, out);
  }
  return out;
}

}  // namespace

void InstallControlFlowGrad(DifferentiateCond cond, DifferentiateLoop loop) {
  differentiate_cond = cond;
  differentiate_loop = loop;
}

TensorList Cond(const Tensor& predicate,
                const std::function<TensorList()>& then,
                const std::function<TensorList()>& otherwise) {
  CheckPredicate("cond", predicate);
  if (predicate.is_symbolic()) return RecordCond(predicate, then, otherwise);
  return predicate.item<bool>() ? then() : otherwise();
}

TensorList WhileLoop(const std::function<Tensor(const TensorList&)>& condition,
                     const std::function<TensorList(const TensorList&)>& body,
                     const TensorList& vars) {
  CheckDefined("while_loop", vars);
  for (const Tensor& t : vars) {
    if (t.is_symbolic()) {
      return RecordLoop(SymbolOf(t).program(), condition, body, vars);
    }
  }
  TensorList now = vars;
  while (true) {
    CheckInterrupt();
    const Tensor go_on = condition(now);
    CheckPredicate("while_loop", go_on);
    if (go_on.is_symbolic()) {
      return RecordLoop(SymbolOf(go_on).program(), condition, body, now);
    }
    if (!go_on.item<bool>()) return now;
    TensorList next = body(now);
    PROA_REQUIRE(next.size() == now.size(), "while_loop: body gives ",
                 next.size(), " tensors for ", now.size(), " variables");
    now = std::move(next);
  }
}

}  // namespace proa::inline v0::jit
