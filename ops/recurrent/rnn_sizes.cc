#include "ops/recurrent/rnn_sizes.h"

#include "tensor/error.h"

namespace proa::inline v0::ops {

RnnCell RnnCellOf(const char* op, std::string_view mode) {
  if (mode == "LSTM") return RnnCell::kLstm;
  if (mode == "GRU") return RnnCell::kGru;
  if (mode == "RNN_TANH") return RnnCell::kTanh;
  PROA_REQUIRE(mode == "RNN_RELU", op,
               ": mode must be LSTM, GRU, RNN_TANH or RNN_RELU; it is '", mode,
               "'");
  return RnnCell::kRelu;
}

}  // namespace proa::inline v0::ops
