#include "suite/rank/layer_chain.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "parallelism/plan/strategies/placement.h"
#include "tests/parallelism/exec/forwarding_device.h"
#include "tests/parallelism/exec/recording_device.h"
#include "tests/suite/rank/small_launch.h"

namespace parabench::rank {
namespace {

LayerChain chain_of(const std::string& keys) {
  static exec::MemoryAccount account;
  const Launch launch = small_launch(keys);
  const std::unique_ptr<exec::Device> device = exec::recording_device(account);
  return LayerChains(launch, *device, plan::single_layers(launch.model)).time(4, {.timed = 3}, [] {});
}

/// Notes the order of what happens to it.
class NotingDevice final : public exec::ForwardingDevice {
 public:
  using exec::ForwardingDevice::ForwardingDevice;
  exec::Mark mark() override {
    if (!notes.ends_with("marks ")) notes += "marks ";
    return exec::ForwardingDevice::mark();
  }
  void release_unused() override { notes += "tuned "; }
  std::string notes;
};

double sum_s(const LayerChain& chain) {
  double sum = chain.update_s;
  for (const analytic::LayerTiming& t : chain.timings) sum += t.forward_s + t.backward_s;
  return sum;
}

TEST(LayerChain, TimesEveryLayerOfTheModel) {
  const LayerChain chain = chain_of("sequential/np:1/batch:4");
  ASSERT_EQ(chain.timings.size(), exec::small_network().layers.size());
  for (const analytic::LayerTiming& t : chain.timings) {
    EXPECT_EQ(t.samples, 4);
    EXPECT_GT(t.forward_s, 0);
    EXPECT_GT(t.backward_s, 0);
    EXPECT_FALSE(t.split.has_value());
  }
}

TEST(LayerChain, TimesTheSegmentsOfAPlanAsThePlanRunsThem) {
  static exec::MemoryAccount account;
  const Launch launch = small_launch("zb-h1/np:1/batch:8/micro:2");
  const int layers = static_cast<int>(launch.model.layers.size());
  ASSERT_GT(layers, 2);
  const std::unique_ptr<exec::Device> device = exec::recording_device(account);
  const std::vector<plan::Segment> cut = {{.first_layer = 0, .layers = layers - 1},
                                          {.first_layer = layers - 1, .layers = 1}};
  const LayerChain chain = LayerChains(launch, *device, cut).time(4, {.timed = 3}, [] {});
  EXPECT_EQ(chain.segments, cut);
  ASSERT_EQ(chain.timings.size(), cut.size());
  const LayerChain by_layer =
      LayerChains(launch, *device, plan::single_layers(launch.model)).time(4, {.timed = 1}, [] {});
  std::int64_t saved = 0;
  for (int l = 0; l + 1 < layers; ++l) saved += by_layer.timings[l].saved_bytes;
  EXPECT_EQ(chain.timings[0].saved_bytes, saved) << "of all its layers";
  for (const analytic::LayerTiming& t : chain.timings) {
    EXPECT_GT(t.forward_s, 0);
    EXPECT_GT(t.backward_s, 0);
    EXPECT_TRUE(t.split.has_value());
  }
}

TEST(LayerChain, LayersUpdateAndOverheadAddUpToTheMedianStep) {
  for (const std::string keys : {"sequential/np:1/batch:4", "zb-h1/np:1/batch:8/micro:2"}) {
    const LayerChain chain = chain_of(keys);
    const double overhead_s = (2 * static_cast<double>(chain.timings.size()) + 1) * chain.overhead_s;
    // On a busy machine the median update of such a small network may be longer than the median step.
    const double step_s = std::max(chain.step_s, chain.update_s + overhead_s);
    EXPECT_NEAR(sum_s(chain) + overhead_s, step_s, 1e-9) << keys;
    if (!chain.timings[0].split) continue;
    double forwards = 0;
    for (const analytic::LayerTiming& t : chain.timings) {
      forwards += t.forward_s;
      EXPECT_GE(t.split->input_s + t.split->weight_s, 0) << keys;
    }
    EXPECT_LE(forwards + chain.update_s, step_s) << keys;
  }
}

TEST(LayerChain, LayersAndUpdateAddUpToAReplayedStep) {
  const LayerChain chain = chain_of("zb-h1/np:1/batch:8/micro:2/device:cuda/graph:on");
  EXPECT_NEAR(sum_s(chain), std::max(chain.step_s, chain.update_s), 1e-9);
  for (const analytic::LayerTiming& t : chain.timings) EXPECT_TRUE(t.split.has_value());
}

TEST(LayerChain, PassesThatAddToGradientsHoldNoMoreThanThoseThatStartThem) {
  static exec::MemoryAccount account;
  const Launch launch = small_launch("zb-h1/np:1/batch:8/micro:2");
  const std::unique_ptr<exec::Device> device = exec::recording_device(account);
  LayerChains chains(launch, *device, plan::single_layers(launch.model));
  LayerChain chain = chains.time(4, {.timed = 1, .discarded = 1}, [] {});
  chains.measure_adding(chain, 4);
  int with_weights = 0;
  for (std::size_t l = 0; l < chain.timings.size(); ++l) {
    const analytic::LayerTiming& t = chain.timings[l];
    ASSERT_TRUE(t.split);
    ASSERT_TRUE(t.adding_peak_bytes && t.split->input_peak_bytes && t.split->weight_peak_bytes &&
                t.split->adding_weight_peak_bytes);
    EXPECT_LE(*t.adding_peak_bytes, t.backward_peak_bytes) << l;
    EXPECT_LE(*t.split->adding_weight_peak_bytes, *t.split->weight_peak_bytes) << l;
    if (models::parameter_count(launch.model.layers[l]) == 0) continue;
    ++with_weights;
    EXPECT_GT(*t.adding_peak_bytes, 0) << l;
    EXPECT_GT(*t.split->adding_weight_peak_bytes, 0) << l << ", each gradient before it is added";
    EXPECT_GT(*t.split->input_peak_bytes, 0) << l;
  }
  EXPECT_GT(with_weights, 0);
}

TEST(LayerChain, LayersThatTakeNoTimeDoNotDeviate) {
  LayerChain chain{.timings = {{.samples = 4}}};
  deviate(chain, 1);
  EXPECT_EQ(chain.timings[0].forward_mad_s, 0);
  EXPECT_EQ(chain.timings[0].backward_mad_s, 0);
}

TEST(LayerChain, ChainsBeginWhenAllAreReadyAndTryNothingOut) {
  static exec::MemoryAccount account;
  const Launch launch = small_launch("zb-h1/np:1/batch:8/micro:2");
  NotingDevice device(account);
  tune_layers(launch, device, 4);
  EXPECT_EQ(device.notes, "tuned ");
  LayerChains(launch, device, plan::single_layers(launch.model)).time(4, {.timed = 2}, [&] {
    device.notes += "ready ";
  });
  EXPECT_EQ(device.notes, "tuned ready marks ready marks ") << "once for whole and once for split backwards";
}

}  // namespace
}  // namespace parabench::rank
