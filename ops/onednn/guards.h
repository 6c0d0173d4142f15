// Guards around the buffers that oneDNN is handed: a way to find code of its
// that reads or writes where it should not, which sanitizers cannot see in code
// that is made at run time.
//
// While they are on, every argument and all scratch memory of a primitive lie
// in pages of their own: behind them a page that may not be touched, before
// them, and in the few bytes up to that page, a pattern that is looked at
// afterwards. What is not set yet is NaN. Slow; for tests and for hunting.
#ifndef PROA_OPS_ONEDNN_GUARDS_H_
#define PROA_OPS_ONEDNN_GUARDS_H_

#include <atomic>
#include <cstdint>

namespace proa::inline v0::onednn {

namespace guards_internal {
extern std::atomic<bool> on;
}  // namespace guards_internal

void SetGuards(bool on);
inline bool GuardsAreOn() {
  return guards_internal::on.load(std::memory_order_relaxed);
}

// `bytes` of memory, all bits set (a NaN in every floating type), at the end of
// whole pages. Throws Error kResourceExhausted.
class GuardedBuffer {
 public:
  explicit GuardedBuffer(int64_t bytes);
  GuardedBuffer(GuardedBuffer&& o) noexcept;
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;
  ~GuardedBuffer();

  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  // Throws Error kInternal, which names `user` and `what`, if the pattern is
  // not what it was.
  void Check(const char* user, const char* what) const;

 private:
  char* pages_ = nullptr;
  int64_t page_bytes_ = 0;
  char* data_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace proa::inline v0::onednn

#endif  // PROA_OPS_ONEDNN_GUARDS_H_
