// Ranks on GPUs that are threads, with a GPU for each unless a name says otherwise: what the tests on the fakes share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "parallelism/comm/communicator.h"

namespace parabench::comm {

/// Between any two of so many ranks.
std::vector<MessageLane> every_lane(int ranks);

std::unique_ptr<Communicator> over_nccl(Communicator& host);
std::unique_ptr<Communicator> staged(Communicator& host);
std::unique_ptr<Communicator> direct(Communicator& host);
std::unique_ptr<Communicator> direct_without_peer_access(Communicator& host);
std::unique_ptr<Communicator> direct_on_one_gpu(Communicator& host);

using CommunicatorMaker = std::unique_ptr<Communicator> (*)(Communicator&);

/// All of the above.
std::vector<CommunicatorMaker> communicator_makers();
/// As part of a test's name.
std::string name_of(CommunicatorMaker make);
/// Makes the fake's GPUs offer peer access, or not for direct_without_peer_access. Before the ranks begin: it holds for
/// the whole process.
void set_peer_access_for(CommunicatorMaker make);

inline BufferView on_gpu(float& value, void* ready = nullptr) { return {&value, 4, ElementType::f32, true, ready}; }

inline constexpr Message letter{Channel::forward, 5};

}  // namespace parabench::comm
