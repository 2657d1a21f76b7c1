#include "tests/datasets/sample_files.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <random>

// In this order: jpeglib.h needs FILE and size_t.
// clang-format off
#include <cstdio>
#include <jpeglib.h>
// clang-format on

namespace parabench::datasets {
namespace {

struct ColourSpaces {
  J_COLOR_SPACE input, stored;
  int components;
};

ColourSpaces spaces_of(JpegColour colour) {
  switch (colour) {
    case JpegColour::rgb: return {JCS_RGB, JCS_RGB, 3};
    case JpegColour::ycbcr: return {JCS_RGB, JCS_YCbCr, 3};
    case JpegColour::grey: return {JCS_GRAYSCALE, JCS_GRAYSCALE, 1};
    case JpegColour::cmyk:
    case JpegColour::cmyk_without_adobe: return {JCS_CMYK, JCS_CMYK, 4};
    case JpegColour::ycck: return {JCS_CMYK, JCS_YCCK, 4};
  }
  std::abort();
}

using PixelOf = std::function<std::uint8_t(int x, int y, int component)>;

std::vector<std::uint8_t> encode(const JpegFlavour& flavour, const PixelOf& pixel) {
  const auto [input, stored, components] = spaces_of(flavour.colour);
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &memory, &size);
  jpeg.image_width = static_cast<JDIMENSION>(flavour.width);
  jpeg.image_height = static_cast<JDIMENSION>(flavour.height);
  jpeg.input_components = components;
  jpeg.in_color_space = input;
  jpeg_set_defaults(&jpeg);
  jpeg_set_colorspace(&jpeg, stored);
  jpeg_set_quality(&jpeg, flavour.quality, TRUE);
  if (flavour.colour == JpegColour::cmyk_without_adobe) jpeg.write_Adobe_marker = FALSE;
  if (stored == JCS_YCbCr || stored == JCS_YCCK) {
    jpeg.comp_info[0].h_samp_factor = flavour.horizontal;
    jpeg.comp_info[0].v_samp_factor = flavour.vertical;
  }
  if (flavour.progressive) jpeg_simple_progression(&jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  std::vector<std::uint8_t> row(static_cast<std::size_t>(flavour.width * components));
  for (int y = 0; y < flavour.height; ++y) {
    for (int x = 0; x < flavour.width; ++x) {
      for (int c = 0; c < components; ++c) row[static_cast<std::size_t>(x * components + c)] = pixel(x, y, c);
    }
    JSAMPROW line = row.data();
    jpeg_write_scanlines(&jpeg, &line, 1);
  }
  jpeg_finish_compress(&jpeg);
  std::vector<std::uint8_t> bytes(memory, memory + size);
  jpeg_destroy_compress(&jpeg);
  std::free(memory);
  return bytes;
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "parabench-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) std::abort();
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void write_file(const std::filesystem::path& path, std::span<const std::uint8_t> bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<long>(bytes.size()));
}

std::vector<std::uint8_t> encode_jpeg(const JpegFlavour& flavour) {
  std::minstd_rand grain(static_cast<unsigned>(flavour.pattern + 1));
  return encode(flavour, [&](int x, int y, int c) {
    const double wave = std::sin(0.07 * x + 0.3 * c + flavour.pattern) + std::cos(0.05 * y * (c + 1) - 0.02 * x);
    return static_cast<std::uint8_t>(128 + 55 * wave + static_cast<int>(grain() % 9));
  });
}

std::vector<std::uint8_t> encode_plain_jpeg(const JpegFlavour& flavour, std::span<const std::uint8_t> components) {
  return encode(flavour, [&](int, int, int c) { return components[static_cast<std::size_t>(c)]; });
}

PixelWindow decode_whole(std::span<const std::uint8_t> bytes) {
  jpeg_decompress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&jpeg);
  jpeg_mem_src(&jpeg, bytes.data(), static_cast<unsigned long>(bytes.size()));
  jpeg_read_header(&jpeg, TRUE);
  jpeg.out_color_space = JCS_EXT_RGBX;
  jpeg_start_decompress(&jpeg);
  const std::size_t stride = std::size_t{4} * jpeg.output_width;
  PixelWindow image{{0, 0, static_cast<int>(jpeg.output_width), static_cast<int>(jpeg.output_height)}, {}};
  image.pixels.resize(stride * jpeg.output_height);
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW row = image.pixels.data() + stride * jpeg.output_scanline;
    jpeg_read_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_decompress(&jpeg);
  jpeg_destroy_decompress(&jpeg);
  return image;
}

std::uint8_t cifar_pixel(int number, int channel, int row, int column) {
  return static_cast<std::uint8_t>(17 * number + 101 * channel + 7 * row + 3 * column + row * column);
}

std::vector<std::uint8_t> cifar_records(int first_number, int count) {
  std::vector<std::uint8_t> bytes;
  for (int number = first_number; number < first_number + count; ++number) {
    bytes.push_back(static_cast<std::uint8_t>(number % 10));
    for (int channel = 0; channel < 3; ++channel) {
      for (int row = 0; row < 32; ++row) {
        for (int column = 0; column < 32; ++column) bytes.push_back(cifar_pixel(number, channel, row, column));
      }
    }
  }
  return bytes;
}

void write_cifar(const std::filesystem::path& folder, int records_per_file) {
  for (int file = 0; file < 5; ++file) {
    write_file(folder / ("data_batch_" + std::to_string(file + 1) + ".bin"),
               cifar_records(file * records_per_file, records_per_file));
  }
  write_file(folder / "test_batch.bin", cifar_records(1000, records_per_file));
}

}  // namespace parabench::datasets
