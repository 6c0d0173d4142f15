// BlockPool: blocks of one size that a thread keeps for itself when they are
// given back, so that taking the next costs a few instructions and no lock. For
// the small objects made in every op call (tensors, small storages, grad
// nodes).
//
// A thread keeps at most `kKeep` blocks; the rest, and all of them when the
// thread ends, go back to operator delete. A block may be given back on another
// thread. Under the address sanitizer nothing is kept, so that it sees each use
// after free; nor if the environment says so (tensor/system_memory.h).
#ifndef PROA_TENSOR_BLOCK_POOL_H_
#define PROA_TENSOR_BLOCK_POOL_H_

#include <cstddef>
#include <cstdint>
#include <new>

#include "tensor/system_memory.h"

#if defined(__SANITIZE_ADDRESS__)
#define PROA_POOLS_KEEP_BLOCKS 0
#else
#define PROA_POOLS_KEEP_BLOCKS 1
#endif

namespace proa::inline v0 {

template <size_t kBytes, size_t kAlign, int kKeep, typename Tag>
class BlockPool {
 public:
  static void* Take() {
#if PROA_POOLS_KEEP_BLOCKS
    List& list = list_;
    if (Node* node = list.head) [[likely]] {
      list.head = node->next;
      ++list.room;
      return node;
    }
#endif
    return NewBlock(kBytes, kAlign);
  }

  static void Give(void* block) {
#if PROA_POOLS_KEEP_BLOCKS
    List& list = list_;
    if (list.room > 0) [[likely]] {
      --list.room;
      list.head = new (block) Node{list.head};
      return;
    }
#endif
    GiveSlow(block);
  }

 private:
  struct Node {
    Node* next;
  };
  // Trivial to destroy, so that reading it needs no guard; `Reaper` cleans up.
  struct List {
    Node* head;
    int32_t room;  // blocks that may still be kept
    enum : uint8_t { kNew, kOpen, kClosed } state;
  };
  struct Reaper {
    ~Reaper() {
      List& list = list_;
      while (Node* node = list.head) {
        list.head = node->next;
        DeleteBlock(node, kAlign);
      }
      list.room = 0;
      list.state = List::kClosed;  // what comes later is deleted at once
    }
    void Touch() {}
  };

  static __attribute__((noinline)) void GiveSlow(void* block) {
#if PROA_POOLS_KEEP_BLOCKS
    if (list_.state == List::kNew) {
      static thread_local Reaper reaper;
      reaper.Touch();
      list_.state = List::kOpen;
      if (KeepBlocks()) {
        list_.room = kKeep;
        return Give(block);
      }
    }
#endif
    DeleteBlock(block, kAlign);
  }

  static_assert(kBytes >= sizeof(Node));
  static inline constinit thread_local List list_
      __attribute__((tls_model("initial-exec"))) = {nullptr, 0, List::kNew};
};

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_BLOCK_POOL_H_
