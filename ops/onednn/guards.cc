#include "ops/onednn/guards.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "tensor/error.h"

namespace proa::inline v0::onednn {
namespace {

constexpr char kPattern = '\x5a';
constexpr int64_t kAlignment = 64;

int64_t PageSize() { return sysconf(_SC_PAGESIZE); }

int64_t RoundUp(int64_t n, int64_t unit) {
  return (n + unit - 1) / unit * unit;
}

// The first byte of [begin, end) that is not the pattern, or `end`.
const char* FirstChanged(const char* begin, const char* end) {
  while (begin < end && *begin == kPattern) ++begin;
  return begin;
}

}  // namespace

namespace guards_internal {
constinit std::atomic<bool> on{false};
}  // namespace guards_internal

void SetGuards(bool on) {
  guards_internal::on.store(on, std::memory_order_relaxed);
}

GuardedBuffer::GuardedBuffer(int64_t bytes) : bytes_(bytes) {
  // A page or more of pattern, the data, and a page that is out of bounds.
  const int64_t room = RoundUp(bytes, kAlignment);
  const int64_t usable = RoundUp(room, PageSize()) + PageSize();
  page_bytes_ = usable + PageSize();
  void* pages =
      mmap(nullptr, static_cast<size_t>(page_bytes_), PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED)
    Fail(absl::StatusCode::kResourceExhausted,
         "oneDNN: no memory for a guarded buffer of ", bytes, " bytes");
  pages_ = static_cast<char*>(pages);
  mprotect(pages_ + usable, static_cast<size_t>(PageSize()), PROT_NONE);
  std::memset(pages_, kPattern, static_cast<size_t>(usable));
  data_ = pages_ + usable - room;
  std::memset(data_, 0xff, static_cast<size_t>(bytes));
}

GuardedBuffer::GuardedBuffer(GuardedBuffer&& o) noexcept
    : pages_(o.pages_),
      page_bytes_(o.page_bytes_),
      data_(o.data_),
      bytes_(o.bytes_) {
  o.pages_ = nullptr;
}

GuardedBuffer::~GuardedBuffer() {
  if (pages_ != nullptr) munmap(pages_, static_cast<size_t>(page_bytes_));
}

void GuardedBuffer::Check(const char* user, const char* what) const {
  if (const char* at = FirstChanged(pages_, data_); at < data_)
    Fail(absl::StatusCode::kInternal, "oneDNN: ", user, " wrote ", data_ - at,
         " bytes before ", what, ", which has ", bytes_);
  const char* const end = pages_ + page_bytes_ - PageSize();
  if (const char* at = FirstChanged(data_ + bytes_, end); at < end)
    Fail(absl::StatusCode::kInternal, "oneDNN: ", user, " wrote ",
         at - data_ - bytes_ + 1, " bytes or more behind ", what,
         ", which has ", bytes_);
}

}  // namespace proa::inline v0::onednn
