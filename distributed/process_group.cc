#include "distributed/process_group.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "distributed/backend.h"
#include "distributed/membership.h"
#include "distributed/movement.h"
#include "distributed/process_group_parts.h"
#include "ops/call_site.h"
#include "profiler/events.h"
#include "tensor/error.h"

namespace proa::inline v0::distributed {
namespace {

int64_t BytesOf(const Tensor& t) { return t.defined() ? t.bytes() : 0; }

// What two ranks must agree on.
bool Agree(const CallHeader& a, const CallHeader& b) {
  if (a.sequence != b.sequence || a.kind != b.kind || a.reduce != b.reduce ||
      a.peer != b.peer || a.on_device != b.on_device) {
    return false;
  }
  return a.kind == Collective::kBarrier ||
         (a.dtype == b.dtype && a.SameShape(b));
}

}  // namespace

// One collective, while it runs: who came, and since when it waits.
struct ProcessGroup::Attempt {
  Attempt(ProcessGroup& g, const CallHeader& h, bool here)
      : group(g),
        own(h),
        headers(g.size()),
        came(g.size()),
        end(Clock::now() + g.options_.limit),
        on_callers_thread(here) {}

  // Thrown where nothing moves any more.
  void Watch() {
    if (on_callers_thread) LookForInterrupt();
    if (group.aborted_.load()) {
      Fail(absl::StatusCode::kCancelled, What(), ": the group was ended");
    }
    // Of several that are gone, one that never entered: those that did may have
    // gone because of it.
    int gone = -1;
    bool entered = false;
    for (int i = 0; i < group.size(); ++i) {
      if (i == group.rank_) continue;
      const Presence p = group.fabric_->presence(group.members()[i]);
      const bool ended = group.links_->HasEnded(i);
      // One that left in order is missed only by who waits for it.
      const bool missed = !came[i] && group.links_->Available(i) == 0;
      if (p == Presence::kLost || (missed && p == Presence::kLeft) ||
          (missed && ended)) {
        if (gone >= 0 && !(entered && missed)) continue;
        gone = i;
        entered = !missed;
      }
    }
    if (gone >= 0) {
      const Presence p = group.fabric_->presence(group.members()[gone]);
      Fail(absl::StatusCode::kUnavailable, What(), ": ", group.NameOf(gone),
           p == Presence::kLeft ? " has left the job"
                                : " died (its connection is gone)");
    }
    if (Clock::now() >= end) FailTimeout();
  }

  std::string What() const {
    return absl::StrCat(Name(own.kind), " #", own.sequence,
                        own.Where().empty() ? "" : " ", own.Where());
  }

  [[noreturn]] void FailTimeout() const {
    std::string missing, present;
    int absent = 0;
    for (int i = 0; i < group.size(); ++i) {
      std::string& list = came[i] ? present : missing;
      absl::StrAppend(&list, list.empty() ? "" : ", ", group.members()[i]);
      absent += !came[i];
    }
    const std::string limit =
        absl::StrCat(" (limit ", group.options_.limit.count() / 1000.0, " s)");
    if (absent == 0) {
      Fail(absl::StatusCode::kDeadlineExceeded, What(),
           ": all ranks entered it, and it did not end", limit);
    }
    Fail(absl::StatusCode::kDeadlineExceeded, absent == 1 ? "rank " : "ranks ",
         missing, " never entered ", What(), "; ", present, " did", limit);
  }

  void Compare() const {
    for (int i = 0; i < group.size(); ++i) {
      if (Agree(headers[i], own)) continue;
      // The same sentence on all ranks: the first that differs from rank 0.
      int other = i;
      for (int k = 0; k < group.size(); ++k) {
        if (!Agree(headers[0], headers[k])) {
          other = k;
          break;
        }
      }
      FailMismatch(0, other);
    }
  }

