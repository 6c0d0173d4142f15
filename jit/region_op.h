// Ops whose operations hold regions: `cond`, `while`, ... They stand in the
// registry of all ops like any other; what a program must know of them besides
// is their RegionRules. Nothing that treats programs (evaluation, verification,
// text, files, passes) knows one of them by name.
//
// A new one is a source with a function for users (as Cond in control_flow.h),
// which runs at once or records, its rules, and its definition:
//
//   const RegionRules rules = {kRegions, &Counts, &Evaluate};
//   const OpDefinition definition = RegionOp({...signature...}, &rules);
#ifndef PROA_JIT_REGION_OP_H_
#define PROA_JIT_REGION_OP_H_

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "jit/environment.h"
#include "jit/program.h"
#include "ops/definition.h"
#include "tensor/tensor.h"

namespace proa::inline v0::jit {

using TensorList = std::vector<Tensor>;

// How many values a region takes and gives.
struct RegionCounts {
  size_t arguments = 0;
  size_t returns = 0;
};

// A recorded operation as autograd sees it. The blocks live as long as the
// program.
struct RecordedRegions {
  std::shared_ptr<Program> program;
  std::vector<const Block*> regions;
  std::vector<ValueUse> args;   // the tensors among them, lists in one
  std::vector<ValueUse> reads;  // by the regions, each value once
  std::vector<ValueId> results;
  // Draws of the regions are made again from here; undefined if there are none.
  Tensor random_state;
};
using DifferentiateRegions = void (*)(const RecordedRegions& recorded,
                                      std::span<const Tensor> results);

struct RegionRules {
  // The names of its regions, for messages.
  std::span<const char* const> regions;
  // The counts of each region of `o`, whose arguments and results fit the
  // signature; an error if the operation contradicts itself.
  absl::Status (*counts)(const Operation& o, std::span<RegionCounts> out);
  // Runs (or records, if symbolic tensors are among the values) `o`.
  void (*evaluate)(const Program& program, const Operation& o,
                   Environment& env);
  // The gradient is made of the operations in its regions: these are recorded
  // as the eager program runs them, gradients taken away included.
  bool differentiated = false;
  // Passes leave the operations in its regions as they are: the regions are no
  // code that runs, but say what was called.
  bool fixed = false;
};

inline bool HasFixedRegions(const Operation& o) {
  return o.op->regions != nullptr && o.op->regions->fixed;
}

// A definition of an op with regions. To be registered by OpRegistration.
OpDefinition RegionOp(const char* name, const char* signature, const char* doc,
                      std::span<const ParamInfo> params,
                      std::span<const OutputInfo> outputs,
                      const RegionRules* rules);

// What the functions for users share ------------------------------------------

// One bool element, as far as is known.
void CheckPredicate(const char* op, const Tensor& t);
void CheckDefined(const char* op, const TensorList& results);
TensorMeta MetaOf(const Tensor& t);
// Of its sizes, known or not.
Tensor ZerosLike(const Tensor& t);
// The meta that covers both: dims that differ are unknown. Throws Error naming
// result `i` if dtypes or ranks differ.
TensorMeta Join(const char* op, size_t i, const TensorMeta& a,
                const TensorMeta& b);
// True if an operation of the block or of regions in it has the trait.
bool HasTrait(const Block& block, uint32_t trait);

// Records an operation with its regions.
class RegionRecorder {
 public:
  RegionRecorder(const OpDefinition& op, std::shared_ptr<Program> program);

  void Argument(const Tensor& t);             // of a Tensor or Tensor?
  void Argument(std::span<const Tensor> ts);  // of a Tensor[]
  void Attribute(Value v);
  // The next region: `body` is called with symbolic tensors of these metas.
  // Returns what it gave.
  TensorList Region(std::span<const TensorMeta> arguments,
                    const std::function<TensorList(const TensorList&)>& body);
  // Appends the operation to the block that is being recorded, and hangs the
  // gradient on its results, if there is one.
  TensorList Finish(std::span<const TensorMeta> results,
                    DifferentiateRegions differentiate);

 private:
  RecordedRegions recorded_;
  Operation operation_;
};

// A region as a function, for the rule `evaluate`. What it is given to keep, it
// lets go of at its last use.
std::function<TensorList(TensorList)> RegionFunction(const Program& program,
                                                     const Block& region,
                                                     Environment& env);
// The tensors of a Tensor[] argument, and of a Tensor (undefined for None).
TensorList ListArgument(const Operation& o, size_t i, const Environment& env);
Tensor TensorArgument(const Operation& o, size_t i, const Environment& env);
// Stores what an op with one output, a Tensor[], gives.
void StoreList(const Operation& o, TensorList results, Environment& env);

}  // namespace proa::inline v0::jit

#endif  // PROA_JIT_REGION_OP_H_
