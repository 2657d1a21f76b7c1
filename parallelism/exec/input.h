// A rank's input: the pieces that its plan names, loaded, and as tensors where its device computes.
#pragma once

#include <torch/types.h>

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "datasets/loader.h"
#include "parallelism/exec/device.h"
#include "parallelism/exec/upload.h"
#include "parallelism/plan/input_pieces.h"

namespace parabench::exec {

struct InputOptions {
  std::string directory;
  bool skip_corrupt = false;
};

/// The pieces of one rank as they are loaded, in the order in which its forwards come.
class PieceInput {
 public:
  /// `source` may be shared by thread ranks. `images` false: labels alone. `memory` is what the pieces lie in.
  PieceInput(const plan::Plan& plan, std::vector<plan::InputPiece> pieces,
             std::shared_ptr<const datasets::SampleSource> source, const InputOptions& options, bool images,
             datasets::HostMemory memory);

  /// Blocks until the next piece is loaded.
  datasets::LoadedPiece next() { return loader_->next(); }

 private:
  std::unique_ptr<datasets::Loader> loader_;
};

/// The pieces of one rank on its device. With input:resident they are loaded and copied there by the constructor, and
/// nothing is loaded later.
class PieceFeed {
 public:
  /// By the thread that computes. The device outlives the object.
  PieceFeed(const plan::Plan& plan, std::vector<plan::InputPiece> pieces,
            std::shared_ptr<const datasets::SampleSource> source, const InputOptions& options, bool images,
            Device& device);

  /// Whether all pieces lie on the device all the time.
  bool is_resident() const { return !resident_.empty(); }
  /// Blocks until the next piece is loaded. What the device is given from now on comes after its arrival there.
  void await();
  /// The piece awaited last as the network reads it: in new tensors, or those that stay.
  PieceTensors take();
  /// The same in tensors that take() gave for a piece of as many samples. Not for resident pieces.
  void take_into(const PieceTensors& tensors);

 private:
  Case spec_;
  std::unique_ptr<Upload> upload_;
  std::unique_ptr<PieceInput> input_;
  PieceTensors arrived_;
  std::vector<plan::InputPiece> pieces_;  ///< in the order of forwards
  std::size_t next_ = 0;                  ///< of pieces_
  std::map<plan::InputPiece, PieceTensors> resident_;
};

/// What a rank reads of the batches (input_pieces.h). Empty members where it reads no such pieces.
struct RankInput {
  std::unique_ptr<PieceFeed> images, labels;
};
/// By the thread that computes.
RankInput open_input(const plan::Plan& plan, Rank rank, const std::shared_ptr<const datasets::SampleSource>& source,
                     const InputOptions& options, Device& device);

}  // namespace parabench::exec
