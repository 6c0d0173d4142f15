// Calls of a process group on tensors of devices: which go to the backend of
// the device, which by the host, and who looks after them.
#include <memory>
#include <utility>

#include "distributed/process_group_parts.h"
#include "tensor/copy.h"
#include "tensor/error.h"

namespace proa::inline v0::distributed {
namespace {

Place PlaceOf(const CollectiveCall& call) {
  const Tensor& t = call.in.defined() ? call.in : call.out;
  return t.defined() ? t.place() : Place();
}

bool Folds(Collective kind) {
  return kind == Collective::kAllReduce || kind == Collective::kReduce ||
         kind == Collective::kReduceScatter;
}

}  // namespace

CollectiveCall InOnePiece(const CollectiveCall& call, bool native) {
  CollectiveCall flat = call;
  flat.group = 0;
  const bool same = call.out.defined() && call.in.is_same(call.out);
  if (!native && !PlaceOf(call).is_cpu()) {
    if (flat.in.defined()) flat.in = Contiguous(CopyTo(call.in, Place()));
    if (flat.out.defined()) {
      flat.out = same ? flat.in : Contiguous(CopyTo(call.out, Place()));
    }
    return flat;
  }
  if (flat.in.defined()) flat.in = Contiguous(call.in);
  if (flat.out.defined() && !call.out.is_contiguous()) {
    flat.out = same ? flat.in : Contiguous(call.out);
  }
  return flat;
}

void PutBack(const CollectiveCall& flat, const CollectiveCall& call) {
  if (!call.out.defined()) return;
  if (!flat.out.is_same(call.out)) CopyInto(flat.out, call.out);
  if (call.out.storage()) call.out.storage()->BumpVersion();
}

void Close(const std::shared_ptr<DeviceTurn>& turn, const CollectiveCall& flat,
           const CollectiveCall& call) {
  // Without a scope, which would order the streams of others behind it.
  if (!call.out.defined() || flat.out.is_same(call.out)) {
    PutBack(flat, call);
    turn->Close();
  } else {
    turn->Close([&] { PutBack(flat, call); });
  }
}

ProcessGroup::Turn ProcessGroup::TurnOf(const CollectiveCall& call) const {
  const Place place = PlaceOf(call);
  if (device_backend_ == nullptr || !device_backend_->Carries(place)) {
    return nullptr;
  }
  const Tensor& t = call.in.defined() ? call.in : call.out;
  if (Folds(call.kind) && !device_backend_->Combines(call.reduce, t.dtype())) {
    return nullptr;
  }
  return std::make_shared<DeviceTurn>(place);
}

std::shared_ptr<Work> ProcessGroup::InOrder(std::shared_ptr<Work> work,
                                            const Turn& turn, bool wait) const {
  if (turn == nullptr) return work;
  work->SetTurn(turn);
  if (wait) turn->Order();
  return work;
}

void ProcessGroup::Follow(const Turn& turn, const CallHeader& header, int peer,
                          std::function<void(std::exception_ptr)> ended) {
  const auto end = Clock::now() + options_.limit;
  // Of messages the peer alone counts, of collectives all.
  const auto watch = [this, header, peer, end] {
    const std::string what =
        absl::StrCat(Name(header.kind), " #", header.sequence,
                     header.Where().empty() ? "" : " ", header.Where());
    if (aborted_.load()) {
      Fail(absl::StatusCode::kCancelled, what, ": the group was ended");
    }
    for (int i = 0; i < size(); ++i) {
      if (i == rank_ || (peer >= 0 && i != peer)) continue;
      if (fabric_->presence(members()[i]) == Presence::kLost) {
        Fail(absl::StatusCode::kUnavailable, what, ": ", NameOf(i),
             " died (its connection is gone)");
      }
    }
    if (Clock::now() >= end) {
      Fail(absl::StatusCode::kDeadlineExceeded, what,
           ": all ranks entered it, and it did not end on the device (limit ",
           options_.limit.count() / 1000.0, " s)");
    }
  };
  watch_.Follow(turn, watch,
                [this, ended = std::move(ended)](std::exception_ptr error) {
                  // Nothing that was enqueued must wait for ever.
                  if (error != nullptr) device_backend_->Abort();
                  ended(error);
                });
}

void ProcessGroup::Abort() {
  aborted_.store(true);
  // Ends what still runs; what is done is not touched by it.
  if (device_backend_ != nullptr) device_backend_->Abort();
}

}  // namespace proa::inline v0::distributed
