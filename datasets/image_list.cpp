#include "datasets/image_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace parabench::datasets {
namespace {

namespace fs = std::filesystem;

constexpr const char* layout_hint = "give the folder that holds train/<class>/*.JPEG and val/<class>/*.JPEG as --data";

bool has_jpeg_name(const fs::path& path) {
  std::string extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension == ".jpg" || extension == ".jpeg";
}

/// Sorted names of the entries of `folder` that `keep` accepts, without hidden ones (such as `._*` of foreign
/// file systems).
template <class Keep>
std::vector<std::string> sorted_names(const fs::path& folder, Keep keep) {
  std::vector<std::string> names;
  try {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      std::string name = entry.path().filename().string();
      if (!name.starts_with('.') && keep(entry)) names.push_back(std::move(name));
    }
  } catch (const fs::filesystem_error& error) {
    throw usage_error("image folder", folder.string(), "a readable folder",
                      fmt::format("{}; {}", error.code().message(), layout_hint));
  }
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> class_names(const fs::path& folder) {
  return sorted_names(folder, [](const fs::directory_entry& entry) { return entry.is_directory(); });
}

std::vector<std::string> image_names(const fs::path& folder) {
  return sorted_names(
      folder, [](const fs::directory_entry& entry) { return has_jpeg_name(entry.path()) && entry.is_regular_file(); });
}

}  // namespace

const ImageList::Class& ImageList::class_of(std::int64_t index) const {
  return *std::prev(std::ranges::upper_bound(classes_, index, {}, &Class::begin));
}

int ImageList::label(std::int64_t index) const { return class_of(index).label; }

std::string ImageList::path(std::int64_t index) const {
  const Name& name = names_[static_cast<std::size_t>(index)];
  return fmt::format("{}/{}", class_of(index).folder, std::string_view(text_).substr(name.begin, name.size));
}

void ImageList::add_class(int label, std::string folder) { classes_.push_back({label, std::move(folder), size()}); }

void ImageList::add_file(const std::string& name) {
  names_.push_back({static_cast<std::uint32_t>(text_.size()), static_cast<std::uint32_t>(name.size())});
  text_ += name;
}

ImageList list_images(const std::string& directory, const std::string& split, int classes) {
  const fs::path train = fs::path(directory) / "train", folder = fs::path(directory) / split;
  const std::vector<std::string> known = class_names(train);
  if (known.empty() || known.size() > static_cast<std::size_t>(classes)) {
    throw usage_error("image folder " + train.string(), fmt::format("{} class folders", known.size()),
                      fmt::format("1 to {}", classes), layout_hint);
  }
  ImageList list;
  for (const std::string& name : split == "train" ? known : class_names(folder)) {
    const auto found = std::ranges::lower_bound(known, name);
    if (found == known.end() || *found != name) {
      throw usage_error("image folder", (folder / name).string(), "a class that " + train.string() + " has too",
                        "labels are positions among the class folders of train");
    }
    const std::vector<std::string> images = image_names(folder / name);
    if (images.empty()) {
      throw usage_error("image folder", (folder / name).string(), "at least one .JPEG file",
                        "finish the copy, or remove the folder in train and val");
    }
    list.add_class(static_cast<int>(found - known.begin()), (folder / name).string());
    for (const std::string& image : images) list.add_file(image);
  }
  if (list.size() == 0) throw usage_error("image folder", folder.string(), "at least one class folder", layout_hint);
  return list;
}

}  // namespace parabench::datasets
