/* The C interface between Proa and an extension: a shared library that exports
 * PROA_EXTENSION_ENTRY and describes operators in tables. Who writes operators
 * in C++ includes "proa/extension.h", which fills in these tables.
 *
 * Stability: within a major version structs only grow at their ends, and both
 * sides look at struct_size before they use a field that came later. An
 * extension built once so works with all later releases of that major version;
 * one that was built for a later minor version is refused where it needs what
 * this release does not have. Plain C; include nothing else of Proa.
 *
 * Functions that return int32_t return 0, or the kind of an error
 * (ProaErrorKind) of which the text was set by `set_error`, in either
 * direction. No exception crosses the interface. All functions may be called
 * from any thread. */
#ifndef PROA_EXTENSION_ABI_H_
#define PROA_EXTENSION_ABI_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PROA_EXTENSION_ABI_MAJOR 1
#define PROA_EXTENSION_ABI_MINOR 0
#define PROA_EXTENSION_ENTRY "ProaExtensionEntry"

typedef enum ProaErrorKind {
  PROA_OK = 0,
  PROA_ERROR = 1, /* RuntimeError in Python */
  PROA_VALUE_ERROR = 2,
  PROA_TYPE_ERROR = 3,
  PROA_INDEX_ERROR = 4,
  PROA_NOT_IMPLEMENTED = 5,
  PROA_OUT_OF_MEMORY = 6,
  PROA_NOT_FOUND = 7
} ProaErrorKind;

typedef enum ProaDType {
  PROA_BOOL = 0,
  PROA_UINT8 = 1,
  PROA_INT8 = 2,
  PROA_INT16 = 3,
  PROA_INT32 = 4,
  PROA_INT64 = 5,
  PROA_FLOAT16 = 6,
  PROA_BFLOAT16 = 7,
  PROA_FLOAT32 = 8,
  PROA_FLOAT64 = 9,
  PROA_COMPLEX64 = 10,
  PROA_COMPLEX128 = 11
} ProaDType;

/* 0 is the CPU, 1 a GPU; others are device plugins of this process. */
typedef struct ProaPlace {
  int32_t kind;
  int32_t index;
} ProaPlace;

/* A counted handle on a tensor. */
typedef struct ProaTensorTag* ProaTensor;

typedef enum ProaValueKind {
  PROA_NONE = 0,
  PROA_TENSOR = 1,
  PROA_TENSOR_LIST = 2,
  PROA_VALUE_BOOL = 3, /* in `i` */
  PROA_INT = 4,
  PROA_FLOAT = 5,
  PROA_STRING = 6, /* `count` bytes, and a 0 behind them */
  PROA_INT_LIST = 7,
  PROA_FLOAT_LIST = 8,
  PROA_STRING_LIST = 9,
  PROA_VALUE_DTYPE = 10, /* in `i` */
  PROA_VALUE_PLACE = 11,
  PROA_COMPLEX = 12
} ProaValueKind;

typedef struct ProaText {
  const char* data;
  size_t size;
} ProaText;

/* An argument. Whoever makes it owns what it points to. 32 bytes for ever. */
typedef struct ProaValue {
  int32_t kind;
  int32_t reserved;
  int64_t count;
  union {
    ProaTensor tensor;
    const ProaTensor* tensors;
    int64_t i;
    double f;
    const char* text;
    const int64_t* ints;
    const double* floats;
    const ProaText* texts;
    ProaPlace place;
    double parts[2];
  } as;
} ProaValue;

/* What a tensor is. The caller of `describe` sets struct_size; the pointers
 * live as long as the tensor is not changed. Unknown sizes, in inference, are
 * -1. */
typedef struct ProaMeta {
  size_t struct_size;
  int32_t dtype;
  int32_t rank;
  const int64_t* sizes;
  const int64_t* strides; /* in elements */
  ProaPlace place;
  int64_t numel;
  void* data;      /* null if there are no elements, or only later */
  int32_t is_real; /* 0: stands for a tensor that a program will have */
  int32_t reserved;
  /* End of version 1.0. */
} ProaMeta;

/* Takes result `output` (of a list: once for each item). The tensor is
 * borrowed. */
typedef int32_t (*ProaResultSink)(void* context, size_t output,
                                  ProaTensor tensor);
/* The same, in inference. A rank or dtype of -1 is left to the host: that of
 * the input where there is one input and one output, or that of `x` for its
 * gradient `x@GRAD`. */
typedef int32_t (*ProaMetaSink)(void* context, size_t output,
                                const ProaMeta* meta);

/* A named argument of a call; without name it is the next one in order. */
typedef struct ProaArgument {
  const char* name;
  ProaValue value;
} ProaArgument;

