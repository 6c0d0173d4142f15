// Kernels of the op rnn, compiled once per instruction set.
//
// Rows are packed (ops/recurrent/sequence_rows.h) and computed in float, or
// double for that. What can be is one product over all steps: the inputs' part
// of the gates, and in the gradient that of the inputs and of all weights. A
// step then is one small product with weights in an order made for it
// (rnn_products.h) and a loop over the gates (rnn_cells.h). Of bfloat16
// sequences products round their operands to bfloat16 where the CPU multiplies
// that; sums, gates and states are float.
#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "ops/boxed_call.h"
#include "ops/linalg/gemm.h"
#include "ops/nn/float_copy.h"
#include "ops/primitives/cpu/blocks.h"
#include "ops/recurrent/rnn_cells.h"
#include "ops/recurrent/rnn_kernels.h"
#include "ops/recurrent/rnn_products.h"
#include "ops/recurrent/rnn_sizes.h"
#include "ops/recurrent/sequence_rows.h"
#include "tensor/copy.h"
#include "tensor/parallel.h"

namespace proa::inline v0::ops::PROA_ISA {
namespace {

int64_t RowGrain(int64_t columns) {
  return std::max<int64_t>(1, 4096 / std::max<int64_t>(columns, 1));
}

template <typename From, typename To>
void CopyRow(const From* from, int64_t n, To* to) {
  if constexpr (std::is_same_v<From, To>) {
    std::memcpy(to, from, n * sizeof(To));
  } else {
    FindConvert(kDTypeOf<From>, kDTypeOf<To>)(from, to, n);
  }
}

// Row i of `to` is row places[i] of `from`.
template <typename From, typename To>
void GatherRows(const From* from, const std::vector<int64_t>& places,
                int64_t size, To* to) {
  if (size == 0) return;
  parallel_for(0, static_cast<int64_t>(places.size()), RowGrain(size),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i)
                   CopyRow(from + places[i] * size, size, to + i * size);
               });
}
template <typename From, typename To>
void ScatterRows(const From* from, const std::vector<int64_t>& places,
                 int64_t size, To* to) {
  if (size == 0) return;
  parallel_for(0, static_cast<int64_t>(places.size()), RowGrain(size),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i)
                   CopyRow(from + i * size, size, to + places[i] * size);
               });
}

// Whether products of sequences of T round their operands.
template <typename T>
bool IsLow() {
  return std::is_same_v<T, bfloat16> && MultipliesBFloat16();
}

// The arguments of a call, in the type that is computed in.
template <typename A>
struct Network {
  Network(bool low, const char* op, const Tensor& x, const Tensor& weight_ih,
          const Tensor& weight_hh, const Tensor& bias_ih, const Tensor& bias_hh,
          const Tensor& weight_hr, const Tensor& h0, const Tensor& c0,
          const Tensor& lengths, std::string_view mode, bool reverse,
          bool time_major)
      : low(low),
        cell(RnnCellOf(op, mode)),
        reverse(reverse),
        rows(op, x.size(time_major ? 0 : 1), x.size(time_major ? 1 : 0),
             lengths),
        places(rows.Places(time_major)),
        inputs(x.size(2)),
        gates(weight_ih.size(0)),
        hidden(gates / Gates(cell)),
        state(weight_hh.size(1)),
        weight_ih(FactorOf(weight_ih)),
        weight_hh(weight_hh),
        weight_hr(weight_hr),
        bias_ih(FloatCopy(bias_ih, kDTypeOf<A>)),
        bias_hh(FloatCopy(bias_hh, kDTypeOf<A>)),
        h0(FloatCopy(h0, kDTypeOf<A>)),
        c0(FloatCopy(c0, kDTypeOf<A>)) {
    for (int64_t i = 0; i < rows.batch(); ++i) order.push_back(rows.sample(i));
  }

