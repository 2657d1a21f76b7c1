#include "parallelism/exec/graphed_work.h"

#include <utility>

namespace parabench::exec {

GraphedWork::GraphedWork(const plan::Plan& plan, const models::ModelSpec& model, StageState& state,
                         const plan::LocalDependencies& needs, comm::Communicator& comm, RankInput& input,
                         Device& device, bool measured)
    : TrainingWork(plan, model, state, needs, comm, input, device,
                   measured ? std::optional(StepId(plan::graph_capture_step)) : std::nullopt),
      step_length_(static_cast<int>(program_.compute().size()) / plan.steps) {}

void GraphedWork::queue(int index) {
  if (gives_out(index)) TrainingWork::queue(index);
}

void GraphedWork::begin(int index) {
  if (gives_out(index)) TrainingWork::begin(index);
}

void GraphedWork::read_pieces(int first) {
  CountScope scope(device_, MemoryCategory::activations);
  for (int i = first; i < first + step_length_; ++i) {
    const plan::Op& op = program_.compute()[i];
    if (op.kind != plan::OpKind::forward || op.segment != SegmentId(0)) continue;
    input_.images->await();
    pieces_.push_back(input_.images->take());
  }
}

void GraphedWork::refill() {
  if (input_.images->is_resident()) return;
  for (const PieceTensors& piece : pieces_) {
    input_.images->await();
    input_.images->take_into(piece);
  }
}

void GraphedWork::capture(int first) {
  read_losses();
  read_pieces(first);
  fed_.assign(pieces_.begin(), pieces_.end());
  step_ = device_.capture([&] {
    for (int i = first; i < first + step_length_; ++i) run(i);
  });
  captured_losses_ = std::exchange(losses_, {});
}

void GraphedWork::compute(int index) {
  if (!is_replayed(index)) return TrainingWork::compute(index);
  if (!gives_out(index)) return;
  if (step_)
    refill();
  else
    capture(index);
  step_->replay();
  for (const Loss& loss : captured_losses_) losses_.push_back({index + loss.index % step_length_, loss.value.clone()});
  end_of(index);
}

plan::Span GraphedWork::computed(int index) const {
  if (gives_out(index)) return TrainingWork::computed(index);
  const double end_s = TrainingWork::computed(first_of_step(index)).end;
  return {end_s, end_s, end_s};
}

}  // namespace parabench::exec
