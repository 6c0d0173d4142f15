#include "jit/verify.h"

#include "absl/strings/str_cat.h"

namespace proa::inline v0::jit {
namespace {

class Verifier {
 public:
  explicit Verifier(const Program& program)
      : program_(program), made_(program.values().size(), State::kNot) {}

  absl::Status Run() {
    for (size_t i = 0; i < made_.size(); ++i) {
      const ValueInfo& v = program_.values()[i];
      const bool outer =
          v.kind == ValueKind::kInput || v.kind == ValueKind::kCaptured;
      if (outer) made_[i] = State::kVisible;
      if (v.kind == ValueKind::kCaptured && !v.captured.defined()) {
        return absl::InvalidArgumentError(
            absl::StrCat("captured value %", i, " has no tensor"));
      }
    }
    return Check(program_.block());
  }

 private:
  // What a region makes is seen in it, and by no one after it; nor may it be
  // made a second time.
  enum class State : uint8_t { kNot, kVisible, kHidden };

  absl::Status Fail(const std::string& what) const {
    return absl::InvalidArgumentError(
        absl::StrCat("operation ", index_, " (", name_, "): ", what));
  }

  absl::Status Make(ValueId id, ValueKind kind) {
    if (id < 0 || id >= static_cast<ValueId>(made_.size())) {
      return Fail(absl::StrCat("makes value %", id, ", which does not exist"));
    }
    if (made_[id] != State::kNot) {
      return Fail(absl::StrCat("makes value %", id, " again"));
    }
    if (program_.value(id).kind != kind) {
      return Fail(absl::StrCat("value %", id, " is of another kind"));
    }
    made_[id] = State::kVisible;
    trail_.push_back(id);
    return absl::OkStatus();
  }

  absl::Status Use(ValueRef ref, const char* param, bool may_be_none) const {
    if (ref.id == kNoValue && may_be_none) return absl::OkStatus();
    if (ref.id < 0 || ref.id >= static_cast<ValueId>(made_.size()) ||
        made_[ref.id] != State::kVisible) {
      return Fail(absl::StrCat("argument ", param, " is %", ref.id,
                               ", which is not made yet"));
    }
    return absl::OkStatus();
  }

  absl::Status CheckArgument(const ParamInfo& p, const Argument& a) const {
    if (const auto* ref = std::get_if<ValueRef>(&a)) {
      if (p.type != ParamType::kTensor && p.type != ParamType::kIntArray) {
        return Fail(absl::StrCat("argument ", p.name, " may not be a tensor"));
      }
      return Use(*ref, p.name, p.optional);
    }
    if (const auto* refs = std::get_if<std::vector<ValueRef>>(&a)) {
      if (p.type != ParamType::kTensorList) {
        return Fail(
            absl::StrCat("argument ", p.name, " may not be a list of tensors"));
      }
      for (ValueRef r : *refs) {
        if (absl::Status s = Use(r, p.name, false); !s.ok()) return s;
      }
      return absl::OkStatus();
    }
    if (p.type == ParamType::kTensor || p.type == ParamType::kTensorList) {
      return Fail(absl::StrCat("argument ", p.name, " must be a tensor"));
    }
    return absl::OkStatus();  // the op's own unpacking checks the alternative
  }

  absl::Status CheckCall(const Operation& o) {
    if (o.op == nullptr) return Fail("calls no op");
    if (o.args.size() != o.op->params.size()) {
      return Fail(
          absl::StrCat("has ", o.args.size(), " arguments; ", o.op->signature));
    }
    for (size_t i = 0; i < o.args.size(); ++i) {
      if (absl::Status s = CheckArgument(o.op->params[i], o.args[i]); !s.ok()) {
        return s;
      }
    }
    if (o.results.size() != o.op->outputs.size() || !o.regions.empty()) {
      return Fail(absl::StrCat("has ", o.results.size(), " results; ",
                               o.op->signature));
    }
    for (size_t i = 0; i < o.results.size(); ++i) {
      if (!o.op->outputs[i].is_list && o.results[i].size() != 1) {
        return Fail(absl::StrCat("result ", o.op->outputs[i].name,
                                 " is one tensor, not ", o.results[i].size()));
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckRegion(const Block& region, size_t arguments,
                           size_t returns) {
    const std::string name = name_;
    const int index = index_;
    if (region.arguments.size() != arguments ||
        region.returns.size() != returns) {
      return Fail(absl::StrCat("a region has ", region.arguments.size(),
                               " arguments and ", region.returns.size(),
                               " returns; expected ", arguments, " and ",
                               returns));
    }
    const size_t outside = trail_.size();
    for (ValueId id : region.arguments) {
      if (absl::Status s = Make(id, ValueKind::kRegionArgument); !s.ok()) {
        return s;
      }
    }
    if (absl::Status s = Check(region); !s.ok()) return s;
    name_ = name;
    index_ = index;
    for (ValueId id : region.returns) {
      if (absl::Status s = Use({id}, "return", false); !s.ok()) return s;
    }
    for (size_t i = outside; i < trail_.size(); ++i) {
      made_[trail_[i]] = State::kHidden;
    }
    trail_.resize(outside);
    return absl::OkStatus();
  }

  absl::Status CheckControlFlow(const Operation& o) {
    if (++depth_ > kMaxDepth) return Fail("regions are nested too deeply");
    const bool cond = o.kind == OperationKind::kCond;
    if (o.op != nullptr || o.regions.size() != 2 || o.results.size() != 1) {
      return Fail("is malformed");
    }
    if (cond && o.args.size() != 1) return Fail("takes one predicate");
    for (const Argument& a : o.args) {
      const auto* ref = std::get_if<ValueRef>(&a);
      if (ref == nullptr) return Fail("takes values only");
      if (absl::Status s = Use(*ref, "of control flow", false); !s.ok()) {
        return s;
      }
    }
    const size_t n = o.results[0].size();
    if (!cond && n != o.args.size())
      return Fail("changes its number of values");
    const size_t in = cond ? 0 : n;
    absl::Status s = CheckRegion(*o.regions[0], in, cond ? n : 1);
    if (s.ok()) s = CheckRegion(*o.regions[1], in, n);
    --depth_;
    return s;
  }

  absl::Status Check(const Block& block) {
    int index = 0;
    for (const Operation& o : block.operations) {
      index_ = index++;
      name_ = o.kind == OperationKind::kCall
                  ? (o.op != nullptr ? o.op->name : "?")
                  : (o.kind == OperationKind::kCond ? "cond" : "while");
      absl::Status s =
          o.kind == OperationKind::kCall ? CheckCall(o) : CheckControlFlow(o);
      if (!s.ok()) return s;
      for (const auto& ids : o.results) {
        for (ValueId id : ids) {
          if (s = Make(id, ValueKind::kResult); !s.ok()) return s;
        }
      }
    }
    return absl::OkStatus();
  }

  static constexpr int kMaxDepth = 200;
  const Program& program_;
  std::vector<State> made_;
  std::vector<ValueId> trail_;  // what is made and visible, in order
  std::string name_;
  int index_ = 0;
  int depth_ = 0;
};

}  // namespace

absl::Status Verify(const Program& program) { return Verifier(program).Run(); }

}  // namespace proa::inline v0::jit
