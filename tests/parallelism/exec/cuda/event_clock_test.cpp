// The clock of a GPU's marks, on the fake of CUDA with clocks that stand where the test puts them.
#include "parallelism/exec/cuda/event_clock.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "tests/parallelism/comm/cuda/fake_cuda.h"

namespace parabench::exec {
namespace {

double host_s = 0;
double device_rate = 1;  ///< seconds of the device's clock in one of the host's

double host_clock() { return host_s; }
double device_clock() { return 1000 + device_rate * host_s; }

class EventClockTest : public testing::Test {
 protected:
  EventClockTest() {
    host_s = 5;
    device_rate = 1;
    comm::set_fake_cuda_clock(device_clock);
  }
  ~EventClockTest() override { comm::set_fake_cuda_clock(now_s); }

  /// A mark that the GPU comes to at once, `seconds` later.
  int mark_after(EventClock& clock, double seconds) {
    host_s += seconds;
    const EventClock::Point point = clock.mark();
    EXPECT_TRUE(comm::has_passed(point.event));
    return point.number;
  }

  comm::Stream stream_ = comm::make_stream();
};

TEST_F(EventClockTest, TellsWhenTheGpuCameToAMarkOnTheHostsClock) {
  EventClock clock(stream_.get(), host_clock);
  const int first = mark_after(clock, 0.25), second = mark_after(clock, 0.5);
  clock.synchronise();
  EXPECT_NEAR(clock.seconds(first), 5.25, 1e-6);
  EXPECT_NEAR(clock.seconds(second), 5.75, 1e-6);
}

TEST_F(EventClockTest, AMarkThatIsNotReachedIsNoErrorOfTheThread) {
  EventClock clock(stream_.get(), host_clock);
  bool open = false;
  stream_->tasks.push_back([&] { return open; });
  const EventClock::Point point = clock.mark();
  EXPECT_FALSE(comm::has_passed(point.event));
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  open = true;
  EXPECT_TRUE(comm::has_passed(point.event));
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

TEST_F(EventClockTest, ClocksThatDriftApartAreInterpolatedBetweenLooks) {
  EventClock clock(stream_.get(), host_clock);
  device_rate = 1 + 50e-6;
  // The device's clock jumps by 5 s x 50e-6 here, before the first mark; from the next look on it only drifts.
  mark_after(clock, 0.1);
  clock.synchronise();
  std::vector<int> marks;
  for (int i = 0; i < 4; ++i) marks.push_back(mark_after(clock, 2));
  clock.synchronise();
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(clock.seconds(marks[i]), 5.1 + 2 * (i + 1), 2e-6) << i;
}

TEST_F(EventClockTest, TellsWhenAnotherStreamCameToAnEventAlsoAfterTheLastLook) {
  EventClock clock(stream_.get(), host_clock);
  const comm::Stream other = comm::make_stream();
  const auto event_after = [&](double seconds) {
    host_s += seconds;
    comm::Event event = comm::make_timing_event();
    EXPECT_EQ(cudaEventRecord(event.get(), other.get()), cudaSuccess);
    EXPECT_TRUE(comm::has_passed(event.get()));
    return event;
  };
  device_rate = 1 + 50e-6;
  mark_after(clock, 0.1);  // after the jump of the device's clock
  clock.synchronise();
  const comm::Event before = event_after(2);
  mark_after(clock, 2);
  clock.synchronise();
  const comm::Event after = event_after(1);
  EXPECT_NEAR(clock.seconds(before.get()), 7.1, 2e-6);
  EXPECT_NEAR(clock.seconds(after.get()), 10.1, 2e-6);
}

TEST_F(EventClockTest, ManyMarksStayExact) {
  EventClock clock(stream_.get(), host_clock);
  std::vector<int> marks;
  for (int i = 0; i < 5000; ++i) marks.push_back(mark_after(clock, 0.01));
  clock.synchronise();
  for (int i = 0; i < 5000; i += 7) EXPECT_NEAR(clock.seconds(marks[i]), 5 + 0.01 * (i + 1), 2e-6) << i;
}

TEST_F(EventClockTest, MarksOfEarlierRoundsKeepTheirTimesWhileTheirEventsAreUsedAgain) {
  EventClock clock(stream_.get(), host_clock);
  const EventClock::Point first = clock.mark();
  clock.synchronise();
  bool used_again = false;
  std::vector<int> later;
  for (int i = 0; i < 4; ++i) {
    host_s += 1;
    const EventClock::Point point = clock.mark();
    used_again = used_again || point.event == first.event;
    EXPECT_TRUE(comm::has_passed(point.event));
    later.push_back(point.number);
  }
  clock.synchronise();
  EXPECT_TRUE(used_again);
  EXPECT_NEAR(clock.seconds(first.number), 5, 1e-6);
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(clock.seconds(later[i]), 6 + i, 1e-6);
}

TEST_F(EventClockTest, ReservedMarksMakeNoEvent) {
  EventClock clock(stream_.get(), host_clock);
  clock.reserve(100);
  const int before = comm::fake_cuda_events();
  for (int i = 0; i < 100; ++i) clock.mark();
  EXPECT_EQ(comm::fake_cuda_events(), before);
  clock.mark();
  EXPECT_EQ(comm::fake_cuda_events(), before + 1);
  clock.synchronise();
}

TEST_F(EventClockTest, MarksLongAfterTheLastLookAreAsExactBetweenThemselves) {
  EventClock clock(stream_.get(), host_clock);
  std::vector<int> marks = {mark_after(clock, 300)};
  for (int i = 0; i < 40; ++i) marks.push_back(mark_after(clock, 30e-6));
  clock.synchronise();
  for (std::size_t i = 1; i < marks.size(); ++i)
    EXPECT_NEAR(clock.seconds(marks[i]) - clock.seconds(marks[i - 1]), 30e-6, 1e-7) << i;
}

TEST_F(EventClockTest, AMarkWithoutASynchroniseHasNoTime) {
  EventClock clock(stream_.get(), host_clock);
  const int number = clock.mark().number;
  EXPECT_THROW(clock.seconds(number), std::out_of_range);
  clock.synchronise();
  EXPECT_NEAR(clock.seconds(number), 5, 1e-6);
}

}  // namespace
}  // namespace parabench::exec
