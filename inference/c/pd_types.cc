#include "inference/c/pd_types.h"

#include <cstring>
#include <new>

#include "inference/c/handles.h"
#include "tensor/error.h"

namespace proa::inline v0::inference::c {
namespace {

struct LastError {
  PD_Status status = PD_OK;
  std::string message;
};
thread_local LastError last_error;

PD_Status StatusOf(const Error& e) {
  switch (e.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kDataLoss:
      return PD_INVALID_ARGUMENT;
    case absl::StatusCode::kNotFound:
      return PD_NOT_FOUND;
    case absl::StatusCode::kResourceExhausted:
      return PD_OUT_OF_MEMORY;
    case absl::StatusCode::kUnimplemented:
      return PD_UNSUPPORTED;
    default:
      return PD_FAILED;
  }
}

PD_Status Note(PD_Status status, const char* message) noexcept {
  last_error.status = status;
  try {
    last_error.message = message;
  } catch (...) {
    last_error.message.clear();
  }
  return status;
}

constexpr std::pair<PD_DataType, DataType> kTypes[] = {
    {PD_DATA_FLOAT32, DataType::kFloat32},
    {PD_DATA_INT32, DataType::kInt32},
    {PD_DATA_INT64, DataType::kInt64},
    {PD_DATA_UINT8, DataType::kUInt8},
    {PD_DATA_INT8, DataType::kInt8},
    {PD_DATA_FLOAT64, DataType::kFloat64},
    {PD_DATA_BOOL, DataType::kBool},
    {PD_DATA_INT16, DataType::kInt16},
    {PD_DATA_FLOAT16, DataType::kFloat16},
    {PD_DATA_BFLOAT16, DataType::kBFloat16},
};

}  // namespace

PD_Status Guard(const std::function<void()>& body) {
  try {
    body();
    return PD_OK;
  } catch (const Error& e) {
    return Note(StatusOf(e), e.what());
  } catch (const std::bad_alloc&) {
    return Note(PD_OUT_OF_MEMORY, "there is no memory left");
  } catch (const std::exception& e) {
    return Note(PD_FAILED, e.what());
  } catch (...) {
    return Note(PD_FAILED, "an exception of unknown type");
  }
}

const void* NotNull(const void* p, const char* what) {
  PROA_REQUIRE(p != nullptr, what, " is NULL");
  return p;
}

PD_DataType ToC(DataType type) {
  for (const auto& [c, t] : kTypes) {
    if (t == type) return c;
  }
  return PD_DATA_UNK;
}

DataType FromC(PD_DataType type) {
  for (const auto& [c, t] : kTypes) {
    if (c == type) return t;
  }
  FailArgument("PD_DataType ", static_cast<int>(type), " is none");
}

PD_Cstr* NewCstr(const std::string& text) {
  auto data = std::make_unique<char[]>(text.size() + 1);
  std::memcpy(data.get(), text.c_str(), text.size() + 1);
  return new PD_Cstr{text.size() + 1, data.release()};
}

PD_OneDimArrayCstr* NewTexts(const std::vector<std::string>& texts) {
  auto data = std::make_unique<char*[]>(texts.size());
  std::vector<std::unique_ptr<char[]>> owned;
  for (const std::string& text : texts) {
    owned.push_back(std::make_unique<char[]>(text.size() + 1));
    std::memcpy(owned.back().get(), text.c_str(), text.size() + 1);
  }
  auto* const out = new PD_OneDimArrayCstr{texts.size(), data.get()};
  for (size_t i = 0; i < owned.size(); ++i) data[i] = owned[i].release();
  data.release();
  return out;
}

}  // namespace proa::inline v0::inference::c

namespace c = proa::inference::c;

void PD_OneDimArrayInt32Destroy(PD_OneDimArrayInt32* array) {
  if (array != nullptr) delete[] array->data;
  delete array;
}

void PD_OneDimArraySizeDestroy(PD_OneDimArraySize* array) {
  if (array != nullptr) delete[] array->data;
  delete array;
}

void PD_OneDimArrayCstrDestroy(PD_OneDimArrayCstr* array) {
  if (array == nullptr) return;
  for (size_t i = 0; i < array->size; ++i) delete[] array->data[i];
  delete[] array->data;
  delete array;
}

void PD_TwoDimArraySizeDestroy(PD_TwoDimArraySize* array) {
  if (array == nullptr) return;
  for (size_t i = 0; i < array->size; ++i) {
    PD_OneDimArraySizeDestroy(array->data[i]);
  }
  delete[] array->data;
  delete array;
}

void PD_CstrDestroy(PD_Cstr* text) {
  if (text != nullptr) delete[] text->data;
  delete text;
}

PD_Status PD_LastStatus(void) { return c::last_error.status; }
const char* PD_LastErrorMessage(void) { return c::last_error.message.c_str(); }
void PD_ClearError(void) { c::last_error = {}; }

const char* PD_GetVersion(void) {
  static const auto* version = new std::string(proa::inference::GetVersion());
  return version->c_str();
}
int32_t PD_GetApiVersion(void) { return PD_API_VERSION; }
