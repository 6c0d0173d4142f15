// Part of "proa/extension.h": how the arguments of a call become those of a
// function, by the types that the function takes.
#ifndef PROA_EXTENSION_ARGUMENTS_H_
#define PROA_EXTENSION_ARGUMENTS_H_

#include <any>
#include <climits>
#include <deque>
#include <limits>
#include <tuple>
#include <type_traits>

#include "proa/extension/tensor.h"

namespace proa {
namespace extension __attribute__((visibility("hidden"))) {

  // What a function takes in a place.
  enum class ArgKind : uint8_t {
    kTensor,
    kTensorList,
    kOutput,  // Tensor*
    kBool,
    kInt,
    kFloat,
    kString,
    kIntList,
    kFloatList,
    kStringList,
    kUnknown,
  };

  inline const char* Name(ArgKind k) {
    constexpr const char* kNames[] = {"Tensor",
                                      "list of Tensor",
                                      "Tensor*",
                                      "bool",
                                      "int",
                                      "float",
                                      "string",
                                      "list of int",
                                      "list of float",
                                      "list of string",
                                      "a type that no attribute has"};
    return kNames[static_cast<int>(k)];
  }

  // What stands for a tensor: itself, its shape, its dtype.
  template <typename T>
  struct TensorKind {
    static constexpr ArgKind value = ArgKind::kUnknown;
  };
#define PROA_EXTENSION_KIND(T)                             \
  template <>                                              \
  struct TensorKind<T> {                                   \
    static constexpr ArgKind value = ArgKind::kTensor;     \
  };                                                       \
  template <>                                              \
  struct TensorKind<optional<T>> {                         \
    static constexpr ArgKind value = ArgKind::kTensor;     \
  };                                                       \
  template <>                                              \
  struct TensorKind<std::vector<T>> {                      \
    static constexpr ArgKind value = ArgKind::kTensorList; \
  };                                                       \
  template <>                                              \
  struct TensorKind<optional<std::vector<T>>> {            \
    static constexpr ArgKind value = ArgKind::kTensorList; \
  }
  PROA_EXTENSION_KIND(Tensor);
  PROA_EXTENSION_KIND(DataType);
  using Sizes = std::vector<int64_t>;
  PROA_EXTENSION_KIND(Sizes);
#undef PROA_EXTENSION_KIND

  template <typename T>
  constexpr ArgKind AttributeKind() {
    if constexpr (std::is_same_v<T, bool>)
      return ArgKind::kBool;
    else if constexpr (std::is_integral_v<T>)
      return ArgKind::kInt;
    else if constexpr (std::is_floating_point_v<T>)
      return ArgKind::kFloat;
    else if constexpr (std::is_same_v<T, std::string>)
      return ArgKind::kString;
    else if constexpr (std::is_same_v<T, std::vector<int>> ||
                       std::is_same_v<T, std::vector<int64_t>>)
      return ArgKind::kIntList;
    else if constexpr (std::is_same_v<T, std::vector<float>> ||
                       std::is_same_v<T, std::vector<double>>)
      return ArgKind::kFloatList;
    else if constexpr (std::is_same_v<T, std::vector<std::string>>)
      return ArgKind::kStringList;
    else
      return ArgKind::kUnknown;
  }

  // The arguments of one call. `View` says what the function sees of a tensor.
  template <typename View>
  class Arguments {
   public:
    Arguments(const ProaValue* args, size_t count, size_t num_tensors,
              size_t num_outputs)
        : args_(args),
          count_(count),
          tensors_(num_tensors),
          outputs(num_outputs) {
      if (count < num_tensors) throw Error("fewer arguments than parameters");
    }

    // The next argument for a function that takes D there; lives as long as
    // this.
    template <typename D>
    D& Next() {
      if constexpr (std::is_same_v<D, Tensor*>) {
        if (next_output_ >= outputs.size())
          throw Error("more Tensor* than outputs");
        return Keep<Tensor*>(&outputs[next_output_++]);
      } else if constexpr (!(std::is_same_v<D, View> ||
                             std::is_same_v<D, optional<View>> ||
                             std::is_same_v<D, std::vector<View>> ||
                             std::is_same_v<D, optional<std::vector<View>>>)) {
        return NextAttribute<D>();
      } else {
        // In inference of shapes, a list of integers is a shape as long as
        // there are tensors, and then an attribute.
        if (next_tensor_ < tensors_.size()) return NextTensor<D>();
        if constexpr (std::is_same_v<D, Sizes>)
          return NextAttribute<D>();
        else
          throw Error("more tensors than parameters with tensors");
      }
    }

    bool all_tensors_taken() const { return next_tensor_ == tensors_.size(); }
    bool any_output_taken() const { return next_output_ != 0; }

    // What the tensors of a parameter are after the call.
    std::vector<Tensor> TensorsOf(size_t param) const {
      if constexpr (std::is_same_v<View, Tensor>) {
        const std::any& kept = tensors_[param];
        if (const auto* t = std::any_cast<Tensor>(&kept)) return {*t};
        if (const auto* o = std::any_cast<optional<Tensor>>(&kept)) {
          return *o ? std::vector<Tensor>{**o} : std::vector<Tensor>{};
        }
        if (const auto* l = std::any_cast<std::vector<Tensor>>(&kept))
          return *l;
        if (const auto* o =
                std::any_cast<optional<std::vector<Tensor>>>(&kept)) {
          return *o ? **o : std::vector<Tensor>{};
        }
      }
      return {};
    }

