// Part of "proa/extension.h": Tensor, and calls of operators.
#ifndef PROA_EXTENSION_TENSOR_H_
#define PROA_EXTENSION_TENSOR_H_

#include <algorithm>
#include <functional>
#include <memory>
#include <type_traits>

#include "proa/extension/core.h"

namespace proa {
namespace extension __attribute__((visibility("hidden"))) {

  class Tensor;

  // A number, of any of the kinds that operators take.
  class Scalar {
   public:
    Scalar() : Scalar(0.0) {}
    template <typename T,
              typename = std::enable_if_t<std::is_arithmetic_v<T> ||
                                          std::is_same_v<T, float16> ||
                                          std::is_same_v<T, bfloat16>>>
    Scalar(T v) {  // NOLINT: numbers convert
      value_ = {};
      if constexpr (std::is_same_v<T, bool>) {
        value_.kind = PROA_VALUE_BOOL;
        value_.as.i = v;
      } else if constexpr (std::is_integral_v<T>) {
        value_.kind = PROA_INT;
        value_.as.i = static_cast<int64_t>(v);
      } else {
        value_.kind = PROA_FLOAT;
        value_.as.f = static_cast<double>(v);
      }
    }
    template <typename T>
    Scalar(complex<T> c) {  // NOLINT
      value_ = {};
      value_.kind = PROA_COMPLEX;
      value_.as.parts[0] = c.real;
      value_.as.parts[1] = c.imag;
    }
    template <typename T>
    T to() const {
      if (value_.kind == PROA_FLOAT) return static_cast<T>(value_.as.f);
      if (value_.kind == PROA_COMPLEX)
        return static_cast<T>(value_.as.parts[0]);
      return static_cast<T>(value_.as.i);
    }
    ProaValue abi() const { return value_; }

   private:
    ProaValue value_;
  };

  using IntArray = std::vector<int64_t>;

  // A counted handle on a tensor of Proa. Tensors that a kernel gets are
  // contiguous: element i of data() follows element i - 1.
  class Tensor {
   public:
    Tensor() = default;  // undefined
    // Of a shape that is still to be given (reshape), and of the dtype of the
    // first mutable_data.
    explicit Tensor(const Place& place) : place_(place) {}
    Tensor(const Place& place, const std::vector<int64_t>& shape)
        : place_(place), pending_(shape) {}
    Tensor(const Tensor& o)
        : handle_(o.handle_),
          place_(o.place_),
          pending_(o.pending_),
          name_(o.name_) {
      if (handle_ != nullptr) Host().retain(handle_);
    }
    Tensor(Tensor&& o) noexcept
        : handle_(std::exchange(o.handle_, nullptr)),
          place_(o.place_),
          pending_(std::move(o.pending_)),
          name_(std::move(o.name_)) {}
    Tensor& operator=(Tensor o) noexcept {
      std::swap(handle_, o.handle_);
      std::swap(place_, o.place_);
      std::swap(pending_, o.pending_);
      std::swap(name_, o.name_);
      return *this;
    }
    ~Tensor() { reset(); }

    // Takes over a reference.
    static Tensor Adopt(ProaTensor handle) {
      Tensor t;
      t.handle_ = handle;
      return t;
    }
    // Adds one.
    static Tensor Share(ProaTensor handle) {
      if (handle != nullptr) Host().retain(handle);
      return Adopt(handle);
    }
    // Elements of the caller, which stay until `release` was called.
    static Tensor Over(void* data, const std::vector<int64_t>& shape,
                       DataType dtype, std::function<void()> release = {}) {
      auto* context = new std::function<void()>(std::move(release));
      ProaTensor out = nullptr;
      const int32_t kind = Host().wrap(
          data, shape.data(), static_cast<int32_t>(shape.size()),
          static_cast<int32_t>(dtype),
          [](void* c) {
            auto* f = static_cast<std::function<void()>*>(c);
            if (*f) (*f)();
            delete f;
          },
          context, &out);
      if (kind != PROA_OK) delete context;
      Check(kind);
      return Adopt(out);
    }

    ProaTensor handle() const { return handle_; }
    bool defined() const { return handle_ != nullptr; }
    bool initialized() const { return handle_ != nullptr; }
    bool is_initialized() const { return initialized(); }
    void reset() {
      if (handle_ != nullptr) Host().release_tensor(handle_);
      handle_ = nullptr;
    }

