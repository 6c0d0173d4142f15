#include "tensor/device_plugin.h"

#include <dlfcn.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "tensor/allocator.h"
#include "tensor/block_cache.h"
#include "tensor/device.h"
#include "tensor/error.h"

namespace proa::inline v0 {
namespace {

ProaDeviceStream Plain(StreamHandle s) {
  return reinterpret_cast<ProaDeviceStream>(s);
}
ProaDeviceEvent Plain(EventHandle e) {
  return reinterpret_cast<ProaDeviceEvent>(e);
}

// The table's functions as a DeviceRuntime: statuses become Errors, memory is
// cached.
class PluginRuntime final : public DeviceRuntime {
 public:
  explicit PluginRuntime(const ProaDevicePlugin& plugin)
      : p_(plugin), kind_(plugin.kind) {
    int32_t count = 0;
    Check(p_.device_count(&count), "device_count");
    if (count < 0 || count > kMaxDevices) {
      Fail(absl::StatusCode::kFailedPrecondition, kind_, ": device_count of ",
           count, " is out of range; 0 to ", kMaxDevices, " are supported");
    }
    for (int32_t d = 0; d < count; ++d) {
      allocators_.push_back(std::make_unique<BlockCache>(
          kind_ + ":" + std::to_string(d),
          BlockCache::Source{
              .allocate = [this,
                           d](int64_t bytes) { return NewBlock(d, bytes); },
              .free = [this, d](void* p) { p_.free_memory(d, p); },
              .finish = [this, d] { p_.synchronize_device(d); },
              .stream = [this, d] { return current_stream(d); },
              .order =
                  [this, d](StreamTag* earlier, StreamTag* later) {
                    OrderStreams(d, earlier, later);
                  }}));
    }
  }

  int device_count() override { return static_cast<int>(allocators_.size()); }
  std::string DeviceDescription(int device) override {
    char text[256] = "";
    Check(p_.describe_device(device, text, sizeof(text)), "describe_device");
    text[sizeof(text) - 1] = '\0';
    return text;
  }
  Allocator& allocator(int device) override { return *allocators_[device]; }

  void CopyToDevice(int device, void* dst, const void* src, int64_t bytes,
                    StreamHandle stream) override {
    Check(p_.copy_to_device(device, dst, src, bytes, Plain(stream)),
          "copy_to_device");
  }
  void CopyToHost(int device, void* dst, const void* src, int64_t bytes,
                  StreamHandle stream) override {
    Check(p_.copy_to_host(device, dst, src, bytes, Plain(stream)),
          "copy_to_host");
  }
  void CopyOnDevice(int device, void* dst, const void* src, int64_t bytes,
                    StreamHandle stream) override {
    Check(p_.copy_on_device(device, dst, src, bytes, Plain(stream)),
          "copy_on_device");
  }
  bool CopyStrided(int device, void* dst, const int64_t* dst_strides,
                   const void* src, const int64_t* src_strides,
                   const int64_t* sizes, int rank, int64_t item_size,
                   StreamHandle stream) override {
    if (p_.copy_strided == nullptr) return false;
    Check(p_.copy_strided(device, dst, dst_strides, src, src_strides, sizes,
                          rank, item_size, Plain(stream)),
          "copy_strided");
    return true;
  }
  void Fill(int device, void* dst, uint8_t value, int64_t bytes,
            StreamHandle stream) override {
    Check(p_.fill(device, dst, value, bytes, Plain(stream)), "fill");
  }
  void LaunchHostFunction(int device, StreamHandle stream,
                          void (*function)(void*), void* data) override {
    Check(p_.launch_host_function(device, Plain(stream), function, data),
          "launch_host_function");
  }

  StreamHandle CreateStream(int device) override {
    ProaDeviceStream stream = nullptr;
    Check(p_.create_stream(device, &stream), "create_stream");
    return reinterpret_cast<StreamHandle>(stream);
  }
  void DestroyStream(int device, StreamHandle stream) noexcept override {
    p_.destroy_stream(device, Plain(stream));
    allocators_[device]->ForgetStream(stream);
  }
  void SynchronizeStream(int device, StreamHandle stream) override {
    Check(p_.synchronize_stream(device, Plain(stream)), "synchronize_stream");
  }
  void SynchronizeDevice(int device) override {
    Check(p_.synchronize_device(device), "synchronize_device");
  }

  EventHandle CreateEvent(int device) override {
    ProaDeviceEvent event = nullptr;
    Check(p_.create_event(device, &event), "create_event");
    return reinterpret_cast<EventHandle>(event);
  }
  void DestroyEvent(int device, EventHandle event) noexcept override {
    p_.destroy_event(device, Plain(event));
  }
  void RecordEvent(int device, EventHandle event,
                   StreamHandle stream) override {
    Check(p_.record_event(device, Plain(event), Plain(stream)), "record_event");
  }
  void StreamWaitEvent(int device, StreamHandle stream,
                       EventHandle event) override {
    Check(p_.stream_wait_event(device, Plain(stream), Plain(event)),
          "stream_wait_event");
  }
  void SynchronizeEvent(int device, EventHandle event) override {
    Check(p_.synchronize_event(device, Plain(event)), "synchronize_event");
  }
  bool EventDone(int device, EventHandle event) override {
    int32_t done = 0;
    Check(p_.query_event(device, Plain(event), &done), "query_event");
    return done != 0;
  }
  double ElapsedMs(int device, EventHandle start, EventHandle end) override {
    double ms = 0;
    Check(p_.elapsed_ms(device, Plain(start), Plain(end), &ms), "elapsed_ms");
    return ms;
  }

