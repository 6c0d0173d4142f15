#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "distributed/fabric.h"
#include "tensor/error.h"

namespace proa::inline v0::distributed {
namespace {

// What the ranks of one job share.
struct World {
  explicit World(int n) : presence(n), store(std::make_shared<HashStore>()) {}
  std::vector<std::atomic<Presence>> presence;
  std::shared_ptr<HashStore> store;
  std::mutex mu;
  std::map<std::string, Socket> ends;  // of which the first was taken
  std::map<std::string, std::weak_ptr<void>> memory;
  uint64_t offers = 0;
};

std::shared_ptr<void> Zeroed(size_t bytes) {
  void* at = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (at == nullptr) return nullptr;
  std::memset(at, 0, bytes);
  return {at, &std::free};
}

// A job that some of its threads have not come to yet. It is kept until all
// have: the first may leave before the last comes.
struct Gathering {
  std::shared_ptr<World> world;
  int came = 0;
};

std::shared_ptr<World> WorldOf(const std::string& job, int size) {
  static std::mutex mu;
  static auto* gatherings = new std::map<std::string, Gathering>;
  const std::lock_guard lock(mu);
  Gathering& known = (*gatherings)[job];
  if (known.world == nullptr) known.world = std::make_shared<World>(size);
  const std::shared_ptr<World> world = known.world;
  PROA_REQUIRE(world->presence.size() == static_cast<size_t>(size),
               "distributed: job '", job, "' has ", world->presence.size(),
               " threads, not ", size);
  if (++known.came == size) gatherings->erase(job);
  return world;
}

class ThreadFabric final : public Fabric {
 public:
  ThreadFabric(std::shared_ptr<World> world, int rank, int size)
      : Fabric(world->store, rank, size), world_(std::move(world)) {}

  ~ThreadFabric() override {
    Presence here = Presence::kHere;
    world_->presence[rank()].compare_exchange_strong(here, Presence::kLost);
  }

  Socket Connect(int peer, const std::string& name, Limit) override {
    const std::string key = absl::StrCat(std::min(rank(), peer), " ",
                                         std::max(rank(), peer), " ", name);
    const std::lock_guard lock(world_->mu);
    const auto at = world_->ends.find(key);
    if (at != world_->ends.end()) {
      Socket s = std::move(at->second);
      world_->ends.erase(at);
      return s;
    }
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
                   pair) != 0) {
      Fail(absl::StatusCode::kUnavailable,
           "distributed: no connection between ",
           "threads: ", std::strerror(errno));
    }
    world_->ends[key] = Socket(pair[1]);
    return Socket(pair[0]);
  }

  CommonMemory Share(const std::string& name, std::span<const int>,
                     size_t bytes, Limit) override {
    const std::lock_guard lock(world_->mu);
    std::weak_ptr<void>& known = world_->memory[name];
    CommonMemory memory = {nullptr, bytes, known.lock()};
    if (memory.owner == nullptr) {
      memory.owner = Zeroed(bytes);
      known = memory.owner;
    }
    memory.data = static_cast<char*>(memory.owner.get());
    return memory;
  }

  Offer OfferMemory(size_t bytes) override {
    std::shared_ptr<void> owner = Zeroed(bytes);
    if (owner == nullptr) return {};
    const std::lock_guard lock(world_->mu);
    std::string where = absl::StrCat("offer ", ++world_->offers);
    world_->memory[where] = owner;
    return {{static_cast<char*>(owner.get()), bytes, owner}, where, {}};
  }

  CommonMemory TakeMemory(const std::string& where, size_t bytes) override {
    const std::lock_guard lock(world_->mu);
    const auto at = world_->memory.find(where);
    if (at == world_->memory.end()) return {};
    std::shared_ptr<void> owner = at->second.lock();
    world_->memory.erase(at);
    return {static_cast<char*>(owner.get()), bytes, owner};
  }

  Presence presence(int peer) const override {
    return world_->presence[peer].load(std::memory_order_acquire);
  }

  void SayGoodbye() override {
    world_->presence[rank()].store(Presence::kLeft);
  }

 private:
  const std::shared_ptr<World> world_;
};

}  // namespace

std::unique_ptr<Fabric> NewThreadFabric(const std::string& job, int rank,
                                        int size) {
  return std::make_unique<ThreadFabric>(WorldOf(job, size), rank, size);
}

}  // namespace proa::inline v0::distributed