    // -1: unknown before the program runs (in a composite that is recorded).
    std::vector<int64_t> shape() const {
      if (handle_ == nullptr) return pending_;
      const ProaMeta m = meta();
      return {m.sizes, m.sizes + m.rank};
    }
    std::vector<int64_t> dims() const { return shape(); }
    std::vector<int64_t> strides() const {
      const ProaMeta m = meta();
      return {m.strides, m.strides + m.rank};
    }
    int64_t numel() const { return handle_ == nullptr ? 0 : meta().numel; }
    int64_t size() const { return numel(); }
    DataType dtype() const {
      return handle_ == nullptr ? DataType::UNDEFINED
                                : static_cast<DataType>(meta().dtype);
    }
    DataType type() const { return dtype(); }
    DataLayout layout() const { return DataLayout::NCHW; }
    Place place() const {
      return handle_ == nullptr ? place_ : Place(meta().place);
    }
    bool is_cpu() const { return place().abi().kind == 0; }
    bool is_gpu() const { return place().abi().kind == 1; }
    bool is_gpu_pinned() const { return false; }
    bool is_xpu() const { return false; }
    bool is_custom_device() const { return place().abi().kind > 1; }
    bool is_dense_tensor() const { return true; }
    bool is_selected_rows() const { return false; }
    bool is_sparse_coo_tensor() const { return false; }
    bool is_sparse_csr_tensor() const { return false; }
    bool is_string_tensor() const { return false; }
    const std::string& name() const { return name_; }
    void set_name(const std::string& name) { name_ = name; }

    // The elements. Throws unless T is the type of the dtype, or void.
    template <typename T>
    const T* data() const {
      return static_cast<const T*>(Elements<T>());
    }
    template <typename T>
    T* data() {
      return static_cast<T*>(Elements<T>());
    }
    const void* data() const { return Elements<void>(); }
    void* data() { return Elements<void>(); }
    // The same; a tensor that has no elements yet gets them.
    template <typename T>
    T* mutable_data() {
      constexpr DataType wanted = CppTypeToDataType<T>::value;
      if (handle_ == nullptr || dtype() != wanted) {
        const std::vector<int64_t> sizes = shape();
        ProaTensor made = nullptr;
        Check(Host().empty(sizes.data(), static_cast<int32_t>(sizes.size()),
                           static_cast<int32_t>(wanted), place().abi(), &made));
        reset();
        handle_ = made;
      }
      return data<T>();
    }
    template <typename T>
    T* mutable_data(const Place& place) {
      if (handle_ == nullptr) place_ = place;
      return mutable_data<T>();
    }

    // Of as many elements: another shape of the same; else of a tensor whose
    // elements are still to be made.
    void reshape(const std::vector<int64_t>& shape);
    Tensor slice(int64_t begin, int64_t end) const;  // of the first dim
    Tensor cast(DataType dtype) const;
    Tensor copy_to(const Place& place, bool = true) const {
      ProaTensor out = nullptr;
      Check(Host().copy_to(handle_, place.abi(), &out));
      return Adopt(out);
    }
    template <typename T>
    Tensor copy_to(const Place& place) const {
      return copy_to(place);
    }
    // Writes the elements of `source`, of the same shape and dtype, into these.
    void copy_(const Tensor& source, const Place&, bool = true) {
      if (handle_ == nullptr) {
        *this = source.copy_to(place());
      } else {
        Check(Host().copy_into(handle_, source.handle_));
      }
    }

   private:
    ProaMeta meta() const {
      if (handle_ == nullptr)
        throw Error(PROA_VALUE_ERROR, "an undefined tensor");
      ProaMeta m{};
      m.struct_size = sizeof(m);
      Check(Host().describe(handle_, &m));
      return m;
    }
    template <typename T>
    void* Elements() const {
      const ProaMeta m = meta();
      if constexpr (!std::is_void_v<T>) {
        constexpr DataType wanted =
            CppTypeToDataType<std::remove_const_t<T>>::value;
        if (static_cast<DataType>(m.dtype) != wanted) {
          throw Error(PROA_TYPE_ERROR,
                      Text("data<", wanted, ">(): the tensor is ",
                           static_cast<DataType>(m.dtype)));
        }
      }
      if (m.is_real == 0) {
        throw Error(
            PROA_VALUE_ERROR,
            "data(): the tensor has no elements before the program runs");
      }
      return m.data;
    }

    ProaTensor handle_ = nullptr;
    Place place_;                   // while there is no handle
    std::vector<int64_t> pending_;  // the same
    std::string name_;
  };

  // Calls
  // -----------------------------------------------------------------------

