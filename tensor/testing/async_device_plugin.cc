// A device plugin for tests that behaves as a real accelerator does:
//
// - Its memory has addresses of its own. They lie in a range without access
// rights,
//   so that a host that reads them crashes; the bytes are elsewhere.
// - Work is done later, by a thread for each stream, with small delays; host
// memory
//   is read and written at that time, not when the call is made.
// - Streams run independently of each other; only events order them.
// - Freed memory is overwritten, and so are new blocks.
//
// The kind is "async"; with PROA_PLAIN_PLUGIN defined it is "plain" and lacks
// the optional functions. It includes nothing of Proa but the C interface.
#include <sys/mman.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tensor/device_plugin_abi.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kDevices = 2;
constexpr size_t kMemory = size_t{1}
                           << 30;  // a device; pages are taken when used
constexpr size_t kAlignment = 256;

thread_local std::string last_error;

int32_t Failed(const std::string& why) {
  last_error = why;
  return PROA_DEVICE_ERROR;
}

class Stream {
 public:
  Stream() : worker_([this] { Work(); }) {}
  ~Stream() {
    Push(nullptr);
    worker_.join();
  }
  void Push(std::function<void()> task) {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    ++pushed_;
    changed_.notify_all();
  }
  void Synchronize() {
    std::unique_lock lock(mutex_);
    const int64_t until = pushed_;
    changed_.wait(lock, [&] { return done_ >= until; });
  }

 private:
  void Work() {
    for (uint32_t random = 1;; random = random * 1664525 + 1013904223) {
      std::function<void()> task;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return !tasks_.empty(); });
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
      if (task == nullptr) return;
      // Late enough that a host that does not wait sees old bytes.
      std::this_thread::sleep_for(
          std::chrono::microseconds(100 + random % 400));
      task();
      std::lock_guard lock(mutex_);
      ++done_;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  int64_t pushed_ = 0, done_ = 0;
  std::thread worker_;
};

struct Event {
  std::mutex mutex;
  std::condition_variable changed;
  int64_t recorded = 0, done = 0;  // how often
  Clock::time_point time;

  void Wait(int64_t until) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return done >= until; });
  }
};

class Device {
 public:
  Device() {
    address_ = Map(PROT_NONE);
    bytes_ = Map(PROT_READ | PROT_WRITE);
    free_[0] = kMemory;
  }

  void* Allocate(size_t size) {
    size = (size + kAlignment - 1) / kAlignment * kAlignment;
    std::lock_guard lock(mutex_);
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      if (it->second < size) continue;
      const size_t at = it->first, rest = it->second - size;
      free_.erase(it);
      if (rest > 0) free_[at + size] = rest;
      used_[at] = size;
      std::memset(bytes_ + at, 0xcd, size < 65536 ? size : 65536);
      return address_ + at;
    }
    return nullptr;
  }

  bool Free(void* p) {
    std::lock_guard lock(mutex_);
    const auto it = used_.find(static_cast<char*>(p) - address_);
    if (it == used_.end()) return false;
    auto [at, size] = *it;
    std::memset(bytes_ + at, 0xdd, size < 65536 ? size : 65536);
    used_.erase(it);
    auto next = free_.lower_bound(at);
    if (next != free_.end() && next->first == at + size) {
      size += next->second;
      next = free_.erase(next);
    }
    if (next != free_.begin() &&
        std::prev(next)->first + std::prev(next)->second == at) {
      std::prev(next)->second += size;
    } else {
      free_[at] = size;
    }
    return true;
  }

  // Where the bytes of a device address are.
  char* Bytes(const void* p) const {
    return bytes_ + (static_cast<const char*>(p) - address_);
  }
  bool Owns(const void* p, size_t size) const {
    const uintptr_t at =
        reinterpret_cast<uintptr_t>(p) - reinterpret_cast<uintptr_t>(address_);
    return at <= kMemory && size <= kMemory - at;
  }

  Stream& StreamOf(ProaDeviceStream s) {
    return s != nullptr ? *reinterpret_cast<Stream*>(s) : default_;
  }
  ProaDeviceStream NewStream() {
    auto* s = new Stream;
    std::lock_guard lock(mutex_);
    streams_.push_back(s);
    return reinterpret_cast<ProaDeviceStream>(s);
  }
  void DeleteStream(ProaDeviceStream s) {
    {
      std::lock_guard lock(mutex_);
      std::erase(streams_, reinterpret_cast<Stream*>(s));
    }
    delete reinterpret_cast<Stream*>(s);
  }
  void Synchronize() {
    std::lock_guard lock(mutex_);
    default_.Synchronize();
    for (Stream* s : streams_) s->Synchronize();
  }

 private:
  static char* Map(int protection) {
    void* p = mmap(nullptr, kMemory, protection,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) std::abort();
    return static_cast<char*>(p);
  }

  char* address_;
  char* bytes_;
  std::mutex mutex_;
  std::map<size_t, size_t> free_, used_;  // offset, size
  std::vector<Stream*> streams_;
  Stream default_;
};

