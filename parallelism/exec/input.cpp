#include "parallelism/exec/input.h"

#include <algorithm>
#include <utility>

namespace parabench::exec {

RankInput open_input(const plan::Plan& plan, Rank rank, const std::shared_ptr<const datasets::SampleSource>& source,
                     const InputOptions& options, Device& device) {
  const auto feed = [&](std::vector<plan::InputPiece> pieces, bool images) {
    return pieces.empty() ? nullptr
                          : std::make_unique<PieceFeed>(plan, std::move(pieces), source, options, images, device);
  };
  auto [images, labels] = plan::input_pieces(plan, rank);
  return {.images = feed(std::move(images), true), .labels = feed(std::move(labels), false)};
}

PieceInput::PieceInput(const plan::Plan& plan, std::vector<plan::InputPiece> pieces,
                       std::shared_ptr<const datasets::SampleSource> source, const InputOptions& options, bool images,
                       datasets::HostMemory memory) {
  std::vector<datasets::PieceRequest> requests;
  for (const plan::InputPiece& piece : pieces)
    requests.push_back({plan::first_position(plan, piece), plan::samples_of(plan, piece)});
  datasets::LoaderOptions loader;
  loader.threads = plan.spec.loader;
  loader.values = images;
  loader.skip_corrupt = options.skip_corrupt;
  loader.seed = plan.spec.seed;
  loader.memory = std::move(memory);
  // Past the plan's end the loader would run into pieces that nobody takes: it repeats the last one.
  loader_ = std::make_unique<datasets::Loader>(
      std::move(source),
      [requests = std::move(requests)](std::int64_t k) {
        return requests[std::min<std::size_t>(static_cast<std::size_t>(k), requests.size() - 1)];
      },
      loader);
}

PieceFeed::PieceFeed(const plan::Plan& plan, std::vector<plan::InputPiece> pieces,
                     std::shared_ptr<const datasets::SampleSource> source, const InputOptions& options, bool images,
                     Device& device)
    : spec_(plan.spec), pieces_(std::move(pieces)) {
  device.enter(/*computes=*/true);
  upload_ = device.upload({source->shape(), source->label_shape(), plan::most_samples(plan, pieces_), images});
  const bool stays = spec_.input == InputKind::resident;
  const std::vector<plan::InputPiece> loaded = stays ? plan::resident_pieces(pieces_) : pieces_;
  input_ = std::make_unique<PieceInput>(plan, loaded, std::move(source), options, images, upload_->host_memory());
  if (!stays) return;
  CountScope scope(device, MemoryCategory::activations);
  for (const plan::InputPiece& piece : loaded) {
    resident_[piece] = network_input(upload_->arrive(input_->next()), spec_);
    upload_->taken();
  }
  input_.reset();
  upload_.reset();
}

void PieceFeed::await() {
  if (!is_resident()) arrived_ = upload_->arrive(input_->next());
}

PieceTensors PieceFeed::take() {
  if (is_resident()) {
    const plan::InputPiece& piece = pieces_[next_++ % pieces_.size()];
    return resident_.at({StepId(0), piece.replica, piece.micro_batch});
  }
  PieceTensors tensors = network_input(arrived_, spec_);
  arrived_ = {};
  upload_->taken();
  return tensors;
}

void PieceFeed::take_into(const PieceTensors& tensors) {
  if (arrived_.images.defined()) tensors.images.copy_(arrived_.images);
  tensors.labels.copy_(arrived_.labels);
  arrived_ = {};
  upload_->taken();
}

}  // namespace parabench::exec
