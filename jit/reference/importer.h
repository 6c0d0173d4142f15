// The translation of one program; private to import.h. Its parts: what is known
// (importer_checks.cc), ops by their rules and variables (importer.cc),
// sequences and arrays (importer_sequences.cc), blocks as regions
// (importer_regions.cc, importer_recurrent.cc), programs that train
// (importer_whole.cc).
#ifndef PROA_JIT_REFERENCE_IMPORTER_H_
#define PROA_JIT_REFERENCE_IMPORTER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "jit/control_flow.h"
#include "jit/liveness.h"
#include "jit/program_file.h"
#include "jit/reference/import.h"
#include "jit/reference/program_desc.h"
#include "jit/reference/rule.h"
#include "jit/reference/rule_value.h"
#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/tensor.h"

namespace proa::inline v0::jit::reference::importing {

constexpr int kMaxDepth = 100;  // of blocks

inline std::string Quoted(const std::string& s) {
  return absl::StrCat("'", absl::CEscape(s.substr(0, 80)), "'");
}

// Ops of late releases write small what older ones wrote large: x, X.
inline bool SameSlot(const std::string& a, const std::string& b) {
  return absl::EqualsIgnoreCase(a, b);
}

// Null if there is none.
const std::vector<std::string>* FindSlot(const Slots& slots,
                                         const std::string& name);

// The number of its block.
int BlockOf(const OpDesc& op);

// The only variable of a slot.
const std::string& OneOf(const OpDesc& op, const Slots& slots,
                         const std::string& name);

// Does the op give the gradients of another one?
inline bool IsGradient(const OpDesc& op) { return op.type.ends_with("_grad"); }
inline std::string ForwardOf(const OpDesc& op) {
  return op.type.substr(0, op.type.size() - 5);
}

inline bool IsFloating(DType t) {
  return kDTypeInfo[static_cast<int>(t)].kind == 'f';
}

// An argument by slot and place.
using Place = std::pair<std::string, size_t>;
inline Place PlaceOf(const std::string& slot, size_t i) {
  return {absl::AsciiStrToLower(slot), i};
}

// What an op took and made, for the op that gives its gradients: they start at
// `results` and end at `arguments`, which are handles of this op alone.
struct Call {
  std::string type;
  std::map<Place, Tensor> arguments;
  std::map<std::string, Tensor> results;  // by name
  std::map<std::string, Tensor> before;   // of a loop: what it changes
};

// What variables hold while a block is translated. What goes with a variable
// are values of names of their own, so that blocks see and carry them as they
// do the variable: the lengths of its sequences (`x@LENGTHS0`, outermost
// first), and of an array whose items differ in their rows how many rows each
// has
// (`x@COUNTS`, importer_sequences.cc).
struct Scope {
  std::map<std::string, Tensor> values;
  // Variables with the sequences of an input, of which nothing asked so far.
  std::map<std::string, std::string> fed;
  // Of a block that is run on a condition: what it gives is recorded when it is
  // known what it is chosen against.
  struct Waiting {
    Tensor predicate;
    int block;
    std::shared_ptr<const Scope> before;  // what it sees
  };
  std::map<std::string, std::shared_ptr<Waiting>> waiting;
};

class Importer {
 public:
  Importer(const ProgramDesc& desc,
           const std::function<Tensor(const std::string&)>& parameter,
           const RuleBook& book)
      : desc_(desc), parameter_(parameter), book_(book) {
    for (const BlockDesc& b : desc.blocks) {
      for (const VarDesc& v : b.vars) vars_.emplace(v.name, &v);
      for (const OpDesc& op : b.ops) {
        for (const auto& [slot, out] : op.outputs) {
          changed_.insert(out.begin(), out.end());
        }
      }
    }
  }

  // `changes`: of persistable variables, whether they are recorded.
  Module Run(Changes changes = Changes::kNone);
  WholeProgram RunWhole(const Autograd& autograd);

  using Handler = void (Importer::*)(const OpDesc&, Scope&);
  static const std::map<std::string, Handler>& Handlers();

 private:
  void CheckKnown() const;
  void CheckBlocks() const;
  bool HoldsUnevenArrays() const;
  std::vector<std::string> NewerVersions() const;
  int64_t VersionOf(const std::string& type) const {
    const auto at = desc_.op_versions.find(type);
    return at == desc_.op_versions.end() ? 0 : at->second;
  }
  void Inputs(Scope& scope);
  void AddLengths(Module& module, const Scope& scope);
  void Block(int index, Scope& scope);
  void Op(const OpDesc& op, Scope& scope);
  void ByRule(const OpDesc& op, const Rule& rule, Scope& scope);
  bool HasGradientRule(const OpDesc& op) const {
    return whole_ && IsGradient(op) && !book_.rules.contains(op.type) &&
           book_.rules.contains(ForwardOf(op));
  }
  void Gradient(const OpDesc& op, Scope& scope);
  Tensor Argument(const std::string& slot, size_t i, const std::string& name,
                  Scope& scope);
  // Whether ops of gradients may read what the ops of now make.
  bool IsFollowed() const {
    return whole_ && !differentiated_.empty() && depth_ == 1;
  }
  // What a block sees, with handles of the call of now for what a slot of its
  // op names.
  Scope Seen(const OpDesc& op, const char* slot, Scope& scope);
  // Notes that the call of now made what variables of a slot hold.
  void NoteResults(const OpDesc& op, const char* slot,
                   const std::shared_ptr<Call>& call, Scope& scope);
  bool IsTrained(const VarDesc& v) const;
  // Zeros, for the gradient of an array that is written item by item.
  Tensor StartOfGradient(const std::string& name, Scope& scope);