  // An argument of a call of an operator, with or without its name:
  // Arg("axis", -1), Arg(x).
  class Arg {
   public:
    template <typename T>
    Arg(const char* name, const T& value) : Arg(value) {
      name_ = name;
    }
    Arg(const Tensor& t) : tensors_{t} {  // NOLINT: values convert
      handles_ = {t.handle()};
      value_.kind = PROA_TENSOR;
    }
    Arg(const std::vector<Tensor>& ts) : tensors_(ts) {  // NOLINT
      for (const Tensor& t : tensors_) handles_.push_back(t.handle());
      value_.kind = PROA_TENSOR_LIST;
    }
    Arg(const Scalar& s) : value_(s.abi()) {}  // NOLINT
    template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
    Arg(T v) : Arg(Scalar(v)) {}            // NOLINT
    Arg(const std::string& s) : text_(s) {  // NOLINT
      value_.kind = PROA_STRING;
    }
    Arg(const char* s) : Arg(std::string(s)) {}      // NOLINT
    Arg(const std::vector<int64_t>& v) : ints_(v) {  // NOLINT
      value_.kind = PROA_INT_LIST;
    }
    Arg(const std::vector<int>& v) : ints_(v.begin(), v.end()) {  // NOLINT
      value_.kind = PROA_INT_LIST;
    }
    Arg(const std::vector<double>& v) : floats_(v) {  // NOLINT
      value_.kind = PROA_FLOAT_LIST;
    }
    Arg(DataType t) {  // NOLINT
      if (t == DataType::UNDEFINED) return;
      value_.kind = PROA_VALUE_DTYPE;
      value_.as.i = static_cast<int64_t>(t);
    }
    Arg(const Place& p) {  // NOLINT
      value_.kind = PROA_VALUE_PLACE;
      value_.as.place = p.abi();
    }
    Arg(std::nullopt_t) {}  // NOLINT

    // Valid as long as this stays where it is.
    ProaArgument abi() const {
      ProaArgument out = {name_, value_};
      if (value_.kind == PROA_TENSOR) {
        out.value.as.tensor = handles_[0];
      } else if (value_.kind == PROA_TENSOR_LIST) {
        out.value.as.tensors = handles_.data();
        out.value.count = static_cast<int64_t>(handles_.size());
      } else if (value_.kind == PROA_STRING) {
        out.value.as.text = text_.c_str();
        out.value.count = static_cast<int64_t>(text_.size());
      } else if (value_.kind == PROA_INT_LIST) {
        out.value.as.ints = ints_.data();
        out.value.count = static_cast<int64_t>(ints_.size());
      } else if (value_.kind == PROA_FLOAT_LIST) {
        out.value.as.floats = floats_.data();
        out.value.count = static_cast<int64_t>(floats_.size());
      }
      return out;
    }

   private:
    const char* name_ = nullptr;
    ProaValue value_ = {};
    std::vector<Tensor> tensors_;
    std::vector<ProaTensor> handles_;
    std::string text_;
    std::vector<int64_t> ints_;
    std::vector<double> floats_;
  };

  // Calls any operator of Proa by name, with the parameters that its
  // documentation gives; what is left out has its default. Returns its tensors,
  // one after another.
  //
  //   Tensor y = CallOp("softmax", {x, {"axis", -1}})[0];
  inline std::vector<Tensor> CallOp(const char* op,
                                    const std::vector<Arg>& args) {
    std::vector<ProaArgument> list;
    list.reserve(args.size());
    for (const Arg& a : args) list.push_back(a.abi());
    std::vector<Tensor> out;
    Check(Host().call(
        op, list.data(), list.size(),
        [](void* context, size_t, ProaTensor t) -> int32_t {
          static_cast<std::vector<Tensor>*>(context)->push_back(
              Tensor::Share(t));
          return PROA_OK;
        },
        &out));
    return out;
  }

  // body(from, to) over parts of [begin, end), none smaller than `grain`, on
  // the threads that Proa computes with.
  template <typename F>
  void parallel_for(int64_t begin, int64_t end, int64_t grain, F && body) {
    using Function = std::remove_reference_t<F>;
    Check(Host().parallel_for(
        begin, end, grain,
        [](void* context, int64_t from, int64_t to) -> int32_t {
          try {
            (*static_cast<Function*>(context))(from, to);
            return PROA_OK;
          } catch (const std::exception& e) {
            Host().set_error(PROA_ERROR, e.what(), std::strlen(e.what()));
            return PROA_ERROR;
          }
        },
        const_cast<void*>(static_cast<const void*>(std::addressof(body)))));
  }

}  // namespace extension
}  // namespace proa

#endif  // PROA_EXTENSION_TENSOR_H_
