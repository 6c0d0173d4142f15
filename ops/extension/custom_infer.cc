// Inference of custom ops. What the op's own rule says counts; it is a function
// of numbers that somebody else wrote, and knows nothing of unknown dims. So it
// is asked twice, with two sets of numbers in their places: a size that follows
// one of them is that dim, one that stays is known, any other is unknown.
//
// Where it says nothing: an output that is a parameter in place is like it; the
// gradient "x@GRAD" is like parameter x, or like the only gradient among the
// parameters; one output of one tensor is like that. A dtype is that of all
// tensors, if it is one.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/boxing.h"
#include "ops/extension/custom_call.h"
#include "ops/rethrow.h"
#include "tensor/error.h"

namespace proa::inline v0::ops {
namespace {

Tensor WithoutElements(const Tensor& t, const Shape& shape) {
  return Tensor::Symbolic(shape, t.dtype(), t.place());
}

// The tensors among the arguments without elements, their unknown dims replaced
// by what `number(k)` gives for the k-th of them; those of one name are one.
template <typename F>
std::vector<Value> Replaced(std::span<const Value> args, const F& number) {
  std::vector<Value> out(args.begin(), args.end());
  std::map<int64_t, int64_t> named;
  int64_t count = 0;
  for (Value& v : out) {
    ForEachTensorIn(v, [&](Tensor& t) {
      if (!t.defined()) return;
      Shape shape = t.shape();
      for (int64_t& d : shape.dims()) {
        if (!IsUnknown(d)) continue;
        int64_t k = count;
        if (IsNamed(d)) {
          const auto [at, is_new] = named.try_emplace(d, count);
          k = at->second;
          count += is_new ? 1 : 0;
        } else {
          ++count;
        }
        d = number(k);
      }
      t = WithoutElements(t, shape);
    });
  }
  return out;
}

// The unknown dims in the order in which Replaced counts them.
std::vector<int64_t> UnknownDims(std::span<const Value> args) {
  std::vector<int64_t> out;
  ForEachTensorOf(args, [&](const Tensor& t) {
    if (!t.defined()) return;
    for (const int64_t d : t.shape()) {
      if (d == kUnknownDim || (IsNamed(d) && std::ranges::count(out, d) == 0)) {
        out.push_back(d);
      }
    }
  });
  return out;
}

// Numbers that no rule has as constants by chance.
int64_t FirstNumber(int64_t k) { return 1009 + 6 * k; }
int64_t SecondNumber(int64_t k) { return 2003 + 10 * k; }

int64_t Agreed(int64_t a, int64_t b, std::span<const int64_t> unknown) {
  for (size_t k = 0; k < unknown.size(); ++k) {
    const auto i = static_cast<int64_t>(k);
    if (a == FirstNumber(i) && b == SecondNumber(i)) return unknown[k];
  }
  return a == b && a >= 0 ? a : kUnknownDim;
}

// What two answers agree on.
CustomMetas Joined(const char* op, CustomMetas a, const CustomMetas& b,
                   std::span<const int64_t> unknown) {
  for (size_t i = 0; i < a.size(); ++i) {
    PROA_REQUIRE(a[i].size() == b[i].size(), op,
                 ": how many tensors it gives depends on unknown sizes");
    for (size_t k = 0; k < a[i].size(); ++k) {
      if (!a[i][k].shape.has_value()) continue;
      Shape& shape = *a[i][k].shape;
      const Shape& other = *b[i][k].shape;
      PROA_REQUIRE(shape.rank() == other.rank(), op,
                   ": how many dims a result has depends on unknown sizes");
      for (int d = 0; d < shape.rank(); ++d) {
        shape[d] = Agreed(shape[d], other[d], unknown);
      }
    }
  }
  return a;
}

CustomMetas NegativeIsUnknown(CustomMetas metas) {
  for (auto& output : metas) {
    for (CustomMeta& m : output) {
      if (!m.shape.has_value()) continue;
      for (int64_t& d : m.shape->dims()) d = d < 0 ? kUnknownDim : d;
    }
  }
  return metas;
}

// Tensors of an argument: none for None.
std::vector<Tensor> TensorsOf(const Value& v) {
  std::vector<Tensor> out;
  ForEachTensorOf({&v, 1}, [&](const Tensor& t) {
    if (t.defined()) out.push_back(t);
  });
  return out;
}

bool IsTensors(const CustomParam& p) {
  return p.type == ParamType::kTensor || p.type == ParamType::kTensorList;
}

// The parameter that output `o` is like by default, or -1.
int LikeWhich(const CustomOpRules& r, const CustomOutput& o) {
  if (o.inplace >= 0) return o.inplace;
  int tensors = 0, grads = 0, grad = -1, base_param = -1;
  const std::string_view base = WithoutGrad(o.name);
  for (size_t i = 0; i < r.params.size(); ++i) {
    if (!IsTensors(r.params[i])) continue;
    ++tensors;
    if (r.params[i].name == base && !base.empty()) {
      base_param = static_cast<int>(i);
    }
    if (!WithoutGrad(r.params[i].name).empty()) {
      ++grads;
      grad = static_cast<int>(i);
    }
  }
  int like = base_param;
  if (like < 0 && !base.empty() && grads == 1 && r.outputs.size() == 1) {
    like = grad;
  }
  if (like < 0 && tensors == 1 && r.outputs.size() == 1) like = 0;
  if (like < 0) return -1;
  const bool list = r.params[like].type == ParamType::kTensorList;
  return list == o.is_list ? like : -1;
}

}  // namespace

// One answer of the op's rule, for args as they are.
CustomMetas CustomOp::Ask(std::span<const Value> args) const {
  CustomMetas out(outputs_.size());
  if (rules_.infer == nullptr) return out;
  try {
    rules_.infer(args, out);
  } catch (const Error& error) {
    RethrowFrom(rules_.name.c_str(), error);
  }
  for (size_t i = 0; i < out.size(); ++i) {
    const CustomOutput& o = rules_.outputs[i];
    PROA_REQUIRE(o.is_list || out[i].size() <= 1, rules_.name,
                 ": inference gave ", out[i].size(), " metas for output ",
                 outputs_[i].name, "; one was expected");
  }
  return out;
}

void CustomOp::FillDefaults(std::span<const Value> args,
                            CustomMetas& metas) const {
  std::set<DType> dtypes;
  ForEachTensorOf(args, [&](const Tensor& t) {
    if (t.defined()) dtypes.insert(t.dtype());
  });
  for (size_t i = 0; i < metas.size(); ++i) {
    const CustomOutput& o = rules_.outputs[i];
    const int like = LikeWhich(rules_, o);
    const std::vector<Tensor> tensors =
        like >= 0 ? TensorsOf(args[like]) : std::vector<Tensor>();
    if (metas[i].empty()) {
      metas[i].resize(like >= 0 && (o.is_list || o.optional) ? tensors.size()
                                                             : 1);
      PROA_REQUIRE(!o.is_list || like >= 0, rules_.name,
                   ": nothing says how many tensors ", outputs_[i].name,
                   " has; set its inference (SetInferShapeFn)");
    }
    for (size_t k = 0; k < metas[i].size(); ++k) {
      CustomMeta& m = metas[i][k];
      if (!m.shape.has_value() && k < tensors.size()) {
        m.shape = tensors[k].shape();
      }
      if (!m.dtype.has_value() && k < tensors.size()) {
        m.dtype = tensors[k].dtype();
      }
      if (!m.dtype.has_value() && dtypes.size() == 1) m.dtype = *dtypes.begin();
      PROA_REQUIRE(m.shape.has_value(), rules_.name, ": the shape of output ",
                   outputs_[i].name,
                   " is not known before the kernel runs, as a program needs; "
                   "set its inference (SetInferShapeFn)");
      PROA_REQUIRE(m.dtype.has_value(), rules_.name, ": the dtype of output ",
                   outputs_[i].name,
                   " is not known before the kernel runs, as a program needs; "
                   "set its inference (SetInferDtypeFn)");
    }
  }
}

void CustomOp::Infer(std::span<const Value> given,
                     std::span<std::vector<TensorMeta>> results) const try {
  const char* const op = rules_.name.c_str();
  const std::vector<Value> args = Checked(op, given);
  const std::vector<int64_t> unknown = UnknownDims(args);
  CustomMetas metas;
  if (unknown.empty()) {
    metas = NegativeIsUnknown(Ask(Replaced(args, FirstNumber)));
  } else {
    try {
      CustomMetas a = Ask(Replaced(args, FirstNumber));
      const CustomMetas b = Ask(Replaced(args, SecondNumber));
      metas = Joined(op, std::move(a), b, unknown);
    } catch (const std::exception&) {
      // A rule that compares sizes refuses these, or knows -1 itself.
      metas = NegativeIsUnknown(
          Ask(Replaced(args, [](int64_t) { return kUnknownDim; })));
    }
  }
  FillDefaults(args, metas);
  Place place;
  bool found = false;
  ForEachTensorOf(args,
                  [&](const Tensor& t) { InferPlace(t, &place, &found); });
  for (size_t i = 0; i < metas.size(); ++i) {
    results[i].clear();
    for (const CustomMeta& m : metas[i]) {
      results[i].push_back({*m.shape, *m.dtype, place});
    }
    // A program has a value for an optional output that is not there, too.
    if (results[i].empty() && !rules_.outputs[i].is_list) {
      results[i].push_back({Shape{0}, DType::kFloat32, place});
    }
  }
} catch (const Error& error) {
  RethrowFrom(rules_.name.c_str(), error);
}

// Only what the op's own rule says is compared: a default is a guess for
// programs.
void CustomOp::CheckResults(std::span<const Value> args,
                            const CustomResults& results) const {
  if (rules_.infer == nullptr) return;
  const CustomMetas metas = NegativeIsUnknown(Ask(Replaced(args, FirstNumber)));
  for (size_t i = 0; i < metas.size(); ++i) {
    if (metas[i].empty() || rules_.outputs[i].inplace >= 0) continue;
    PROA_REQUIRE(
        metas[i].size() == results[i].size() || rules_.outputs[i].optional,
        rules_.name, ": the kernel gave ", results[i].size(),
        " tensors for output ", outputs_[i].name, "; inference said ",
        metas[i].size());
    for (size_t k = 0; k < results[i].size() && k < metas[i].size(); ++k) {
      const Tensor& t = results[i][k];
      const CustomMeta& m = metas[i][k];
      if (!t.defined()) continue;
      const Tensor said = Tensor::Symbolic(m.shape.value_or(t.shape()),
                                           m.dtype.value_or(t.dtype()));
      PROA_REQUIRE(
          ShapesFit(t.shape(), said.shape()) && t.dtype() == said.dtype(),
          rules_.name, ": the kernel and inference disagree on output ",
          outputs_[i].name, ": it is ", Describe(t), ", inference said ",
          Describe(said));
    }
  }
}

}  // namespace proa::inline v0::ops
