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

/// Images N x C x H x W and labels N of the pieces of one rank, in the order in which its forwards come. Images
/// have the master type and the case's layout and lie on the device.
class PieceInput {
 public:
  /// One stream of pieces: (step, replica, micro-batch) in consumption order.
  struct Piece {
    int step = 0, replica = 0;
    MicroBatchId micro_batch;
  };

  /// `source` may be shared by thread ranks. `images` false: labels alone.
  PieceInput(const Plan& plan, std::vector<Piece> pieces, std::shared_ptr<const SampleSource> source,
             const InputOptions& options, bool images);

  /// Loads the next piece of the stream; blocks until it is there. Undefined images when only labels were asked for.
  struct Tensors {
    torch::Tensor images, labels;
  };
  Tensors next(Device& device);

 private:
  std::vector<Piece> pieces_;
  Case spec_;
  Shape shape_;
  std::unique_ptr<Loader> loader_;
};

/// The pieces of `rank` in the order of its forwards; empty when it holds neither the first nor the last segment.
std::vector<PieceInput::Piece> pieces_of(const Plan& plan, Rank rank);
bool holds_first(const Plan& plan, Rank rank);
bool holds_last(const Plan& plan, Rank rank);

}  // namespace parabench
