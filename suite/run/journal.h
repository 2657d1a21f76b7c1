// Finished records on disk from the moment they are finished until the results file is written, and what is measured
// of the others.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "results/file.h"
#include "suite/run/progress.h"

namespace parabench::suite {

/// What a run found beside its results file when it was to go on with an earlier one.
struct Unfinished {
  results::ResultsFile run;  ///< head and records
  std::filesystem::path path;
  std::vector<results::Record> launches = {};  ///< as keep_launch() got them, those of a case in their order
  /// Whether there is anything that a run can go on with.
  bool holds_something() const;
};

/// Whether a record of an earlier run stands: failed cases and those that were cut short run again, and what was
/// skipped is looked at anew.
bool is_finished(const results::Record& record);

/// The folder of the journal beside a results file, which is not whole while it is there.
std::filesystem::path journal_folder(const std::filesystem::path& results);

/// The folder FILE.journal: head.json, a results file without records, and record-<hash of the id>.json for each
/// record, launch-<the same>-<number>.json for each launch of a case that has no record yet, every one written beside
/// and renamed; scratch tells of scratch folders (scratch_note.h). One program at a time: it holds a lock on the file
/// lock while it lives, which is the one at that path.
class Journal {
 public:
  /// Takes the lock. Throws usage_error where another program has it, environment_error where the folder cannot be
  /// made or its disk has less room than `cases` records may take.
  Journal(std::filesystem::path results, int cases, Progress& progress);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// The run that stopped before its results file was written, else the one in the results file; nullopt where there is
  /// neither. Records that cannot be read are noted and left out. Throws usage_error for a head or a results file that
  /// is none.
  std::optional<Unfinished> unfinished() const;
  /// Throws usage_error where finished records or launches of another run lie here, which a new one would lose.
  void require_empty() const;

  /// Removes the scratch folders of runs that were killed before they could, and tells of this one's.
  void take_scratch(const std::filesystem::path& scratch);
  /// From here on the folder stands for a run with this head, which has no records. `goes_on`: records and launches
  /// that are there belong to it, else they are dropped.
  void begin(const results::ResultsFile& head, bool goes_on);
  /// Never throws: a record that cannot be written (a full disk) is noted, kept in memory and tried again with the
  /// next.
  void keep(const results::Record& record);
  /// Likewise the launch of this number, from 1, of a case that is not finished: a record with nothing else measured.
  void keep_launch(const results::Record& record, int number);
  /// Drops the launches of a case: it has its record, or begins anew.
  void forget_launches(const std::string& id);
  /// Writes the results file, of which an earlier run's stays beside it as FILE.previous, and, where the run is
  /// complete, removes the folder: else it stays, so that the next run into this file is asked to go on and loses
  /// nothing. Where the file cannot be written it goes into the folder of temporary files, and the note says so.
  /// False in that case.
  bool finish(const results::ResultsFile& all, bool complete);

 private:
  void lock();
  void remove_folder() const;
  void keep_earlier() const;
  std::vector<results::Record> read_all(const std::vector<std::filesystem::path>& files) const;
  std::filesystem::path file_of(const std::string& kind, const std::string& id) const;
  void write(std::filesystem::path file, const results::Record& record);

  std::filesystem::path results_, folder_;
  Progress& progress_;
  int lock_ = -1;
  std::vector<std::pair<std::filesystem::path, results::Record>> unwritten_;
  bool goes_on_ = false;
};

/// Whether another program is making this results file now. Where the file system does not share locks between hosts,
/// one of another host is not seen.
bool is_being_written(const std::filesystem::path& results);
/// Whether a run of this results file began and has not written it.
bool was_cut_short(const std::filesystem::path& results);

/// Throws usage_error where records of `before` cannot stand beside those that a run with the head `now` makes: another
/// program, machine or set of libraries; the error names the difference.
void require_same_run(const Unfinished& before, const results::ResultsFile& now);

}  // namespace parabench::suite
