#include "suite/run/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json_text.h"
#include "base/units_text.h"
#include "results/origin.h"
#include "results/record_json.h"
#include "results/record_read.h"
#include "suite/run/scratch_note.h"

namespace parabench::suite {
namespace {

namespace fs = std::filesystem;

/// What a record takes on disk with 20 steps, some launches and a few ranks, twice: in the journal and in the file.
constexpr std::int64_t bytes_per_record = 2 * 64 * 1024, bytes_besides = 1 << 20;

fs::path head_of(const fs::path& folder) { return folder / "head.json"; }
fs::path lock_of(const fs::path& folder) { return folder / "lock"; }

/// Whether this is the file at that path still, and not one that was removed there after it was opened.
bool is_at(int descriptor, const fs::path& path) {
  struct stat opened {};
  struct stat there {};
  return fstat(descriptor, &opened) == 0 && stat(path.c_str(), &there) == 0 && opened.st_dev == there.st_dev &&
         opened.st_ino == there.st_ino;
}

/// Whether the lock could be had. Those who only look whether it is taken hold it for a moment.
bool take_lock(int descriptor) {
  for (int attempt = 0; attempt < 10; ++attempt) {
    if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) return true;
    usleep(20'000);
  }
  return false;
}

void require_room(const fs::path& folder, int cases) {
  struct statvfs disk {};
  if (statvfs(folder.c_str(), &disk) != 0) return;
  const double room = static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize);
  const double wanted = static_cast<double>(bytes_besides + cases * bytes_per_record);
  if (room >= wanted) return;
  throw environment_error("free disk space", human_bytes(room),
                          fmt::format("{} for the records of {} in {}", human_bytes(wanted), counted(cases, "case"),
                                      folder.parent_path().empty() ? "." : folder.parent_path().string()),
                          "free some, or let --json name a file on another disk");
}

/// As far as the folder can be read.
std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator(); entry.increment(error))
    files.push_back(entry->path());
  std::ranges::sort(files);
  return files;
}

constexpr const char* of_records = "record-";
constexpr const char* of_launches = "launch-";

/// Of one kind, in their order.
std::vector<fs::path> files_in(const fs::path& folder, std::string_view kind) {
  std::vector<fs::path> files = files_in(folder);
  std::erase_if(files, [&](const fs::path& path) {
    const std::string name = path.filename();
    return !name.starts_with(kind) || !name.ends_with(".json");
  });
  return files;
}

}  // namespace

bool is_finished(const results::Record& record) { return record.status == results::Status::ok; }

bool Unfinished::holds_something() const { return !launches.empty() || std::ranges::any_of(run.records, is_finished); }

fs::path journal_folder(const fs::path& results) { return results.string() + ".journal"; }

Journal::Journal(fs::path results, int cases, Progress& progress)
    : results_(std::move(results)), folder_(journal_folder(results_)), progress_(progress) {
  lock();
  try {
    require_room(folder_, cases);
  } catch (...) {
    close(lock_);
    throw;
  }
}

Journal::~Journal() {
  // Nothing has begun: nothing to keep. Once finish has removed the folder, one that is there is another program's.
  std::error_code ignored;
  if (is_at(lock_, lock_of(folder_)) && !fs::exists(head_of(folder_), ignored)) remove_folder();
  close(lock_);
}

void Journal::lock() {
  const fs::path path = lock_of(folder_);
  // Once more where the owner before removed the folder between two of these steps.
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::error_code error;
    fs::create_directory(folder_, error);
    lock_ = error ? -1 : open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (lock_ < 0) {
      if (!error && errno == ENOENT) continue;
      throw environment_error("--json", results_.string(), "a folder where files can be made",
                              error ? error.message() : std::strerror(errno));
    }
    const bool taken = take_lock(lock_);
    if (taken && is_at(lock_, path)) return;
    close(lock_);
    if (!taken) break;
  }
  throw usage_error("--json", results_.string(), "a file that no other parabench is writing",
                    "wait for its end, or name another file");
}

void Journal::remove_folder() const {
  std::error_code ignored;
  const fs::path lock = lock_of(folder_);
  for (const fs::path& path : files_in(folder_))
    if (path != lock) fs::remove_all(path, ignored);
  // The lock last, and the folder only while it is empty: whoever comes from here on makes a lock of its own in it.
  fs::remove(lock, ignored);
  fs::remove(folder_, ignored);
}

fs::path Journal::file_of(const std::string& kind, const std::string& id) const {
  return folder_ / (kind + hex16(fnv1a64(id)));
}

std::optional<Unfinished> Journal::unfinished() const {
  if (!fs::exists(head_of(folder_))) {
    if (!fs::exists(results_)) return std::nullopt;
    return Unfinished{results::read_results(results_), results_};
  }
  Unfinished found{results::read_results(head_of(folder_)), folder_};
  found.run.records = read_all(files_in(folder_, of_records));
  found.launches = read_all(files_in(folder_, of_launches));
  return found;
}