  bool projects() const { return weight_hr.defined(); }
  // Which step is the i-th.
  int64_t Step(int64_t i) const { return reverse ? rows.steps() - 1 - i : i; }
  // A state [N, size] in the order of rows.
  Tensor Start(const Tensor& given, int64_t size) const {
    const Tensor t = Scratch<A>(rows.batch() * size);
    if (given.defined()) {
      GatherRows(given.data<A>(), order, size, t.data<A>());
    } else if (t.numel() > 0) {
      std::memset(t.raw_data(), 0, t.bytes());
    }
    return t;
  }
  // A tensor that products of the whole sequence read.
  Factor<A> FactorOf(const Tensor& t) const {
    return low && t.dtype() == DType::kBFloat16 ? Factor<A>::Low(Contiguous(t))
                                                : Factor<A>::Weight(t);
  }
  // Whether the inputs lie as packed rows do.
  bool IsPacked(bool time_major) const { return time_major && rows.is_dense(); }
  // Some of the inputs, as packed rows.
  template <typename T>
  Factor<A> Inputs(const Tensor& x, int64_t first, int64_t count) const {
    const std::vector<int64_t> from(places.begin() + first,
                                    places.begin() + first + count);
    if constexpr (std::is_same_v<T, bfloat16>) {
      if (low) {
        const Tensor packed = Scratch<T>(count * inputs);
        GatherRows(x.data<T>(), from, inputs, packed.template data<T>());
        return Factor<A>::Low(packed);
      }
    }
    const Tensor packed = Scratch<A>(count * inputs);
    GatherRows(x.data<T>(), from, inputs, packed.template data<A>());
    return Factor<A>(packed);
  }
  // All of them: as they lie, if they are packed; else in `room`, if that is
  // not null.
  template <typename T>
  Factor<A> Inputs(const Tensor& x, bool time_major, A* room) const {
    if (IsPacked(time_major)) return FactorOf(x);
    if (room == nullptr || low) return Inputs<T>(x, 0, rows.rows());
    GatherRows(x.data<T>(), places, inputs, room);
    return Factor<A>(room, rows.rows() * inputs);
  }

  bool low;  // products are of operands rounded to bfloat16
  RnnCell cell;
  bool reverse;
  SequenceRows rows;
  std::vector<int64_t> places, order;
  int64_t inputs, gates, hidden, state;  // gates: rows of all of them
  Factor<A> weight_ih;
  Tensor weight_hh, weight_hr, bias_ih, bias_hh, h0, c0;
};

// What is kept of each row: gates, what the cell keeps besides, and the state
// that it started from; three matrices, one behind the other.
template <typename A>
struct Kept {
  Kept(const Network<A>& net, const Tensor& reserve)
      : gates(static_cast<A*>(reserve.raw_data())),
        besides(gates + net.rows.rows() * net.gates),
        before(besides + net.rows.rows() * KeptBesides(net.cell) * net.hidden),
        end(before + net.rows.rows() * net.state) {}
  A *gates, *besides, *before, *end;
};

// Where a step of n rows stands that begins with row `first`. The gates are
// those of the inputs, to be completed; what is not kept is null but for
// `besides`.
template <typename A>
struct StepRows {
  A *gates, *besides, *before;
};

// The product of the inputs, of some rows at a time.
template <typename T, typename A>
class InputProduct {
 public:
  InputProduct(const Network<A>& net, const Tensor& x, bool time_major)
      : net_(net), x_(x), bias_(InputBias(net, buffer_)) {
    if (net.IsPacked(time_major)) all_.emplace(net.FactorOf(x));
  }

  void Run(int64_t first, int64_t rows, A* gates) const {
    Product<A>({.rows = rows,
                .columns = net_.gates,
                .depth = net_.inputs,
                .low = net_.low},
               all_.has_value()
                   ? all_->Part(first * net_.inputs, rows * net_.inputs)
                   : net_.template Inputs<T>(x_, first, rows),
               false, net_.weight_ih, true, bias_, gates);
  }

 private:
  const Network<A>& net_;
  const Tensor& x_;
  std::optional<Factor<A>> all_;  // packed rows that lie there already
  std::vector<A> buffer_;
  const A* const bias_;
};

