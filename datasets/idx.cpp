#include "datasets/idx.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include <algorithm>
#include <memory>
#include <span>

#include "base/error.h"

namespace parabench::datasets {
namespace {

constexpr const char* hint = "unpack or download the file anew";
constexpr std::int64_t most_bytes = 1LL << 30;  // a header that says more is damaged; MNIST has 47 million

/// Reads plain files, too.
struct GzipFile {
  explicit GzipFile(const std::string& name) : path(name), file(gzopen(name.c_str(), "rb"), gzclose) {
    if (!file) throw usage_error("IDX file", path, "a readable file", "give the folder that holds it as --data");
    gzbuffer(file.get(), 1 << 18);
  }

  /// Bytes read: fewer than asked for only at the end.
  std::size_t read(std::span<std::uint8_t> bytes) const {
    std::size_t done = 0;
    while (done < bytes.size()) {
      const auto part = static_cast<unsigned>(std::min<std::size_t>(bytes.size() - done, 1U << 30));
      const int got = gzread(file.get(), bytes.data() + done, part);
      if (got < 0) {
        int code = Z_OK;
        const std::string reason = gzerror(file.get(), &code);
        throw usage_error("IDX file " + path, reason, "an undamaged file", hint);
      }
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

  /// Memory grows with what arrives: a damaged header may ask for far more than the file holds.
  std::vector<std::uint8_t> read_at_most(std::size_t most) const {
    std::vector<std::uint8_t> bytes;
    std::size_t done = 0;
    while (done == bytes.size() && done < most) {
      bytes.resize(std::min(most, std::max<std::size_t>(2 * done, 1U << 16)));
      done += read(std::span(bytes).subspan(done));
    }
    bytes.resize(done);
    return bytes;
  }

  std::string path;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file;
};

std::uint32_t big_endian(const std::uint8_t* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 | bytes[3];
}

}  // namespace

IdxArray read_idx(const std::string& path, int dimensions) {
  const GzipFile file(path);
  const std::string what = "IDX file " + path;
  std::vector<std::uint8_t> header(4 + 4 * static_cast<std::size_t>(dimensions));
  if (file.read(header) != header.size()) {
    throw usage_error(what, "a file that ends within its header",
                      fmt::format("{} bytes of header: magic number and {} sizes", header.size(), dimensions), hint);
  }
  constexpr std::uint32_t unsigned_bytes = 0x08;
  const std::uint32_t magic = unsigned_bytes << 8 | static_cast<std::uint32_t>(dimensions);
  if (big_endian(header.data()) != magic) {
    throw usage_error(what, fmt::format("magic number {:#010x}", big_endian(header.data())),
                      fmt::format("{:#010x}: unsigned bytes in {} dimensions", magic, dimensions), hint);
  }
  IdxArray array;
  std::int64_t total = 1;
  for (int d = 0; d < dimensions; ++d) {
    array.dims.push_back(big_endian(header.data() + 4 + 4 * d));
    // A product that would not fit is told as none.
    total = array.dims.back() > most_bytes / std::max<std::int64_t>(1, total) ? 0 : total * array.dims.back();
  }
  if (total < 1) {
    throw usage_error(what, fmt::format("sizes {}", fmt::join(array.dims, " x ")),
                      fmt::format("1 to {} bytes in all", most_bytes), hint);
  }
  array.bytes = file.read_at_most(static_cast<std::size_t>(total));
  const std::size_t read = array.bytes.size();
  const bool is_short = read < static_cast<std::size_t>(total);
  std::uint8_t beyond = 0;
  if (is_short || file.read({&beyond, 1}) != 0) {
    throw usage_error(what, is_short ? fmt::format("{} bytes of data", read) : "more bytes than that",
                      fmt::format("{} bytes as its header says: {}", total, fmt::join(array.dims, " x ")), hint);
  }
  return array;
}

}  // namespace parabench::datasets
