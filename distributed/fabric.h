// Fabric: what one rank has in common with the others of a job. Connections
// between pairs, memory that all see, and who is gone.
//
// A rank that is killed is noticed by the others at once: each pair keeps a
// connection that ends with the process (threads: a flag). One that leaves in
// order says so, and is gone only for who still waits for it.
#ifndef PROA_DISTRIBUTED_FABRIC_H_
#define PROA_DISTRIBUTED_FABRIC_H_

#include <memory>
#include <span>
#include <string>

#include "distributed/socket.h"
#include "distributed/store.h"

namespace proa::inline v0::distributed {

// Zeroed memory that several ranks see; given back when nobody has it.
struct CommonMemory {
  char* data = nullptr;
  size_t bytes = 0;
  std::shared_ptr<void> owner;
};

// Memory that one rank has made for another, which finds it by `where`, some
// tens of bytes. The offer is kept until the other has taken it.
struct Offer {
  CommonMemory memory;
  std::string where;
  Socket file;
};

enum class Presence : uint8_t { kHere, kLeft, kLost };

class Fabric {
 public:
  Fabric(std::shared_ptr<Store> store, int rank, int size)
      : store_(std::move(store)), rank_(rank), size_(size) {}
  virtual ~Fabric() = default;

  int rank() const { return rank_; }
  int size() const { return size_; }
  Store& store() const { return *store_; }

  // The connection of this pair under this name, which both ask for once.
  virtual Socket Connect(int peer, const std::string& name, Limit limit) = 0;
  // Asked for by all `members`, ranks of the job, in ascending order. No data
  // if they have no memory in common.
  virtual CommonMemory Share(const std::string& name,
                             std::span<const int> members, size_t bytes,
                             Limit limit) = 0;
  // The same for a pair that has a connection to say `where` by. No data if
  // there is none, or it is not reached.
  virtual Offer OfferMemory(size_t bytes) = 0;
  virtual CommonMemory TakeMemory(const std::string& where, size_t bytes) = 0;
  virtual Presence presence(int peer) const = 0;
  // This rank leaves in order. Called before the end by who has no error.
  virtual void SayGoodbye() = 0;

 private:
  const std::shared_ptr<Store> store_;
  const int rank_;
  const int size_;
};

// Ranks are processes. Returns when all are connected; throws Error if one does
// not come within the limit.
std::unique_ptr<Fabric> NewProcessFabric(std::shared_ptr<Store> store, int rank,
                                         int size, Limit limit);
// Ranks are threads of this process, which name their job alike.
std::unique_ptr<Fabric> NewThreadFabric(const std::string& job, int rank,
                                        int size);

}  // namespace proa::inline v0::distributed

#endif  // PROA_DISTRIBUTED_FABRIC_H_
