// The part of the conformance suite about what goes wrong: ranks that fail, calls that do not fit or cannot be.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "tests/parallelism/comm/conformance_data.h"
#include "tests/parallelism/comm/conformance_parts.h"

namespace parabench::comm {
namespace {

void abort_stops_everybody(Communicator& comm) {
  if (comm.size() == 1) return;
  const Rank last(comm.size() - 1);
  try {
    if (comm.rank() == last) {
      comm.abort("the dog ate the gradients");
      comm.abort("a later cause");
    }
    float value = 0;
    const Rank other(comm.rank() == Rank(0) ? 1 : 0);
    if (comm.rank().value % 2 == 0) {
      comm.wait(comm.recv({&value, 4}, other, {Channel::forward, 1}));
    } else {
      comm.wait(comm.all_reduce(view(&value, 1)));
    }
    ADD_FAILURE() << "nobody failed";
  } catch (const PeerFailure& failure) {
    EXPECT_EQ(failure.rank(), last);
    EXPECT_NE(std::string(failure.what()).find("the dog ate the gradients"), std::string::npos) << failure.what();
  }
}

void expect_wrong_pairing(Communicator& comm, Message sent, std::int64_t sent_bytes, Message expected,
                          std::int64_t expected_bytes, std::vector<std::string> words) {
  if (comm.size() == 1) return;
  std::vector<char> buffer(4096);
  Work sending;
  if (comm.rank() == Rank(0)) {
    sending = comm.send({buffer.data(), sent_bytes}, Rank(1), sent);
  } else if (comm.rank() == Rank(1)) {
    try {
      comm.wait(comm.recv({buffer.data(), expected_bytes}, Rank(0), expected));
      ADD_FAILURE() << "a wrong message was accepted";
    } catch (const std::logic_error& error) {
      for (const std::string& word : words)
        EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    }
  }
  // Where a send ends with its receive, this one never does.
  Work everybody = comm.barrier();
  for (;;) {
    const std::uint32_t seen = comm.events();
    sending.test();
    if (everybody.test()) return;
    comm.sleep(seen);
  }
}

void wrong_tag_is_named(Communicator& comm) {
  expect_wrong_pairing(comm, {Channel::backward, 0x2a}, 100, {Channel::backward, 0x2b}, 100,
                       {"rank 0", "rank 1", "backward", "0x2a", "0x2b"});
}

void wrong_size_is_named(Communicator& comm) {
  expect_wrong_pairing(comm, {Channel::forward, 1}, 100, {Channel::forward, 1}, 36, {"100 bytes", "36 bytes"});
}

void impossible_calls_are_refused(Communicator& comm) {
  char byte = 0;
  for (const int peer : {-1, comm.rank().value, comm.size()}) {
    EXPECT_THROW(comm.send({&byte, 1}, Rank(peer), {}), std::invalid_argument);
    EXPECT_THROW(comm.recv({&byte, 1}, Rank(peer), {}), std::invalid_argument);
  }
  EXPECT_THROW(comm.all_reduce({&byte, 1, ElementType::f32}), std::invalid_argument);
  EXPECT_THROW(comm.all_reduce({&byte, 1, ElementType::byte}), std::invalid_argument);
}

constexpr ConformanceCase cases[] = {
    {"abort_stops_everybody", abort_stops_everybody},
    {"wrong_tag_is_named", wrong_tag_is_named},
    {"wrong_size_is_named", wrong_size_is_named},
    {"impossible_calls_are_refused", impossible_calls_are_refused},
};

}  // namespace

std::span<const ConformanceCase> error_cases() { return cases; }

}  // namespace parabench::comm
