#include "tests/parallelism/comm/cuda/gpu_ranks.h"

#include "parallelism/comm/cuda/direct.h"
#include "parallelism/comm/cuda/nccl.h"
#include "parallelism/comm/cuda/staged.h"
#include "tests/parallelism/comm/cuda/fake_cuda.h"

namespace parabench::comm {

std::vector<MessageLane> every_lane(int ranks) {
  std::vector<MessageLane> lanes;
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      for (int c = 0; c < channel_count && from != to; ++c) {
        lanes.push_back({Rank(from), Rank(to), static_cast<Channel>(c)});
      }
    }
  }
  return lanes;
}

std::unique_ptr<Communicator> over_nccl(Communicator& host) {
  return make_nccl_communicator(host, host.rank().value, every_lane(host.size()), {.time_limit_s = 20});
}

std::unique_ptr<Communicator> staged(Communicator& host) { return make_staged_communicator(host, host.rank().value); }

std::unique_ptr<Communicator> direct(Communicator& host) { return make_direct_communicator(host, host.rank().value); }

std::unique_ptr<Communicator> direct_without_peer_access(Communicator& host) { return direct(host); }

std::unique_ptr<Communicator> direct_on_one_gpu(Communicator& host) { return make_direct_communicator(host, 0); }

std::vector<CommunicatorMaker> communicator_makers() {
  return {over_nccl, staged, direct, direct_without_peer_access, direct_on_one_gpu};
}

std::string name_of(CommunicatorMaker make) {
  if (make == over_nccl) return "nccl";
  if (make == staged) return "staged";
  if (make == direct) return "direct";
  return make == direct_on_one_gpu ? "direct_on_one_gpu" : "direct_without_peer_access";
}

void set_peer_access_for(CommunicatorMaker make) { set_fake_cuda_peer_access(make != direct_without_peer_access); }

}  // namespace parabench::comm
