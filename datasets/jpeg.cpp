#include "datasets/jpeg.h"

#include <fmt/format.h>

#include <algorithm>
#include <csetjmp>
#include <string_view>
#include <utility>

#include "datasets/source.h"

// In this order: jpeglib.h needs FILE and size_t, jerror.h needs jpeglib.h.
// clang-format off
#include <cstdio>
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

namespace parabench::datasets {
namespace {

constexpr std::int64_t greatest_pixels = 100'000'000;  // the largest image of ImageNet has 61 million

/// Remarks about headers, and padding between the data and the next marker; every other warning means that
/// pixels were made up.
bool is_harmless(int message_code) {
  return message_code == JWRN_JFIF_MAJOR || message_code == JWRN_ADOBE_XFORM || message_code == JWRN_BOGUS_ICC ||
         message_code == JWRN_EXTRANEOUS_DATA;
}

/// CMYK to RGB in place. Adobe stores the complements.
void cmyk_to_rgb(std::span<std::uint8_t> pixels, bool complements) {
  const unsigned flip = complements ? 0 : 255;
  for (std::size_t i = 0; i < pixels.size(); i += 4) {
    const unsigned light = pixels[i + 3] ^ flip;
    for (std::size_t c = i; c < i + 3; ++c)
      pixels[c] = static_cast<std::uint8_t>(((pixels[c] ^ flip) * light + 127) / 255);
  }
}

}  // namespace

struct JpegReader::State {
  jpeg_decompress_struct jpeg{};
  jpeg_error_mgr errors{};
  std::jmp_buf failure{};
  char message[JMSG_LENGTH_MAX] = "";
  std::string file;

  ~State() { jpeg_destroy_decompress(&jpeg); }  // also where the reader's constructor throws

  [[noreturn]] void fail(std::string_view what) const { throw CorruptSample(file, what); }

  /// Runs calls of libjpeg, which leave by longjmp on an error: `calls` must own nothing.
  template <class Calls>
  void guarded(Calls calls) {
    if (setjmp(failure) != 0) fail(fmt::format("corrupt or unsupported JPEG: {}", message));
    calls();
  }

  static void leave(j_common_ptr common) {
    auto* state = static_cast<State*>(common->client_data);
    state->errors.format_message(common, state->message);
    std::longjmp(state->failure, 1);
  }

  static void take_message(j_common_ptr common, int level) {
    const bool is_warning = level < 0;
    if (is_warning && !is_harmless(common->err->msg_code)) leave(common);
  }
};

JpegReader::JpegReader(std::span<const std::uint8_t> bytes, std::string file) : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.file = std::move(file);
  s.jpeg.err = jpeg_std_error(&s.errors);
  s.jpeg.client_data = &s;
  s.errors.error_exit = State::leave;
  s.errors.emit_message = State::take_message;
  s.guarded([&] {
    jpeg_create_decompress(&s.jpeg);
    jpeg_mem_src(&s.jpeg, bytes.data(), static_cast<unsigned long>(bytes.size()));
    jpeg_read_header(&s.jpeg, TRUE);
  });
  if (std::int64_t{width()} * height() > greatest_pixels) {
    s.fail(fmt::format("{} x {} pixels, expected at most {} in all", width(), height(), greatest_pixels));
  }
}

JpegReader::~JpegReader() = default;

int JpegReader::width() const { return static_cast<int>(state_->jpeg.image_width); }
int JpegReader::height() const { return static_cast<int>(state_->jpeg.image_height); }

void JpegReader::decode(int denominator, Rect area, PixelWindow& window) {
  State& s = *state_;
  const bool four_inks = s.jpeg.jpeg_color_space == JCS_CMYK || s.jpeg.jpeg_color_space == JCS_YCCK;
  s.guarded([&] {
    s.jpeg.scale_num = 1;
    s.jpeg.scale_denom = static_cast<unsigned>(denominator);
    s.jpeg.out_color_space = four_inks ? JCS_CMYK : JCS_EXT_RGBX;
    jpeg_start_decompress(&s.jpeg);
  });

  // Cut short below the window, a file would go unseen until an epoch whose window lies lower. (A decoder of
  // several scans has read them all by now.)
  const auto* rest = reinterpret_cast<const char*>(s.jpeg.src->next_input_byte);
  if (!jpeg_has_multiple_scans(&s.jpeg) &&
      std::string_view(rest, s.jpeg.src->bytes_in_buffer).rfind("\xFF\xD9") == std::string_view::npos) {
    s.fail("corrupt or unsupported JPEG: cut short, the end-of-image marker is missing");
  }

  // Chroma is interpolated from the neighbours: one more of its samples on either side makes the columns
  // inside exact.
  constexpr int margin = 2;
  const int whole_width = static_cast<int>(s.jpeg.output_width);
  auto left = static_cast<JDIMENSION>(std::max(0, area.left - margin));
  auto width = static_cast<JDIMENSION>(std::min(whole_width, area.right + margin)) - left;
  s.guarded([&] {
    if (width < s.jpeg.output_width) jpeg_crop_scanline(&s.jpeg, &left, &width);
  });

  window.area = {static_cast<int>(left), area.top, static_cast<int>(left + width), area.bottom};
  const std::size_t stride = std::size_t{4} * width;
  window.pixels.resize(stride * static_cast<std::size_t>(area.height()));
  s.guarded([&] {
    if (area.top > 0) jpeg_skip_scanlines(&s.jpeg, static_cast<JDIMENSION>(area.top));
    for (JSAMPROW row = window.pixels.data(); s.jpeg.output_scanline < static_cast<JDIMENSION>(area.bottom);
         row += stride) {
      jpeg_read_scanlines(&s.jpeg, &row, 1);
    }
  });
  if (four_inks) cmyk_to_rgb(window.pixels, s.jpeg.saw_Adobe_marker);
}

}  // namespace parabench::datasets