// All that is kept, in one product.
template <typename T, typename A>
class KeptSteps {
 public:
  KeptSteps(const Network<A>& net, const InputProduct<T, A>& product,
            const Tensor& reserve)
      : net_(net), kept_(net, reserve) {
    product.Run(0, net.rows.rows(), kept_.gates);
  }
  StepRows<A> At(int64_t t) {
    const int64_t first = net_.rows.first(t);
    return {kept_.gates + first * net_.gates,
            kept_.besides + first * KeptBesides(net_.cell) * net_.hidden,
            kept_.before + first * net_.state};
  }

 private:
  const Network<A>& net_;
  const Kept<A> kept_;
};

// Nothing is kept: the gates of some steps, then of the next ones.
template <typename T, typename A>
class PassingSteps {
 public:
  PassingSteps(const Network<A>& net, const InputProduct<T, A>& product)
      : net_(net), product_(product) {
    room_ = std::min(std::max(kRowsAtOnce, net.rows.batch()), net.rows.rows());
    gates_ = Scratch<A>(room_ * net.gates);
    if (KeptBesides(net.cell) > 0 && net.cell != RnnCell::kLstm) {
      besides_ =
          Scratch<A>(net.rows.batch() * KeptBesides(net.cell) * net.hidden);
    }
  }
  StepRows<A> At(int64_t t) {
    const int64_t first = net_.rows.first(t), n = net_.rows.running(t);
    if (first < begin_ || first + n > end_) Fill(t);
    return {gates_.data<A>() + (first - begin_) * net_.gates,
            besides_.defined() ? besides_.data<A>() : nullptr, nullptr};
  }

 private:
  // So many that the weight is packed once for all; their gates stay in a
  // cache.
  static constexpr int64_t kRowsAtOnce = kFewRows;

  // The gates of step t and of those that follow it, as many as there is room
  // for.
  void Fill(int64_t t) {
    begin_ = net_.rows.first(t);
    end_ = begin_ + net_.rows.running(t);
    const int64_t way = net_.reverse ? -1 : 1;
    for (int64_t s = t + way; s >= 0 && s < net_.rows.steps(); s += way) {
      const int64_t first = std::min(begin_, net_.rows.first(s));
      const int64_t last =
          std::max(end_, net_.rows.first(s) + net_.rows.running(s));
      if (last - first > room_) break;
      begin_ = first;
      end_ = last;
    }
    product_.Run(begin_, end_ - begin_, gates_.data<A>());
  }

  const Network<A>& net_;
  const InputProduct<T, A>& product_;
  Tensor gates_, besides_;
  int64_t room_ = 0;             // in rows
  int64_t begin_ = 0, end_ = 0;  // rows whose gates are there
};

// The sum of both biases, but of GRU's last gate that of the inputs only; null
// without any.
template <typename A>
const A* InputBias(const Network<A>& net, std::vector<A>& buffer) {
  if (!net.bias_ih.defined() && !net.bias_hh.defined()) return nullptr;
  buffer.assign(net.gates, A(0));
  const int64_t both = net.cell == RnnCell::kGru ? 2 * net.hidden : net.gates;
  for (int64_t j = 0; j < net.gates; ++j) {
    if (net.bias_ih.defined()) buffer[j] = net.bias_ih.template data<A>()[j];
    if (net.bias_hh.defined() && j < both)
      buffer[j] += net.bias_hh.template data<A>()[j];
  }
  return buffer.data();
}

