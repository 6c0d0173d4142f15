#include "ops/vision/jpeg.h"

#include <algorithm>
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

// After <cstdio> and <cstddef>, whose types it uses.
#include "jpeglib.h"
// After it.
#include "jerror.h"

namespace proa::inline v0::ops {
namespace {

// Progressive images have about ten. Each may be a few bytes and costs a walk
// over the whole image, so that a small file could take hours.
constexpr int kMostScans = 500;

}  // namespace

// The library is C. Its errors are jumps from `error_exit` to the function of
// ours that called it, past frames of the library only: those functions have no
// objects with destructors.
struct JpegDecoder::State {
  jpeg_decompress_struct info = {};
  jpeg_error_mgr errors = {};
  jpeg_source_mgr source = {};
  jpeg_progress_mgr progress = {};
  std::jmp_buf caller;
  char message[JMSG_LENGTH_MAX] = "";
  bool created = false;
  bool smoothed = false;

  ~State() {
    if (created) jpeg_destroy_decompress(&info);
  }

  static State* Of(j_common_ptr info) {
    return static_cast<State*>(info->client_data);
  }
  [[noreturn]] void Refuse(const char* why) {
    std::snprintf(message, sizeof message, "%s", why);
    std::longjmp(caller, 1);
  }

  void SetUp(std::string_view bytes);
  bool ReadHeader(std::string_view bytes);
  bool IsSmoothed() const;
  bool ReadRegion(const JpegRegion& region, uint8_t* pixels);
  absl::Status Failure() const;
};

void JpegDecoder::State::SetUp(std::string_view bytes) {
  info.err = jpeg_std_error(&errors);
  info.client_data = this;
  errors.error_exit = [](j_common_ptr common) {
    State* const s = Of(common);
    common->err->format_message(common, s->message);
    std::longjmp(s->caller, 1);
  };
  // It would print. Warnings are counted all the same.
  errors.output_message = [](j_common_ptr) {};

  source.next_input_byte = reinterpret_cast<const JOCTET*>(bytes.data());
  source.bytes_in_buffer = bytes.size();
  source.init_source = [](j_decompress_ptr) {};
  source.fill_input_buffer = [](j_decompress_ptr d) -> boolean {
    Of(reinterpret_cast<j_common_ptr>(d))->Refuse("the file ends too early");
  };
  source.skip_input_data = [](j_decompress_ptr d, long count) {
    if (count <= 0) return;
    if (static_cast<size_t>(count) > d->src->bytes_in_buffer)
      d->src->fill_input_buffer(d);
    d->src->next_input_byte += count;
    d->src->bytes_in_buffer -= count;
  };
  source.resync_to_restart = &jpeg_resync_to_restart;
  source.term_source = [](j_decompress_ptr) {};

  progress.progress_monitor = [](j_common_ptr common) {
    if (reinterpret_cast<j_decompress_ptr>(common)->input_scan_number >
        kMostScans)
      Of(common)->Refuse("it has too many scans");
  };
}

bool JpegDecoder::State::ReadHeader(std::string_view bytes) {
  SetUp(bytes);
  if (setjmp(caller) != 0) return false;
  jpeg_create_decompress(&info);
  created = true;
  info.client_data = this;
  info.src = &source;
  info.progress = &progress;
  jpeg_read_header(&info, TRUE);
  switch (info.num_components) {
    case 1:
      info.out_color_space = JCS_GRAYSCALE;
      break;
    case 3:
      info.out_color_space = JCS_RGB;
      break;
    case 4:
      info.out_color_space = JCS_CMYK;
      break;
    default:
      Refuse("it has neither 1 nor 3 nor 4 components");
  }
  return true;
}

// Whether scans of a progressive image are missing, so that the library makes
// up what they would have said, by rules that change with its version.
bool JpegDecoder::State::IsSmoothed() const {
  if (!info.progressive_mode || info.coef_bits == nullptr) return false;
  for (int c = 0; c < info.num_components; ++c)
    for (int i = 0; i < DCTSIZE2; ++i)
      if (info.coef_bits[c][i] != 0) return true;
  return false;
}

bool JpegDecoder::State::ReadRegion(const JpegRegion& region, uint8_t* pixels) {
  if (setjmp(caller) != 0) return false;
  info.dct_method = JDCT_ISLOW;
  info.do_fancy_upsampling = TRUE;
  jpeg_start_decompress(&info);
  smoothed = IsSmoothed();
  const int64_t channels = info.output_components;
  const int64_t bottom = region.top + region.height;
  const int64_t right = region.left + region.width;
  // Upsampling looks at neighbors, which are there only if they are decoded.
  const int64_t beside = int64_t{info.max_h_samp_factor} * DCTSIZE;
  const int64_t above = int64_t{info.max_v_samp_factor} * DCTSIZE;
  JDIMENSION left = std::max<int64_t>(region.left - beside, 0);
  JDIMENSION width =
      std::min<int64_t>(right + beside, info.output_width) - left;
  if (width < info.output_width) jpeg_crop_scanline(&info, &left, &width);
  if (region.top > above) jpeg_skip_scanlines(&info, region.top - above);
  JSAMPARRAY const row = info.mem->alloc_sarray(
      reinterpret_cast<j_common_ptr>(&info), JPOOL_IMAGE, width * channels, 1);
  while (info.output_scanline < bottom) {
    const int64_t y = info.output_scanline;
    jpeg_read_scanlines(&info, row, 1);
    if (y < region.top) continue;
    const uint8_t* const from = row[0] + (region.left - left) * channels;
    uint8_t* const to = pixels + (y - region.top) * region.width * channels;
    if (channels < 4) {
      std::memcpy(to, from, region.width * channels);
    } else {
      for (int64_t i = 0; i < region.width * 4; ++i) to[i] = 255 - from[i];
    }
  }
  // A file that ends behind its last row, without the mark of the end, is
  // damaged too.
  if (bottom == int64_t{info.output_height}) {
    jpeg_finish_decompress(&info);
  } else {
    jpeg_abort_decompress(&info);
  }
  return true;
}

absl::Status JpegDecoder::State::Failure() const {
  if (errors.msg_code == JERR_OUT_OF_MEMORY)
    return absl::ResourceExhaustedError(message);
  return absl::InvalidArgumentError(message);
}

JpegDecoder::JpegDecoder(std::unique_ptr<State> state)
    : state_(std::move(state)) {}
JpegDecoder::JpegDecoder(JpegDecoder&&) noexcept = default;
JpegDecoder& JpegDecoder::operator=(JpegDecoder&&) noexcept = default;
JpegDecoder::~JpegDecoder() = default;

absl::StatusOr<JpegDecoder> JpegDecoder::Open(std::string_view bytes) {
  auto state = std::make_unique<State>();
  if (!state->ReadHeader(bytes)) return state->Failure();
  return JpegDecoder(std::move(state));
}

int64_t JpegDecoder::height() const { return state_->info.image_height; }
int64_t JpegDecoder::width() const { return state_->info.image_width; }
int64_t JpegDecoder::channels() const { return state_->info.num_components; }
bool JpegDecoder::doubtful() const {
  return state_->errors.num_warnings > 0 || state_->smoothed;
}

absl::Status JpegDecoder::Read(const JpegRegion& region, uint8_t* pixels) {
  if (!state_->ReadRegion(region, pixels)) return state_->Failure();
  return absl::OkStatus();
}

}  // namespace proa::inline v0::ops
