#include "ops/collective/collective.h"

#include <deque>
#include <mutex>

#include "tensor/copy.h"
#include "tensor/error.h"

namespace proa::inline v0 {
namespace {

CollectiveCarrier* installed = nullptr;
thread_local constinit CollectiveLater* later = nullptr;

constexpr const char* kNames[kNumCollectives] = {
    "all_reduce", "reduce",  "broadcast",      "all_gather",
    "gather",     "scatter", "reduce_scatter", "all_to_all",
    "send",       "receive", "barrier"};
constexpr const char* kReduceNames[] = {"sum", "prod", "min", "max", "avg"};

}  // namespace

const char* Name(Collective c) { return kNames[static_cast<int>(c)]; }
const char* Name(ReduceOp r) { return kReduceNames[static_cast<int>(r)]; }

ReduceOp ParseReduceOp(const char* op, std::string_view text) {
  for (int i = 0; i < 5; ++i) {
    if (text == kReduceNames[i]) return ReduceOp{static_cast<uint8_t>(i)};
  }
  FailArgument(op, ": reduce must be sum, prod, min, max or avg, not '", text,
               "'");
}

void InstallCollectiveCarrier(CollectiveCarrier* carrier) {
  installed = carrier;
}

const Tensor& CollectiveTurn(const Place& place) {
  static std::mutex& mutex = *new std::mutex;
  static auto& turns = *new std::deque<Tensor>;  // references stay
  const std::lock_guard lock(mutex);
  for (const Tensor& turn : turns) {
    if (turn.place() == place) return turn;
  }
  Tensor turn = Tensor::Empty({1}, DType::kUInt8);
  *turn.data<uint8_t>() = 0;
  return turns.emplace_back(place.is_cpu() ? turn : CopyTo(turn, place));
}

void RunAlone(const CollectiveCall& call) {
  PROA_REQUIRE(call.group == 0, Name(call.kind), ": there is no group ",
               call.group, " in this process");
  if (call.kind == Collective::kSend || call.kind == Collective::kReceive) {
    Fail(absl::StatusCode::kFailedPrecondition, Name(call.kind),
         ": there is one process, and nobody else to exchange tensors with");
  }
  if (call.kind == Collective::kBarrier) return;
  PROA_REQUIRE(call.in.numel() == call.out.numel(), Name(call.kind),
               ": a group of one takes as many elements as it gives; x is ",
               Describe(call.in), ", the result ", Describe(call.out));
  if (call.in.raw_data() == call.out.raw_data()) return;
  const Tensor in = Contiguous(call.in);
  Strides strides = call.out.strides();
  CopyInto(in.AsStrided(call.out.shape(), strides, 0), call.out);
}

CollectiveLater::CollectiveLater() : around_(later) { later = this; }
CollectiveLater::~CollectiveLater() { later = around_; }

void RunCollective(const CollectiveCall& call) {
  if (installed != nullptr && later != nullptr && !later->used_) {
    later->used_ = true;
    later->begun_ = installed->Begin(call);
  } else if (installed != nullptr) {
    installed->Run(call);
  } else {
    RunAlone(call);
  }
}

}  // namespace proa::inline v0
