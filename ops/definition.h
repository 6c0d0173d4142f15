// OpDefinition: what can be known of an op without calling it, generated from
// its schema; and the registry of all ops that are linked in.
//
// Everything that must treat all ops alike (interpreters, programs, conformance
// tests, docs) loops over the registry; nothing lists op names by hand.
#ifndef PROA_OPS_DEFINITION_H_
#define PROA_OPS_DEFINITION_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "ops/kernel.h"
#include "ops/value.h"
#include "tensor/tensor.h"

namespace proa::inline v0 {

namespace jit {
struct RegionRules;
}  // namespace jit

struct ParamInfo {
  const char* name;
  ParamType type;
  bool optional;             // `T?`: None is a value
  const char* default_text;  // as written in the schema, null if required
  Value (*default_value)();  // null if required
};

struct OutputInfo {
  const char* name;
  bool is_list;         // Tensor[]
  int8_t aliases = -1;  // the parameter whose storage a view output shares
};

enum class AmpClass : uint8_t { kKeep, kLower, kRaise, kPromote };
enum class FuseClass : uint8_t {
  kNone,
  kPointwise,
  kReduction,
  kMatmul,
  kView,
  kBroadcast  // a view that may show an element several times
};

enum OpTrait : uint32_t {
  kTraitView = 1u << 0,           // outputs alias an input
  kTraitInplace = 1u << 1,        // changes its first argument (name ends in _)
  kTraitRandom = 1u << 2,         // draws from a generator
  kTraitDataDependent = 1u << 3,  // output shape depends on values
  kTraitDifferentiable = 1u << 4,  // has gradient formulas
  kTraitComposite = 1u << 5,       // calls other ops; never recorded itself
};

struct OpDefinition {
  const char* name;
  int version;            // raised when the meaning of a recorded call changes
  const char* signature;  // "multiply(Tensor x, Tensor y) -> Tensor out"
  const char* doc;
  const char* source;  // "ops/elementwise/binary.yaml:12"
  std::span<const ParamInfo> params;
  std::span<const OutputInfo> outputs;
  uint32_t traits;
  AmpClass amp;
  FuseClass fuse;
  uint32_t dtypes;   // bit per DType that the kernel accepts
  uint32_t changes;  // bit per parameter that the op works on in place

  // The front door, boxed: unpacks, calls, packs. Throws Error kInvalidArgument
  // if a Value has the wrong alternative.
  void (*call)(std::span<const Value> args, std::span<Value> results);
  // Output meta only: same code as a call uses. A Tensor[] output gives
  // several. results[i] holds the metas of output i. Null for composites and
  // in-place forms.
  void (*infer)(std::span<const Value> args,
                std::span<std::vector<TensorMeta>> results);
  const KernelTable* kernels;  // null for composites
  // Floating point operations of a call, if the schema says so (`flops`); see
  // FlopsOf in ops/profile.h.
  double (*flops)(std::span<const Value> args, std::span<const Value> results);
  // What the call becomes in a test (`inference`), to be called as `call` is;
  // results that mean nothing there stay None. Null: it stays what it is.
  void (*inference)(std::span<const Value> args, std::span<Value> results);
  // Of a result of a few integers, those that are known before the program
  // runs, as dims are (`elements`); an empty shape if nothing is known. Null:
  // nothing is, unless the op is a view.
  Shape (*elements)(std::span<const Value> args);
  // Of an op whose operations the evaluator of programs runs itself, because
  // they hold regions: jit/region_op.h. Null for all others.
  const jit::RegionRules* regions = nullptr;
};

// Null if there is no such op.
const OpDefinition* FindOp(std::string_view name);
// Every op, sorted by name.
std::span<const OpDefinition* const> AllOps();

// Called by generated code only.
class OpRegistration {
 public:
  explicit OpRegistration(std::span<const OpDefinition* const> ops);
};

}  // namespace proa::inline v0

#endif  // PROA_OPS_DEFINITION_H_
