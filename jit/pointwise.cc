#include "jit/pointwise.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "jit/evaluate.h"
#include "jit/region_op.h"
#include "ops/observers.h"
#include "profiler/events.h"
#include "tensor/error.h"
#include "tensor/interpreters.h"
#include "tensor/interrupt.h"
#include "tensor/parallel.h"

namespace proa::inline v0::jit {
namespace {

// Elements of a tile: some values of it fit in the second cache together.
constexpr int64_t kTileElements = 1 << 14;
// A row that is longer is not cut.
constexpr int64_t kLongestRow = 4 * kTileElements;

constexpr const char* kRegions[] = {"body"};
const ParamInfo kParams[] = {
    {"inputs", ParamType::kTensorList, false, nullptr, nullptr}};
constexpr OutputInfo kOutputs[] = {{"out", true}};

absl::Status Counts(const Operation& o, std::span<RegionCounts> out) {
  out[0] = {std::get<std::vector<ValueRef>>(o.args[0]).size(),
            o.results[0].size()};
  return absl::OkStatus();
}

// The size of dim `d` of `shape`, were it of rank `rank`.
int64_t Padded(const Shape& shape, int d, int rank) {
  const int own = d - (rank - shape.rank());
  return own < 0 ? 1 : shape[own];
}

bool IsPlain(const Tensor& t) {
  return t.place().is_cpu() && t.layout() == Layout::kStrided &&
         t.is_contiguous();
}

// How many of the first dims are those of `shape`.
int Matching(const Shape& own, const Shape& shape) {
  int n = 0;
  while (n < shape.rank() && Padded(own, n, shape.rank()) == shape[n]) ++n;
  return n;
}

// Along how many of the first dims of a tensor of rank `rank` it is the same.
int Repeated(const Shape& own, int rank) {
  int n = 0;
  while (n < rank && Padded(own, n, rank) == 1) ++n;
  return n;
}

// Rows [begin, end) of an input; all of it, without the dims of rows, if it is
// the same for each of them.
Tensor Rows(const Tensor& t, const Tiling& tiling, int64_t begin, int64_t end) {
  const int rank = tiling.shape.rank();
  Shape shape;
  for (int d = tiling.prefix; d < rank; ++d) {
    shape.push_back(Padded(t.shape(), d, rank));
  }
  int64_t offset = 0;
  if (Matching(t.shape(), tiling.shape) >= tiling.prefix) {
    offset = begin * shape.numel();
    Shape cut = {end - begin};
    for (const int64_t d : shape) cut.push_back(d);
    shape = std::move(cut);
  }
  return t.AsStrided(shape, ContiguousStrides(shape), offset);
}

void CopyRows(const Tensor& tile, int64_t begin, const Tiling& tiling,
              const Tensor& out) {
  const int64_t row_bytes = tiling.row * ItemSize(out.dtype());
  PROA_REQUIRE(tile.dtype() == out.dtype() && tile.is_contiguous() &&
                   tile.numel() % tiling.row == 0,
               "pointwise: a tile is ", Describe(tile), ", the result ",
               Describe(out));
  std::memcpy(static_cast<char*>(out.raw_data()) + begin * row_bytes,
              tile.raw_data(), static_cast<size_t>(tile.bytes()));
}

// "pointwise: multiply, tanh", for a profile.
const char* RangeName(const Block& body) {
  if (!profiler::Enabled()) return "pointwise";
  const auto name = [](std::string* out, const Operation& o) {
    out->append(o.op->name);
  };
  return profiler::Intern(
      absl::StrCat("pointwise: ", absl::StrJoin(body.operations, ", ", name)));
}

// Who follows calls, or their gradients, is to see each of them. A profile
// shows what runs: the whole.
bool AreCallsFollowed(Interpreters active) {
  if (active == 0) return false;
  return active != kProfile || IsObserving(Observer::kCrashHandler) ||
         IsObserving(Observer::kNumericCheck) ||
         IsObserving(Observer::kCallLog);
}

TensorList RunTiled(const Program& program, const Operation& o,
                    const TensorList& inputs, const Tiling& tiling) {
  const Block& body = *o.regions[0];
  const profiler::Range range(RangeName(body), "op");
  TensorList out;
  for (ValueId id : o.results[0]) {
    out.push_back(
        Tensor::Empty(tiling.shape, program.value(id).meta.dtype, Place{}));
  }
  const int64_t tiles = (tiling.count + tiling.rows - 1) / tiling.rows;
  parallel_for(0, tiles, 1, [&](int64_t first, int64_t last) {
    const InterpreterScope none = InterpreterScope::Forbid(kAllInterpreters);
    const WithoutInterruptChecks unasked;
    Environment env(program.values().size());
    for (int64_t tile = first; tile < last; ++tile) {
      const int64_t begin = tile * tiling.rows;
      const int64_t end = std::min(begin + tiling.rows, tiling.count);
      TensorList arguments;
      arguments.reserve(inputs.size());
      for (const Tensor& t : inputs) {
        arguments.push_back(Rows(t, tiling, begin, end));
      }
      const TensorList results =
          EvaluateRegion(program, body, std::move(arguments), env);
      for (size_t i = 0; i < out.size(); ++i) {
        CopyRows(results[i], begin, tiling, out[i]);
      }
    }
  });
  return out;
}

void EvaluatePointwise(const Program& program, const Operation& o,
                       Environment& env) {
  TensorList inputs = ListArgument(o, 0, env);
  Interpreters flags = 0;
  for (const Tensor& t : inputs) flags |= t.flags();
  if (!AreCallsFollowed(ActiveInterpreters(flags))) {
    if (const std::optional<Tiling> tiling = TilingOf(inputs)) {
      return StoreList(o, RunTiled(program, o, inputs, *tiling), env);
    }
  }
  StoreList(o, EvaluateRegion(program, *o.regions[0], std::move(inputs), env),
            env);
}

const RegionRules rules = {kRegions, &Counts, &EvaluatePointwise};
const OpDefinition definition = RegionOp(
    "pointwise", "pointwise(Tensor[] inputs) {body} -> Tensor[] out",
    "What the operations of the region make of the inputs, element by element, "
    "in one pass over the memory. Made by the pass fuse_pointwise.",
    kParams, kOutputs, &rules);

const OpDefinition* const kDefinitions[] = {&definition};
const OpRegistration registration(kDefinitions);

}  // namespace

const OpDefinition& PointwiseOp() { return definition; }

std::optional<Tiling> TilingOf(std::span<const Tensor> inputs) {
  Tiling tiling;
  int rank = 0;
  for (const Tensor& t : inputs) {
    if (!t.defined() || t.is_symbolic() || !IsPlain(t)) return std::nullopt;
    rank = std::max(rank, t.rank());
  }
  if (rank == 0) return std::nullopt;
  for (int d = 0; d < rank; ++d) {
    int64_t size = 1;
    for (const Tensor& t : inputs) {
      const int64_t own = Padded(t.shape(), d, rank);
      if (own == size || own == 1) continue;
      if (size != 1) return std::nullopt;  // the op itself says what is wrong
      size = own;
    }
    tiling.shape.push_back(size);
  }
  tiling.prefix = rank;
  for (const Tensor& t : inputs) {
    tiling.prefix = std::min(
        tiling.prefix,
        std::max(Matching(t.shape(), tiling.shape), Repeated(t.shape(), rank)));
  }
  for (int d = 0; d < rank; ++d) {
    (d < tiling.prefix ? tiling.count : tiling.row) *= tiling.shape[d];
  }
  if (tiling.count * tiling.row < kLeastTiledElements ||
      tiling.row > kLongestRow || tiling.count < 2) {
    return std::nullopt;
  }
  tiling.rows = std::max<int64_t>(kTileElements / tiling.row, 1);
  return tiling;
}

bool IsPointwise(const Program& program, const Operation& o) {
  constexpr uint32_t kNot = kTraitView | kTraitInplace | kTraitRandom |
                            kTraitDataDependent | kTraitComposite;
  if (o.op->fuse != FuseClass::kPointwise || (o.op->traits & kNot) != 0 ||
      o.op->regions != nullptr || o.results.size() != 1 ||
      o.op->outputs[0].is_list) {
    return false;
  }
  const TensorMeta& out = program.value(o.results[0][0]).meta;
  if (out.shape.rank() == 0 || !out.shape.identified() || !out.place.is_cpu()) {
    return false;
  }
  // A size that is open is that of the result, or 1, when the program runs.
  const auto fits = [&](const TensorMeta& m) {
    if (!m.place.is_cpu() || m.shape.rank() > out.shape.rank()) return false;
    const int missing = out.shape.rank() - m.shape.rank();
    for (int d = 0; d < m.shape.rank(); ++d) {
      const int64_t size = m.shape[d];
      if (size != 1 && Differ(size, out.shape[d + missing])) return false;
    }
    return true;
  };
  for (size_t i = 0; i < o.args.size(); ++i) {
    if (std::holds_alternative<std::vector<ValueRef>>(o.args[i])) return false;
    const auto* ref = std::get_if<ValueRef>(&o.args[i]);
    if (ref == nullptr) continue;
    if (ref->id == kNoValue || o.op->params[i].type != ParamType::kTensor ||
        !fits(program.value(ref->id).meta)) {
      return false;
    }
  }
  return true;
}

}  // namespace proa::inline v0::jit
