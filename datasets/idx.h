// IDX files: arrays of bytes with their dimensions in front, the format of MNIST (LeCun, Cortes and Burges 1998).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace parabench::datasets {

/// A file's array of unsigned bytes, the last dimension fastest.
struct IdxArray {
  std::vector<std::int64_t> dims;
  std::vector<std::uint8_t> bytes;
};

/// Reads a file of `dimensions` dimensions, compressed by gzip or plain, as a whole. Throws usage_error naming the file
/// and what was expected where it cannot be read, is no such file, or holds fewer or more bytes than its header says.
IdxArray read_idx(const std::string& path, int dimensions);

}  // namespace parabench::datasets
