#include "jit/verify.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "jit/region_op.h"
#include "ops/boxed_call.h"
#include "tensor/error.h"

namespace proa::inline v0::jit {
namespace {

class Verifier {
 public:
  explicit Verifier(const Program& program)
      : program_(program), state_(program.values().size(), kNotMade) {}

  absl::Status Run() {
    for (size_t i = 0; i < state_.size(); ++i) {
      const ValueInfo& v = program_.values()[i];
      const bool outer =
          v.kind == ValueKind::kInput || v.kind == ValueKind::kCaptured;
      if (outer) state_[i] = kVisible;
      if (v.kind == ValueKind::kCaptured && !v.captured.defined()) {
        return absl::InvalidArgumentError(
            absl::StrCat("captured value %", i, " has no tensor"));
      }
    }
    return Check(program_.block());
  }

 private:
  absl::Status Fail(const std::string& what) const {
    return absl::InvalidArgumentError(
        absl::StrCat("operation ", at_.index, " (", at_.name, "): ", what));
  }

  absl::Status Make(ValueId id, ValueKind kind) {
    if (id < 0 || id >= static_cast<ValueId>(state_.size())) {
      return Fail(absl::StrCat("makes value %", id, ", which does not exist"));
    }
    if (state_[id] != kNotMade) {
      return Fail(absl::StrCat("makes value %", id, " again"));
    }
    if (program_.value(id).kind != kind) {
      return Fail(absl::StrCat("value %", id, " is of another kind"));
    }
    state_[id] = kVisible;
    made_.push_back(id);
    return absl::OkStatus();
  }

  absl::Status Use(ValueRef ref, const char* param, bool may_be_none) const {
    if (ref.id == kNoValue && may_be_none) return absl::OkStatus();
    if (ref.id < 0 || ref.id >= static_cast<ValueId>(state_.size()) ||
        state_[ref.id] != kVisible) {
      return Fail(absl::StrCat("argument ", param, " is %", ref.id,
                               ", which is not made yet"));
    }
    return absl::OkStatus();
  }

  // An attribute that is a value of the program (late_call.h).
  absl::Status CheckLate(const ParamInfo& p, ValueRef ref) const {
    if (absl::Status s = Use(ref, p.name, p.optional); !s.ok()) return s;
    if (ref.id == kNoValue) return absl::OkStatus();
    try {
      CheckTensorAttribute(at_.name, p, program_.value(ref.id).meta);
    } catch (const Error& e) {
      return Fail(e.what());
    }
    return absl::OkStatus();
  }

  absl::Status CheckArgument(const ParamInfo& p, const Argument& a) const {
    if (const auto* ref = std::get_if<ValueRef>(&a)) {
      if (MayBeLate(p)) return CheckLate(p, *ref);
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
    if (o.args.size() != o.op->params.size()) {
      return Fail(
          absl::StrCat("has ", o.args.size(), " arguments; ", o.op->signature));
    }
    for (size_t i = 0; i < o.args.size(); ++i) {
      if (absl::Status s = CheckArgument(o.op->params[i], o.args[i]); !s.ok()) {
        return s;
      }
    }
    if (o.results.size() != o.op->outputs.size()) {
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

  absl::Status CheckRegion(const Block& region, const char* name,
                           RegionCounts expected) {
    if (region.arguments.size() != expected.arguments ||
        region.returns.size() != expected.returns) {
      return Fail(absl::StrCat("region ", name, " has ",
                               region.arguments.size(), " arguments and ",
                               region.returns.size(), " returns; expected ",
                               expected.arguments, " and ", expected.returns));
    }
    const Place at = at_;
    const size_t outside = made_.size();
    for (ValueId id : region.arguments) {
      if (absl::Status s = Make(id, ValueKind::kRegionArgument); !s.ok()) {
        return s;
      }
    }
    if (absl::Status s = Check(region); !s.ok()) return s;
    at_ = at;
    for (ValueId id : region.returns) {
      if (absl::Status s = Use({id}, "return", false); !s.ok()) return s;
    }
    // What a region makes is not seen outside of it.
    for (; made_.size() > outside; made_.pop_back()) {
      state_[made_.back()] = kHidden;
    }
    return absl::OkStatus();
  }

  absl::Status CheckRegions(const Operation& o) {
    const RegionRules* rules = o.op->regions;
    const size_t n = rules == nullptr ? 0 : rules->regions.size();
    if (o.regions.size() != n) {
      return Fail(absl::StrCat("has ", o.regions.size(), " regions; ",
                               o.op->signature));
    }
    if (n == 0) return absl::OkStatus();
    if (++depth_ > kMaxRegionDepth) {
      return Fail("regions are nested too deeply");
    }
    std::vector<RegionCounts> counts(n);
    if (absl::Status s = rules->counts(o, std::span(counts)); !s.ok()) {
      return Fail(std::string(s.message()));
    }
    for (size_t i = 0; i < n; ++i) {
      absl::Status s = CheckRegion(*o.regions[i], rules->regions[i], counts[i]);
      if (!s.ok()) return s;
    }
    --depth_;
    return absl::OkStatus();
  }

  absl::Status Check(const Block& block) {
    int index = 0;
    for (const Operation& o : block.operations) {
      at_ = {index++, o.op == nullptr ? "?" : o.op->name};
      if (o.op == nullptr) return Fail("calls no op");
      if (absl::Status s = CheckCall(o); !s.ok()) return s;
      if (absl::Status s = CheckRegions(o); !s.ok()) return s;
      for (const auto& ids : o.results) {
        for (ValueId id : ids) {
          absl::Status s = Make(id, ValueKind::kResult);
          if (!s.ok()) return s;
        }
      }
    }
    return absl::OkStatus();
  }

  enum State : uint8_t { kNotMade, kVisible, kHidden };
  struct Place {
    int index = 0;
    const char* name = "?";
  };

  const Program& program_;
  std::vector<State> state_;   // by value
  std::vector<ValueId> made_;  // visible ones, in the order of their making
  Place at_;
  int depth_ = 0;
};

}  // namespace

absl::Status Verify(const Program& program) { return Verifier(program).Run(); }

}  // namespace proa::inline v0::jit
