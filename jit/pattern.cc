#include "jit/pattern.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "absl/strings/str_split.h"
#include "jit/passes/inferred_shapes.h"
#include "jit/recorder.h"
#include "jit/text.h"
#include "ops/boxed_call.h"
#include "tensor/error.h"
#include "tensor/shape.h"

namespace proa::inline v0::jit {
namespace {

// What the names of a pattern stand for at some place of a program.
struct Bindings {
  std::map<std::string, ValueId> values;
  std::map<std::string, Value> attributes;
  std::vector<Operation*> operations;  // by operation of the pattern
};

class Matcher {
 public:
  Matcher(const Rewriter& r, const Effects& effects,
          const std::vector<PatternOperation>& pattern)
      : r_(r), effects_(effects), pattern_(pattern) {
    for (size_t i = 0; i < pattern.size(); ++i) {
      for (const std::string& name : pattern[i].results) {
        if (name != "_") makers_[name] = i;
      }
    }
  }

  std::optional<Bindings> Find(Operation& last) {
    Bindings b;
    b.operations.resize(pattern_.size());
    if (!Match(pattern_.size() - 1, last, b)) return std::nullopt;
    if (std::ranges::count(b.operations, nullptr) != 0) return std::nullopt;
    return b;
  }

 private:
  bool Match(size_t i, Operation& o, Bindings& b) {
    if (o.op != pattern_[i].op || r_.is_erased(o) || r_.is_moved(o)) {
      return false;
    }
    if (i + 1 < pattern_.size() &&
        r_.uses().block_of(o) != r_.uses().block_of(*b.operations.back())) {
      return false;
    }
    b.operations[i] = &o;
    for (size_t k = 0; k < o.results.size(); ++k) {
      const std::string& name = pattern_[i].results[k];
      if (name == "_") continue;
      if (o.results[k].size() != 1 || !Bind(name, o.results[k][0], b)) {
        return false;
      }
    }
    Bindings before = b;
    if (MatchArguments(i, o, false, b)) return true;
    if (!pattern_[i].commutes) return false;
    b = std::move(before);
    return MatchArguments(i, o, true, b);
  }

  bool MatchArguments(size_t i, Operation& o, bool swapped, Bindings& b) {
    const std::vector<PatternArgument>& args = pattern_[i].args;
    for (size_t k = 0; k < args.size(); ++k) {
      const size_t at = swapped && k < 2 ? 1 - k : k;
      if (!MatchArgument(args[k], o.op->params[at], o.args[at], b)) {
        return false;
      }
    }
    return true;
  }

  bool MatchArgument(const PatternArgument& p, const ParamInfo& param,
                     const Argument& a, Bindings& b) {
    const auto* ref = std::get_if<ValueRef>(&a);
    const auto* attribute = std::get_if<Value>(&a);
    switch (p.kind) {
      case PatternArgument::kDefault:
        if (attribute == nullptr) return ref != nullptr && ref->id == kNoValue;
        return param.default_value != nullptr &&
               AttributeText(param.default_value()) ==
                   AttributeText(*attribute);
      case PatternArgument::kNone:
        return ref != nullptr && ref->id == kNoValue;
      case PatternArgument::kValue: {
        if (ref == nullptr || !HasRank(ref->id, p.rank) ||
            !Bind(p.text, ref->id, b)) {
          return false;
        }
        const auto made = makers_.find(p.text);
        if (made == makers_.end()) return true;
        Operation* maker =
            ref->id == kNoValue ? nullptr : r_.uses().maker(ref->id);
        if (maker == nullptr) return false;
        Operation* const matched = b.operations[made->second];
        return matched != nullptr ? matched == maker
                                  : Match(made->second, *maker, b);
      }
      case PatternArgument::kAttribute: {
        if (attribute == nullptr) return false;
        const auto [at, is_new] = b.attributes.emplace(p.text, *attribute);
        return is_new || AttributeText(at->second) == AttributeText(*attribute);
      }
      case PatternArgument::kLiteral:
        return attribute != nullptr && AttributeText(*attribute) == p.text;
      case PatternArgument::kNumber: {
        const std::optional<double> number =
            NumberOf(r_.program(), effects_, a);
        return number.has_value() && IsNear(*number, std::stod(p.text));
      }
      case PatternArgument::kAnyNumber: {
        const std::optional<double> number =
            NumberOf(r_.program(), effects_, a);
        if (!number.has_value()) return false;
        const auto [at, is_new] = b.attributes.emplace(p.text, *number);
        return is_new || AttributeText(at->second) == AttributeText(*number);
      }
    }
    return false;
  }

