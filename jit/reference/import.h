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
#include <string>
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
Module Import(const ProgramDesc& desc,
              const std::function<Tensor(const std::string&)>& parameter,
              const RuleBook& book = AllRules());

// The types of ops that programs may have: those with a rule and those that the
// importer itself knows. Sorted.
std::vector<std::string> KnownTypes();

// The newest version of each type that its rule knows, where it is not 0.
std::map<std::string, int64_t> KnownVersions();

}  // namespace proa::inline v0::jit::reference

#endif  // PROA_JIT_REFERENCE_IMPORT_H_
