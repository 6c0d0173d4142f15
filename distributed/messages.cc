// Sends and receives of a process group.
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

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
              wait);
  return InOrder(std::move(work), turn, wait);
}

namespace {

struct Patience {
  const Fabric& fabric;
  const int peer;  // of the job
  const std::atomic<bool>& aborted;
  const Clock::time_point end;
  const bool here;
  const CallHeader& own;

  std::string What() const {
    return absl::StrCat(Name(own.kind),
                        own.kind == Collective::kSend ? " to " : " from ",
                        "rank ", peer, " #", own.sequence,
                        own.Where().empty() ? "" : " ", own.Where());
  }
  [[noreturn]] void FailGone() const {
    Fail(absl::StatusCode::kUnavailable, What(), ": rank ", peer,
         fabric.presence(peer) == Presence::kLeft
             ? " has left the job"
             : " died (its connection is gone)");
  }
  void Look() const {
    Check();
    if (fabric.presence(peer) != Presence::kHere) FailGone();
  }
  void Check() const {
    if (here) LookForInterrupt();
    if (aborted.load()) {
      Fail(absl::StatusCode::kCancelled, What(), ": the group was ended");
    }
    if (Clock::now() >= end) {
      Fail(absl::StatusCode::kDeadlineExceeded, What(), ": rank ", peer,
           own.kind == Collective::kSend ? " did not receive it in time"
                                         : " sent nothing in time");
    }
  }
};

void MoveAll(int fd, char* data, size_t n, bool out, const Patience& p) {
  size_t done = 0;
  while (done < n) {
    const ssize_t k =
        out ? send(fd, data + done, n - done, MSG_NOSIGNAL | MSG_DONTWAIT)
            : recv(fd, data + done, n - done, MSG_DONTWAIT);
    if (k > 0) {
      done += k;
      continue;
    }
    if (k == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
      p.FailGone();
    }
    pollfd wait{fd, static_cast<short>(out ? POLLOUT : POLLIN), 0};
    // Data that came before the end would be there when the wait is over.
    const bool gone = p.fabric.presence(p.peer) != Presence::kHere;
    if (poll(&wait, 1, 20) == 0) {
      p.Check();
      if (gone) p.FailGone();
    }
  }
}

// Takes a message that nobody wants to its end: who sent it did nothing wrong,
// and must not find the connection closed halfway.
void ReadAway(int fd, size_t n, const Patience& p) {
  try {
    std::vector<char> piece(std::min<size_t>(n, 1 << 16));
    for (; n > 0; n -= std::min(n, piece.size())) {
      MoveAll(fd, piece.data(), std::min(n, piece.size()), false, p);
    }
  } catch (const Error&) {  // What is wrong with the message says more.
  }
}

// The connection of the pair, when both have asked for it.
int Opened(std::mutex& mu, Socket& socket, Fabric& fabric,
           const std::string& name, const Patience& p) {
  const std::lock_guard lock(mu);
  while (!socket) {
    // Who was here when the attempt began may have connected since, and left.
    const bool gone = p.fabric.presence(p.peer) != Presence::kHere;
    try {
      socket = fabric.Connect(p.peer, name, gone ? Limit(1000) : Limit(100));
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
  return socket.fd();
}

}  // namespace

void ProcessGroup::Send(Mailbox& box, const CollectiveCall& call,
                        const CallHeader& header, bool here, const Turn& turn) {
  const Patience p{*fabric_, members()[box.peer],
                   aborted_, Clock::now() + options_.limit,
                   here,     header};
  const int fd =
      Opened(box.mu, box.socket, *fabric_, absl::StrCat("messages ", id()), p);
  CallHeader own = header;
  own.bytes = call.in.bytes();
  MoveAll(fd, reinterpret_cast<char*>(&own), sizeof own, true, p);
  if (turn != nullptr) {
    device_backend_->MoveOnDevice(call, {}, {}, turn.get(), [&] { p.Look(); });
    return;
  }
  MoveAll(fd, static_cast<char*>(call.in.raw_data()), call.in.bytes(), true, p);
}

void ProcessGroup::Receive(Mailbox& box, const CollectiveCall& call,
                           const CallHeader& header, bool here,
                           const Turn& turn) {
  const Patience p{*fabric_, members()[box.peer],
                   aborted_, Clock::now() + options_.limit,
                   here,     header};
  const int fd =
      Opened(box.mu, box.socket, *fabric_, absl::StrCat("messages ", id()), p);
  CallHeader theirs;
  MoveAll(fd, reinterpret_cast<char*>(&theirs), sizeof theirs, false, p);
  if (theirs.magic != CallHeader::kMagic ||
      theirs.sequence != header.sequence || theirs.dtype != header.dtype ||
      theirs.bytes != call.out.bytes() ||
      theirs.on_device != header.on_device ||
      theirs.answered != header.answered || !theirs.SameShape(header)) {
    if (theirs.magic == CallHeader::kMagic && theirs.on_device == 0) {
      ReadAway(fd, theirs.bytes, p);
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
  MoveAll(fd, static_cast<char*>(call.out.raw_data()), call.out.bytes(), false,
          p);
}

}  // namespace proa::inline v0::distributed
