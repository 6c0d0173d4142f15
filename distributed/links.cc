#include "distributed/links.h"

#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>

#include "tensor/error.h"

namespace proa::inline v0::distributed {
namespace {

constexpr size_t kLargestRing = size_t{512} << 10;
constexpr size_t kSmallestRing = size_t{64} << 10;
// A message that fits is sent without a wait (messages.cc).
constexpr size_t kPairRing = size_t{2} << 20;
constexpr size_t kAllRings = size_t{32} << 20;

struct alignas(64) Counter {
  std::atomic<uint64_t> value;
};
static_assert(sizeof(Counter) == 64);

// One for each rank: it sleeps by `bell`, which the others ring.
struct alignas(64) Bell {
  std::atomic<uint32_t> bell;
  std::atomic<uint32_t> asleep;
};

class SharedLinks final : public Links {
 public:
  static size_t CapacityFor(int n) {
    const size_t pairs = static_cast<size_t>(n) * (n - 1);
    return std::clamp(kAllRings / std::max<size_t>(pairs, 1) / 4096 * 4096,
                      kSmallestRing, kLargestRing);
  }
  static size_t BytesFor(int n, size_t capacity) {
    const size_t pairs = static_cast<size_t>(n) * n;
    return n * sizeof(Bell) + pairs * (2 * sizeof(Counter) + capacity);
  }

  SharedLinks(CommonMemory memory, int me, int n, size_t bytes)
      : Links(me, n, bytes),
        memory_(std::move(memory)),
        bells_(reinterpret_cast<Bell*>(memory_.data)) {
    auto* counters = reinterpret_cast<Counter*>(bells_ + n);
    char* data = reinterpret_cast<char*>(counters + 2 * n * n);
    const auto ring = [&](int from, int to) {
      const size_t i = static_cast<size_t>(from) * n + to;
      return Ring{&counters[2 * i].value, &counters[2 * i + 1].value,
                  data + i * capacity()};
    };
    for (int i = 0; i < n; ++i) {
      out_[i] = ring(me, i);
      in_[i] = ring(i, me);
    }
  }

  uint32_t Ticket() override {
    return bells_[me()].bell.load(std::memory_order_seq_cst);
  }

  void Wait(uint32_t ticket) override {
    Bell& own = bells_[me()];
    for (int i = 0; i < 300; ++i) {
      if (own.bell.load(std::memory_order_acquire) != ticket) return;
      __builtin_ia32_pause();
    }
    for (int i = 0; i < 1; ++i) {
      if (own.bell.load(std::memory_order_acquire) != ticket) return;
      sched_yield();
    }
    own.asleep.store(1, std::memory_order_seq_cst);
    if (own.bell.load(std::memory_order_seq_cst) == ticket) {
      const timespec limit{0, 10'000'000};
      syscall(SYS_futex, &own.bell, FUTEX_WAIT, ticket, &limit, nullptr, 0);
    }
    own.asleep.store(0, std::memory_order_seq_cst);
  }

  bool IsDrained() override { return true; }
  const char* kind() const override { return "shared memory"; }
  bool HasEnded(int) const override { return false; }

 private:
  void Changed(int peer) override {
    Bell& b = bells_[peer];
    b.bell.fetch_add(1, std::memory_order_seq_cst);
    if (b.asleep.load(std::memory_order_seq_cst) != 0) {
      syscall(SYS_futex, &b.bell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
    }
  }

  const CommonMemory memory_;
  Bell* const bells_;
};

class SocketLinks final : public Links {
 public:
  SocketLinks(std::vector<Socket> sockets, int me)
      : Links(me, static_cast<int>(sockets.size()), kLargestRing),
        sockets_(std::move(sockets)),
        ended_(sockets_.size()),
        counters_(4 * sockets_.size()) {
    for (int i = 0; i < size(); ++i) {
      if (i != me) buffers_.emplace_back(new char[2 * capacity()]);
      char* data = i == me ? nullptr : buffers_.back().get();
      out_[i] = {&counters_[4 * i], &counters_[4 * i + 1], data};
      in_[i] = {&counters_[4 * i + 2], &counters_[4 * i + 3],
                data + capacity()};
    }
  }

  uint32_t Ticket() override {
    Pump();
    return 0;
  }

  void Wait(uint32_t) override {
    std::vector<pollfd> polls;
    for (int i = 0; i < size(); ++i) {
      if (i == me() || ended_[i]) continue;
      short events = 0;
      if (Used(in_[i]) < capacity()) events |= POLLIN;
      if (Used(out_[i]) > 0) events |= POLLOUT;
      polls.push_back({sockets_[i].fd(), events, 0});
    }
    poll(polls.data(), polls.size(), 10);
    Pump();
  }