std::vector<results::Record> Journal::read_all(const std::vector<fs::path>& files) const {
  std::vector<results::Record> records;
  for (const fs::path& path : files) {
    try {
      records.push_back(results::record_from_json(JsonReader(read_json(path), path.string())));
    } catch (const Error& error) {
      progress_.note(fmt::format("a record that cannot be read is made anew: {}", error.what()));
    }
  }
  return records;
}

void Journal::require_empty() const {
  if (!fs::exists(head_of(folder_))) return;
  const auto records = std::ranges::count_if(read_all(files_in(folder_, of_records)), is_finished);
  const std::size_t launches = files_in(folder_, of_launches).size();
  if (records == 0 && launches == 0) return;
  std::string held = records > 0 ? counted(records, "finished record") : "";
  if (launches > 0)
    held += fmt::format("{}{} of cases that were not finished", held.empty() ? "" : " and ",
                        counted(launches, "launch", "launches"));
  throw usage_error("--json", results_.string(), fmt::format("no unfinished run: {} holds {}", folder_.string(), held),
                    "--resume goes on with it; remove the folder to start over");
}

void Journal::take_scratch(const fs::path& scratch) { take_over_scratch(folder_ / "scratch", scratch, progress_); }

void Journal::begin(const results::ResultsFile& head, bool goes_on) {
  goes_on_ = goes_on;
  if (!goes_on)
    for (const char* kind : {of_records, of_launches})
      for (const fs::path& path : files_in(folder_, kind)) fs::remove(path);
  results::write_results(head_of(folder_), head);
}

void Journal::keep(const results::Record& record) { write(file_of(of_records, record.id) += ".json", record); }

void Journal::keep_launch(const results::Record& record, int number) {
  write(file_of(of_launches, record.id) += fmt::format("-{:06}.json", number), record);
}

void Journal::forget_launches(const std::string& id) {
  const fs::path beginning = file_of(of_launches, id);
  const auto is_of_case = [&](const fs::path& path) { return path.string().starts_with(beginning.string()); };
  std::erase_if(unwritten_, [&](const auto& one) { return is_of_case(one.first); });
  std::error_code ignored;
  for (const fs::path& path : files_in(folder_, of_launches))
    if (is_of_case(path)) fs::remove(path, ignored);
}

void Journal::write(fs::path file, const results::Record& record) {
  unwritten_.emplace_back(std::move(file), record);
  try {
    while (!unwritten_.empty()) {
      const auto& [path, first] = unwritten_.front();
      write_atomically(path, json_text(results::to_json(first)) + "\n");
      unwritten_.erase(unwritten_.begin());
    }
  } catch (const std::exception& error) {
    progress_.note(fmt::format("finished records are kept in memory and written later: {}", error.what()));
  }
}

void Journal::keep_earlier() const {
  std::error_code error;
  if (goes_on_ || !fs::is_regular_file(results_, error) || fs::file_size(results_, error) == 0) return;
  fs::path earlier = results_;
  earlier += ".previous";
  fs::rename(results_, earlier, error);
  if (!error) progress_.note(fmt::format("the results that were in {} are in {}", results_.string(), earlier.string()));
}

bool Journal::finish(const results::ResultsFile& all, bool complete) {
  try {
    keep_earlier();
    results::write_results(results_, all);
  } catch (const std::exception& error) {
    progress_.note(fmt::format("the results could not be written: {}", error.what()));
    try {
      const fs::path elsewhere =
          fs::temp_directory_path() / fmt::format("{}.{}", results_.filename().string(), getpid());
      results::write_results(elsewhere, all);
      progress_.note(fmt::format("they are in {} instead", elsewhere.string()));
    } catch (const std::exception& second) {
      progress_.note(fmt::format("nor there: {}; what could be kept is in {}", second.what(), folder_.string()));
    }
    return false;
  }
  if (complete) remove_folder();
  return true;
}

bool is_being_written(const fs::path& results) {
  const int lock = open(lock_of(journal_folder(results)).c_str(), O_RDWR | O_CLOEXEC);
  if (lock < 0) return false;
  const bool taken = flock(lock, LOCK_SH | LOCK_NB) != 0;
  close(lock);
  return taken;
}

bool was_cut_short(const fs::path& results) {
  std::error_code ignored;
  return fs::exists(head_of(journal_folder(results)), ignored);
}

void require_same_run(const Unfinished& before, const results::ResultsFile& now) {
  const auto difference = results::origin_difference(before.run, now);
  if (!difference) return;
  throw usage_error(
      "--resume", fmt::format("{} of another {}: {}", before.path.string(), difference->what, difference->first),
      difference->second, "records of both would not compare; remove it, or name another --json, to start over");
}

}  // namespace parabench::suite