  bool HasRank(ValueId id, int rank) const {
    return rank < 0 || id == kNoValue ||
           r_.program().value(id).meta.shape.rank() == rank;
  }

  static bool IsNear(double a, double b) {
    return a == b || std::abs(a - b) <= 2e-5 * std::abs(b);
  }

  static bool Bind(const std::string& name, ValueId id, Bindings& b) {
    const auto [at, is_new] = b.values.emplace(name, id);
    return is_new || at->second == id;
  }

  const Rewriter& r_;
  const Effects& effects_;
  const std::vector<PatternOperation>& pattern_;
  std::map<std::string, size_t> makers_;
};

Value LiteralOf(const ParamInfo& p, const std::string& text) {
  if (p.type == ParamType::kBool) return text == "true";
  if (p.type == ParamType::kInt) return int64_t{std::stoll(text)};
  if (p.type == ParamType::kFloat) return std::stod(text);
  if (p.type == ParamType::kString && text.size() >= 2) {
    return text.substr(1, text.size() - 2);
  }
  if (p.type == ParamType::kIntList || p.type == ParamType::kIntArray) {
    std::vector<int64_t> list;
    const std::string inside = text.substr(1, text.size() - 2);
    for (const absl::string_view item :
         absl::StrSplit(inside, ',', absl::SkipWhitespace())) {
      list.push_back(std::stoll(std::string(item)));
    }
    return list;
  }
  FailArgument("pattern: ", p.name, "=", text, ": no literals of this type");
}

// The operation of a replacement, without results yet; nothing if a name has no
// meaning where it stands.
Operation Build(const PatternOperation& p, const Bindings& b) {
  Operation o;
  o.op = p.op;
  for (size_t i = 0; i < p.args.size(); ++i) {
    const PatternArgument& a = p.args[i];
    const ParamInfo& param = p.op->params[i];
    if (a.kind == PatternArgument::kValue) {
      o.args.emplace_back(ValueRef{b.values.at(a.text)});
    } else if (a.kind == PatternArgument::kAttribute) {
      o.args.push_back(b.attributes.at(a.text));
    } else if (a.kind == PatternArgument::kLiteral) {
      o.args.push_back(LiteralOf(param, a.text));
    } else if (param.type == ParamType::kTensor) {
      o.args.emplace_back(ValueRef{});
    } else {
      PROA_REQUIRE(param.default_value != nullptr, "pattern: ", p.op->name,
                   " needs ", param.name);
      o.args.push_back(param.default_value());
    }
  }
  return o;
}

bool IsLate(const Operation& o, const std::vector<Value>& args) {
  for (size_t i = 0; i < args.size(); ++i) {
    if (IsTensorAttribute(o.op->params[i], args[i])) return true;
  }
  return false;
}

// What the op says that it makes; nothing if it refuses the arguments.
std::optional<std::vector<TensorMeta>> InferredOf(
    const std::shared_ptr<Program>& program, const Operation& o) {
  std::vector<Value> args;
  for (const Argument& a : o.args) {
    const auto* ref = std::get_if<ValueRef>(&a);
    if (ref == nullptr) {
      args.push_back(std::get<Value>(a));
    } else {
      args.push_back(ref->id == kNoValue ? Tensor()
                                         : MakeSymbolic(program, ref->id));
    }
  }
  std::vector<std::vector<TensorMeta>> results(o.op->outputs.size());
  try {
    if (IsLate(o, args)) return std::nullopt;
    o.op->infer(args, results);
  } catch (const Error&) {
    return std::nullopt;
  }
  std::vector<TensorMeta> metas;
  for (auto& list : results) {
    if (list.size() != 1) return std::nullopt;
    metas.push_back(std::move(list[0]));
  }
  return metas;
}

// Sizes must be the same whenever the program runs: of two open ones one may be
// 1, and be repeated by an addition, but not by what is put in its place.
bool SameMeta(const TensorMeta& a, const TensorMeta& b) {
  return a.dtype == b.dtype && a.shape.identified() && a.shape == b.shape &&
         a.place == b.place;
}

// One match on its way to be replaced.
class Replacement {
 public:
  Replacement(Rewriter& r, const Effects& effects, Bindings b, bool& has_shapes)
      : r_(r), effects_(effects), b_(std::move(b)), has_shapes_(has_shapes) {
    for (Operation* o : b_.operations) {
      matched_.insert(o);
      ForEachResult(*o, [&](ValueId id) { made_.insert(id); });
    }
  }

