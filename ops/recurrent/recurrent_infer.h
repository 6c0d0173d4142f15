// Shape rules of recurrent ops (see ops/infer.h for what a rule may do).
#ifndef PROA_OPS_RECURRENT_RECURRENT_INFER_H_
#define PROA_OPS_RECURRENT_RECURRENT_INFER_H_

#include <optional>
#include <string_view>

#include "tensor/dtype.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace proa::inline v0::ops::infer {

// CTC: [N], after checking logits [T, N, C], labels [N, L], lengths [N].
Shape ctc_loss(const char* op, const Tensor& logits, const Tensor& labels,
               const Tensor& input_lengths, const Tensor& label_lengths,
               int64_t blank);
// Bytes for each sample and step: log probabilities of the 2 L + 1 places of a
// path, and of the normalization; in float32, or float64 for that.
Shape ctc_reserve(const char* op, const Tensor& logits, const Tensor& labels);
// The shape of logits.
Shape ctc_loss_grad(const char* op, const Tensor& grad_loss,
                    const Tensor& logits, const Tensor& labels,
                    const Tensor& input_lengths, const Tensor& label_lengths,
                    const Tensor& reserve, int64_t blank);

// Recurrent networks; shapes as in rnn.yaml. That of out, after checking all
// arguments.
Shape rnn_out(const char* op, const Tensor& x, const Tensor& weight_ih,
              const Tensor& weight_hh, const Tensor& bias_ih,
              const Tensor& bias_hh, const Tensor& weight_hr, const Tensor& h0,
              const Tensor& c0, const Tensor& lengths, std::string_view mode,
              bool time_major);
// [N, R].
Shape rnn_state(const char* op, const Tensor& x, const Tensor& weight_hh,
                const Tensor& weight_hr, bool time_major);
// [N, H], or [N, 0] of cells without such a state.
Shape rnn_cell_state(const char* op, const Tensor& x, const Tensor& weight_ih,
                     std::string_view mode, bool time_major);
// [T, N, bytes]: of each step and sample the gates, what the cell keeps besides
// (ops/recurrent/rnn_sizes.h) and the state that it started from, in float32,
// or float64 for that.
Shape rnn_reserve(const char* op, const Tensor& x, const Tensor& weight_ih,
                  const Tensor& weight_hh, std::string_view mode,
                  bool time_major, bool keep_reserve = true);
// The shape of x, after checking all arguments.
Shape rnn_grad(const char* op, const Tensor& grad_out, const Tensor& grad_h,
               const Tensor& grad_c, const Tensor& x, const Tensor& weight_ih,
               const Tensor& weight_hh, const Tensor& bias_ih,
               const Tensor& bias_hh, const Tensor& weight_hr, const Tensor& h0,
               const Tensor& c0, const Tensor& lengths, const Tensor& reserve,
               std::string_view mode, bool time_major);
// The dtype of gradients of weights: promoted; float32 of 16-bit ones if that
// is wanted.
DType rnn_sums(const char* op, const Tensor& x, const Tensor& weight_ih,
               std::optional<DType> wanted);
// [gates H].
Shape rnn_bias(const char* op, const Tensor& weight_ih);
// That of weight_hr, [0, 0] without one.
Shape rnn_projection(const char* op, const Tensor& weight_hr);

}  // namespace proa::inline v0::ops::infer

#endif  // PROA_OPS_RECURRENT_RECURRENT_INFER_H_
