// Decodes a part of a JPEG image (libjpeg-turbo).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "datasets/cut.h"

namespace parabench::datasets {

/// Rows of pixels of 4 bytes (R, G, B, unused) that cover `area` of an image.
struct PixelWindow {
  Rect area;
  std::vector<std::uint8_t> pixels;
  const std::uint8_t* row(int y) const {
    return pixels.data() +
           std::size_t{4} * static_cast<std::size_t>(y - area.top) * static_cast<std::size_t>(area.width());
  }
};

/// One JPEG image in memory, which must outlive the reader. Every member throws CorruptSample, naming `file`,
/// for data that are no JPEG, damaged, cut short, or of more than 100 million pixels. Damage is seen where
/// the decoder passes: from the top to the lower edge of the window; a missing end always. Greyscale, RGB,
/// YCbCr, CMYK and YCCK (both as Adobe writes them and plain).
class JpegReader {
 public:
  JpegReader(std::span<const std::uint8_t> bytes, std::string file);
  ~JpegReader();
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  int width() const;
  int height() const;

  /// Decodes at 1/denominator (1, 2, 4, 8: an image of ceil(width / denominator) columns) the pixels of
  /// `area`, exactly as a decode of the whole image would; window.area comes back a little wider. Rows above
  /// cost entropy decoding, rows below nothing. To be called once.
  void decode(int denominator, Rect area, PixelWindow& window);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace parabench::datasets