  bool Run(const std::vector<PatternOperation>& to) {
    std::set<ValueId> replaced;
    for (const PatternOperation& p : to) {
      for (const std::string& name : p.results) {
        const auto at = b_.values.find(name);
        if (at != b_.values.end()) replaced.insert(at->second);
      }
    }
    for (ValueId id : made_) {
      if (!replaced.contains(id) && IsUsedElsewhere(id)) return false;
    }
    if (ReadsErased(to)) return false;
    InferOpenShapes(replaced);
    if (to[0].op == nullptr) return ReplaceByValue(to[0]);
    return FindMoves() && PutIn(to);
  }

 private:
  // A program from a file has a name of its own at each open dim: what is
  // compared by names needs those that inference hands on.
  void InferOpenShapes(const std::set<ValueId>& values) {
    Program& program = r_.program();
    const bool open = std::ranges::any_of(values, [&](ValueId id) {
      return !program.value(id).meta.shape.known();
    });
    if (open && !has_shapes_) InferShapes(program);
    has_shapes_ |= open;
  }

  // Whether what is put in reads what the match makes and nothing makes then: a
  // name for any value may stand for one of those, as %r in %c + %r for %c.
  bool ReadsErased(const std::vector<PatternOperation>& to) const {
    std::set<ValueId> made_again;
    for (const PatternOperation& p : to) {
      for (const PatternArgument& a : p.args) {
        if (a.kind != PatternArgument::kValue) continue;
        const auto at = b_.values.find(a.text);
        if (at != b_.values.end() && made_.contains(at->second) &&
            !made_again.contains(at->second)) {
          return true;
        }
      }
      for (const std::string& name : p.results) {
        const auto at = b_.values.find(name);
        if (at != b_.values.end()) made_again.insert(at->second);
      }
    }
    return false;
  }

  bool IsUsedElsewhere(ValueId id) const {
    if (r_.uses().is_output(id)) return true;
    return std::ranges::any_of(r_.uses().of(id), [&](const Use& u) {
      return u.operation == nullptr || !matched_.contains(u.operation);
    });
  }

  Operation& last() const { return *b_.operations.back(); }

  // Which operations between the first and the last of the match are to stand
  // behind it. False if they cannot.
  bool FindMoves() {
    const Block& block = *r_.uses().block_of(last());
    size_t first = r_.index_of(last());
    const size_t end = first;
    for (const Operation* o : matched_)
      first = std::min(first, r_.index_of(*o));
    std::vector<const Operation*> seen;  // of the match, up to here
    for (size_t i = first; i <= end; ++i) {
      const Operation& o = block.operations[i];
      // What this pass moved or put in stays where it is now.
      bool crosses = r_.is_moved(o);
      r_.ForEachNeighbour(
          o, [&](const Operation& n) { crosses |= NeedsToMove(n, seen); });
      if (crosses) return false;
      if (r_.is_erased(o)) continue;
      if (matched_.contains(&o)) {
        // It may not need what is moved away from before it.
        for (const Operation* m : moves_) {
          if (effects_.depends(o, *m)) return false;
        }
        seen.push_back(&o);
        continue;
      }
      if (!NeedsToMove(o, seen)) continue;
      if (!o.regions.empty() || (o.op->traits & kTraitRandom) != 0) {
        return false;
      }
      moves_.push_back(&o);
    }
    return true;
  }

  // `depends` covers what an operation changes of what the match read.
  bool NeedsToMove(const Operation& o,
                   const std::vector<const Operation*>& seen) const {
    const auto after = [&](const Operation* m) {
      return effects_.depends(o, *m);
    };
    return std::ranges::any_of(seen, after) ||
           std::ranges::any_of(moves_, after);
  }

