/* The C interface between Proa and a device plugin: a shared library that
 * exports PROA_DEVICE_PLUGIN_ENTRY and fills in a table of functions.
 *
 * Stability: within a major version the table only grows at its end, and both
 * sides look at struct_size before they use a field. A plugin built once so
 * works with later releases. Plain C; include nothing else of Proa.
 *
 * All functions may be called from any thread. Those that return int32_t return
 * a ProaDeviceStatus; on failure last_error() says why, for this thread.
 * `device` is in [0, device_count). A null stream is the device's default
 * stream. Memory is addressed by plain pointers, on which the host does
 * arithmetic, but which only the device can read.
 *
 * tensor/testing/async_device_plugin.cc is a complete example. */
#ifndef PROA_TENSOR_DEVICE_PLUGIN_ABI_H_
#define PROA_TENSOR_DEVICE_PLUGIN_ABI_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PROA_DEVICE_PLUGIN_ABI_MAJOR 1
#define PROA_DEVICE_PLUGIN_ABI_MINOR 0
#define PROA_DEVICE_PLUGIN_ENTRY "ProaDevicePluginEntry"

typedef struct ProaDeviceStreamTag* ProaDeviceStream;
typedef struct ProaDeviceEventTag* ProaDeviceEvent;

typedef enum ProaDeviceStatus {
  PROA_DEVICE_OK = 0,
  PROA_DEVICE_ERROR = 1,
  PROA_DEVICE_OUT_OF_MEMORY = 2
} ProaDeviceStatus;

typedef struct ProaDevicePlugin {
  /* In: what the host knows. Out: what the plugin filled in. The plugin must
   * not write past the host's size. */
  size_t struct_size;
  uint32_t abi_major;
  uint32_t abi_minor;

  /* Name of the device kind, [a-z][a-z0-9_]*; places are "<kind>:<device>". */
  const char* kind;
  /* Never null. */
  const char* (*last_error)(void);
  int32_t (*device_count)(int32_t* count);
  /* Writes a text for people, closed with a 0, of at most `size` bytes. */
  int32_t (*describe_device)(int32_t device, char* text, size_t size);

  /* Aligned to 64 bytes at least. Not cached: the host does that. `free_memory`
   * is called when the host knows that no work uses the block any more. */
  int32_t (*allocate_memory)(int32_t device, size_t bytes, void** memory);
  int32_t (*free_memory)(int32_t device, void* memory);

  /* Enqueue and return. Host memory stays valid until the stream has passed. */
  int32_t (*copy_to_device)(int32_t device, void* dst, const void* src_host,
                            size_t bytes, ProaDeviceStream stream);
  int32_t (*copy_to_host)(int32_t device, void* dst_host, const void* src,
                          size_t bytes, ProaDeviceStream stream);
  int32_t (*copy_on_device)(int32_t device, void* dst, const void* src,
                            size_t bytes, ProaDeviceStream stream);
  int32_t (*fill)(int32_t device, void* dst, uint8_t value, size_t bytes,
                  ProaDeviceStream stream);
  /* Calls function(data) on some thread when the stream gets there. It does not
   * call the plugin. */
  int32_t (*launch_host_function)(int32_t device, ProaDeviceStream stream,
                                  void (*function)(void*), void* data);

  int32_t (*create_stream)(int32_t device, ProaDeviceStream* stream);
  /* After its work is done. */
  int32_t (*destroy_stream)(int32_t device, ProaDeviceStream stream);
  int32_t (*synchronize_stream)(int32_t device, ProaDeviceStream stream);
  int32_t (*synchronize_device)(int32_t device);

  int32_t (*create_event)(int32_t device, ProaDeviceEvent* event);
  int32_t (*destroy_event)(int32_t device, ProaDeviceEvent event);
  int32_t (*record_event)(int32_t device, ProaDeviceEvent event,
                          ProaDeviceStream stream);
  /* The stream waits for the event as it was last recorded. */
  int32_t (*stream_wait_event)(int32_t device, ProaDeviceStream stream,
                               ProaDeviceEvent event);
  int32_t (*synchronize_event)(int32_t device, ProaDeviceEvent event);
  int32_t (*query_event)(int32_t device, ProaDeviceEvent event, int32_t* done);
  int32_t (*elapsed_ms)(int32_t device, ProaDeviceEvent start,
                        ProaDeviceEvent end, double* milliseconds);

  /* Optional, may be null. Strides in bytes. */
  int32_t (*copy_strided)(int32_t device, void* dst, const int64_t* dst_strides,
                          const void* src, const int64_t* src_strides,
                          const int64_t* sizes, int32_t rank, int64_t item_size,
                          ProaDeviceStream stream);
  /* End of version 1.0. */
} ProaDevicePlugin;

/* Exported by the library. Fills in *plugin; returns a ProaDeviceStatus. */
typedef int32_t (*ProaDevicePluginEntryFunction)(ProaDevicePlugin* plugin);

#ifdef __cplusplus
}
#endif

#endif /* PROA_TENSOR_DEVICE_PLUGIN_ABI_H_ */
