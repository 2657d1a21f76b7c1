#include "parallelism/plan/strategies/reference.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "base/case_id.h"

namespace parabench::plan {
namespace {

Reference reference_of(const std::string& id) {
  return plan::reference_of(parse_case("resnet18/cifar10-synthetic/" + id));
}

TEST(Reference, IsWhatStrategyParametersAndKeysMakeOfATraining) {
  for (const auto& [id, reference] : {
           std::pair{"sequential/np:1/batch:8", Reference::sequential},
           {"data-parallel/np:2/batch:8", Reference::sequential},
           {"zero3/np:2/batch:8", Reference::sequential},
           {"1f1b/np:4/batch:8/dp:2/zero:1", Reference::sequential},
           {"parameter-server/np:3/batch:8", Reference::sequential},
           {"pipedream/np:2/batch:8", Reference::delayed_update},
           {"pipedream-2bw/np:2/batch:8", Reference::delayed_update},
           {"parameter-server[mode=async]/np:3/batch:8", Reference::delayed_update},
           {"local-sgd/np:2/batch:8", Reference::local_update},
           {"parameter-server[mode=backup,k=1]/np:4/batch:9", Reference::backup_workers},
           {"data-parallel/np:2/batch:8/compress:powersgd", Reference::compressed},
           {"horovod/np:2/batch:8/compress:bf16", Reference::compressed},
           {"peer[product=torch-ddp]/np:2/batch:8", Reference::peer},
       })
    EXPECT_EQ(reference_of(id), reference) << id;
}

}  // namespace
}  // namespace parabench::plan