  // The lengths of the sequences in a variable, outermost first; of one that is
  // fed they are inputs, from when they are asked for.
  TensorList LevelsOf(const std::string& name, const Scope& scope);
  void SetLevels(const std::string& name, const TensorList& levels,
                 Scope& scope);
  // What a rule said of its outputs, by name.
  struct Said {
    std::map<std::string, TensorList> levels;
    std::map<std::string, TensorList> items;
  };
  // An output has what the op said of it, or the sequences of its inputs.
  void NoteSequences(const OpDesc& op, const Said& said, Scope& scope);
  // Of an array whose items differ in their rows: all rows, how many each item
  // has, and for each level of sequences the lengths of all items, and how many
  // lengths each has. Nothing of an array that holds nothing yet; none where
  // items are alike.
  RuleValue ItemsOf(const std::string& name, const Scope& scope) const;
  void SetItems(const std::string& name, const TensorList& items, Scope& scope);
  // The names of what goes with a variable.
  std::vector<std::string> Companions(const std::string& name, Scope& scope);
  // Nothing is known of the sequences in a variable any more.
  static void Forget(const std::string& name, Scope& scope);
  void Feed(const OpDesc& op, Scope& scope);
  void Fetch(const OpDesc& op, Scope& scope);
  void Loop(const OpDesc& op, Scope& scope);
  void Conditional(const OpDesc& op, Scope& scope);
  void ConditionalWithGradients(const OpDesc& op, Scope& scope);
  void Recurrent(const OpDesc& op, Scope& scope);
  void Select(const OpDesc& op, Scope& scope);
  void SelectGradient(const OpDesc& op, Scope& scope);
  void Nothing(const OpDesc&, Scope&) {}

  const BlockDesc& BlockAt(int index) const {
    PROA_REQUIRE(index > 0 && index < static_cast<int>(desc_.blocks.size()),
                 "there is no block ", index);
    return desc_.blocks[index];
  }
  const VarDesc* Var(const std::string& name) const {
    const auto at = vars_.find(name);
    return at == vars_.end() ? nullptr : at->second;
  }
  // Names that a block, or one within, gives new values.
  void Written(int index, std::set<std::string>& names, int depth = 0) const;
  // Undefined if there is none.
  Tensor Find(const std::string& name, Scope& scope);
  Tensor Get(const std::string& name, Scope& scope);
  void Set(const std::string& name, Tensor t, Scope& scope);
  // What stands for a variable that has no value yet.
  Tensor Placeholder(const std::string& name);
  // The same of an array that a block writes first, with what goes with it.
  void StartArray(const std::string& name, Scope& scope);
  Tensor Truth(const Tensor& t) const;
  Tensor Predicate(const OpDesc& op, Scope& scope);
  // What `names` hold after a block.
  TensorList Outputs(int block, const std::vector<std::string>& names,
                     Scope seen);
  // What a block changes of what it sees, with what goes with it.
  struct Carried {
    std::vector<std::string> names;
    TensorList values;  // before the block
    std::map<std::string, std::vector<std::string>> companions;
    // Variables that have others after the block: theirs are not carried.
    std::set<std::string> lost;
  };
  Carried Carry(const std::set<std::string>& written, Scope& seen,
                const std::set<std::string>& without);
  TensorList Outputs(int block, Carried& carried, Scope seen);
  void SetCarried(const Carried& carried, const TensorList& results,
                  Scope& scope);

  const ProgramDesc& desc_;
  const std::function<Tensor(const std::string&)>& parameter_;
  const RuleBook& book_;
  std::map<std::string, const VarDesc*> vars_;
  std::map<std::string, Tensor> parameters_;
  std::set<std::string> changed_;  // what some op gives
  std::shared_ptr<Program> program_ = std::make_shared<Program>();
  std::map<int64_t, ValueId> feeds_;
  std::map<int64_t, std::pair<std::string, Tensor>> fetches_;
  std::map<std::string, std::vector<ValueId>> lengths_;  // inputs, of inputs
  bool uneven_ = false;  // whether the items of arrays differ in their rows
  int depth_ = 0;
  bool stores_ = false;  // what persistable variables become
  // Of a program as a whole:
  bool whole_ = false;
  const Autograd* autograd_ = nullptr;
  std::set<std::string> differentiated_;  // what some op gives the gradient of
  // By the names of their results: the last one comes last.
  std::map<std::string, std::vector<std::shared_ptr<Call>>> calls_;
  std::shared_ptr<Call> call_;  // the one that is translated
};

}  // namespace proa::inline v0::jit::reference::importing

#endif  // PROA_JIT_REFERENCE_IMPORTER_H_
