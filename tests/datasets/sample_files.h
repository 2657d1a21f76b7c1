// Small data sets written for the tests: JPEG images in many flavours, class folders, CIFAR-10 files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "datasets/jpeg.h"

namespace parabench::datasets {

/// A folder that goes when the object goes.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

void write_file(const std::filesystem::path& path, std::span<const std::uint8_t> bytes);

enum class JpegColour { rgb, ycbcr, grey, cmyk, cmyk_without_adobe, ycck };

struct JpegFlavour {
  int width = 160, height = 120;
  JpegColour colour = JpegColour::ycbcr;
  int horizontal = 2, vertical = 2;  ///< sampling factors of the luma
  bool progressive = false;
  int quality = 90;
  int pattern = 0;  ///< images of different patterns differ
};

/// A picture of waves and a little grain, so that every pixel matters and none is a hard edge.
std::vector<std::uint8_t> encode_jpeg(const JpegFlavour& flavour);

/// A JPEG of one colour; 3 components (RGB) or, for the CMYK flavours, 4 as they are stored.
std::vector<std::uint8_t> encode_plain_jpeg(const JpegFlavour& flavour, std::span<const std::uint8_t> components);

/// The whole image by the plainest use of libjpeg: the reference for decoding a part.
PixelWindow decode_whole(std::span<const std::uint8_t> jpeg);

/// One record of CIFAR-10: the pixel at (channel, row, column) is cifar_pixel(number, ...).
std::uint8_t cifar_pixel(int number, int channel, int row, int column);
std::vector<std::uint8_t> cifar_records(int first_number, int count);
/// data_batch_1..5.bin of `records_per_file` and test_batch.bin of as many; label = number % 10.
void write_cifar(const std::filesystem::path& folder, int records_per_file);

}  // namespace parabench::datasets