// Never destroyed: threads of the host may use it until the end.
Device& At(int32_t device) {
  static auto* devices = new Device[kDevices];
  return devices[device];
}
// A handle is one reference; work that still has to pass the event holds
// others.
using EventPointer = std::shared_ptr<Event>;
EventPointer& Cast(ProaDeviceEvent e) {
  return *reinterpret_cast<EventPointer*>(e);
}

int32_t CopyBytes(const char* call, bool ok, Stream& stream, void* dst,
                  const void* src, size_t bytes) {
  if (!ok) return Failed(std::string(call) + ": address outside of the device");
  stream.Push([=] { std::memcpy(dst, src, bytes); });
  return PROA_DEVICE_OK;
}

int32_t CopyToDevice(int32_t device, void* dst, const void* src, size_t bytes,
                     ProaDeviceStream s) {
  Device& d = At(device);
  return CopyBytes("copy_to_device", d.Owns(dst, bytes), d.StreamOf(s),
                   d.Bytes(dst), src, bytes);
}

int32_t CopyToHost(int32_t device, void* dst, const void* src, size_t bytes,
                   ProaDeviceStream s) {
  Device& d = At(device);
  return CopyBytes("copy_to_host", d.Owns(src, bytes), d.StreamOf(s), dst,
                   d.Bytes(src), bytes);
}

int32_t CopyOnDevice(int32_t device, void* dst, const void* src, size_t bytes,
                     ProaDeviceStream s) {
  Device& d = At(device);
  return CopyBytes("copy_on_device", d.Owns(dst, bytes) && d.Owns(src, bytes),
                   d.StreamOf(s), d.Bytes(dst), d.Bytes(src), bytes);
}

int32_t Fill(int32_t device, void* dst, uint8_t value, size_t bytes,
             ProaDeviceStream s) {
  Device& d = At(device);
  if (!d.Owns(dst, bytes)) return Failed("fill: address outside of the device");
  char* p = d.Bytes(dst);
  d.StreamOf(s).Push([=] { std::memset(p, value, bytes); });
  return PROA_DEVICE_OK;
}

#ifndef PROA_PLAIN_PLUGIN
void StridedLoop(char* dst, const int64_t* dst_strides, const char* src,
                 const int64_t* src_strides, const int64_t* sizes, int rank,
                 int64_t item_size) {
  if (rank == 0) {
    std::memcpy(dst, src, item_size);
    return;
  }
  for (int64_t i = 0; i < sizes[0]; ++i) {
    StridedLoop(dst + i * dst_strides[0], dst_strides + 1,
                src + i * src_strides[0], src_strides + 1, sizes + 1, rank - 1,
                item_size);
  }
}

int32_t CopyStrided(int32_t device, void* dst, const int64_t* dst_strides,
                    const void* src, const int64_t* src_strides,
                    const int64_t* sizes, int32_t rank, int64_t item_size,
                    ProaDeviceStream s) {
  Device& d = At(device);
  using Vector = std::vector<int64_t>;  // the caller's arrays do not last
  d.StreamOf(s).Push([to = d.Bytes(dst), from = d.Bytes(src),
                      ds = Vector(dst_strides, dst_strides + rank),
                      ss = Vector(src_strides, src_strides + rank),
                      n = Vector(sizes, sizes + rank), rank, item_size] {
    StridedLoop(to, ds.data(), from, ss.data(), n.data(), rank, item_size);
  });
  return PROA_DEVICE_OK;
}
#endif

int32_t Record(int32_t device, ProaDeviceEvent event, ProaDeviceStream s) {
  const EventPointer e = Cast(event);
  std::lock_guard lock(e->mutex);
  ++e->recorded;
  At(device).StreamOf(s).Push([e] {
    std::lock_guard lock(e->mutex);
    ++e->done;
    e->time = Clock::now();
    e->changed.notify_all();
  });
  return PROA_DEVICE_OK;
}

