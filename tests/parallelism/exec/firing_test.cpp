// Operations fired by readiness, without tensors: who computes what, and how a failure ends it.
#include "parallelism/exec/firing.h"

#include <gmock/gmock.h>

#include <atomic>
#include <set>
#include <stdexcept>
#include <thread>

#include "tests/parallelism/exec/small_network.h"

namespace parabench::exec {
namespace {

TEST(TaskPool, RunsWhatTasksAddAndWhatComesFromOutside) {
  for (const int threads : {1, 2, 4}) {
    std::atomic<int> ran = 0;
    TaskPool pool(threads, 1, [] {});
    std::thread outside([&] {
      for (int i = 0; i < 100; ++i) {
        pool.add([&] {
          if (ran.fetch_add(1) + 1 == 200) pool.close();
          pool.add([&] {
            if (ran.fetch_add(1) + 1 == 200) pool.close();
          });
        });
      }
    });
    pool.run();
    outside.join();
    EXPECT_EQ(ran, 200) << threads;
  }
}

TEST(TaskPool, OneThreadIsThatOfTheCaller) {
  TaskPool pool(1, 4, [] { ADD_FAILURE() << "another thread came"; });
  std::set<std::thread::id> seen;
  std::thread([&] {
    for (int i = 0; i < 20; ++i) pool.add([&] { seen.insert(std::this_thread::get_id()); });
    pool.add([&] { pool.close(); });
  }).join();
  pool.run();
  EXPECT_THAT(seen, testing::ElementsAre(std::this_thread::get_id()));
}

TEST(TaskPool, OtherThreadsEnterFirst) {
  std::mutex mutex;
  std::set<std::thread::id> entered{std::this_thread::get_id()};
  TaskPool pool(3, 1, [&] {
    const std::lock_guard lock(mutex);
    entered.insert(std::this_thread::get_id());
  });
  std::atomic<int> left = 60;
  for (int i = 0; i < 60; ++i) {
    pool.add([&] {
      {
        const std::lock_guard lock(mutex);
        EXPECT_TRUE(entered.contains(std::this_thread::get_id()));
      }
      if (--left == 0) pool.close();
    });
  }
  pool.run();
  EXPECT_EQ(left, 0);
}

plan::Plan alone(int threads) {
  return plan::unroll(small_plan("gpipe/np:1/batch:6/micro:3/executor:futurized/threads:" + std::to_string(threads)),
                      3);
}

TEST(Firing, RunsEveryOperationOnceAfterWhatItNeeds) {
  for (const int threads : {1, 2, 4}) {
    const plan::Plan plan = alone(threads);
    const plan::LocalDependencies needs = plan::dependencies(plan, Rank(0));
    const auto order = plan::kept_order(plan, Rank(0));
    std::vector<std::atomic<int>> ran(plan.ranks[0].compute().size());
    Firing firing(plan, Rank(0), needs, 1,
                  {.enter = [] {},
                   .compute =
                       [&](int i) {
                         for (const plan::OpRef& ref : needs.of(plan::compute_lane, i)) EXPECT_EQ(ran[ref.index], 1);
                         for (const int before : order[i]) EXPECT_EQ(ran[before], 1);
                         ++ran[i];
                       },
                   .waits = [](bool) {},
                   .fail = [] { FAIL(); }});
    firing.run();
    for (const auto& times : ran) EXPECT_EQ(times, 1);
  }
}

TEST(Firing, OneThreadKeepsThePlansOrderWhereNothingIsWaitedFor) {
  const plan::Plan plan = alone(1);
  std::vector<int> order;
  Firing firing(plan, Rank(0), plan::dependencies(plan, Rank(0)), 1,
                {.enter = [] {}, .compute = [&](int i) { order.push_back(i); }, .waits = [](bool) {}, .fail = [] {}});
  firing.run();
  EXPECT_TRUE(std::ranges::is_sorted(order));
  EXPECT_EQ(order.size(), plan.ranks[0].compute().size());
}

TEST(Firing, AFailureEndsItAndTheRestIsLeft) {
  for (const int threads : {1, 3}) {
    const plan::Plan plan = alone(threads);
    std::atomic<int> ran = 0, failures = 0;
    Firing firing(plan, Rank(0), plan::dependencies(plan, Rank(0)), 1,
                  {.enter = [] {},
                   .compute =
                       [&](int i) {
                         if (i == 5) throw std::runtime_error("5");
                         ++ran;
                       },
                   .waits = [](bool) {},
                   .fail = [&] { ++failures; }});
    firing.run();
    EXPECT_EQ(failures, 1);
    EXPECT_LT(ran, std::ssize(plan.ranks[0].compute()) - 1);
  }
}

TEST(Firing, StoppedFromOutsideItEnds) {
  const plan::Plan plan = plan::unroll(small_plan("gpipe/np:2/batch:6/micro:3/executor:futurized"), 2);
  std::atomic<bool> waits = false;
  Firing firing(plan, Rank(1), plan::dependencies(plan, Rank(1)), 2,
                {.enter = [] {}, .compute = [](int) {}, .waits = [&](bool now) { waits = now; }, .fail = [] {}});
  std::thread communicating([&] {
    while (!waits) std::this_thread::yield();
    firing.stop();
  });
  firing.run();
  communicating.join();
  EXPECT_TRUE(waits);
}

TEST(Firing, AnEmptyOperationCostsSomething) {
  EXPECT_GT(empty_operation_s(alone(1), Rank(0)), 0);
  EXPECT_GT(empty_operation_s(plan::unroll(small_plan("1f1b/np:2/batch:8/executor:futurized"), 2), Rank(1)), 0);
}

}  // namespace
}  // namespace parabench::exec
