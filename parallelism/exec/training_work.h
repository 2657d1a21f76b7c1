// What the operations of a plan do to one rank's share of the model: segments computed, messages sent, weights updated.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "parallelism/comm/communicator.h"
#include "parallelism/exec/device.h"
#include "parallelism/exec/execution.h"
#include "parallelism/exec/input.h"
#include "parallelism/exec/lane_runner.h"
#include "parallelism/exec/segment_runner.h"
#include "parallelism/exec/stage_state.h"

namespace parabench::exec {

/// Trains. Operations may run at the same time on several threads, each of them once what it needs has ended.
class TrainingWork : public RankWork {
 public:
  /// The memory peak is reset when step `measure_from` begins. Without it nothing is measured: spans are zeros.
  TrainingWork(const plan::Plan& plan, const models::ModelSpec& model, StageState& state,
               const plan::LocalDependencies& needs, comm::Communicator& comm, RankInput& input, Device& device,
               std::optional<StepId> measure_from);

  void enter(bool computes) override;
  void queue(int index) override;
  void begin(int index) override;
  void compute(int index) override;
  void adds(int index, std::vector<plan::OpRef> awaited) override;
  void comes_too_late(StepId step) override;
  void finish() override;
  plan::Span computed(int index) const override;
  bool is_done(int computed) const override { return device_.reached(marks_[computed].end); }
  comm::Work start(int lane, int index) override;
  void given_out(int lane, int index, const comm::DeviceSpan& span) override;
  void end(int lane, int index) override;
  plan::Span transferred(int lane, int index, const plan::Span& seen) const override;
  double patience_s() override;

  /// Memory and losses; the spans are left to the lanes.
  Execution take_result() { return std::move(result_); }

 protected:
  struct Loss {
    int index;  ///< on the compute lane
    torch::Tensor value;
  };

  /// Gives out an operation of the compute lane.
  void run(int index);
  /// What there is to note when an operation was given out.
  void end_of(int index);
  /// Reads the losses given out so far; waits for them on a device with a queue.
  void read_losses();

  Device& device_;
  RankInput& input_;
  const plan::RankProgram& program_;
  std::deque<PieceTensors> fed_;  ///< on the device; taken before those of `input_`
  std::vector<Loss> losses_;      ///< not yet read

 private:
  using Labels = std::map<std::pair<StepId, MicroBatchId>, torch::Tensor>;

  /// A pass of a step for which the rank comes too late: its piece is read and left.
  void leave_out(const plan::Op& op, int index);
  torch::Tensor run_forward(const plan::Op& op, int index);
  void run_backward(const plan::Op& op, int index);

  /// The tensor that an operation consumes: the result of its dependency of which `makes` is true.
  struct Taken {
    torch::Tensor tensor;
    bool received = false;  ///< from another rank
  };
  Taken take(int lane, int index, bool (*makes)(const plan::Op&));
  /// The piece's images, where the operation takes them, and labels, where they are needed later or now.
  torch::Tensor read_input(const plan::Op& op, int index);
  bool has_labels(const Labels::key_type& piece) const;
  /// Those of the operation's piece; gone from here unless they are needed again.
  torch::Tensor labels_of(const plan::Op& op, bool again);
  /// The next piece on the device. Until it is there, the operation waits for data.
  PieceTensors next_piece(PieceFeed& input, int index);
  torch::Tensor receive_buffer(const plan::Op& op) const;
  /// What a worker and its server send each other.
  comm::BufferView of_run(const plan::Op& message, void* ready) const;
  /// What an all-reduce over a run sums.
  comm::BufferView summed(const plan::Op& op) const;
  /// A collective on a run that its members share.
  comm::CollectiveCall sharing(int lane, const plan::Op& op, comm::CollectiveKind kind, void* ready) const;
  /// Of what all members encoded of a run.
  comm::Work gather_encoded(int lane, const plan::Op& op, void* ready) const;
  /// What came by messages of skips for an operation of the compute lane, on its way into the runner; what the runner
  /// has for other ranks after it, to the sends.
  void bring_skips(int index);
  void send_skips(int index);
  /// The event after all compute operations that an operation needs; null on the processor, and where there are none.
  void* ready(int lane, int index) const;
  /// Whether the piece comes back to this rank for its loss.
  bool computes_loss(const plan::Op& op) const;

  const plan::Plan& plan_;
  StageState& state_;
  comm::Communicator& comm_;
  std::optional<StepId> measure_from_;
  const plan::LocalDependencies& needs_;
  SegmentId last_segment_;
  bool counts_operations_;                       ///< the memory around each one
  std::map<plan::LaneKey, CommGroupId> groups_;  ///< of the communicator, by lane
  std::vector<TensorSpec> boundaries_;
  std::vector<models::Skip> skips_;
  std::map<std::pair<int, int>, plan::OpRef> skip_sends_;  ///< by index on the compute lane and port
  SegmentRunner runner_;
  std::vector<std::vector<torch::Tensor>> payload_;  ///< [lane][index] written by one operation, taken by one other
  /// [lane][index] written before the operation is given out. Where nothing is measured, only the ends, each until the
  /// device was told to wait for it.
  std::vector<std::vector<comm::DeviceSpan>> transfers_;
  std::map<std::pair<int, int>, comm::DeviceEvent>
      brought_;    ///< by lane and index: the rank's share of what it gathers
  Labels labels_;  ///< until the last segment's last need
  struct Marks {
    Mark queued, start, end;
    std::optional<Mark> fed;  ///< between start and end, where a piece was read
  };
  std::vector<plan::OpRef> awaited_;  ///< by the addition that begins next, where arrival decides
  std::optional<StepId> too_late_;    ///< the latest step in which the rank computes nothing
  std::vector<Marks> marks_;          ///< of the compute lane; written before the operation's end is told
  bool peaks_reset_ = false;
  mutable std::mutex mutex_;  ///< of labels, losses and the reset of peaks, which several operations touch
  Execution result_;
};

}  // namespace parabench::exec
