// Writes results files for the tests of reports into a folder, always the same: one.json (1 record), thousand.json
// (1,000), failed.json (none counts), hostile.json (text that means something in HTML, JavaScript, LaTeX and CSV),
// again.json (cases of thousand.json, of another run), timelines.json (with a step's operations).
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>

#include "results/summary.h"
#include "tests/results/samples.h"

namespace parabench::results {
namespace {

const std::vector<std::string> workloads = {"resnet18/cifar10-synthetic", "resnet50/imagenet-synthetic",
                                            "vgg16-bn/cifar10-synthetic", "mobilenetv2/cifar10-synthetic",
                                            "resnet34/imagenet-synthetic[pixels=32,classes=10]"};
const std::vector<std::string> strategies = {"data-parallel", "zero1",       "model-parallel", "gpipe",        "1f1b",
                                             "dapple",        "interleaved", "looped-bfs",     "zb-h1",        "zb-h2",
                                             "zb-v",          "chimera",     "pipedream",      "pipedream-2bw"};

/// Errors and times that vary, without distributions, whose numbers differ between libraries.
class Chance {
 public:
  double operator()(double low, double high) {
    return low + (high - low) * static_cast<double>(engine_()) / static_cast<double>(std::mt19937::max());
  }

 private:
  std::mt19937 engine_{7};
};

void vary(Record& record, Chance& chance) {
  const double time = chance(-0.25, 0.2), memory = chance(0.9, 1.08);
  Predicted& predicted = *record.predicted;
  predicted.step_time_s = record.measured->step_time_s.median * (1 + time);
  predicted.interval_s = {0.94 * predicted.step_time_s, 1.06 * predicted.step_time_s};
  predicted.throughput_samples_per_s = record.parameters.batch / predicted.step_time_s;
  for (Canary& canary : record.measured->canaries) canary.matrix_product_s *= 1 - 0.6 * time;
  const double size = chance(0.5, 3) / record.parameters.np;
  for (std::size_t rank = 0; rank < predicted.ranks.size(); ++rank) {
    MemoryUsage& in_run = record.measured->ranks[rank].peak_memory;
    for (std::int64_t& bytes : in_run.category) bytes = std::llround(static_cast<double>(bytes) * size);
    predicted.ranks[rank].peak_memory = in_run;
    predicted.ranks[rank].peak_memory.resident = 0;
    std::int64_t& activations = predicted.ranks[rank].peak_memory[MemoryCategory::activations];
    activations = std::llround(static_cast<double>(activations) * memory);
    Breakdown& parts = *record.measured->ranks[rank].breakdown_s;
    parts.bubble *= chance(0.2, 4);
    parts.communication_exposed *= chance(0.2, 2);
  }
  record.error = compare(predicted, *record.measured, record.paired);
  // timelines.json is for them.
  predicted.timeline.reset();
  record.measured->timeline.reset();
}

std::vector<Record> grid(std::size_t most) {
  Chance chance;
  std::vector<Record> records;
  for (const int micro : {4, 8, 16}) {
    for (const std::string& workload : workloads) {
      for (const int batch : {32, 64}) {
        const std::string sequential = workload + "/sequential/np:1/batch:" + std::to_string(batch);
        const double one = 40.0 + static_cast<double>(4 * workload.size());
        const auto add = [&](const std::string& id, double rate) {
          if (records.size() < most) vary(records.emplace_back(ok_record(id, rate)), chance);
        };
        if (micro == 4) add(sequential, one);
        for (const std::string& strategy : strategies) {
          for (const int np : {2, 4, 8}) {
            std::string id =
                workload + "/" + strategy + "/np:" + std::to_string(np) + "/batch:" + std::to_string(batch);
            if (micro != 4) id += "/micro:" + std::to_string(micro);
            add(id, one * np * chance(0.45, 0.95));
          }
        }
      }
    }
  }
  return records;
}

ResultsFile file_of(std::vector<Record> records) {
  ResultsFile file = sample_files()[0];
  file.records = std::move(records);
  return file;
}

ResultsFile thousand() {
  ResultsFile file = file_of(grid(1000));
  for (std::size_t i = 0; i < file.records.size(); ++i) {
    Record& record = file.records[i];
    if (i % 50 == 7) {
      record.status = Status::failed;
      record.reason = "rank 1 was killed by signal 9";
      record.measured.reset();
      record.error.reset();
    } else if (i % 50 == 20) {
      record.equivalence.status = EquivalenceStatus::fail;
      record.equivalence.reason = "fc.bias differs by 0.5, which is more than 1e-09";
    } else if (i % 10 == 3) {
      record.equivalence = {.reason = "switched off by --verify off"};
    }
  }
  return file;
}

ResultsFile failed() {
  ResultsFile file = file_of(grid(12));
  for (Record& record : file.records) record = skipped_record(record.id, "no GPU");
  return file;
}

ResultsFile hostile() {
  const std::string text =
      "</script><img src=x onerror=\"document.title='owned'\"><!-- \u2028\u2029 {{data}} \\input{x} $%&#_^~ 'q' "
      "\"r\"\nsecond "
      "line";
  ResultsFile file = file_of(grid(6));
  file.context.hosts[0].name = text;
  file.context.hosts[0].cpu = "=cmd|' /C calc'!A0";
  file.context.argv = {"parabench", text};
  file.context.environment["OMP_NUM_THREADS"] = text;
  file.records[0].id = text;
  file.records[1].id = "=1+1/b/" + text;
  file.records[2].status = Status::failed;
  file.records[2].reason = text;
  file.records[3].reproduce = text;
  file.records[4].equivalence.status = EquivalenceStatus::fail;
  file.records[4].equivalence.reason = text;
  return file;
}

std::vector<TimedAction> rank_actions(int rank, double scale) {
  std::vector<TimedAction> actions;
  double time = 0.001 * rank * scale;
  for (const std::string kind : {"F", "B"}) {
    for (int micro = 0; micro < 4; ++micro) {
      const double length = (kind == "F" ? 0.001 : 0.002) * scale;
      actions.push_back({std::to_string(rank) + kind + std::to_string(micro), time, time + length});
      time += length;
    }
    time += 0.001 * scale;
  }
  actions.push_back({"U", time, time + 0.0005 * scale});
  return actions;
}

ResultsFile with_timelines() {
  ResultsFile file = file_of(grid(8));
  for (Record& record : file.records) {
    StepTimeline predicted{3, 3, {}}, measured{3, 3, {}};
    for (int rank = 0; rank < record.parameters.np; ++rank) {
      predicted.ranks.push_back(rank_actions(rank, 1.0));
      measured.ranks.push_back(rank_actions(rank, 1.15));
    }
    record.predicted->timeline = predicted;
    record.measured->timeline = measured;
  }
  return file;
}

void write_all(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  write_results(folder / "one.json", file_of(grid(1)));
  write_results(folder / "thousand.json", thousand());
  write_results(folder / "failed.json", failed());
  write_results(folder / "hostile.json", hostile());
  std::vector<Record> again = grid(30);
  for (Record& record : again) record.measured->throughput_samples_per_s *= 1.1;
  write_results(folder / "again.json", file_of(again));
  write_results(folder / "timelines.json", with_timelines());
}

}  // namespace
}  // namespace parabench::results

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: write_report_samples FOLDER\n";
    return 2;
  }
  parabench::results::write_all(argv[1]);
  return 0;
}
