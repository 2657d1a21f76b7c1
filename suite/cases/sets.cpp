#include "suite/cases/sets.h"

#include <fmt/format.h>

#include <array>
#include <string>

#include "base/case_id.h"
#include "base/error.h"
#include "parallelism/plan/strategies/strategy_table.h"
#include "suite/accuracy/closure.h"
#include "suite/cases/catalogue.h"

namespace parabench::suite {
namespace {

/// Batches of DDLBench's repository (sara-nl/DDLBench, 2020), on four GPUs of one node: PyTorch's, Horovod's of all
/// four together, GPipe's with its number of micro-batches, and PipeDream's.
struct DdlbenchData {
  std::string_view dataset;
  int pytorch, horovod, gpipe, micro_batches, pipedream;
};
constexpr std::array<DdlbenchData, 4> ddlbench_data = {{{"mnist-synthetic", 128, 512, 3072, 24, 512},
                                                        {"cifar10-synthetic", 64, 256, 2048, 32, 256},
                                                        {"imagenet-synthetic", 32, 128, 288, 12, 128},
                                                        {"highres-synthetic", 32, 128, 48, 12, 64}}};
constexpr std::array ddlbench_nets = {"resnet18", "resnet50", "resnet152", "vgg11", "vgg16", "mobilenetv2"};

/// Its engines as strategies of ours. torchgpipe recomputes all micro-batches but
/// the last and cuts by measured time.
std::vector<Case> ddlbench_cases() {
  std::vector<Case> cases;
  for (const char* device : {"cpu", "cuda"}) {
    for (const DdlbenchData& data : ddlbench_data) {
      for (const char* net : ddlbench_nets) {
        const auto add = [&](const std::string& rest) {
          cases.push_back(parse_case(fmt::format("{}/{}/{}/device:{}", net, data.dataset, rest, device)));
        };
        add(fmt::format("sequential/np:1/batch:{}", data.pytorch));
        add(fmt::format("horovod/np:4/batch:{}", data.horovod));
        add(fmt::format("gpipe/np:4/batch:{}/micro:{}/recompute:except-last", data.gpipe, data.micro_batches));
        add(fmt::format("pipedream/np:4/batch:{}", data.pipedream));
      }
    }
  }
  return cases;
}

/// Every pipeline on the same work, with as many micro-batches as it serves from 8 on.
std::vector<Case> schedule_cases() {
  const std::string work = "resnet18/cifar10-synthetic";
  std::vector<Case> cases = {parse_case(work + "/sequential/np:1/batch:64/threads:2")};
  for (const plan::Strategy& strategy : plan::strategies()) {
    if (strategy.ranks != plan::RankUse::stages || strategy.from_file) continue;
    for (const int np : {2, 4}) {
      Case spec = parse_case(fmt::format("{}/{}/np:{}/batch:64", work, strategy.name, np));
      if (strategy.uses("micro")) spec.micro = plan::served_micro_batches(strategy, spec, 8);
      cases.push_back(spec);
    }
  }
  return cases;
}

/// What one node of GPUs is asked first.
std::vector<Case> gpu_cases() {
  std::vector<Case> cases;
  for (const std::string work : {"resnet50/imagenet-synthetic", "transformer/tokens-synthetic"}) {
    const int batch = work.starts_with("resnet") ? 128 : 32;
    const auto add = [&](const std::string& rest) {
      cases.push_back(parse_case(fmt::format("{}/{}/device:cuda", work, rest)));
    };
    add(fmt::format("sequential/np:1/batch:{}", batch));
    add(fmt::format("sequential/np:1/batch:{}/graph:on/input:resident", batch));
    add(fmt::format("sequential/np:1/batch:{}/precision:bf16", batch));
    for (const int np : {2, 4, 8}) {
      for (const char* strategy : {"data-parallel", "zero1"})
        add(fmt::format("{}/np:{}/batch:{}", strategy, np, np * batch));
      for (const char* strategy : {"gpipe", "1f1b", "zb-h1"})
        add(fmt::format("{}/np:{}/batch:{}/micro:{}", strategy, np, np * batch, 2 * np));
      add(fmt::format("pipedream-2bw/np:{}/batch:{}/micro:{}", np, np * batch, 2 * np));
    }
  }
  return cases;
}

/// What is swept over 1, 2, 4 and 8 ranks; all else of a line is the same, but for the batch where `weak`. Beside each
/// number of ranks stands sequential training on as many cores.
std::vector<Case> scaling_cases(bool weak) {
  constexpr int strong_batch = 64, batch_per_rank = 16;
  std::vector<Case> cases;
  for (const int np : {1, 2, 4, 8}) {
    const auto add = [&](const std::string& strategy, int ranks, const std::string& rest) {
      cases.push_back(parse_case(fmt::format("resnet18/cifar10-synthetic/{}/np:{}/batch:{}{}", strategy, ranks,
                                             weak ? np * batch_per_rank : strong_batch, rest)));
    };
    add("sequential", 1, fmt::format("/threads:{}", np));
    if (np == 1) continue;
    for (const char* strategy : {"data-parallel", "local-sgd", "zero1", "zero3"}) add(strategy, np, "");
    if (np > 2) add("parameter-server", np, "");  // of two ranks one would be the only worker
    for (const char* strategy : {"1f1b", "zb-h1"}) add(strategy, np, "/micro:8");
  }
  return cases;
}
std::vector<Case> strong_cases() { return scaling_cases(false); }
std::vector<Case> weak_cases() { return scaling_cases(true); }

/// What predictions are judged by: six convolutional nets on images of 32 pixels and a transformer, of ResNet-18 every
/// strategy, of the others sequential training, two strategies of copies and two pipelines, of ResNet-101 one of each;
/// with and without recomputation, on one, two and four ranks; and ranks that hardly ever meet. A net whose layers are
/// those of another one comes behind it, so that its predictions are made of what the other's chains took: ResNet-34 of
/// ResNet-18's, ResNet-101 of ResNet-50's.
std::vector<Case> accuracy_cases() {
  std::vector<Case> cases;
  const auto add = [&](const std::string& work, const std::string& rest) {
    cases.push_back(parse_case(work + "/" + rest));
  };
  const std::string images = "/imagenet-synthetic[pixels=32,classes=10]";
  const std::string first = "resnet18" + images;
  for (const plan::Strategy& strategy : plan::strategies()) {
    if (strategy.from_file || strategy.family == plan::Family::peer || strategy.ranks == plan::RankUse::one) continue;
    for (const int np : {2, 4}) {
      Case spec = parse_case(fmt::format("{}/{}/np:{}/batch:32", first, strategy.name, np));
      if (strategy.uses("micro")) spec.micro = plan::served_micro_batches(strategy, spec, 2 * np);
      if (strategy.ranks == plan::RankUse::workers) spec.batch = 30;  // one worker, or three
      cases.push_back(spec);
    }
  }
  for (const char* rest : {"gpipe/np:2/batch:32/micro:8/recompute:all", "1f1b/np:2/batch:32/micro:8/recompute:all",
                           "data-parallel/np:2/batch:32/recompute:all", "1f1b/np:4/batch:32/micro:4/dp:2"})
    add(first, rest);
  const std::string apart = fmt::format("local-sgd[every={}]", steps_between_averages);
  for (const char* np : {"2", "4"}) add(first, fmt::format("{}/np:{}/batch:32", apart, np));
  const std::string words =
      "transformer[layers=4,hidden=256,heads=4,sequence=64]/"
      "tokens-synthetic[sequence=64,vocabulary=256]";
  for (const std::string& work :
       {first, "resnet34" + images, "resnet50" + images, "vgg16" + images, "mobilenetv2" + images, words}) {
    for (const char* batch : {"16", "32"}) {
      add(work, fmt::format("sequential/np:1/batch:{}", batch));
      if (work == first) continue;
      add(work, fmt::format("data-parallel/np:2/batch:{}", batch));
      add(work, fmt::format("1f1b/np:2/batch:{}", batch));
    }
    if (work == first) continue;
    if (work.starts_with("mobilenet") || work == words) add(work, apart + "/np:2/batch:32");
    for (const char* rest : {"zero3/np:2/batch:32", "gpipe/np:2/batch:32/recompute:all", "1f1b/np:4/batch:32/micro:8"})
      add(work, rest);
  }
  for (const char* rest : {"sequential/np:1/batch:16", "data-parallel/np:2/batch:16", "1f1b/np:2/batch:16"})
    add("resnet101" + images, rest);
  return cases;
}

constexpr std::array sets{
    CaseSet{"quick", "one model, every family of strategies, two cores", quick_cases},
    CaseSet{"ddlbench",
            "DDLBench (2020) again: six nets, four data sets, PyTorch, Horovod, GPipe and PipeDream "
            "with its batches on four devices",
            ddlbench_cases},
    CaseSet{"schedules", "every pipeline on the same work, two and four ranks", schedule_cases},
    CaseSet{"strong", "one batch on one to eight ranks, with sequential training on as many cores", strong_cases},
    CaseSet{"weak", "a batch for each of one to eight ranks, with sequential training on as many cores", weak_cases},
    CaseSet{"accuracy", "what predictions are judged by: seven nets, all strategies, one to four ranks",
            accuracy_cases},
    CaseSet{"gpu", "one node of GPUs: alone, as graph, in bf16; data-parallel, sharded and pipelines up to eight",
            gpu_cases},
};

}  // namespace

std::span<const CaseSet> case_sets() { return sets; }

const CaseSet& find_set(std::string_view name) {
  std::vector<std::string_view> known;
  for (const CaseSet& set : sets) known.push_back(set.name);
  return sets[index_of_name("--set", name, known)];
}

}  // namespace parabench::suite
