// Programs of PaddlePaddle 1.x and 2.x become ours: their ops by rules
// (rule.h), their blocks as regions.
//
//   ProgramDesc desc = ParseProgramDesc(bytes);
//   Module module = Import(desc, [&](const std::string& name) { ... });
//
// What a block changes of the variables around it is carried through `while`
// and chosen by `cond`, so that the program is in static single assignment
// form. Tensor arrays are tensors whose first dim counts the elements, which
// are of one shape.
#ifndef PROA_JIT_REFERENCE_IMPORT_H_
#define PROA_JIT_REFERENCE_IMPORT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "jit/program_file.h"
#include "jit/reference/program_desc.h"
#include "jit/reference/rule.h"

namespace proa::inline v0::jit::reference {

// Names of the tensors that the parameter file of a program holds, in order.
std::vector<std::string> PersistableNames(const ProgramDesc& desc);

// Throws Error; for a program with ops that have no rule, one that lists all of
// them with their attributes, before anything is recorded. `parameter` gives
// the tensors of persistable variables, undefined ones where there are none.
// Training::kRead: Module::training, which ops have by their attribute is_test.
Module Import(const ProgramDesc& desc,
              const std::function<Tensor(const std::string&)>& parameter,
              Training training = Training::kIgnored,
              const RuleBook& book = AllRules());

// A program as it was built: everything that its ops do, changes of persistable
// variables too (training). Null for one that fetches, a model for inference.
struct WholeProgram {
  std::shared_ptr<Program> program;
  // What the variables of the first block hold at the end, by name.
  std::vector<std::pair<std::string, Tensor>> results;
  std::vector<std::string> trainable;  // names of captured tensors
  std::vector<std::string> warnings;
};

// What a room above this one lends.
struct Autograd {
  std::function<void(const Tensor&)> follow;  // gradients of it are asked for
  // Of `arguments`, undefined where there is none, from those of `results`;
  // may be asked several times.
  std::function<std::vector<Tensor>(const std::vector<Tensor>& results,
                                    const std::vector<Tensor>& arguments,
                                    const std::vector<Tensor>& grads)>
      gradients;
};

// Persistable variables are those of `tensors`, of the same name, type and
// dims, or zeros. An op <type>_grad needs no rule: it is autograd through what
// the rule of <type> recorded. Throws Error as Import does.
WholeProgram ImportWhole(const ProgramDesc& desc, const Autograd& autograd,
                         const std::map<std::string, Tensor>& tensors = {},
                         const RuleBook& book = AllRules());

// The types of ops that programs may have: those with a rule and those that the
// importer itself knows. Sorted.
std::vector<std::string> KnownTypes();

// Of each type with a rule, the ops and other functions that the rule calls, by
// those of its own language too.
std::map<std::string, std::set<std::string>> CallsOfRules();

// The newest version of each type that its rule knows, where it is not 0.
std::map<std::string, int64_t> KnownVersions();

}  // namespace proa::inline v0::jit::reference

#endif  // PROA_JIT_REFERENCE_IMPORT_H_