  [[noreturn]] void FailMismatch(int a, int b) const {
    Fail(absl::StatusCode::kFailedPrecondition,
         "ranks disagree in collective #", own.sequence, " of group ",
         group.id(), ": ", group.NameOf(a), " calls ", headers[a].Text(), ", ",
         group.NameOf(b), " calls ", headers[b].Text());
  }

  ProcessGroup& group;
  const CallHeader& own;
  std::vector<CallHeader> headers;
  std::vector<bool> came;
  const Clock::time_point end;
  const bool on_callers_thread;
};

ProcessGroup::ProcessGroup(std::shared_ptr<Fabric> fabric, GroupOptions options)
    : fabric_(std::move(fabric)), options_(std::move(options)) {
  for (int i = 0; i < size(); ++i) {
    if (members()[i] == fabric_->rank()) rank_ = i;
  }
  PROA_REQUIRE(rank_ >= 0, "new_group: rank ", fabric_->rank(),
               " is not a member");
  const BackendFactory factory = FindBackend(options_.backend);
  if (size() == 1) return;
  AgreeOnMembers(*fabric_, id(), members(), options_.limit);
  links_ = NewLinks(*fabric_, absl::StrCat("group ", id()), members(), rank_,
                    options_.shared_memory, options_.limit);
  AgreeOnBackend();
  const BackendSetup setup{.fabric = *fabric_,
                           .links = *links_,
                           .members = members(),
                           .group = id(),
                           .rank = rank_,
                           .limit = options_.limit};
  backend_ = factory(setup);
  transport_ = backend_->transport();
  if (auto* device = dynamic_cast<DeviceBackend*>(backend_.get())) {
    static_cast<void>(backend_.release());
    device_backend_.reset(device);
    backend_ = FindBackend(kDefaultBackend)(setup);
  }
}

// Ranks that name different backends would wait for each other.
void ProcessGroup::AgreeOnBackend() {
  using Name = std::array<char, 32>;
  std::vector<Name> names(size(), Name{});
  Name own{};
  std::copy(options_.backend.begin(), options_.backend.end(), own.begin());
  std::vector<Bytes> gives(size(), Bytes{own.data(), own.size()});
  std::vector<MutableBytes> gets;
  for (Name& n : names) gets.push_back({n.data(), n.size()});
  const auto end = Clock::now() + options_.limit;
  const Watch watch = [&] {
    LookForInterrupt();
    for (int i = 0; i < size(); ++i) {
      if (i != rank_ && names[i][0] == 0 && links_->Available(i) == 0 &&
          (links_->HasEnded(i) ||
           fabric_->presence(members()[i]) != Presence::kHere)) {
        Fail(absl::StatusCode::kUnavailable, "new_group: ", NameOf(i),
             " is gone");
      }
    }
    if (Clock::now() >= end) {
      Fail(absl::StatusCode::kDeadlineExceeded, "new_group: a rank of group ",
           id(), " did not come within ", options_.limit.count() / 1000.0,
           " s");
    }
  };
  ExchangeBytes(*links_, gives, gets, watch);
  Drain(*links_, watch);
  for (int i = 1; i < size(); ++i) {
    if (names[i] == names[0]) continue;
    Fail(absl::StatusCode::kFailedPrecondition,
         "new_group: ranks disagree on the backend of group ", id(), ": ",
         NameOf(0), " has '", names[0].data(), "', ", NameOf(i), " has '",
         names[i].data(), "'");
  }
}

ProcessGroup::~ProcessGroup() { Abort(); }

void ProcessGroup::Flush(Clock::time_point end) {
  std::vector<Mailbox*> boxes;
  {
    const std::lock_guard lock(mu_);
    if (!broken_.empty() || aborted_.load()) return;
    for (auto& [peer, box] : mailboxes_) {
      if (box != nullptr) boxes.push_back(box.get());
    }
  }
  for (Mailbox* box : boxes) box->out.Drain(end);
}

std::string ProcessGroup::NameOf(int rank) const {
  return absl::StrCat("rank ", members()[rank]);
}

std::shared_ptr<Work> ProcessGroup::Start(const CollectiveCall& call,
                                          bool wait) {
  Check(call);
  return call.kind == Collective::kSend || call.kind == Collective::kReceive
             ? StartMessage(call, wait)
             : StartExchange(call, wait);
}

void ProcessGroup::Check(const CollectiveCall& call) const {
  const char* op = Name(call.kind);
  for (const Tensor* t : {&call.in, &call.out}) {
    PROA_REQUIRE(!t->defined() || !t->is_symbolic(), op,
                 ": tensors must be at hand; one is ", Describe(*t));
  }
  if (call.in.defined() && call.out.defined() &&
      call.in.place() != call.out.place()) {
    FailArgument(op, ": tensors must lie in one place; one lies on ",
                 ToString(call.in.place()), ", the other on ",
                 ToString(call.out.place()));
  }
  PROA_REQUIRE(call.peer >= 0 && call.peer < size(), op, ": there is no rank ",
               call.peer, " in a group of ", size());
  const bool message =
      call.kind == Collective::kSend || call.kind == Collective::kReceive;
  if (message && call.peer == rank_) {
    Fail(absl::StatusCode::kFailedPrecondition, op,
         size() == 1 ? ": there is one process, and nobody else to exchange "
                       "tensors with"
                     : ": a rank does not send to itself");
  }
  const bool root = call.peer == rank_;
  const int64_t in = call.in.defined() ? call.in.numel() : 0;
  const int64_t out = call.out.defined() ? call.out.numel() : 0;
  const int64_t n = size();
  const bool uneven = !call.in_splits.empty() || !call.out_splits.empty();
  bool fits = true;
  switch (call.kind) {
    case Collective::kAllReduce:
    case Collective::kBroadcast:
      fits = in == out;
      break;
    case Collective::kReduce:
      fits = !root || in == out;
      break;
    case Collective::kAllGather:
      fits = uneven ? call.out_splits.size() == static_cast<size_t>(n)
                    : out == in * n;
      break;
    case Collective::kGather:
      fits = !root || out == in * n;
      break;
    case Collective::kScatter:
      fits = !root || in == out * n;
      break;
    case Collective::kReduceScatter:
      fits = in == out * n;
      break;
    case Collective::kAllToAll:
      fits = uneven ? call.in_splits.size() == static_cast<size_t>(n) &&
                          call.out_splits.size() == static_cast<size_t>(n)
                    : in == out && in % n == 0;
      break;
    default:
      break;
  }
  PROA_REQUIRE(
      fits, op, ": the tensors do not fit a group of ", n,
      "; what is given is ", call.in.defined() ? Describe(call.in) : "none",
      ", what is to be filled ",
      call.out.defined() ? Describe(call.out) : "none",
      uneven ? ", and there must be one number of rows for each rank" : "");
  if (call.kind == Collective::kAllReduce || call.kind == Collective::kReduce ||
      call.kind == Collective::kReduceScatter) {
    RequireFoldable(op, call.reduce, call.in.dtype());
  }
  if (call.in.defined() && call.out.defined() &&
      call.in.dtype() != call.out.dtype()) {
    ThrowTypeError(absl::StrCat(op, ": dtypes differ: ", Describe(call.in),
                                " goes into ", Describe(call.out)));
  }
}

std::shared_ptr<Work> ProcessGroup::StartExchange(const CollectiveCall& call,
                                                  bool wait) {
  CallHeader header;
  {
    const std::lock_guard lock(mu_);
    if (!broken_.empty()) {
      Fail(absl::StatusCode::kFailedPrecondition, Name(call.kind), ": group ",
           id(), " ended with an earlier error: ", broken_);
    }
    header = HeaderOf(call, ++sequence_, SourceLine());
  }
  const Turn turn = TurnOf(call);
  header.on_device = turn != nullptr;
  const CollectiveCall flat = InOnePiece(call, turn != nullptr);
  if (turn != nullptr) turn->Begin();
  auto work = lane_.Run(
      [this, call, flat, header, turn](bool here) {
        recorder_.Begin(header);
        try {
          Run(flat, header, here, turn);
        } catch (...) {
          recorder_.End(header.sequence, true);
          Break(std::current_exception());
          throw;
        }
        if (turn == nullptr) {
          recorder_.End(header.sequence, false);
          PutBack(flat, call);
          return;
        }
        Close(turn, flat, call);
        Follow(turn, header, -1,
               [this, flat, n = header.sequence](std::exception_ptr error) {
                 recorder_.End(n, error != nullptr);
                 if (error != nullptr) Break(error);
               });
      },
      wait);
  return InOrder(std::move(work), turn, wait);
}

void ProcessGroup::Break(std::exception_ptr error) {
  const std::lock_guard lock(mu_);
  if (!broken_.empty()) return;
  try {
    std::rethrow_exception(std::move(error));
  } catch (...) {
    broken_ = TextOfCurrentError();
  }
}

void ProcessGroup::Run(const CollectiveCall& call, const CallHeader& header,
                       bool here, const Turn& turn) {
  if (size() == 1) {
    RunAlone(call);
    return;
  }
  // How many bytes go to each rank and come from it.
  const int n = size();
  std::vector<int64_t> to(n), from(n);
  const int64_t in = BytesOf(call.in), out = BytesOf(call.out);
  const bool root = call.peer == rank_;
  const auto rows = [](const Tensor& t, const std::vector<int64_t>& splits) {
    const int64_t sum =
        std::accumulate(splits.begin(), splits.end(), int64_t{0});
    return sum == 0 ? 0 : t.bytes() / sum;
  };
  switch (call.kind) {
    case Collective::kAllReduce:
    case Collective::kReduce:
      // Not what goes, but what the ranks must agree on.
      to.assign(n, in);
      from.assign(n, in);
      break;
    case Collective::kReduceScatter:
      to.assign(n, in);
      from.assign(n, out * n);
      break;
    case Collective::kBroadcast:
      if (root) to.assign(n, in);
      from[call.peer] = out;
      break;
    case Collective::kAllGather:
      to.assign(n, in);
      from.assign(n, out / n);
      if (!call.out_splits.empty()) {
        const int64_t row = rows(call.out, call.out_splits);
        for (int i = 0; i < n; ++i) from[i] = call.out_splits[i] * row;
      }
      break;
    case Collective::kGather:
      to[call.peer] = in;
      if (root) from.assign(n, out / n);
      break;
    case Collective::kScatter:
      if (root) to.assign(n, in / n);
      from[call.peer] = out;
      break;
    case Collective::kAllToAll: {
      to.assign(n, in / n);
      from.assign(n, out / n);
      if (!call.in_splits.empty()) {
        const int64_t give = rows(call.in, call.in_splits);
        const int64_t get = rows(call.out, call.out_splits);
        for (int i = 0; i < n; ++i) {
          to[i] = call.in_splits[i] * give;
          from[i] = call.out_splits[i] * get;
        }
      }
      break;
    }
    default:
      break;
  }
  const profiler::Range range(Name(header.kind), "exchange");
  Attempt attempt(*this, header, here);
  const Watch watch = [&] { attempt.Watch(); };
  ExchangeHeaders(*links_, header, to, &attempt.headers, &attempt.came, watch);
  attempt.Compare();
  attempt.headers[rank_].bytes = to[rank_];
  for (int i = 0; i < n; ++i) {
    if (attempt.headers[i].bytes != from[i]) attempt.FailMismatch(i, rank_);
  }
  if (call.kind == Collective::kBarrier) {
    Drain(*links_, watch);
  } else if (turn != nullptr) {
    Drain(*links_, watch);
    device_backend_->MoveOnDevice(call, to, from, turn.get(), watch);
  } else {
    backend_->Move(call, to, from, watch);
  }
}

}  // namespace proa::inline v0::distributed
