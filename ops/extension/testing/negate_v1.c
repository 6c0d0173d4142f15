/* An extension in plain C against version 1.0 of the interface, whose header
 * lies beside it as it was then: what was built once works with every later
 * release. The macros make extensions that are refused. */
#include <string.h>

#include "proa/extension_abi.h"

static const ProaHost* host;

static int32_t Negate(void* data, const ProaValue* args, size_t count,
                      ProaResultSink sink, void* context) {
  ProaMeta meta;
  ProaTensor out;
  int32_t status;
  int64_t i;
  (void)data;
  (void)count;
#ifdef FAIL_SILENTLY
  return PROA_VALUE_ERROR;
#endif
  meta.struct_size = sizeof(meta);
  status = host->describe(args[0].as.tensor, &meta);
  if (status != PROA_OK) return status;
  if (meta.dtype != PROA_FLOAT32) {
    const char* text = "only float32 is negated here";
    host->set_error(PROA_TYPE_ERROR, text, strlen(text));
    return PROA_TYPE_ERROR;
  }
  status = host->empty(meta.sizes, meta.rank, meta.dtype, meta.place, &out);
  if (status != PROA_OK) return status;
  {
    const float* from = (const float*)meta.data;
    ProaMeta made;
    made.struct_size = sizeof(made);
    host->describe(out, &made);
    for (i = 0; i < meta.numel; ++i) ((float*)made.data)[i] = -from[i];
  }
  status = sink(context, 0, out);
#ifdef UNKNOWN_OUTPUT
  status = sink(context, 7, out);
#endif
  host->release_tensor(out);
  return status;
}

static const ProaParam x = {sizeof(ProaParam), "x",
#ifdef WRONG_KIND
                            77,
#else
                            PROA_TENSOR,
#endif
                            0, 0};
static const ProaOutput out = {sizeof(ProaOutput), "out", 0,
#ifdef WRONG_INPLACE
                               5
#else
                               -1
#endif
};
static const ProaParam* const params[] = {&x};
static const ProaOutput* const outputs[] = {&out};
static const ProaParam grad = {sizeof(ProaParam), "out@GRAD", PROA_TENSOR, 0,
                               0};
static const ProaOutput x_grad = {sizeof(ProaOutput), "x@GRAD", 0, -1};
static const ProaParam* const grad_params[] = {&grad};
static const ProaOutput* const grad_outputs[] = {&x_grad};

#ifndef OP_NAME
#define OP_NAME "v1_negate"
#endif

static const ProaOp op = {
#ifdef SMALL_OP
    16,
#else
    sizeof(ProaOp),
#endif
    OP_NAME,
    "Negates.",
    0,
    0,
    params,
    1,
    outputs,
    1,
    0,
#ifdef NO_KERNEL
    0,
#else
    &Negate,
#endif
    0,
#ifdef MISSING_GRADIENT
    "nobody_grad"
#else
    OP_NAME "_grad"
#endif
};
static const ProaOp gradient = {sizeof(ProaOp),
                                OP_NAME "_grad",
                                0,
                                0,
                                0,
                                grad_params,
                                1,
                                grad_outputs,
                                1,
                                0,
                                &Negate,
                                0,
                                0};
static const ProaOp* const ops[] = {&op, &gradient};

#ifndef MAJOR
#define MAJOR 1
#endif
#ifndef MINOR
#define MINOR 0
#endif
#ifndef TABLE_SIZE
#define TABLE_SIZE sizeof(ProaExtension)
#endif
#ifndef OPS
#define OPS 2
#endif
static const ProaExtension extension = {TABLE_SIZE, MAJOR, MINOR, ops, OPS};

#ifndef ENTRY
#define ENTRY ProaExtensionEntry
#endif
const ProaExtension* ENTRY(const ProaHost* h) {
  host = h;
#ifdef NULL_TABLE
  host->set_error(PROA_ERROR, "not today", 9);
  return 0;
#endif
  return &extension;
}
