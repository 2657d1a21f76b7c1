// Random cases for property tests.
#pragma once

#include <cmath>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/case.h"
#include "base/case_text.h"

namespace parabench {

/// A case whose keys each keep their default half of the time.
inline Case random_case(std::mt19937& random) {
  const auto below = [&random](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
  const auto change = [&](auto& value, auto other) {
    if (below(2)) value = other;
  };
  const auto word = [&](const char* letters) {
    std::string text;
    for (int i = below(8) + 1; i > 0; --i) text += letters[below(static_cast<int>(std::string_view(letters).size()))];
    return text;
  };
  const auto choice = [&] {
    NamedChoice out{word("abcxyzAZ019-_"), {}};
    for (int i = below(3); i > 0; --i) out.parameters.emplace_back(std::to_string(i) + word("abc_-"), word("ab01.+-_"));
    return out;
  };
  Case spec;
  spec.model = choice();
  spec.dataset = choice();
  spec.strategy = choice();
  spec.np = below(5000) + 1;
  spec.batch = below(1 << 20) + 1;
  change(spec.micro, below(100) + 1);
  change(spec.dp, below(100) + 1);
  change(spec.chunks, below(100) + 1);
  change(spec.warmup, below(100));
  change(spec.bucket, Bytes((1LL + below(100000)) << below(24)));
  change(spec.bucket, Bytes(1 + below(1000) * 1000LL));
  change(spec.reduce, static_cast<ReduceKind>(below(7)));
  change(spec.recompute, static_cast<Recompute>(below(4)));
  change(spec.partition, static_cast<PartitionRule>(below(4)));
  change(spec.memory, Bytes(1LL + random()));
  change(spec.precision, static_cast<Precision>(below(4)));
  change(spec.layout, static_cast<Layout>(below(2)));
  change(spec.device, static_cast<DeviceKind>(below(3)));
  spec.comm = default_comm(spec.device);
  change(spec.comm, static_cast<CommKind>(below(3)));
  change(spec.threads, below(100) + 1);
  change(spec.graph, true);
  change(spec.loader, below(100) + 1);
  change(spec.input, InputKind::resident);
  const std::vector<NamedChoice> optimizers{{"sgd", {{"nesterov", "on"}}},
                                            {"adam", {}},
                                            {"adamw", {{"beta1", "0.5"}, {"eps", "0.001"}}},
                                            {"lars", {{"trust", "0.02"}}}};
  change(spec.optimizer, optimizers[below(4)]);
  const std::vector<NamedChoice> compressions{
      {"bf16", {}}, {"powersgd", {}}, {"powersgd", {{"rank", "2"}}}, {"topk", {{"ratio", "0.5"}}}};
  change(spec.compress, compressions[below(4)]);
  change(spec.zero, 1 + below(3));
  change(spec.shard, below(100) + 1);
  change(spec.prefetch, static_cast<int>(below(5)));
  change(spec.reshard, false);
  const std::vector<NamedChoice> orders{{"priority", {}}, {"priority", {{"partition", "1MiB"}}}};
  change(spec.order, orders[below(2)]);
  change(spec.sync_bn, true);
  change(spec.executor, ExecutorKind::futurized);
  change(spec.tp, below(100) + 1);
  change(spec.lr, std::ldexp(1.0 + below(1 << 30), -below(60)));
  change(spec.momentum, below(1 << 30) * 0x1p-30);
  change(spec.weight_decay, below(1000) * 1e-7);
  change(spec.seed, std::uint64_t{random()} << 32 | random());
  return spec;
}

}  // namespace parabench
