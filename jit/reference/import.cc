#include "jit/reference/import.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <variant>

#include "absl/status/status.h"
#include "jit/recorder.h"
#include "jit/reference/importer.h"
#include "jit/reference/rule_run.h"
#include "tensor/dtype.h"
#include "tensor/error.h"
#include "tensor/shape.h"
#include "tensor/storage.h"

namespace proa::inline v0::jit::reference {
namespace {

void AddCalls(const std::vector<Statement>& body, const RuleBook& book,
              std::set<std::string>* out);

void AddCalls(const Expression& e, const RuleBook& book,
              std::set<std::string>* out) {
  if (e.kind == Expression::Kind::kCall && out->insert(e.text).second) {
    const auto function = book.functions.find(e.text);
    if (function != book.functions.end())
      AddCalls(function->second.body, book, out);
  }
  for (const Expression& part : e.parts) AddCalls(part, book, out);
}

void AddCalls(const std::vector<Statement>& body, const RuleBook& book,
              std::set<std::string>* out) {
  for (const Statement& s : body) AddCalls(s.expression, book, out);
}

// Ops that are in a test no more. Were there any?
bool StartTraining(ProgramDesc& desc) {
  bool any = false;
  for (BlockDesc& b : desc.blocks) {
    for (OpDesc& op : b.ops) {
      const auto at = op.attributes.find("is_test");
      if (at == op.attributes.end()) continue;
      bool* const test = std::get_if<bool>(&at->second.value);
      if (test == nullptr || !*test) continue;
      *test = false;
      any = true;
    }
  }
  return any;
}

// Zeros that take memory when they are written: a file has the sizes of its
// variables alone, and may lie.
Tensor ZeroPages(const std::string& name, const Shape& shape, DType dtype) {
  int64_t bytes = ItemSize(dtype);
  bool fits = true;
  for (int64_t d : shape) fits &= !__builtin_mul_overflow(bytes, d, &bytes);
  const auto size = static_cast<size_t>(std::max<int64_t>(bytes, 1));
  void* const data = fits ? mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                          : MAP_FAILED;
  if (data == MAP_FAILED) {
    Fail(absl::StatusCode::kResourceExhausted, "variable ",
         importing::Quoted(name), " is kept, of ", ToString(shape),
         ": there is no memory for it");
  }
  return Tensor::FromStorage(
      Storage::Wrap(data, bytes, Place{}, [data, size] { munmap(data, size); }),
      dtype, shape, ContiguousStrides(shape));
}

}  // namespace

std::vector<std::string> PersistableNames(const ProgramDesc& desc) {
  std::set<std::string> names;
  for (const BlockDesc& b : desc.blocks) {
    for (const VarDesc& v : b.vars) {
      if (v.persistable && v.kind == VarKind::kTensor) names.insert(v.name);
    }
  }
  return {names.begin(), names.end()};
}

Module Import(const ProgramDesc& desc,
              const std::function<Tensor(const std::string&)>& parameter,
              Training training, const RuleBook& book) {
  Module module = importing::Importer(desc, parameter, book).Run();
  if (training == Training::kIgnored) return module;
  ProgramDesc trained = desc;
  if (!StartTraining(trained)) return module;
  try {
    module.training = std::make_shared<const Module>(
        importing::Importer(trained, parameter, book).Run(Changes::kAll));
  } catch (const Error&) {
    // What no rule knows in training is known in a test alone.
  }
  return module;
}

WholeProgram ImportWhole(const ProgramDesc& desc, const Autograd& autograd,
                         const std::map<std::string, Tensor>& tensors,
                         const RuleBook& book) {
  const auto& ops = desc.blocks[0].ops;
  if (std::ranges::any_of(
          ops, [](auto& op) { return op.type.starts_with("fetch"); })) {
    return {};
  }
  const std::function<Tensor(const std::string&)> zeros =
      [&](const std::string& name) {
        for (const VarDesc& v : desc.blocks[0].vars) {
          if (v.name != name || v.kind != VarKind::kTensor) continue;
          PROA_REQUIRE(v.dtype.has_value(), "variable ",
                       importing::Quoted(name),
                       " has elements of an unknown type");
          PROA_REQUIRE(v.dims.size() <= kMaxRank, "variable ",
                       importing::Quoted(name), " has too many dims");
          PROA_REQUIRE(
              std::ranges::all_of(v.dims, [](int64_t d) { return d >= 0; }),
              "variable ", importing::Quoted(name),
              " is kept but has an open size");
          const auto known = tensors.find(name);
          if (known != tensors.end() && known->second.dtype() == *v.dtype &&
              std::ranges::equal(known->second.shape().dims(), v.dims)) {
            return known->second;
          }
          return ZeroPages(name, Shape(std::span<const int64_t>(v.dims)),
                           *v.dtype);
        }
        return Tensor();
      };
  return importing::Importer(desc, zeros, book).RunWhole(autograd);
}

std::vector<std::string> KnownTypes() {
  std::set<std::string> out;
  for (const auto& [type, handler] : importing::Importer::Handlers())
    out.insert(type);
  for (const auto& [type, rule] : AllRules().rules) out.insert(type);
  return {out.begin(), out.end()};
}

std::map<std::string, std::set<std::string>> CallsOfRules() {
  const RuleBook& book = AllRules();
  std::map<std::string, std::set<std::string>> out;
  for (const auto& [type, rule] : book.rules)
    AddCalls(rule->body, book, &out[type]);
  return out;
}

std::map<std::string, int64_t> KnownVersions() { return AllRules().versions; }

}  // namespace proa::inline v0::jit::reference