// All steps. h [N, state] and c [N, hidden], in the order of rows, become the
// last states; `out` takes the state of each row, in its place, where it is not
// null.
template <typename T, typename A, typename Steps>
void RunSteps(const Network<A>& net, Steps steps, A* h, A* c, T* out) {
  const int64_t size = net.hidden, state = net.state, gates = net.gates;
  const bool gru = net.cell == RnnCell::kGru;
  const ProductOfSteps<A> product(net.low, net.weight_hh, state, gates, 1,
                                  state, net.rows.rows());
  std::optional<ProductOfSteps<A>> projection;
  if (net.projects())
    projection.emplace(net.low, net.weight_hr, size, state, 1, size,
                       net.rows.rows());
  const int64_t batch = net.rows.batch();
  const Tensor sums = Scratch<A>(gru ? batch * gates : 0);
  const Tensor unprojected = Scratch<A>(net.projects() ? batch * size : 0);
  const A* hidden_bias = gru && net.bias_hh.defined()
                             ? net.bias_hh.template data<A>() + 2 * size
                             : nullptr;
  for (int64_t s = 0; s < net.rows.steps(); ++s) {
    const int64_t t = net.Step(s), n = net.rows.running(t);
    if (n == 0) continue;
    const int64_t first = net.rows.first(t);
    const StepRows<A> at = steps.At(t);
    A *const row_gates = at.gates, *const row_besides = at.besides;
    if (at.before != nullptr) std::memcpy(at.before, h, n * state * sizeof(A));
    A* const from_state = gru ? sums.data<A>() : row_gates;
    product.Run(h, n, from_state, /*accumulate=*/!gru);
    A* const cell_out = net.projects() ? unprojected.data<A>() : h;
    parallel_for(0, n, RowGrain(4 * gates), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        A* g = row_gates + i * gates;
        A* to = cell_out + i * size;
        switch (net.cell) {
          case RnnCell::kLstm:
            if (row_besides != nullptr)
              std::memcpy(row_besides + i * size, c + i * size,
                          size * sizeof(A));
            cells::LstmForward(size, g, c + i * size, to);
            break;
          case RnnCell::kGru: {
            A* of_state = from_state + i * gates;
            if (hidden_bias != nullptr)
              for (int64_t j = 0; j < size; ++j)
                of_state[2 * size + j] += hidden_bias[j];
            cells::GruForward(size, g, of_state, row_besides + i * size, to);
            break;
          }
          default:
            cells::SimpleForward(size, net.cell == RnnCell::kRelu, g, to);
        }
      }
    });
    if (projection) projection->Run(cell_out, n, h, /*accumulate=*/false);
    if (out != nullptr) {
      for (int64_t i = 0; i < n; ++i) {
        CopyRow(h + i * state, state, out + net.places[first + i] * state);
      }
    }
  }
}

// Fills the reserve, if it is defined; see RunSteps.
template <typename T, typename A>
void Forward(const Network<A>& net, const Tensor& x, bool time_major,
             const Tensor& reserve, A* h, A* c, T* out) {
  const InputProduct<T, A> product(net, x, time_major);
  if (reserve.defined()) {
    RunSteps(net, KeptSteps<T, A>(net, product, reserve), h, c, out);
  } else {
    RunSteps(net, PassingSteps<T, A>(net, product), h, c, out);
  }
}

// Columns summed over rows, in chunks that depend on the shape only.
template <typename A>
void SumRows(const A* from, int64_t rows, int64_t columns, A* to) {
  std::fill_n(to, columns, A(0));
  parallel_for(0, columns, 256, [&](int64_t begin, int64_t end) {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = begin; j < end; ++j) to[j] += from[i * columns + j];
  });
}

// A result of A: itself where it has that type, else a buffer that goes into it
// in the end.
template <typename A>
class Result {
 public:
  explicit Result(Tensor* to)
      : to_(to),
        own_(to->dtype() == kDTypeOf<A>
                 ? *to
                 : Tensor::Empty(to->shape(), kDTypeOf<A>, to->place())) {}
  A* data() const { return own_.data<A>(); }
  void Finish() const {
    if (to_->dtype() != kDTypeOf<A>) FloatCopyInto(own_, *to_);
  }

 private:
  Tensor* to_;
  Tensor own_;
};

// The gradients of the sums of gates, of each row.
template <typename A>
class GateGrads {
 public:
  // `in_place`: where the gates are that `kept` has, which nobody needs then.
  GateGrads(const Network<A>& net, const Kept<A>& kept, bool in_place)
      : elements_(net.rows.rows() * net.gates) {
    const int64_t rows = net.rows.rows();
    const int64_t besides = net.cell == RnnCell::kGru ? rows * net.hidden : 0;
    if (!in_place) own_ = Scratch<A>(elements_ + besides);
    sums = in_place ? kept.gates : own_.data<A>();
    if (besides > 0) last = in_place ? kept.besides : sums + elements_;
    // What the cell kept besides, and the states, are of no use after these.
    room_ = in_place ? kept.besides : nullptr;
    room_size_ = in_place ? kept.end - kept.besides : 0;
    besides_size_ = in_place ? kept.before - kept.besides : 0;
    if (net.projects()) of_output = Scratch<A>(rows * net.state);
  }