int64_t RecordedCount(Event& e) {
  std::lock_guard lock(e.mutex);
  return e.recorded;
}

int32_t StreamWait(int32_t device, ProaDeviceStream s, ProaDeviceEvent event) {
  const EventPointer e = Cast(event);
  At(device).StreamOf(s).Push([e, n = RecordedCount(*e)] { e->Wait(n); });
  return PROA_DEVICE_OK;
}

int32_t Elapsed(int32_t, ProaDeviceEvent start, ProaDeviceEvent end,
                double* ms) {
  for (const EventPointer& e : {Cast(start), Cast(end)}) {
    std::lock_guard lock(e->mutex);
    if (e->recorded == 0 || e->done < e->recorded) {
      return Failed("elapsed_ms: an event is not done");
    }
  }
  *ms = std::chrono::duration<double, std::milli>(Cast(end)->time -
                                                  Cast(start)->time)
            .count();
  return PROA_DEVICE_OK;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int32_t ProaDevicePluginEntry(
    ProaDevicePlugin* p) {
  if (p->abi_major != PROA_DEVICE_PLUGIN_ABI_MAJOR ||
      p->struct_size < sizeof(*p)) {
    return Failed("the host is too old");
  }
  p->struct_size = sizeof(*p);
  p->abi_minor = PROA_DEVICE_PLUGIN_ABI_MINOR;
  p->last_error = [] { return last_error.c_str(); };
  p->device_count = [](int32_t* n) -> int32_t { return *n = kDevices, 0; };
  p->describe_device = [](int32_t device, char* text, size_t size) -> int32_t {
    std::snprintf(text, size, "asynchronous test device %d", device);
    return PROA_DEVICE_OK;
  };
  p->allocate_memory = [](int32_t device, size_t bytes,
                          void** memory) -> int32_t {
    *memory = At(device).Allocate(bytes);
    return *memory != nullptr ? PROA_DEVICE_OK : PROA_DEVICE_OUT_OF_MEMORY;
  };
  p->free_memory = [](int32_t device, void* memory) -> int32_t {
    return At(device).Free(memory) ? PROA_DEVICE_OK
                                   : Failed("free: not a block");
  };
  p->copy_to_device = CopyToDevice;
  p->copy_to_host = CopyToHost;
  p->copy_on_device = CopyOnDevice;
  p->fill = Fill;
  p->launch_host_function = [](int32_t device, ProaDeviceStream s,
                               void (*function)(void*), void* data) -> int32_t {
    At(device).StreamOf(s).Push([=] { function(data); });
    return PROA_DEVICE_OK;
  };
  p->create_stream = [](int32_t device, ProaDeviceStream* s) -> int32_t {
    *s = At(device).NewStream();
    return PROA_DEVICE_OK;
  };
  p->destroy_stream = [](int32_t device, ProaDeviceStream s) -> int32_t {
    At(device).DeleteStream(s);
    return PROA_DEVICE_OK;
  };
  p->synchronize_stream = [](int32_t device, ProaDeviceStream s) -> int32_t {
    At(device).StreamOf(s).Synchronize();
    return PROA_DEVICE_OK;
  };
  p->synchronize_device = [](int32_t device) -> int32_t {
    At(device).Synchronize();
    return PROA_DEVICE_OK;
  };
  p->create_event = [](int32_t, ProaDeviceEvent* e) -> int32_t {
    *e = reinterpret_cast<ProaDeviceEvent>(new EventPointer(new Event));
    return PROA_DEVICE_OK;
  };
  p->destroy_event = [](int32_t, ProaDeviceEvent e) -> int32_t {
    delete &Cast(e);
    return PROA_DEVICE_OK;
  };
  p->record_event = Record;
  p->stream_wait_event = StreamWait;
  p->synchronize_event = [](int32_t, ProaDeviceEvent e) -> int32_t {
    Cast(e)->Wait(RecordedCount(*Cast(e)));
    return PROA_DEVICE_OK;
  };
  p->query_event = [](int32_t, ProaDeviceEvent e, int32_t* done) -> int32_t {
    std::lock_guard lock(Cast(e)->mutex);
    *done = Cast(e)->done >= Cast(e)->recorded;
    return PROA_DEVICE_OK;
  };
  p->elapsed_ms = Elapsed;
#ifdef PROA_PLAIN_PLUGIN
  p->kind = "plain";
#else
  p->kind = "async";
  p->copy_strided = CopyStrided;
#endif
  return PROA_DEVICE_OK;
}
