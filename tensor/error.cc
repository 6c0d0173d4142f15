#include "tensor/error.h"

#include <execinfo.h>

#include <array>
#include <atomic>
#include <string>

#include "absl/debugging/symbolize.h"

namespace proa::inline v0 {
namespace {

constinit std::atomic<bool> with_frames{false};

}  // namespace

// Addresses only: names are looked up by who asks.
struct Error::Frames {
  static constexpr int kMax = 64;
  std::array<void*, kMax> addresses;
  int size = 0;
};

void SetErrorFrames(bool on) {
  with_frames.store(on, std::memory_order_relaxed);
}

Error::Error(absl::StatusCode code, const std::string& message)
    : std::runtime_error(message), code_(code) {
  if (!with_frames.load(std::memory_order_relaxed)) return;
  auto frames = std::make_shared<Frames>();
  frames->size = backtrace(frames->addresses.data(), Frames::kMax);
  frames_ = std::move(frames);
}

Error::Error(const Error& error, const std::string& message)
    : std::runtime_error(message), code_(error.code_), frames_(error.frames_) {}

std::string Error::frames() const {
  std::string text;
  if (frames_ == nullptr) return text;
  for (int i = 0; i < frames_->size; ++i) {
    void* const address = frames_->addresses[i];
    char name[1024];
    // A return address may lie behind the end of a function that does not
    // return, as one that throws.
    const bool known =
        absl::Symbolize(static_cast<char*>(address) - 1, name, sizeof name);
    absl::StrAppend(&text, "  #", i, " ", known ? name : "(unknown)", "\n");
  }
  if (!text.empty()) text.pop_back();
  return text;
}

void Error::ThrowWith(const std::string& note) const {
  ThrowAgain(absl::StrCat(what(), "\n", note));
  __builtin_unreachable();  // GCC forgets it in virtual calls
}

void Error::ThrowAfter(const std::string& prefix) const {
  ThrowAgain(absl::StrCat(prefix, what()));
  __builtin_unreachable();
}

void Error::ThrowAgain(const std::string& message) const {
  throw Error(*this, message);
}

void TypeError::ThrowAgain(const std::string& message) const {
  throw TypeError(*this, message);
}

void ThrowError(absl::StatusCode code, const std::string& message) {
  throw Error(code, message);
}

void ThrowTypeError(const std::string& message) { throw TypeError(message); }

void ThrowIfError(const absl::Status& status) {
  if (status.ok()) return;
  const absl::string_view message = status.message();
  throw Error(status.code(), std::string(message.data(), message.size()));
}

}  // namespace proa::inline v0
