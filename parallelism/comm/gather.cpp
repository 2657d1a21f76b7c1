#include "parallelism/comm/gather.h"

#include <utility>

namespace parabench::comm {

std::vector<std::string> gather_to_root(Communicator& comm, std::string_view text) {
  constexpr Message message{Channel::control, 0x676174686572};  // "gather"
  const Rank root(0);
  std::string own(text);
  if (comm.rank() != root) {
    std::int64_t size = std::ssize(own);
    comm.wait(comm.send({&size, sizeof size}, root, message));
    comm.wait(comm.send({own.data(), size}, root, message));
    return {};
  }
  std::vector<std::string> texts(comm.size());
  texts[root.value] = std::move(own);
  for (Rank from(1); from.value < comm.size(); ++from) {
    std::int64_t size = 0;
    comm.wait(comm.recv({&size, sizeof size}, from, message));
    std::string& other = texts[from.value];
    other.resize(size);
    comm.wait(comm.recv({other.data(), size}, from, message));
  }
  return texts;
}

}  // namespace parabench::comm