  Factor<A> factor() const { return Factor<A>(sums, elements_); }
  // Of GRU: from those of the state to those of the inputs.
  void TurnToInputs(const Network<A>& net) const {
    const int64_t size = net.hidden;
    parallel_for(0, net.rows.rows(), RowGrain(size),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i)
                     std::memcpy(sums + i * net.gates + 2 * size,
                                 last + i * size, size * sizeof(A));
                 });
  }
  // Memory for as many elements that is free when all steps are through; null
  // if there is none.
  A* RoomBesides(int64_t elements) const {
    return last == nullptr && elements <= besides_size_ ? room_ : nullptr;
  }
  // Memory for as many elements that is free when the weight of the state and
  // the last gate are through; null if there is none.
  A* Room(int64_t elements) const {
    return elements <= room_size_ ? room_ : nullptr;
  }

  A* sums = nullptr;  // [rows, gates]: of those of the state
  // GRU's last one of the inputs; the others are the same. Else null.
  A* last = nullptr;
  Tensor of_output;  // of what was projected

 private:
  int64_t elements_;
  Tensor own_;
  A* room_;
  int64_t room_size_, besides_size_;
};

// All steps backwards. grad_out: of each row, in its place. dh, dc: of the last
// states in the order of rows; become those of the first ones. room: for a
// weight of the state.
template <typename A>
void RunStepsBack(const Network<A>& net, const Kept<A>& kept, const A* grad_out,
                  A* dh, A* dc, const GateGrads<A>& grads, A* room) {
  const int64_t size = net.hidden, state = net.state, gates = net.gates;
  const int64_t batch = net.rows.batch();
  const bool gru = net.cell == RnnCell::kGru;
  const ProductOfSteps<A> product(net.low, net.weight_hh, gates, state, state,
                                  1, net.rows.rows(), room);
  std::optional<ProductOfSteps<A>> projection;
  Tensor unprojected;
  if (net.projects()) {
    projection.emplace(net.low, net.weight_hr, state, size, size, 1,
                       net.rows.rows());
    unprojected = Scratch<A>(batch * size);
  }
  for (int64_t s = net.rows.steps() - 1; s >= 0; --s) {
    const int64_t t = net.Step(s), n = net.rows.running(t);
    if (n == 0) continue;
    const int64_t first = net.rows.first(t);
    for (int64_t i = 0; i < n; ++i) {
      const A* of_out = grad_out + net.places[first + i] * state;
      for (int64_t j = 0; j < state; ++j) dh[i * state + j] += of_out[j];
    }
    A* of_cell = dh;
    if (projection) {
      std::memcpy(grads.of_output.template data<A>() + first * state, dh,
                  n * state * sizeof(A));
      of_cell = unprojected.data<A>();
      projection->Run(dh, n, of_cell, /*accumulate=*/false);
    }
    A* const to = grads.sums + first * gates;
    A* const last = grads.last + (gru ? first * size : 0);
    parallel_for(0, n, RowGrain(4 * gates), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const A* g = kept.gates + (first + i) * gates;
        const A* besides = kept.besides + (first + i) * size;
        switch (net.cell) {
          case RnnCell::kLstm:
            cells::LstmBackward(size, g, besides, of_cell + i * size,
                                dc + i * size, to + i * gates);
            break;
          case RnnCell::kGru:
            cells::GruBackward(
                size, g, besides, kept.before + (first + i) * state,
                of_cell + i * size, last + i * size, to + i * gates);
            break;
          default:
            cells::SimpleBackward(size, net.cell == RnnCell::kRelu, g,
                                  of_cell + i * size, to + i * gates);
        }
      }
    });
    product.Run(to, n, dh, /*accumulate=*/gru);
  }
}

