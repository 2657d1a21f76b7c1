// Training that gives a device one whole step at a time: a step captured once and replayed (a CUDA graph).
#pragma once

#include <memory>
#include <vector>

#include "parallelism/exec/training_work.h"

namespace parabench::exec {

/// Runs the first graph_capture_step steps operation by operation, captures the next one and replays it for itself and
/// for all after it, each on its own pieces: these are copied to where the captured operations read them, unless they
/// lie there anyway (input:resident). The peaks of memory are those of the captured step, whose memory the replays use
/// again.
///
/// For the plans that check_case() lets have graph:on: one rank, whose steps are all alike and read and write the same
/// weights. A replayed step has one span, that of its first operation; the others begin and end where it ends.
class GraphedWork final : public TrainingWork {
 public:
  GraphedWork(const plan::Plan& plan, const models::ModelSpec& model, StageState& state,
              const plan::LocalDependencies& needs, comm::Communicator& comm, RankInput& input, Device& device,
              bool measured);

  void queue(int index) override;
  void begin(int index) override;
  void compute(int index) override;
  plan::Span computed(int index) const override;

 private:
  bool is_replayed(int index) const { return program_.compute()[index].step.value >= plan::graph_capture_step; }
  int first_of_step(int index) const { return index - index % step_length_; }
  /// Whether the device gets something with the operation: itself, or the step that it begins.
  bool gives_out(int index) const { return !is_replayed(index) || index == first_of_step(index); }
  void read_pieces(int first);
  void capture(int first);
  /// Brings the next step's pieces to where the captured one reads, where it reads others.
  void refill();

  int step_length_;                    ///< operations of the compute lane
  std::vector<PieceTensors> pieces_;   ///< what the captured step reads
  std::vector<Loss> captured_losses_;  ///< what it writes, besides weights
  std::unique_ptr<CapturedWork> step_;
};

}  // namespace parabench::exec
