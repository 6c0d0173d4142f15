#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "jit/effects.h"
#include "jit/pass.h"
#include "jit/program.h"
#include "ops/definition.h"
#include "tensor/dtype.h"
#include "tensor/file_memory.h"
#include "tensor/tensor.h"

namespace proa::inline v0::jit {
namespace {

// A weight folded with its normalization is a copy of it, which stays beside
// the one that the kernel packs. Where the weight lies in a file, whose pages
// are forgotten once it is packed, the convolution multiplies it then.
class Scaler {
 public:
  explicit Scaler(Rewriter& r) : r_(r), effects_(r.program()) {}

  void Visit(Operation& conv) {
    if (conv.op != conv_ || conv_ == nullptr || scaled_ == nullptr) return;
    const ValueId weight = Input(conv, "weight"), bias = Input(conv, "bias");
    Operation* const fold =
        weight == kNoValue ? nullptr : r_.uses().maker(weight);
    if (fold == nullptr || fold_ == nullptr || fold->op != fold_ ||
        weight != fold->results[0][0] || bias != fold->results[1][0] ||
        !IsOnlyUsed(weight) || !IsOnlyUsed(bias) || !OfConvolution(*fold)) {
      return;
    }
    const ValueId own = Input(*fold, "weight");
    if (own == kNoValue || !StaysInFile(own)) return;
    PutIn(conv, *fold, own);
  }

 private:
  static ValueId Input(const Operation& o, std::string_view name) {
    const auto at = std::ranges::find(o.op->params, name, &ParamInfo::name);
    const auto* ref = std::get_if<ValueRef>(&o.args[at - o.op->params.begin()]);
    return ref == nullptr ? kNoValue : ref->id;
  }

  static bool OfConvolution(const Operation& fold) {
    const auto at =
        std::ranges::find(fold.op->params, "channel_dim", &ParamInfo::name);
    const auto* value =
        std::get_if<Value>(&fold.args[at - fold.op->params.begin()]);
    const auto* dim = value == nullptr ? nullptr : std::get_if<int64_t>(value);
    return dim != nullptr && *dim == 0;
  }

  bool IsOnlyUsed(ValueId id) const {
    return !r_.uses().is_output(id) && r_.uses().of(id).size() == 1;
  }

  bool StaysInFile(ValueId id) const {
    const ValueInfo& v = r_.program().value(id);
    return v.kind == ValueKind::kCaptured && !effects_.is_changed(id) &&
           v.captured.storage() && v.captured.dtype() == DType::kFloat32 &&
           v.captured.place().is_cpu() && v.captured.is_contiguous() &&
           IsFileMemory(*v.captured.storage());
  }

  // The scale is what a weight of ones becomes.
  void PutIn(Operation& conv, Operation& fold, ValueId weight) {
    Program& program = r_.program();
    const Shape channels = {program.value(weight).captured.size(0)};
    const Tensor ones = Tensor::Empty(channels, DType::kFloat64);
    std::fill_n(ones.data<double>(), ones.numel(), 1.0);
    ValueInfo info;
    info.kind = ValueKind::kCaptured;
    info.meta = {ones.shape(), ones.dtype(), ones.place()};
    info.captured = ones;
    const TensorMeta of_scale = info.meta;
    Operation norm;
    norm.op = fold_;
    norm.args = fold.args;
    norm.args[0] = ValueRef{program.AddValue(std::move(info))};
    norm.where = fold.where;
    const ValueId scale = program.AddValue(ValueKind::kResult, of_scale);
    const ValueId shift = program.AddValue(
        ValueKind::kResult, program.value(fold.results[1][0]).meta);
    norm.results = {{scale}, {shift}};

    Operation scaled;
    scaled.op = scaled_;
    scaled.where = conv.where;
    for (const ParamInfo& p : scaled_->params) {
      const std::string_view name = p.name;
      const auto same =
          std::ranges::find(conv_->params, name, &ParamInfo::name);
      if (name == "weight" || name == "bias" || name == "scale") {
        scaled.args.emplace_back(ValueRef{name == "weight" ? weight
                                          : name == "bias" ? shift
                                                           : scale});
      } else if (same != conv_->params.end()) {
        scaled.args.push_back(conv.args[same - conv_->params.begin()]);
      } else if (p.type == ParamType::kTensor) {
        scaled.args.emplace_back(ValueRef{});
      } else {
        scaled.args.emplace_back(p.default_value());
      }
    }
    const ValueId old = conv.results[0][0];
    const ValueId made =
        program.AddValue(ValueKind::kResult, program.value(old).meta);
    scaled.results = {{made}};
    r_.InsertBefore(conv, std::move(norm));
    r_.InsertBefore(conv, std::move(scaled));
    r_.MakeAs(old, made);
    r_.Erase(conv);
    r_.Erase(fold);
  }

  Rewriter& r_;
  const Effects effects_;
  const OpDefinition* const conv_ = FindOp("conv2d");
  const OpDefinition* const fold_ = FindOp("fold_batch_norm");
  const OpDefinition* const scaled_ = FindOp("conv2d_activation");
};

void Run(Rewriter& r) {
  Scaler scaler(r);
  r.ForEachOperation([&](Operation& o) { scaler.Visit(o); });
}

const PassRegistration registration(
    {"scale_weights",
     "Behind fold_norm: a weight that lies in a file is multiplied while it is "
     "packed, not copied. For programs whose parameters stay as they are.",
     &Run});

}  // namespace
}  // namespace proa::inline v0::jit