/* What the host does for an extension. Lives as long as the process. */
typedef struct ProaHost {
  size_t struct_size;
  uint32_t abi_major;
  uint32_t abi_minor;
  const char* release; /* of Proa, "0.1.0" */

  void (*set_error)(int32_t kind, const char* text, size_t size);
  /* Of this thread's last call that failed; closed with a 0. */
  const char* (*last_error)(int32_t* kind);

  void (*retain)(ProaTensor tensor);
  void (*release_tensor)(ProaTensor tensor);
  int32_t (*describe)(ProaTensor tensor, ProaMeta* meta);
  /* A new tensor, contiguous, its elements undefined. */
  int32_t (*empty)(const int64_t* sizes, int32_t rank, int32_t dtype,
                   ProaPlace place, ProaTensor* out);
  /* A tensor over memory of the caller, contiguous; `release` may be null. */
  int32_t (*wrap)(void* data, const int64_t* sizes, int32_t rank, int32_t dtype,
                  void (*release)(void* context), void* context,
                  ProaTensor* out);
  int32_t (*copy_to)(ProaTensor tensor, ProaPlace place, ProaTensor* out);
  /* Writes the elements of `source` into `target`, of equal shape and dtype. */
  int32_t (*copy_into)(ProaTensor target, ProaTensor source);
  /* Calls an operator of Proa, or of any extension, by the name and the
   * parameters that docs/ops.md gives. What is left out has its default. */
  int32_t (*call)(const char* op, const ProaArgument* args, size_t count,
                  ProaResultSink sink, void* context);
  /* body(context, from, to) over parts of [begin, end), on the threads that
   * the host computes with. The body returns an error kind too. */
  int32_t (*parallel_for)(int64_t begin, int64_t end, int64_t grain,
                          int32_t (*body)(void* context, int64_t from,
                                          int64_t to),
                          void* context);
  /* End of version 1.0. */
} ProaHost;

typedef enum ProaParamFlag { PROA_PARAM_OPTIONAL = 1 } ProaParamFlag;

/* Names are [A-Za-z_][A-Za-z0-9_]*, of gradients with "@GRAD" behind them. */
typedef struct ProaParam {
  size_t struct_size;
  const char* name;
  int32_t kind; /* ProaValueKind, not PROA_NONE, _DTYPE, _PLACE, _COMPLEX */
  uint32_t flags;
  const ProaValue* default_value; /* of an attribute; null: always given */
  /* End of version 1.0. */
} ProaParam;

typedef enum ProaOutputFlag {
  PROA_OUTPUT_LIST = 1,
  PROA_OUTPUT_OPTIONAL = 2
} ProaOutputFlag;

typedef struct ProaOutput {
  size_t struct_size;
  const char* name;
  uint32_t flags;
  int32_t inplace; /* The number of the parameter that becomes it, or -1. */
  /* End of version 1.0. */
} ProaOutput;

typedef enum ProaOpFlag {
  /* Calls other ops and touches no elements: these are differentiated and
   * recorded in its place. */
  PROA_OP_COMPOSITE = 1
} ProaOpFlag;

/* An operator. Tensors come first among the parameters. */
typedef struct ProaOp {
  size_t struct_size;
  const char* name; /* [a-z_][a-z0-9_]*, in any case */
  const char* doc;  /* may be null */
  uint32_t flags;
  uint32_t reserved;
  const ProaParam* const* params;
  size_t num_params;
  const ProaOutput* const* outputs;
  size_t num_outputs;
  void* data; /* the extension's */
  /* Called with a value for each parameter: contiguous tensors with elements
   * (of a composite, any). Those that become outputs in place may be
   * changed and need not be given to the sink. */
  int32_t (*kernel)(void* data, const ProaValue* args, size_t count,
                    ProaResultSink sink, void* context);
  /* Gives the metas of outputs that are not in place. Null: as the sink says
   * of -1. Called with tensors without elements. */
  int32_t (*infer)(void* data, const ProaValue* args, size_t count,
                   ProaMetaSink sink, void* context);
  /* The op of this extension that is the gradient: its parameters are named
   * like parameters of this one, like outputs, and "out@GRAD" for the gradient
   * of output `out`; it gives "x@GRAD" for those parameters that have a
   * gradient. Null: none. */
  const char* gradient;
  /* End of version 1.0. */
} ProaOp;

typedef struct ProaExtension {
  size_t struct_size;
  uint32_t abi_major; /* that the extension was built for */
  uint32_t abi_minor;
  const ProaOp* const* ops;
  size_t num_ops;
  /* End of version 1.0. */
} ProaExtension;

/* Exported by the library, called once. Everything that it returns lives as
 * long as the process. Null: an error, see `set_error`. */
typedef const ProaExtension* (*ProaExtensionEntryFunction)(
    const ProaHost* host);

#ifdef __cplusplus
}
#endif

#endif /* PROA_EXTENSION_ABI_H_ */
