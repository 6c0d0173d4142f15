// Storages whose memory is pages of a file, mapped and private to this process:
// parameters that a predictor reads where they lie. What nobody has changed may
// be forgotten, and comes back from the file when it is read again; so a weight
// that was packed for a kernel takes no memory twice. Thread-safe.
#ifndef PROA_TENSOR_FILE_MEMORY_H_
#define PROA_TENSOR_FILE_MEMORY_H_

#include <cstdint>
#include <memory>

#include "tensor/intrusive_ptr.h"
#include "tensor/storage.h"

namespace proa::inline v0 {

// A storage over bytes of a mapping (mmap, MAP_PRIVATE) that `mapping` keeps.
// Its pages are forgotten when it goes.
IntrusivePtr<Storage> FileStorage(void* data, int64_t bytes,
                                  std::shared_ptr<void> mapping);

bool IsFileMemory(const Storage& storage);

// Forgets the pages that lie in the storage as a whole, unless its elements
// have been changed.
void ForgetFilePages(const Storage& storage);

// The same of any bytes of such a mapping that nobody has written; and of
// memory of one's own that nobody reads again, whose bytes are lost.
void ForgetFilePages(const void* data, int64_t bytes);

}  // namespace proa::inline v0

#endif  // PROA_TENSOR_FILE_MEMORY_H_
