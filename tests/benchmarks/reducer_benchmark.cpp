// What our data-parallel and PyTorch's reducer (strategy c10d) sum together and when, operation by operation: the same
// case in both arms by turns, ranks as threads of this process.
// reducer_benchmark [case of c10d [steps [rounds]]]
//
// Prints a row per sum of rank 0: layers, parameters (of the reducer's buckets), bytes, and in milliseconds since the
// step's backward began when the gradients were there, the sum started and it ended; then when the backward and the
// update ended. Of every figure the median over all steps but the first two of a round; the first step of the reducer,
// all of whose gradients are in one bucket, has a row of its own, of the last round.
#include <fmt/format.h>
#include <torch/utils.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/case_id.h"
#include "datasets/source.h"
#include "parallelism/comm/threads/world.h"
#include "parallelism/exec/device_cpu.h"
#include "parallelism/exec/executor.h"
#include "parallelism/plan/routes.h"
#include "parallelism/plan/strategies/strategies.h"

namespace parabench {
namespace {

constexpr int discarded = 2;

/// A sum or an end of one step; seconds since the backward began.
struct Event {
  std::string name, size;
  double ready = 0, start = 0, end = 0;
};
using Samples = std::vector<std::vector<Event>>;  ///< [step][event]

std::string layers(const plan::Plan& plan, const models::ModelSpec& model, SegmentId first, SegmentId last) {
  const std::string &from = model.layers[plan.segments[first.value].first_layer].name,
                    &to = model.layers[plan.segments[last.value].first_layer].name;
  return from == to ? from : to + " to " + from;
}

plan::Span of_compute(const plan::Plan& plan, const exec::Execution& rank, plan::OpKind kind, StepId step, bool last) {
  plan::Span found;
  const auto& ops = plan.ranks[0].compute();
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].kind != kind || ops[i].step != step) continue;
    found = rank.spans[plan::compute_lane][i];
    if (!last) return found;
  }
  return found;
}

std::vector<Event> events(const plan::Plan& plan, const models::ModelSpec& model, const exec::Execution& rank,
                          StepId step) {
  std::vector<Event> events;
  const double origin = of_compute(plan, rank, plan::OpKind::backward, step, false).start;
  for (const exec::ReducedBucket& bucket : rank.buckets) {
    if (bucket.step != step) continue;
    events.push_back(
        {layers(plan, model, bucket.first, bucket.last),
         fmt::format("{} tensors {:.2f} MiB", bucket.parameters, static_cast<double>(bucket.bytes) / (1 << 20)),
         bucket.ready - origin, bucket.start - origin, bucket.end - origin});
  }
  for (std::size_t lane = 1; rank.buckets.empty() && lane < plan.ranks[0].lanes.size(); ++lane) {
    const auto& ops = plan.ranks[0].lanes[lane].ops;
    const auto& compute = plan.ranks[0].compute();
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (ops[i].step != step) continue;
      const plan::Op& op = ops[i];
      double ready = 0, bytes = 0;
      for (std::size_t b = 0; b < compute.size(); ++b)
        if (compute[b].kind == plan::OpKind::backward && compute[b].step == step && compute[b].segment == op.segment)
          ready = rank.spans[plan::compute_lane][b].end - origin;
      for (int s = op.segment.value; s < op.segment.value + op.segments; ++s)
        bytes += 4.0 * static_cast<double>(models::parameter_count(model.layers[plan.segments[s].first_layer]));
      const plan::Span& span = rank.spans[lane][i];
      events.push_back({layers(plan, model, op.segment, SegmentId(op.segment.value + op.segments - 1)),
                        fmt::format("{:.2f} MiB", bytes / (1 << 20)), ready, span.start - origin, span.end - origin});
    }
  }
  const double backward = of_compute(plan, rank, plan::OpKind::backward, step, true).end - origin;
  const plan::Span update = of_compute(plan, rank, plan::OpKind::update, step, true);
  events.push_back({"backward", "", backward, 0, backward});
  events.push_back({"update", "", of_compute(plan, rank, plan::OpKind::update, step, false).start - origin,
                    update.start - origin, update.end - origin});
  return events;
}

exec::Execution train(const plan::Plan& plan, const models::ModelSpec& model, const datasets::DatasetSpec& data) {
  static exec::MemoryAccount accounts[16];
  exec::Execution first;
  std::mutex mutex;
  comm::run_thread_ranks({plan.spec.np, plan::collective_groups(plan).declared}, [&](comm::Communicator& comm) {
    const auto device = exec::cpu_device(accounts[comm.rank().value]);
    exec::StageState state(plan, model, comm, *device);
    exec::RankInput input = exec::open_input(plan, comm.rank(), datasets::open_source(data, {}), {}, *device);
    exec::Execution mine = exec::execute(plan, model, state, comm, input, *device, StepId(0));
    const std::lock_guard lock(mutex);
    if (comm.rank() == Rank(0)) first = std::move(mine);
  });
  return first;
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + std::ssize(values) / 2);
  return values[values.size() / 2];
}

void print(const std::string& title, const Samples& samples) {
  std::printf("%s\n%-42s %-24s %9s %9s %9s\n", title.c_str(), "layers", "", "ready ms", "start ms", "end ms");
  for (std::size_t e = 0; e < samples.front().size(); ++e) {
    const auto of = [&](double Event::*member) {
      std::vector<double> values;
      for (const std::vector<Event>& step : samples) values.push_back(1e3 * step.at(e).*member);
      return median(values);
    };
    const Event& event = samples.front()[e];
    std::printf("%-42s %-24s %9.1f %9.1f %9.1f\n", event.name.c_str(), event.size.c_str(), of(&Event::ready),
                of(&Event::start), of(&Event::end));
  }
}

void compare(const std::string& id, int steps, int rounds) {
  Case spec = parse_case(id);
  const datasets::DatasetSpec data = datasets::make_dataset(spec.dataset);
  const models::ModelSpec model = models::make_model(spec.model, data.sample, data.classes, data.small_stem);
  const std::vector<double> equal(model.layers.size(), 1.0);
  std::map<std::string, Samples> samples;
  for (int round = 0; round < rounds; ++round) {
    for (const char* strategy : {"data-parallel", "c10d"}) {
      spec.strategy.name = strategy;
      const plan::Plan plan = plan::unroll(plan::make_plan(spec, model, equal, 1), discarded + steps);
      const exec::Execution rank = train(plan, model, data);
      samples[std::string(strategy) + ", first step"] = {events(plan, model, rank, StepId(0))};
      for (int step = discarded; step < discarded + steps; ++step)
        samples[strategy].push_back(events(plan, model, rank, StepId(step)));
    }
  }
  for (const char* arm : {"data-parallel", "c10d, first step", "c10d"}) print(arm, samples[arm]);
}

}  // namespace
}  // namespace parabench

int main(int argc, char** argv) {
  const auto number = [&](int place, int standard) { return argc > place ? std::atoi(argv[place]) : standard; };
  parabench::exec::install_counting_allocator();
  parabench::compare(argc > 1 ? argv[1] : "resnet18/cifar10-synthetic/c10d/np:2/batch:32", number(2, 5), number(3, 2));
}