   private:
    template <typename D>
    D& Keep(D value) {
      return std::any_cast<D&>(kept_.emplace_back(std::move(value)));
    }

    static View Look(ProaTensor t) {
      if constexpr (std::is_same_v<View, Tensor>) {
        return Tensor::Share(t);
      } else if constexpr (std::is_same_v<View, DataType>) {
        return Tensor::Share(t).dtype();
      } else {
        return Tensor::Share(t).shape();
      }
    }

    template <typename D>
    D& NextTensor() {
      const size_t i = next_tensor_++;
      const ProaValue& v = args_[i];
      std::vector<View> list;
      if (v.kind == PROA_TENSOR) list.push_back(Look(v.as.tensor));
      if (v.kind == PROA_TENSOR_LIST) {
        for (int64_t k = 0; k < v.count; ++k)
          list.push_back(Look(v.as.tensors[k]));
      }
      D made{};
      if constexpr (std::is_same_v<D, View>) {
        if (!list.empty()) made = std::move(list[0]);
      } else if constexpr (std::is_same_v<D, optional<View>>) {
        if (!list.empty()) made = std::move(list[0]);
      } else if constexpr (std::is_same_v<D, std::vector<View>>) {
        made = std::move(list);
      } else if constexpr (std::is_same_v<D, optional<std::vector<View>>>) {
        if (v.kind != PROA_NONE) made = std::move(list);
      } else {
        throw Error(PROA_TYPE_ERROR,
                    "the function takes something else than a tensor here");
      }
      tensors_[i] = std::move(made);
      return std::any_cast<D&>(tensors_[i]);
    }

    static int64_t Integer(const ProaValue& v, int64_t least, int64_t most) {
      if (v.as.i < least || v.as.i > most) {
        throw Error(PROA_VALUE_ERROR,
                    Text("an attribute is ", v.as.i, "; it must lie in ", least,
                         " .. ", most));
      }
      return v.as.i;
    }

    template <typename D>
    D& NextAttribute() {
      const size_t i = tensors_.size() + next_attribute_++;
      if (i >= count_) throw Error("more attributes than parameters");
      const ProaValue& v = args_[i];
      const auto n = static_cast<size_t>(v.count);
      constexpr ArgKind kind = AttributeKind<D>();
      if constexpr (kind == ArgKind::kBool) {
        return Keep<D>(v.as.i != 0);
      } else if constexpr (kind == ArgKind::kInt) {
        return Keep<D>(static_cast<D>(Integer(
            v, std::numeric_limits<D>::min(),
            sizeof(D) == 8
                ? INT64_MAX
                : static_cast<int64_t>(std::numeric_limits<D>::max()))));
      } else if constexpr (kind == ArgKind::kFloat) {
        return Keep<D>(static_cast<D>(v.as.f));
      } else if constexpr (kind == ArgKind::kString) {
        return Keep<D>(D(v.as.text, n));
      } else if constexpr (kind == ArgKind::kIntList) {
        using T = typename D::value_type;
        D list;
        for (size_t k = 0; k < n; ++k) {
          ProaValue item{};
          item.as.i = v.as.ints[k];
          list.push_back(static_cast<T>(
              Integer(item, std::numeric_limits<T>::min(),
                      static_cast<int64_t>(std::numeric_limits<T>::max()))));
        }
        return Keep<D>(std::move(list));
      } else if constexpr (kind == ArgKind::kFloatList) {
        D list;
        for (size_t k = 0; k < n; ++k) {
          list.push_back(static_cast<typename D::value_type>(v.as.floats[k]));
        }
        return Keep<D>(std::move(list));
      } else if constexpr (kind == ArgKind::kStringList) {
        D list;
        for (size_t k = 0; k < n; ++k) {
          list.emplace_back(v.as.texts[k].data, v.as.texts[k].size);
        }
        return Keep<D>(std::move(list));
      } else {
        static_assert(kind != ArgKind::kUnknown,
                      "attributes are bool, int, int64_t, float, double, "
                      "std::string, or std::vector of int, int64_t, float, "
                      "double or std::string");
      }
    }

    const ProaValue* args_;
    size_t count_;
    std::vector<std::any> tensors_;
    std::deque<std::any> kept_;
    size_t next_tensor_ = 0, next_attribute_ = 0, next_output_ = 0;

   public:
    std::vector<Tensor> outputs;  // of functions that take Tensor*
  };

  template <typename T>
  using Plain = std::remove_cv_t<std::remove_reference_t<T>>;

  // Calls `f` with the next arguments, one after another.
  template <typename View, typename R, typename... Args, size_t... i>
  R CallWith(R(*f)(Args...), Arguments<View> & arguments,
             std::index_sequence<i...>) {
    // Braces keep the order.
    std::tuple<Plain<Args>&...> values{
        arguments.template Next<Plain<Args>>()...};
    return f(static_cast<Args>(std::get<i>(values))...);
  }

  // What each parameter of a function is.
  template <typename T>
  constexpr ArgKind KindOf() {
    if constexpr (std::is_same_v<T, Tensor*>)
      return ArgKind::kOutput;
    else if constexpr (TensorKind<T>::value != ArgKind::kUnknown)
      return TensorKind<T>::value;
    else
      return AttributeKind<T>();
  }

}  // namespace extension
}  // namespace proa

#endif  // PROA_EXTENSION_ARGUMENTS_H_
