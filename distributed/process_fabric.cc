#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "distributed/fabric.h"
#include "tensor/error.h"

namespace proa::inline v0::distributed {
namespace {

constexpr char kLifeline[] = "life";
// How long a connection may take from the peer to who asks for it.
constexpr Limit kOnItsWay(500);

class ProcessFabric final : public Fabric {
 public:
  ProcessFabric(std::shared_ptr<Store> store, int rank, int size, Limit limit)
      : Fabric(std::move(store), rank, size),
        listener_(Listen(0)),
        stop_(eventfd(0, EFD_CLOEXEC)),
        presence_(size),
        lifelines_(size),
        addresses_(size) {
    accept_ = std::thread([this] { AcceptLoop(); });
    try {
      Meet(limit);
    } catch (...) {
      Stop();
      throw;
    }
    monitor_ = std::thread([this] { MonitorLoop(); });
  }

  ~ProcessFabric() override { Stop(); }

  Socket Connect(int peer, const std::string& name, Limit limit) override {
    if (rank() > peer) {
      const std::string& address = addresses_[peer];
      const size_t colon = address.rfind(':');
      Socket s =
          distributed::Connect(address.substr(0, colon),
                               std::atoi(address.c_str() + colon + 1), limit);
      Greet(s, absl::StrCat(rank(), " ", name), limit,
            absl::StrCat("rank ", peer).c_str());
      return s;
    }
    const std::string key = absl::StrCat(peer, " ", name);
    const auto end = Clock::now() + limit;
    std::optional<Clock::time_point> gone;
    std::unique_lock lock(mu_);
    while (true) {
      const auto at = parked_.find(key);
      if (at != parked_.end()) {
        Socket s = std::move(at->second);
        parked_.erase(at);
        return s;
      }
      if (Clock::now() >= end) {
        Fail(absl::StatusCode::kDeadlineExceeded, "distributed: rank ", peer,
             " did not connect in time");
      }
      came_.wait_for(lock, std::chrono::milliseconds(20));
      lock.unlock();
      const std::string lost = FirstLost();
      // Who left in order may have connected before, and the connection be on
      // its way through the loop that accepts it.
      const bool left = presence(peer) != Presence::kHere;
      if (left && !gone) gone = Clock::now();
      if (!lost.empty() || (left && Clock::now() - *gone > kOnItsWay)) {
        Fail(absl::StatusCode::kUnavailable, "distributed: rank ",
             lost.empty() ? std::to_string(peer) : lost, " is gone while rank ",
             rank(), " waits to be connected");
      }
      LookForInterrupt();
      lock.lock();
    }
  }

  CommonMemory Share(const std::string& name, std::span<const int> members,
                     size_t bytes, Limit limit) override;
  Offer OfferMemory(size_t bytes) override;
  CommonMemory TakeMemory(const std::string& where, size_t bytes) override;

  Presence presence(int peer) const override {
    return presence_[peer].load(std::memory_order_acquire);
  }

