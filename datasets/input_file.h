// A file open for reading at any offset, by any number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace parabench::datasets {

/// Reads by offset, not through a mapping: a file that shrinks while it is read is a short read, not a signal.
class InputFile {
 public:
  /// Does not throw: ask is_open().
  explicit InputFile(std::string path);
  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;

  bool is_open() const { return descriptor_ >= 0; }
  const std::string& path() const { return path_; }
  /// Bytes; -1 when it cannot be told, as for a folder.
  std::int64_t size() const;
  /// Bytes read into `bytes` from `offset` on: fewer than asked for only at the end of the file or on an error.
  std::size_t read_at(std::int64_t offset, std::span<std::uint8_t> bytes) const;

 private:
  std::string path_;
  int descriptor_;
};

}  // namespace parabench::datasets