// What was projected, of each row.
template <typename A>
Tensor Unprojected(const Network<A>& net, const Kept<A>& kept) {
  const int64_t rows = net.rows.rows(), size = net.hidden;
  const Tensor h = Scratch<A>(rows * size);
  parallel_for(0, rows, RowGrain(4 * size), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      cells::LstmHidden(size, kept.gates + i * net.gates,
                        kept.besides + i * size, h.data<A>() + i * size);
  });
  return h;
}

void Clear(const Tensor& t) {
  if (t.numel() > 0) std::memset(t.raw_data(), 0, t.bytes());
}

}  // namespace

void Rnn(const KernelContext& ctx, const Tensor& x, const Tensor& weight_ih,
         const Tensor& weight_hh, const Tensor& bias_ih, const Tensor& bias_hh,
         const Tensor& weight_hr, const Tensor& h0, const Tensor& c0,
         const Tensor& lengths, std::string_view mode, bool reverse,
         bool time_major, bool keep_reserve, Tensor* out, Tensor* h, Tensor* c,
         Tensor* reserve) {
  VisitFloat(out->dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = typename Accumulate<T>::type;
    const Network<A> net(IsLow<T>(), "rnn", x, weight_ih, weight_hh, bias_ih,
                         bias_hh, weight_hr, h0, c0, lengths, mode, reverse,
                         time_major);
    const int64_t rows = net.rows.rows();
    const bool lstm = net.cell == RnnCell::kLstm;
    const Tensor last_h = net.Start(net.h0, net.state);
    const Tensor last_c = net.Start(net.c0, lstm ? net.hidden : 0);
    // Rows beyond the lengths.
    if (rows * net.state < out->numel()) Clear(*out);
    Forward<T, A>(net, x, time_major, keep_reserve ? *reserve : Tensor(),
                  last_h.data<A>(), last_c.data<A>(), out->data<T>());
    const Kept<A> kept(net, *reserve);
    const char* end =
        static_cast<const char*>(reserve->raw_data()) + reserve->bytes();
    if (reserve->numel() > 0)
      std::memset(kept.end, 0, end - reinterpret_cast<const char*>(kept.end));
    ScatterRows(last_h.data<A>(), net.order, net.state, h->data<T>());
    if (lstm)
      ScatterRows(last_c.data<A>(), net.order, net.hidden, c->data<T>());
  });
}

