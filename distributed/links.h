// Links: a byte stream to and from each other rank of a group, as rings.
//
// Two kinds: rings in memory that the ranks have in common, and rings beside
// sockets. Who moves data never blocks: it writes what there is space for,
// reads what has come, and calls Wait when nothing could be done. Positions are
// multiples of 16 bytes, so that an element never lies on both sides of a
// ring's end.
#ifndef PROA_DISTRIBUTED_LINKS_H_
#define PROA_DISTRIBUTED_LINKS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "distributed/fabric.h"

namespace proa::inline v0::distributed {

inline constexpr size_t kAlign = 16;
constexpr size_t Padded(size_t n) { return (n + kAlign - 1) / kAlign * kAlign; }

struct Piece {
  const char* data = nullptr;
  size_t size = 0;
};

class Links {
 public:
  virtual ~Links() = default;

  int size() const { return static_cast<int>(out_.size()); }
  int me() const { return me_; }
  // Bytes of one ring, a multiple of 16.
  size_t capacity() const { return capacity_; }

  size_t Space(int peer) const { return capacity_ - Used(out_[peer]); }
  // `n` bytes of data and what is missing to a multiple of 16; there is space.
  void Write(int peer, const void* data, size_t n);
  size_t Available(int peer) const { return Used(in_[peer]); }
  // The next `n` bytes, which have come, in one piece or two.
  void Look(int peer, size_t n, Piece pieces[2]) const;
  // They are done with, up to a multiple of 16.
  void Drop(int peer, size_t n);

  // Wait(ticket) returns soon if anything changed since Ticket(), and after
  // some milliseconds anyway.
  virtual uint32_t Ticket() = 0;
  virtual void Wait(uint32_t ticket) = 0;
  // What was written is on its way without us.
  virtual bool IsDrained() = 0;
  // "shared memory" or "sockets".
  virtual const char* kind() const = 0;
  // The stream from this rank has ended, and all of it is read.
  virtual bool HasEnded(int peer) const = 0;

 protected:
  struct Ring {
    std::atomic<uint64_t>* head = nullptr;  // read up to here
    std::atomic<uint64_t>* tail = nullptr;  // written up to here
    char* data = nullptr;
  };

  Links(int me, int size, size_t capacity)
      : out_(size), in_(size), me_(me), capacity_(capacity) {}

  virtual void Changed(int peer) = 0;
  static size_t Used(const Ring& r) {
    return r.tail->load(std::memory_order_acquire) -
           r.head->load(std::memory_order_acquire);
  }

  std::vector<Ring> out_;
  std::vector<Ring> in_;

 private:
  const int me_;
  const size_t capacity_;
};

// The next `n` bytes from a peer, which have come.
void CopyOut(Links& links, int peer, void* to, size_t n);
// Bytes that are moved at once: a quarter of a ring, so that both ends work at
// a time.
inline size_t PieceOf(const Links& links) {
  return links.capacity() / 4 / kAlign * kAlign;
}
// How much of `left` bytes fits into `space` and keeps positions aligned.
constexpr size_t Fitting(size_t left, size_t space) {
  return Padded(left) <= space ? left : space / kAlign * kAlign;
}

// Of the ranks `members` of the job, of which this one is number `me`; by
// common memory if they have some and `shared` allows it.
std::unique_ptr<Links> NewLinks(Fabric& fabric, const std::string& name,
                                std::span<const int> members, int me,
                                bool shared, Limit limit);

// One direction between two ranks, of which this one is number `me`: in
// `PairBytes()` of zeroed memory, or beside a connection that is used for
// nothing else.
size_t PairBytes();
std::unique_ptr<Links> NewPair(CommonMemory memory, int me);
std::unique_ptr<Links> NewPair(Socket connection, int me);

}  // namespace proa::inline v0::distributed

#endif  // PROA_DISTRIBUTED_LINKS_H_