  bool PutIn(const std::vector<PatternOperation>& to) {
    std::vector<Operation> built;
    std::vector<std::pair<ValueId, ValueId>> renamed;  // old, new
    Program& program = r_.program();
    for (const PatternOperation& p : to) {
      Operation o = Build(p, b_);
      o.where = last().where;
      const auto metas = InferredOf(r_.shared_program(), o);
      if (!metas.has_value()) return false;
      for (size_t i = 0; i < metas->size(); ++i) {
        const std::string& name = p.results[i];
        const auto old = b_.values.find(name);
        const bool replaces = old != b_.values.end();
        if (replaces &&
            !SameMeta((*metas)[i], program.value(old->second).meta)) {
          return false;
        }
        const ValueId id = program.AddValue(ValueKind::kResult, (*metas)[i]);
        if (replaces) {
          renamed.emplace_back(old->second, id);
        } else if (name != "_") {
          b_.values[name] = id;
        }
        o.results.push_back({id});
      }
      built.push_back(std::move(o));
    }
    for (Operation& o : built) r_.InsertBefore(last(), std::move(o));
    for (const auto& [old, id] : renamed) r_.MakeAs(old, id);
    for (const Operation* o : moves_) r_.MoveBehind(*o, last());
    for (const Operation* o : b_.operations) r_.Erase(*o);
    return true;
  }

  bool ReplaceByValue(const PatternOperation& p) {
    const ValueId from = b_.values.at(p.results[0]);
    const ValueId to = b_.values.at(p.args[0].text);
    const Program& program = r_.program();
    // Two sizes that are not known may differ where an op makes a view.
    const bool view = (last().op->traits & kTraitView) != 0;
    if (to == kNoValue || r_.uses().is_output(from) ||
        (view && !program.value(to).meta.shape.known()) ||
        !SameMeta(program.value(from).meta, program.value(to).meta) ||
        !effects_.may_stand_for(to, from, r_.uses())) {
      return false;
    }
    r_.ReplaceUses(from, to);
    for (const Operation* o : b_.operations) r_.Erase(*o);
    return true;
  }

  Rewriter& r_;
  const Effects& effects_;
  Bindings b_;
  bool& has_shapes_;
  std::set<const Operation*> matched_;
  std::set<ValueId> made_;  // by the match
  std::vector<const Operation*> moves_;
};

}  // namespace

Rule::Rule(std::string_view from, std::string_view to)
    : from_(ParsePattern(from)), to_(ParsePattern(to)) {
  PROA_REQUIRE(from_.back().op != nullptr,
               "pattern: what is looked for ends in an operation");
}

bool Rule::Apply(Rewriter& r, const Effects& effects, Operation& o,
                 bool& has_shapes) const {
  std::optional<Bindings> found = Matcher(r, effects, from_).Find(o);
  return found.has_value() &&
         Replacement(r, effects, *std::move(found), has_shapes).Run(to_);
}

std::span<const Rule> RuleTable::rules() const {
  const std::vector<Rule>* rules = parsed_.load(std::memory_order_acquire);
  if (rules == nullptr) {
    auto made = std::make_unique<std::vector<Rule>>();
    for (const Text& text : texts_) made->emplace_back(text.from, text.to);
    if (parsed_.compare_exchange_strong(rules, made.get(),
                                        std::memory_order_acq_rel)) {
      rules = made.release();
    }
  }
  return *rules;
}

std::optional<double> NumberOf(const Program& program, const Effects& effects,
                               const Argument& a) {
  if (const auto* attribute = std::get_if<Value>(&a)) {
    if (const auto* v = std::get_if<double>(attribute)) return *v;
    if (const auto* v = std::get_if<int64_t>(attribute)) return *v;
    const auto* v = std::get_if<Scalar>(attribute);
    if (v == nullptr || v->is_complex()) return std::nullopt;
    return v->to<double>();
  }
  const auto* ref = std::get_if<ValueRef>(&a);
  if (ref == nullptr || ref->id == kNoValue) return std::nullopt;
  const ValueInfo& value = program.value(ref->id);
  if (value.kind != ValueKind::kCaptured || value.captured.numel() != 1 ||
      !value.captured.place().is_cpu() || IsComplex(value.captured.dtype()) ||
      effects.is_changed(ref->id)) {
    return std::nullopt;
  }
  return value.captured.item<double>();
}

void ApplyRules(Rewriter& r, std::span<const Rule> rules) {
  const Effects effects(r.program());
  bool has_shapes = false;
  r.ForEachOperation([&](Operation& o) {
    for (const Rule& rule : rules) {
      if (rule.last() == o.op && rule.Apply(r, effects, o, has_shapes)) return;
    }
  });
}

}  // namespace proa::inline v0::jit
