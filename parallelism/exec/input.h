// A rank's input: the pieces that its plan names, as tensors.
#pragma once

#include <torch/types.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "datasets/loader.h"
#include "parallelism/exec/device.h"
#include "parallelism/plan/plan.h"

namespace parabench {

struct InputOptions {
  std::string directory;
  bool skip_corrupt = false;
};

/// Images N x C x H x W and labels N of the pieces of one rank, in the order in which its forwards come. Images have
/// the master type and the case's layout and lie in host memory.
class PieceInput {
 public:
  /// One stream of pieces: (step, replica, micro-batch) in consumption order.
  struct Piece {
    int step = 0, replica = 0;
    MicroBatchId micro_batch;
    bool operator==(const Piece&) const = default;
  };

  /// `source` may be shared by thread ranks. `images` false: labels alone.
  PieceInput(const Plan& plan, std::vector<Piece> pieces, std::shared_ptr<const SampleSource> source,
             const InputOptions& options, bool images);

  /// Loads the next piece of the stream; blocks until it is there. Undefined images when only labels were asked for.
  struct Tensors {
    torch::Tensor images, labels;
  };
  Tensors next();

 private:
  std::vector<Piece> pieces_;
  Case spec_;
  Shape shape_;
  std::unique_ptr<Loader> loader_;
};

/// A piece where the device computes; may return before the copy has ended.
PieceInput::Tensors on_device(PieceInput::Tensors piece, Device& device);

/// What a rank reads of the batches: images of the pieces whose first segment it computes, with their labels, and
/// labels alone of those whose last segment it computes besides. Empty members where it reads no such pieces.
struct RankInput {
  std::unique_ptr<PieceInput> images, labels;
};
RankInput open_input(const Plan& plan, Rank rank, const std::shared_ptr<const SampleSource>& source,
                     const InputOptions& options);
/// Whether the rank reads anything.
bool reads_input(const Plan& plan, Rank rank);

}  // namespace parabench
