// Sends and receives of a process group.
#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "distributed/links.h"
#include "distributed/process_group_parts.h"
#include "ops/call_site.h"
#include "tensor/error.h"

namespace proa::inline v0::distributed {

std::string TextOfCurrentError() {
  try {
    throw;
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "it was interrupted";
  }
}

std::shared_ptr<Work> ProcessGroup::StartMessage(const CollectiveCall& call,
                                                 bool wait) {
  const bool sends = call.kind == Collective::kSend;
  const int peer = static_cast<int>(call.peer);
  Mailbox* box = nullptr;
  CallHeader header;
  {
    const std::lock_guard lock(mu_);
    std::unique_ptr<Mailbox>& known = mailboxes_[peer];
    if (known == nullptr) known = std::make_unique<Mailbox>(peer);
    box = known.get();
    header =
        HeaderOf(call, sends ? ++box->sent : ++box->received, SourceLine());
  }
  const Turn turn = TurnOf(call);
  header.on_device = turn != nullptr;
  const CollectiveCall flat = InOnePiece(call, turn != nullptr);
  if (turn != nullptr) turn->Begin();
  const bool brief = sends && turn == nullptr && IsBrief(*box, flat.in.bytes());
  auto work =
      (sends ? box->out : box->in)
          .Run(
              [this, box, call, flat, header, sends, turn](bool here) {
                {
                  const std::lock_guard lock(box->mu);
                  if (!box->broken.empty()) {
                    Fail(absl::StatusCode::kFailedPrecondition, Name(call.kind),
                         ": messages with ", NameOf(box->peer),
                         " ended with an earlier error: ", box->broken);
                  }
                }
                try {
                  sends ? Send(*box, flat, header, here, turn)
                        : Receive(*box, flat, header, here, turn);
                } catch (...) {
                  const std::lock_guard lock(box->mu);
                  if (box->broken.empty()) box->broken = TextOfCurrentError();
                  throw;
                }
                if (turn == nullptr) {
                  PutBack(flat, call);
                  return;
                }
                Close(turn, flat, call);
                Follow(turn, header, box->peer, [](std::exception_ptr) {});
              },
              wait, brief);
  return InOrder(std::move(work), turn, wait);
}

namespace {

// The other rank of a pair, of which the lower one is number 0.
int Other(const Links& links) { return 1 - links.me(); }

// Calls move(), which says how many of the `n` bytes it moved, until that is
// all.
template <typename F>
void MoveAll(Links& links, size_t n, const Patience& p, const F& move) {
  size_t done = 0;
  while (done < n) {
    // Data that came before the end would be there when it is seen.
    const bool gone = p.fabric.presence(p.peer) != Presence::kHere;
    const uint32_t ticket = links.Ticket();
    if (const size_t k = move(done); k > 0) {
      done += k;
      continue;
    }
    p.Check();
    if (gone || links.HasEnded(Other(links))) p.FailGone();
    links.Wait(ticket);
  }
}

void Write(Links& links, const void* data, size_t n, const Patience& p) {
  MoveAll(links, n, p, [&](size_t done) {
    const size_t k =
        Fitting(std::min(PieceOf(links), n - done), links.Space(Other(links)));
    if (k > 0) {
      links.Write(Other(links), static_cast<const char*>(data) + done, k);
    }
    return k;
  });
}

void Read(Links& links, void* data, size_t n, const Patience& p) {
  MoveAll(links, n, p, [&](size_t done) {
    const size_t k = Fitting(std::min(PieceOf(links), n - done),
                             links.Available(Other(links)));
    if (k > 0) {
      CopyOut(links, Other(links), static_cast<char*>(data) + done, k);
    }
    return k;
  });
}

// Until what was written is on its way without us.
void Drain(Links& links, const Patience& p) {
  while (!links.IsDrained()) {
    p.Check();
    links.Wait(links.Ticket());
  }
}

// Takes a message that nobody wants to its end: who sent it did nothing wrong,
// and must not find the connection closed halfway.
void ReadAway(Links& links, size_t n, const Patience& p) {
  try {
    std::vector<char> piece(std::min<size_t>(n, 1 << 16));
    for (; n > 0; n -= std::min(n, piece.size())) {
      Read(links, piece.data(), std::min(n, piece.size()), p);
    }
  } catch (const Error&) {  // What is wrong with the message says more.
  }
}

Socket Connected(Fabric& fabric, const std::string& name, const Patience& p) {
  while (true) {
    // Who was here when the attempt began may have connected since, and left.
    const bool gone = p.fabric.presence(p.peer) != Presence::kHere;
    try {
      return fabric.Connect(p.peer, name, gone ? Limit(1000) : Limit(100));
    } catch (const Error& e) {
      if (gone) p.FailGone();
      // Slow to answer, or to take the connection; p.Check() knows for how long
      // that is borne.
      if (e.code() != absl::StatusCode::kDeadlineExceeded &&
          e.code() != absl::StatusCode::kUnavailable) {
        e.ThrowAfter(p.What() + ": ");
      }
      p.Check();
    }
  }
}

// How the lower rank of a pair says where memory is; without, there is none.
struct Where {
  uint64_t size = 0;
  std::array<char, 120> text = {};
};

// What both ranks see, if they can. They agree by a connection.
CommonMemory MemoryOf(Fabric& fabric, Links& links, size_t bytes,
                      const Patience& p) {
  Where where;
  uint64_t taken = 0;
  if (links.me() == 0) {
    const Offer offer = fabric.OfferMemory(bytes);
    if (offer.where.size() <= where.text.size()) {
      where.size = offer.where.size();
      std::ranges::copy(offer.where, where.text.begin());
    }
    Write(links, &where, sizeof where, p);
    Drain(links, p);
    Read(links, &taken, sizeof taken, p);
    return taken == 1 ? offer.memory : CommonMemory();
  }
  Read(links, &where, sizeof where, p);
  CommonMemory memory;
  if (where.size > 0 && where.size <= where.text.size()) {
    memory = fabric.TakeMemory({where.text.data(), where.size}, bytes);
  }
  taken = memory.data != nullptr;
  Write(links, &taken, sizeof taken, p);
  Drain(links, p);
  return memory;
}

}  // namespace

// Makes the links of a pair, when both have asked for them.
void ProcessGroup::Open(Mailbox& box, const Patience& p) {
  const std::lock_guard lock(box.mu);
  if (box.to != nullptr) return;
  const int me = rank_ < box.peer ? 0 : 1;
  const auto name = [&](const char* what) {
    return absl::StrCat("messages ", id(), what);
  };
  // From the lower rank to the higher one, and back.
  std::array<std::unique_ptr<Links>, 2> ways = {
      NewPair(Connected(*fabric_, name(""), p), me), nullptr};
  CommonMemory memory;
  if (options_.shared_memory) {
    memory = MemoryOf(*fabric_, *ways[0], 2 * PairBytes(), p);
  }
  if (memory.data != nullptr) {
    for (int i = 0; i < 2; ++i) {
      ways[i] = NewPair(CommonMemory{memory.data + i * PairBytes(), PairBytes(),
                                     memory.owner},
                        me);
    }
  } else {
    ways[1] = NewPair(Connected(*fabric_, name(" back"), p), me);
  }
  box.from = std::move(ways[1 - me]);
  box.to = std::move(ways[me]);
}

// Whether a message of so many bytes is sent without a wait.
bool ProcessGroup::IsBrief(Mailbox& box, size_t bytes) {
  const std::unique_lock lock(box.mu, std::try_to_lock);
  return lock && box.to != nullptr &&
         box.to->Space(Other(*box.to)) >=
             Padded(sizeof(CallHeader)) + Padded(bytes);
}

void ProcessGroup::Send(Mailbox& box, const CollectiveCall& call,
                        const CallHeader& header, bool here, const Turn& turn) {
  const Patience p{*fabric_, members()[box.peer],
                   aborted_, Clock::now() + options_.limit,
                   here,     header};
  Open(box, p);
  CallHeader own = header;
  own.bytes = call.in.bytes();
  Write(*box.to, &own, sizeof own, p);
  if (turn == nullptr) {
    Write(*box.to, call.in.raw_data(), call.in.bytes(), p);
  }
  Drain(*box.to, p);
  if (turn != nullptr) {
    device_backend_->MoveOnDevice(call, {}, {}, turn.get(), [&] { p.Look(); });
  }
}

void ProcessGroup::Receive(Mailbox& box, const CollectiveCall& call,
                           const CallHeader& header, bool here,
                           const Turn& turn) {
  const Patience p{*fabric_, members()[box.peer],
                   aborted_, Clock::now() + options_.limit,
                   here,     header};
  Open(box, p);
  CallHeader theirs;
  Read(*box.from, &theirs, sizeof theirs, p);
  if (theirs.magic != CallHeader::kMagic ||
      theirs.sequence != header.sequence || theirs.dtype != header.dtype ||
      theirs.bytes != call.out.bytes() ||
      theirs.on_device != header.on_device ||
      theirs.answered != header.answered || !theirs.SameShape(header)) {
    if (theirs.magic == CallHeader::kMagic && theirs.on_device == 0) {
      ReadAway(*box.from, theirs.bytes, p);
    }
    Fail(absl::StatusCode::kFailedPrecondition, p.What(), ": rank ", p.peer,
         " sends ", theirs.Text(), ", and ", Describe(call.out),
         " is to be filled",
         theirs.answered == header.answered ? ""
         : header.answered != 0
             ? "; its gradient goes back, and the sender's requires none"
             : "; the sender waits for its gradient, and here nothing requires "
               "one");
  }
  if (turn != nullptr) {
    device_backend_->MoveOnDevice(call, {}, {}, turn.get(), [&] { p.Look(); });
    return;
  }
  Read(*box.from, call.out.raw_data(), call.out.bytes(), p);
}

}  // namespace proa::inline v0::distributed
