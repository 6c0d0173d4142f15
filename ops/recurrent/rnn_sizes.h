// The cells of the op rnn, and what follows from their names.
#ifndef PROA_OPS_RECURRENT_RNN_SIZES_H_
#define PROA_OPS_RECURRENT_RNN_SIZES_H_

#include <cstdint>
#include <string_view>

namespace proa::inline v0::ops {

enum class RnnCell { kLstm, kGru, kTanh, kRelu };

// Throws Error for another name.
RnnCell RnnCellOf(const char* op, std::string_view mode);

constexpr int64_t Gates(RnnCell cell) {
  return cell == RnnCell::kLstm ? 4 : cell == RnnCell::kGru ? 3 : 1;
}
// Columns of H that are kept for the gradient besides the gates: the cell state
// that LSTM started from; weight_hh h + bias_hh of GRU's last gate.
constexpr int64_t KeptBesides(RnnCell cell) {
  return cell == RnnCell::kLstm || cell == RnnCell::kGru ? 1 : 0;
}

}  // namespace proa::inline v0::ops

#endif  // PROA_OPS_RECURRENT_RNN_SIZES_H_