 private:
  void Check(int32_t status, const char* call) const {
    if (status == PROA_DEVICE_OK) [[likely]]
      return;
    const char* why = p_.last_error();
    Fail(status == PROA_DEVICE_OUT_OF_MEMORY
             ? absl::StatusCode::kResourceExhausted
             : absl::StatusCode::kInternal,
         kind_, ": ", call,
         " failed: ", why != nullptr && *why != '\0' ? why : "no reason given");
  }
  // Null if the device has no more memory.
  void* NewBlock(int32_t device, int64_t bytes) const {
    void* memory = nullptr;
    const int32_t status = p_.allocate_memory(device, bytes, &memory);
    if (status == PROA_DEVICE_OUT_OF_MEMORY) return nullptr;
    Check(status, "allocate_memory");
    return memory;
  }

  const ProaDevicePlugin p_;
  const std::string kind_;
  std::vector<std::unique_ptr<BlockCache>> allocators_;
};

[[noreturn]] void Refuse(const std::string& origin, const std::string& why) {
  Fail(absl::StatusCode::kFailedPrecondition, "device plugin: ", origin, " ",
       why);
}

// What version 1.0 must have, i.e. all up to the optional functions.
constexpr size_t kLeastSize = offsetof(ProaDevicePlugin, copy_strided);

void CheckTable(const ProaDevicePlugin& p, const std::string& origin) {
  if (p.abi_major != PROA_DEVICE_PLUGIN_ABI_MAJOR) {
    Refuse(origin, "was built for version " + std::to_string(p.abi_major) +
                       "." + std::to_string(p.abi_minor) +
                       " of the plugin interface, and this is version " +
                       std::to_string(PROA_DEVICE_PLUGIN_ABI_MAJOR) + "." +
                       std::to_string(PROA_DEVICE_PLUGIN_ABI_MINOR) +
                       "; build it again");
  }
  if (p.struct_size < kLeastSize) {
    Refuse(origin, "fills in " + std::to_string(p.struct_size) +
                       " bytes of the table, and at least " +
                       std::to_string(kLeastSize) + " are needed");
  }
  const bool complete =
      p.kind && p.last_error && p.device_count && p.describe_device &&
      p.allocate_memory && p.free_memory && p.copy_to_device &&
      p.copy_to_host && p.copy_on_device && p.fill && p.launch_host_function &&
      p.create_stream && p.destroy_stream && p.synchronize_stream &&
      p.synchronize_device && p.create_event && p.destroy_event &&
      p.record_event && p.stream_wait_event && p.synchronize_event &&
      p.query_event && p.elapsed_ms;
  if (!complete)
    Refuse(origin, "leaves a required function of the table empty");
}

}  // namespace

DeviceKind RegisterDevicePlugin(const ProaDevicePlugin& plugin,
                                const std::string& origin) {
  CheckTable(plugin, origin);
  // Fields that the plugin does not know are whatever it left there.
  ProaDevicePlugin known = plugin;
  if (plugin.struct_size <
      offsetof(ProaDevicePlugin, copy_strided) + sizeof(known.copy_strided)) {
    known.copy_strided = nullptr;
  }
  return RegisterDeviceRuntime(plugin.kind,
                               std::make_unique<PluginRuntime>(known));
}

DeviceKind LoadDevicePlugin(const std::string& path) {
  // Without a slash dlopen would search the system's folders.
  const std::string file = path.find('/') == path.npos ? "./" + path : path;
  if (access(file.c_str(), R_OK) != 0) {
    Fail(absl::StatusCode::kNotFound, "device plugin: ", path,
         " does not exist or cannot be read");
  }
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    Refuse(path, std::string("cannot be loaded: ") + dlerror());
  auto entry = reinterpret_cast<ProaDevicePluginEntryFunction>(
      dlsym(library, PROA_DEVICE_PLUGIN_ENTRY));
  if (entry == nullptr) {
    dlclose(library);
    Refuse(path, "is no plugin: it does not export " PROA_DEVICE_PLUGIN_ENTRY);
  }
  ProaDevicePlugin plugin = {};
  plugin.struct_size = sizeof(plugin);
  plugin.abi_major = PROA_DEVICE_PLUGIN_ABI_MAJOR;
  plugin.abi_minor = PROA_DEVICE_PLUGIN_ABI_MINOR;
  // From here on threads of the plugin may run: the library stays, even on
  // errors.
  if (const int32_t status = entry(&plugin); status != PROA_DEVICE_OK) {
    Refuse(
        path,
        "failed to start with status " + std::to_string(status) +
            (plugin.last_error ? std::string(": ") + plugin.last_error() : ""));
  }
  return RegisterDevicePlugin(plugin, path);
}

}  // namespace proa::inline v0
