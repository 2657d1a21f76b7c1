#include "tests/comm/conformance.h"

#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "parallelism/comm/reduce.h"
#include "tests/comm/conformance_data.h"
#include "tests/comm/conformance_groups.h"
#include "tests/comm/conformance_messages.h"

namespace parabench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

double thread_cpu_seconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void expect_same_everywhere(Communicator& comm, const std::string& text) {
  for (const std::string& other : all_gather(comm, text)) EXPECT_TRUE(other == text);
}

/// Many ranks share the memory of the machine that runs the tests.
std::int64_t large_bytes(const Communicator& comm) { return comm.size() <= 2 ? 40 << 20 : 6 << 20; }

template <class T>
void sums_in_arena(Communicator& comm) {
  constexpr std::int64_t sizes[] = {0, 1, 2, 15, 16, 17, 33, 1000, 4097, 262147, 10 << 20};
  constexpr T guard = T(-77);
  const std::int64_t most = large_bytes(comm);
  T* const data = reinterpret_cast<T*>(comm.allocate(most + 128).data);
  for (const std::int64_t size : sizes) {
    const std::int64_t n = std::min(size, most / static_cast<std::int64_t>(sizeof(T)));
    T* const begin = data + 3;  // not on a line, so that shares and lines do not coincide
    begin[-1] = begin[n] = guard;
    fill_whole(begin, n, comm.rank().value);
    comm.wait(comm.all_reduce(view(begin, n)));
    expect_whole_sums(begin, n, comm.groups().members(0));
    EXPECT_EQ(begin[-1], guard);
    EXPECT_EQ(begin[n], guard);
  }
}

void sums_outside_arena(Communicator& comm) {
  for (const std::int64_t n : {1, 7, 65, 100003, 1300001}) {
    std::vector<float> data(n);
    fill_whole(data.data(), n, comm.rank().value);
    comm.wait(comm.all_reduce(view(data.data(), n)));
    expect_whole_sums(data.data(), n, comm.groups().members(0));
  }
}

void sums_at_unequal_offsets(Communicator& comm) {
  constexpr std::int64_t n = 70001;
  double* const data = reinterpret_cast<double*>(comm.allocate((n + 64) * 8).data) + comm.rank().value;
  fill_whole(data, n, comm.rank().value);
  comm.wait(comm.all_reduce(view(data, n)));
  expect_whole_sums(data, n, comm.groups().members(0));
}

void sums_are_bitwise_equal(Communicator& comm) {
  constexpr std::int64_t n = 20011;
  std::mt19937 random(comm.rank().value);
  std::normal_distribution<float> normal;
  float* const data = reinterpret_cast<float*>(comm.allocate(n * 4).data);
  std::generate_n(data, n, [&] { return normal(random); });
  comm.wait(comm.all_reduce(view(data, n)));
  expect_same_everywhere(comm, bytes_of(data, n * 4));
}

void arenas_are_zeroed_and_aligned(Communicator& comm) {
  for (const std::int64_t bytes : {1, 100, 4096, 100000}) {
    const Arena arena = comm.allocate(bytes);
    EXPECT_EQ(arena.bytes, bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arena.data) % 64, 0u);
    EXPECT_EQ(arena.shared, comm.capabilities().shared_arenas);
    EXPECT_TRUE(std::all_of(arena.data, arena.data + bytes, [](std::byte b) { return b == std::byte{0}; }));
    std::memset(arena.data, 0xff, bytes);
  }
}

/// One message of a random exchange that every rank derives from the same seed.
struct Letter {
  Rank from, to;
  Message message;
  std::int64_t bytes;
};

std::vector<Letter> random_letters(int ranks, int count) {
  std::mt19937 random(20 + ranks);
  const auto draw = [&](int n) { return static_cast<int>(random() % n); };
  constexpr std::int64_t sizes[] = {0, 1, 63, 64, 65, 1000, 4095, 4096, 65536, 300001, 2500007};
  std::vector<Letter> letters;
  for (int i = 0; i < count; ++i) {
    const int from = draw(ranks);
    const int to = (from + 1 + draw(ranks - 1)) % ranks;
    letters.push_back({Rank(from),
                       Rank(to),
                       {static_cast<Channel>(draw(channel_count)), std::uint64_t(1000 + i)},
                       sizes[draw(std::size(sizes))]});
  }
  return letters;
}

std::vector<std::uint32_t> content(const Letter& letter) {
  std::vector<std::uint32_t> words(letter.bytes / 4 + 1);
  std::iota(words.begin(), words.end(), static_cast<std::uint32_t>(letter.message.tag * 2654435761u));
  return words;
}