void RnnGrad(const KernelContext& ctx, const Tensor& grad_out,
             const Tensor& grad_h, const Tensor& grad_c, const Tensor& x,
             const Tensor& weight_ih, const Tensor& weight_hh,
             const Tensor& bias_ih, const Tensor& bias_hh,
             const Tensor& weight_hr, const Tensor& h0, const Tensor& c0,
             const Tensor& lengths, const Tensor& given_reserve,
             std::string_view mode, bool reverse, bool time_major,
             std::optional<DType>, Tensor* x_grad, Tensor* weight_ih_grad,
             Tensor* weight_hh_grad, Tensor* bias_ih_grad, Tensor* bias_hh_grad,
             Tensor* weight_hr_grad, Tensor* h0_grad, Tensor* c0_grad) {
  VisitFloat(x_grad->dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = typename Accumulate<T>::type;
    const Network<A> net(IsLow<T>(), "rnn_grad", x, weight_ih, weight_hh,
                         bias_ih, bias_hh, weight_hr, h0, c0, lengths, mode,
                         reverse, time_major);
    const int64_t rows = net.rows.rows(), gates = net.gates;
    const bool lstm = net.cell == RnnCell::kLstm;
    const int64_t cell_state = lstm ? net.hidden : 0;
    // What the cells kept makes room for their gradients where nobody else has
    // it (asked before there is one more handle); of projections it is needed
    // once more.
    const bool in_place =
        !net.projects() &&
        (!given_reserve.defined() || given_reserve.numel() == 0 ||
         IsGiven("rnn_grad", given_reserve, given_reserve.shape(),
                 given_reserve.dtype(), given_reserve.place()));
    Tensor reserve = given_reserve;
    if (!reserve.defined() || reserve.numel() == 0) {
      const int64_t width =
          gates + KeptBesides(net.cell) * net.hidden + net.state;
      reserve = Tensor::Empty({rows * width * int64_t{sizeof(A)}},
                              DType::kUInt8, x.place());
      Forward<T, A>(net, x, time_major, reserve,
                    net.Start(net.h0, net.state).template data<A>(),
                    net.Start(net.c0, cell_state).template data<A>(), nullptr);
    }
    const Kept<A> kept(net, reserve);

    const Tensor of_h = FloatCopy(grad_h, kDTypeOf<A>);
    const Tensor of_c = FloatCopy(grad_c, kDTypeOf<A>);
    const Tensor of_out = FloatCopy(grad_out, kDTypeOf<A>);
    const Tensor dh = net.Start(of_h, net.state);
    const Tensor dc = net.Start(of_c, cell_state);
    const Result<A> of_ih(weight_ih_grad), of_hh(weight_hh_grad),
        of_bias_ih(bias_ih_grad), of_bias_hh(bias_hh_grad),
        of_hr(weight_hr_grad);
    const GateGrads<A> grads(net, kept, in_place);
    RunStepsBack(net, kept, of_out.data<A>(), dh.data<A>(), dc.data<A>(), grads,
                 of_hh.data());
    ScatterRows(dh.data<A>(), net.order, net.state, h0_grad->data<T>());
    if (lstm)
      ScatterRows(dc.data<A>(), net.order, net.hidden, c0_grad->data<T>());

    // Memory that is free until the gradients of the inputs come there.
    const auto lent = [&](int64_t elements) -> A* {
      if (!std::is_same_v<T, A> || elements > x_grad->numel()) return nullptr;
      return x_grad->data<A>();
    };
    const Factor<A> ds = grads.factor();
    {
      const ProductSizes sizes{gates, net.state, rows, net.low};
      const int64_t turned = rows * GatesAtOnce(sizes, net.hidden);
      A* const room = grads.RoomBesides(turned);
      ProductByGates(sizes, net.hidden, ds,
                     Factor<A>(kept.before, rows * net.state),
                     room != nullptr ? room : lent(turned), of_hh.data());
    }
    SumRows(ds.data(), rows, gates, of_bias_hh.data());
    const bool same = grads.last == nullptr;
    if (!same) grads.TurnToInputs(net);
    const Factor<A> dx = same ? ds : grads.factor();
    {
      const ProductSizes sizes{gates, net.inputs, rows, net.low};
      ProductByGates(
          sizes, net.hidden, dx,
          net.template Inputs<T>(x, time_major, lent(rows * net.inputs)),
          grads.Room(rows * GatesAtOnce(sizes, net.hidden)), of_ih.data());
    }
    if (same) {
      std::memcpy(of_bias_ih.data(), of_bias_hh.data(), gates * sizeof(A));
    } else {
      SumRows(dx.data(), rows, gates, of_bias_ih.data());
    }
    if (net.projects()) {
      Product<A>({net.state, net.hidden, rows, net.low},
                 Factor<A>(grads.of_output), true,
                 Factor<A>(Unprojected(net, kept)), false, nullptr,
                 of_hr.data());
    }
    for (const Result<A>* r :
         {&of_ih, &of_hh, &of_bias_ih, &of_bias_hh, &of_hr})
      r->Finish();

    const ProductSizes sizes{rows, net.inputs, gates, net.low};
    if (std::is_same_v<T, A> && net.IsPacked(time_major)) {
      Product<A>(sizes, dx, false, net.weight_ih, false, nullptr,
                 x_grad->data<A>());
      return;
    }
    Tensor own;
    A* of_x = grads.Room(rows * net.inputs);
    if (of_x == nullptr) {
      own = Scratch<A>(rows * net.inputs);
      of_x = own.data<A>();
    }
    Product<A>(sizes, dx, false, net.weight_ih, false, nullptr, of_x);
    if (rows * net.inputs < x_grad->numel()) Clear(*x_grad);
    ScatterRows(of_x, net.places, net.inputs, x_grad->data<T>());
  });
}

}  // namespace proa::inline v0::ops::PROA_ISA
