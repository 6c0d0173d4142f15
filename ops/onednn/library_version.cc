#include "ops/onednn/library_version.h"

#include "absl/strings/str_cat.h"
#include "oneapi/dnnl/dnnl.hpp"

namespace proa::inline v0::onednn {
namespace {

const char* Runtime(unsigned runtime) {
  switch (runtime) {
    case DNNL_RUNTIME_OMP:
      return "OpenMP";
    case DNNL_RUNTIME_SEQ:
      return "one thread";
    default:
      return "threads of its own";
  }
}

const char* InstructionSet() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::sse41:
      return "sse41";
    case dnnl::cpu_isa::avx:
      return "avx";
    case dnnl::cpu_isa::avx2:
      return "avx2";
    case dnnl::cpu_isa::avx512_core:
      return "avx512_core";
    case dnnl::cpu_isa::avx512_core_vnni:
      return "avx512_core_vnni";
    case dnnl::cpu_isa::avx512_core_bf16:
      return "avx512_core_bf16";
    case dnnl::cpu_isa::avx512_core_amx:
      return "avx512_core_amx";
    case dnnl::cpu_isa::avx2_vnni:
      return "avx2_vnni";
    default:
      return "another instruction set";
  }
}

}  // namespace

std::string LibraryVersion() {
  const dnnl_version_t* v = dnnl_version();
  return absl::StrCat(v->major, ".", v->minor, ".", v->patch, ", ",
                      Runtime(v->cpu_runtime), ", ", InstructionSet());
}

}  // namespace proa::inline v0::onednn
