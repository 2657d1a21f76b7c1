// The files of an image folder with one sub-folder per class.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace parabench::datasets {

/// Image files in the order (class, name), which is the same on every machine. Names lie one behind the other
/// in one text: a list of ImageNet takes 26 MB per rank, not 100.
class ImageList {
 public:
  std::int64_t size() const { return static_cast<std::int64_t>(names_.size()); }
  int label(std::int64_t index) const;
  std::string path(std::int64_t index) const;

  void add_class(int label, std::string folder);
  void add_file(const std::string& name);  ///< to the class added last

 private:
  struct Class {
    int label;
    std::string folder;
    std::int64_t begin;  // its first file
  };
  struct Name {
    std::uint32_t begin;
    std::uint32_t size;
  };
  const Class& class_of(std::int64_t index) const;

  std::vector<Class> classes_;
  std::vector<Name> names_;
  std::string text_;
};

/// Lists DIR/<split>/<class>/*.jpg, *.jpeg in any case; other and hidden files are left alone. A class's
/// label is its position among the sorted folder names of DIR/train, in both splits. Throws usage_error
/// naming the folder: missing, without a class, with more than `classes` (fewer are taken), a class without
/// images, a class of `split` that DIR/train lacks.
ImageList list_images(const std::string& directory, const std::string& split, int classes);

}  // namespace parabench::datasets