  bool IsDrained() override {
    Pump();
    for (int i = 0; i < size(); ++i) {
      if (i != me() && !ended_[i] && Used(out_[i]) > 0) return false;
    }
    return true;
  }

  const char* kind() const override { return "sockets"; }
  bool HasEnded(int peer) const override {
    return ended_[peer] && Used(in_[peer]) == 0;
  }

 private:
  void Changed(int) override {}

  void Pump() {
    for (int i = 0; i < size(); ++i) {
      if (i == me() || ended_[i]) continue;
      while (Used(out_[i]) > 0 && Step(i, out_[i], Used(out_[i]), true)) {
      }
      while (Used(in_[i]) < capacity() &&
             Step(i, in_[i], capacity() - Used(in_[i]), false)) {
      }
    }
  }

  bool Step(int peer, Ring& r, size_t n, bool out) {
    std::atomic<uint64_t>& position = out ? *r.head : *r.tail;
    const size_t at = position.load(std::memory_order_relaxed) % capacity();
    n = std::min(n, capacity() - at);
    const ssize_t k =
        out ? send(sockets_[peer].fd(), r.data + at, n,
                   MSG_NOSIGNAL | MSG_DONTWAIT)
            : recv(sockets_[peer].fd(), r.data + at, n, MSG_DONTWAIT);
    if (k > 0) {
      position.fetch_add(k, std::memory_order_release);
      return static_cast<size_t>(k) == n;
    }
    if (k < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
      return false;
    }
    ended_[peer] = true;
    return false;
  }

  std::vector<Socket> sockets_;
  std::vector<bool> ended_;
  std::vector<std::atomic<uint64_t>> counters_;
  std::vector<std::unique_ptr<char[]>> buffers_;
};

}  // namespace

void Links::Write(int peer, const void* data, size_t n) {
  const Ring& r = out_[peer];
  const uint64_t tail = r.tail->load(std::memory_order_relaxed);
  const size_t at = tail % capacity_;
  const size_t first = std::min(n, capacity_ - at);
  std::memcpy(r.data + at, data, first);
  std::memcpy(r.data, static_cast<const char*>(data) + first, n - first);
  r.tail->store(tail + Padded(n), std::memory_order_release);
  Changed(peer);
}

void Links::Look(int peer, size_t n, Piece pieces[2]) const {
  const Ring& r = in_[peer];
  const size_t at = r.head->load(std::memory_order_relaxed) % capacity_;
  const size_t first = std::min(n, capacity_ - at);
  pieces[0] = {r.data + at, first};
  pieces[1] = {r.data, n - first};
}

void Links::Drop(int peer, size_t n) {
  in_[peer].head->fetch_add(Padded(n), std::memory_order_release);
  Changed(peer);
}

void CopyOut(Links& links, int peer, void* to, size_t n) {
  Piece pieces[2];
  links.Look(peer, n, pieces);
  std::memcpy(to, pieces[0].data, pieces[0].size);
  std::memcpy(static_cast<char*>(to) + pieces[0].size, pieces[1].data,
              pieces[1].size);
  links.Drop(peer, n);
}

std::unique_ptr<Links> NewLinks(Fabric& fabric, const std::string& name,
                                std::span<const int> members, int me,
                                bool shared, Limit limit) {
  const int n = static_cast<int>(members.size());
  if (shared) {
    const size_t ring = SharedLinks::CapacityFor(n);
    CommonMemory memory =
        fabric.Share(name, members, SharedLinks::BytesFor(n, ring), limit);
    if (memory.data != nullptr) {
      return std::make_unique<SharedLinks>(std::move(memory), me, n, ring);
    }
  }
  std::vector<Socket> sockets(n);
  for (int i = 0; i < n; ++i) {
    if (i != me) sockets[i] = fabric.Connect(members[i], name, limit);
  }
  return std::make_unique<SocketLinks>(std::move(sockets), me);
}

size_t PairBytes() { return SharedLinks::BytesFor(2, kPairRing); }

std::unique_ptr<Links> NewPair(CommonMemory memory, int me) {
  return std::make_unique<SharedLinks>(std::move(memory), me, 2, kPairRing);
}

std::unique_ptr<Links> NewPair(Socket connection, int me) {
  std::vector<Socket> sockets(2);
  sockets[1 - me] = std::move(connection);
  return std::make_unique<SocketLinks>(std::move(sockets), me);
}

}  // namespace proa::inline v0::distributed