void messages_interleave(Communicator& comm) {
  if (comm.size() == 1) return;
  const std::vector<Letter> letters = random_letters(comm.size(), 60);
  std::vector<std::vector<std::uint32_t>> buffers;
  std::vector<Work> works;
  for (const Letter& letter : letters) {
    std::vector<std::uint32_t>& buffer = buffers.emplace_back(content(letter));
    if (letter.from == comm.rank()) {
      works.push_back(comm.send({buffer.data(), letter.bytes}, letter.to, letter.message));
    } else if (letter.to == comm.rank()) {
      std::fill(buffer.begin(), buffer.end(), 0);
      works.push_back(comm.recv({buffer.data(), letter.bytes}, letter.from, letter.message));
    }
  }
  std::mt19937 order(comm.rank().value);
  std::shuffle(works.begin(), works.end(), order);
  comm.wait_all(works);
  for (std::size_t i = 0; i < letters.size(); ++i) {
    if (letters[i].to != comm.rank()) continue;
    EXPECT_EQ(std::memcmp(buffers[i].data(), content(letters[i]).data(), letters[i].bytes), 0) << "letter " << i;
  }
}

void large_messages_cross(Communicator& comm) {
  if (comm.size() == 1) return;
  const std::int64_t bytes = large_bytes(comm) + 12;
  const Rank next((comm.rank().value + 1) % comm.size());
  const Rank previous((comm.rank().value + comm.size() - 1) % comm.size());
  const auto letter = [&](Rank from, std::uint64_t tag) {
    return content({.from = from, .to = from, .message = {Channel::forward, tag + from.value}, .bytes = bytes});
  };
  const auto to_next = letter(comm.rank(), 1), to_previous = letter(comm.rank(), 101);
  std::vector<std::uint32_t> from_previous(bytes / 4 + 1), from_next(bytes / 4 + 1);
  Work works[] = {
      comm.send({const_cast<std::uint32_t*>(to_next.data()), bytes}, next, {Channel::forward, 1}),
      comm.send({const_cast<std::uint32_t*>(to_previous.data()), bytes}, previous, {Channel::backward, 2}),
      comm.recv({from_previous.data(), bytes}, previous, {Channel::forward, 1}),
      comm.recv({from_next.data(), bytes}, next, {Channel::backward, 2}),
  };
  comm.wait_all(works);
  EXPECT_EQ(std::memcmp(from_previous.data(), letter(previous, 1).data(), bytes), 0);
  EXPECT_EQ(std::memcmp(from_next.data(), letter(next, 101).data(), bytes), 0);
}

void lanes_run_side_by_side(Communicator& comm) {
  if (comm.size() == 1) return;
  constexpr std::int64_t n = 500009;
  const Rank next((comm.rank().value + 1) % comm.size());
  const Rank previous((comm.rank().value + comm.size() - 1) % comm.size());
  float* const sums = reinterpret_cast<float*>(comm.allocate(n * 4).data);
  fill_whole(sums, n, comm.rank().value);
  std::vector<float> forward(n), backward(n), got_forward(n), got_backward(n);
  fill_whole(forward.data(), n, 100 + comm.rank().value);
  fill_whole(backward.data(), n, 200 + comm.rank().value);
  const auto bytes = [](std::vector<float>& v) { return BufferView{v.data(), n * 4}; };
  Work works[] = {
      comm.recv(bytes(got_backward), next, {Channel::backward, 7}),
      comm.recv(bytes(got_forward), previous, {Channel::forward, 6}),
      comm.all_reduce(view(sums, n)),
      comm.send(bytes(backward), previous, {Channel::backward, 7}),
      comm.send(bytes(forward), next, {Channel::forward, 6}),
  };
  comm.wait_all(works);
  expect_whole_sums(sums, n, comm.groups().members(0));
  fill_whole(forward.data(), n, 100 + previous.value);
  fill_whole(backward.data(), n, 200 + next.value);
  EXPECT_TRUE(got_forward == forward);
  EXPECT_TRUE(got_backward == backward);
}

void collectives_queue_up(Communicator& comm) {
  constexpr std::int64_t n = 3001;
  double* const data = reinterpret_cast<double*>(comm.allocate(3 * n * 8).data);
  std::vector<Work> works;
  for (int k = 0; k < 3; ++k) {
    fill_whole(data + k * n, n, comm.rank().value);
    works.push_back(comm.all_reduce(view(data + k * n, n)));
    works.push_back(comm.barrier());
  }
  std::reverse(works.begin(), works.end());
  comm.wait_all(works);
  for (int k = 0; k < 3; ++k) expect_whole_sums(data + k * n, n, comm.groups().members(0));
}