  void SayGoodbye() override {
    for (int i = 0; i < size(); ++i) {
      if (lifelines_[i] &&
          send(lifelines_[i].fd(), "b", 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
        continue;  // It is gone itself.
      }
    }
  }

 private:
  // What the store holds under the key, unless a rank dies meanwhile.
  std::string Await(const std::string& key, Limit limit, const char* what) {
    const auto end = Clock::now() + limit;
    while (true) {
      const auto left = std::chrono::duration_cast<Limit>(end - Clock::now());
      try {
        return store().Get(key, std::clamp(left, Limit(1), Limit(100)));
      } catch (const Error& e) {
        if (e.code() != absl::StatusCode::kDeadlineExceeded ||
            left <= Limit(100)) {
          throw;
        }
      }
      const std::string lost = FirstLost();
      if (!lost.empty()) {
        Fail(absl::StatusCode::kUnavailable, what, ": rank ", lost,
             " died while rank ", rank(), " waited for all");
      }
    }
  }

  std::string FirstLost() {
    for (int i = 0; i < size(); ++i) {
      if (presence(i) == Presence::kLost) return std::to_string(i);
    }
    // Before there are lifelines: what the store saw (tcp_store.cc).
    if (met_.load()) return "";
    try {
      return store().Get(kLostRanks, Limit(0));
    } catch (const Error& e) {
      if (e.code() != absl::StatusCode::kDeadlineExceeded) throw;
      return "";
    }
  }

  // A lifeline to each rank: the higher one connects.
  void Meet(Limit limit) {
    const auto end = Clock::now() + limit;
    const auto left = [&] {
      return std::max(Limit(1),
                      std::chrono::duration_cast<Limit>(end - Clock::now()));
    };
    const char* own = std::getenv("PROA_HOST_IP");
    std::string host = own != nullptr ? own : store().LocalAddress();
    if (host.empty()) host = "127.0.0.1";
    store().Set(absl::StrCat("rank/", rank()),
                absl::StrCat(host, ":", PortOf(listener_)));
    for (int i = 0; i < size(); ++i) {
      if (i == rank()) continue;
      try {
        addresses_[i] =
            Await(absl::StrCat("rank/", i), left(), "init_parallel_env");
      } catch (const Error& e) {
        if (e.code() != absl::StatusCode::kDeadlineExceeded) throw;
        Fail(e.code(), "init_parallel_env: rank ", i, " of ", size(),
             " did not come within ", limit.count() / 1000.0, " s; rank ",
             rank(), " waited for it");
      }
    }
    for (int i = 0; i < size(); ++i) {
      if (i != rank()) lifelines_[i] = Connect(i, kLifeline, left());
    }
    met_.store(true);
  }

  void AcceptLoop() {
    NeverLookForInterrupt();
    while (true) {
      pollfd polls[] = {{stop_.fd(), POLLIN, 0}, {listener_.fd(), POLLIN, 0}};
      if (poll(polls, 2, -1) < 0 && errno != EINTR) return;
      if (polls[0].revents != 0) return;
      if (polls[1].revents == 0) continue;
      Socket s(accept4(listener_.fd(), nullptr, nullptr,
                       SOCK_CLOEXEC | SOCK_NONBLOCK));
      std::string subject;
      if (!s || !AcceptGreeting(s, &subject, Limit(500))) continue;
      const std::lock_guard lock(mu_);
      parked_[subject] = std::move(s);
      came_.notify_all();
    }
  }

  // What a lifeline says: 'b' is goodbye; its end without it, a death.
  void MonitorLoop() {
    NeverLookForInterrupt();
    while (true) {
      std::vector<pollfd> polls = {{stop_.fd(), POLLIN, 0}};
      std::vector<int> ranks = {-1};
      for (int i = 0; i < size(); ++i) {
        if (lifelines_[i] && presence(i) == Presence::kHere) {
          polls.push_back({lifelines_[i].fd(), POLLIN, 0});
          ranks.push_back(i);
        }
      }
      if (poll(polls.data(), polls.size(), -1) < 0 && errno != EINTR) return;
      if (polls[0].revents != 0) return;
      for (size_t k = 1; k < polls.size(); ++k) {
        if (polls[k].revents == 0) continue;
        char c = 0;
        const ssize_t n = recv(polls[k].fd, &c, 1, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
        presence_[ranks[k]].store(n == 1 ? Presence::kLeft : Presence::kLost,
                                  std::memory_order_release);
      }
    }
  }

  void Stop() {
    const uint64_t one = 1;
    if (write(stop_.fd(), &one, sizeof one) < 0) return;
    if (accept_.joinable()) accept_.join();
    if (monitor_.joinable()) monitor_.join();
  }

  Socket listener_;
  Socket stop_;
  std::atomic<bool> met_{false};
  std::vector<std::atomic<Presence>> presence_;
  std::vector<Socket> lifelines_;
  std::vector<std::string> addresses_;
  std::mutex mu_;
  std::condition_variable came_;
  std::map<std::string, Socket> parked_;
  std::thread accept_;
  std::thread monitor_;
};

CommonMemory Map(int fd, size_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) return {};
  return {static_cast<char*>(at), bytes,
          std::shared_ptr<void>(at, [bytes](void* p) { munmap(p, bytes); })};
}

constexpr size_t kNonce = 16;

// Memory without a name in a file system: of who offers it, reached by the
// others through /proc while it waits for them. Nothing is left behind however
// they end. Behind it stands a random number, so that a process of another
// namespace is not mistaken for it.
Offer ProcessFabric::OfferMemory(size_t bytes) {
  const size_t all = bytes + kNonce;
  Offer offer;
  offer.file = Socket(memfd_create("proa", MFD_CLOEXEC));
  std::string nonce(kNonce, '\0');
  if (offer.file && ftruncate(offer.file.fd(), static_cast<off_t>(all)) == 0 &&
      getrandom(nonce.data(), kNonce, 0) == static_cast<ssize_t>(kNonce)) {
    offer.memory = Map(offer.file.fd(), all);
  }
  if (offer.memory.data == nullptr) return {};
  std::memcpy(offer.memory.data + bytes, nonce.data(), kNonce);
  offer.where =
      absl::StrCat("/proc/", getpid(), "/fd/", offer.file.fd(), "\n", nonce);
  return offer;
}

CommonMemory ProcessFabric::TakeMemory(const std::string& where, size_t bytes) {
  const size_t all = bytes + kNonce;
  const size_t end = where.find('\n');
  if (end == std::string::npos || where.size() != end + 1 + kNonce) return {};
  Socket file(open(where.substr(0, end).c_str(), O_RDWR | O_CLOEXEC));
  if (!file) return {};
  CommonMemory memory = Map(file.fd(), all);
  // A file that is shorter than this would fault.
  if (memory.data != nullptr &&
      (lseek(file.fd(), 0, SEEK_END) != static_cast<off_t>(all) ||
       std::memcmp(memory.data + bytes, where.data() + end + 1, kNonce) != 0)) {
    return {};
  }
  return memory;
}

CommonMemory ProcessFabric::Share(const std::string& name,
                                  std::span<const int> members, size_t bytes,
                                  Limit limit) {
  const auto key = [&](const std::string& what) {
    return absl::StrCat("memory/", name, "/", what);
  };
  if (rank() == members[0]) {
    const Offer offer = OfferMemory(bytes);
    store().Set(key("where"), offer.where);
    bool shared = offer.memory.data != nullptr;
    for (size_t i = 1; i < members.size(); ++i) {
      shared &= Await(key(std::to_string(i)), limit, "new_group") == "yes";
    }
    store().Set(key("verdict"), shared ? "yes" : "no");
    return shared ? offer.memory : CommonMemory();
  }
  size_t place = 0;
  while (members[place] != rank()) ++place;
  const CommonMemory memory =
      TakeMemory(Await(key("where"), limit, "new_group"), bytes);
  store().Set(key(std::to_string(place)),
              memory.data == nullptr ? "no" : "yes");
  return Await(key("verdict"), limit, "new_group") == "yes" ? memory
                                                            : CommonMemory();
}

}  // namespace

std::unique_ptr<Fabric> NewProcessFabric(std::shared_ptr<Store> store, int rank,
                                         int size, Limit limit) {
  return std::make_unique<ProcessFabric>(std::move(store), rank, size, limit);
}

}  // namespace proa::inline v0::distributed