void traffic_follows_the_formulas(Communicator& comm) {
  const int p = comm.size();
  const bool shared = comm.capabilities().shared_arenas;
  std::byte* const arena = comm.allocate(1 << 20).data;
  for (const std::int64_t bytes : {4, 60, 64, 68, 4096, 100012, 1 << 20}) {
    comm.reset_traffic();
    comm.wait(comm.all_reduce({arena, bytes, ElementType::f32}));
    const std::int64_t each_way =
        shared ? (p - 1) * share_of(bytes, p, comm.rank().value).bytes() : 2 * (p - 1) * bytes / p;
    EXPECT_EQ(comm.traffic(), (Traffic{each_way, each_way})) << bytes << " bytes";
    if (!shared) continue;
    std::int64_t everywhere = 0;
    for (const std::string& text : all_gather(comm, std::to_string(each_way))) everywhere += std::stoll(text);
    EXPECT_EQ(everywhere, (p - 1) * bytes);
  }
  if (p == 1) return;
  comm.reset_traffic();
  std::vector<char> mine(1234), theirs(p * 1000);
  const Rank next((comm.rank().value + 1) % p), previous((comm.rank().value + p - 1) % p);
  const auto length = [](Rank from) { return std::int64_t{100} + from.value; };
  Work works[] = {comm.send({mine.data(), length(comm.rank())}, next, {Channel::forward, 1}),
                  comm.recv({theirs.data(), length(previous)}, previous, {Channel::forward, 1})};
  comm.wait_all(works);
  EXPECT_EQ(comm.traffic(), (Traffic{length(comm.rank()), length(previous)}));
}

void barrier_holds_everybody(Communicator& comm) {
  std::this_thread::sleep_for(std::chrono::milliseconds(15 * comm.rank().value));
  const auto now = [] { return std::to_string(Clock::now().time_since_epoch().count()); };
  const std::string before = now();
  comm.wait(comm.barrier());
  const std::int64_t after = std::stoll(now());
  for (const std::string& other : all_gather(comm, before)) EXPECT_GE(after, std::stoll(other));
}

void all_gather_takes_any_text(Communicator& comm) {
  const auto text_of = [](int rank) { return std::string(rank % 2 == 0 ? 30000 * rank : rank, char('a' + rank)); };
  const std::vector<std::string> texts = all_gather(comm, text_of(comm.rank().value));
  ASSERT_EQ(std::ssize(texts), comm.size());
  for (int r = 0; r < comm.size(); ++r) EXPECT_TRUE(texts[r] == text_of(r));
}

void notify_wakes(Communicator& comm) {
  const std::uint32_t seen = comm.events();
  const auto begin = Clock::now();
  std::jthread waker([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    comm.notify();
  });
  while (comm.events() == seen) comm.sleep(seen, 5);
  EXPECT_LT(seconds_since(begin), 4);
  comm.sleep(seen, 5);  // what was not seen yet does not let anyone sleep
  EXPECT_LT(seconds_since(begin), 4);
}

void waiting_leaves_the_core_alone(Communicator& comm) {
  if (comm.size() == 1) return;
  constexpr double wait_s = 2;
  std::vector<float> data(1000);
  const double cpu_begin = thread_cpu_seconds();
  const auto begin = Clock::now();
  if (comm.rank() == Rank(0)) {
    std::this_thread::sleep_for(std::chrono::duration<double>(wait_s));
    comm.wait(comm.all_reduce(view(data.data(), 1000)));
    for (int r = 1; r < comm.size(); ++r) comm.wait(comm.send({data.data(), 4000}, Rank(r), {Channel::forward, 1}));
  } else {
    std::vector<float> received(1000);
    Work works[] = {comm.recv({received.data(), 4000}, Rank(0), {Channel::forward, 1}),
                    comm.all_reduce(view(data.data(), 1000))};
    comm.wait_all(works);
  }
  EXPECT_GE(seconds_since(begin), 0.95 * wait_s);
  EXPECT_LT(thread_cpu_seconds() - cpu_begin, 0.05 * wait_s);
}

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
    {"sums_in_arena_f32", sums_in_arena<float>},
    {"sums_in_arena_f64", sums_in_arena<double>},
    {"sums_outside_arena", sums_outside_arena},
    {"sums_at_unequal_offsets", sums_at_unequal_offsets},
    {"sums_are_bitwise_equal", sums_are_bitwise_equal},
    {"arenas_are_zeroed_and_aligned", arenas_are_zeroed_and_aligned},
    {"messages_interleave", messages_interleave},
    {"large_messages_cross", large_messages_cross},
    {"lanes_run_side_by_side", lanes_run_side_by_side},
    {"collectives_queue_up", collectives_queue_up},
    {"traffic_follows_the_formulas", traffic_follows_the_formulas},
    {"barrier_holds_everybody", barrier_holds_everybody},
    {"all_gather_takes_any_text", all_gather_takes_any_text},
    {"notify_wakes", notify_wakes},
    {"waiting_leaves_the_core_alone", waiting_leaves_the_core_alone},
    {"abort_stops_everybody", abort_stops_everybody},
    {"wrong_tag_is_named", wrong_tag_is_named},
    {"wrong_size_is_named", wrong_size_is_named},
    {"impossible_calls_are_refused", impossible_calls_are_refused},
};

}  // namespace

std::span<const ConformanceCase> conformance_cases() {
  static const std::vector<ConformanceCase> all = [] {
    std::vector<ConformanceCase> list(std::begin(cases), std::end(cases));
    list.insert(list.end(), group_cases().begin(), group_cases().end());
    list.insert(list.end(), message_cases().begin(), message_cases().end());
    return list;
  }();
  return all;
}

}  // namespace parabench
