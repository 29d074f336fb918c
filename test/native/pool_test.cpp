// async::Pool if threads cannot be created, with too many threads, and at its end.
#include "native/async/pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

namespace ltn::async {
namespace {

struct Seen {
  std::promise<void> began, ended;
  std::promise<void> go;
  std::atomic<int> ran{0}, cancelled{0}, dropped{0}, withdrawn{0}, freed{0};
};

// Runs until it is released.
class Waiting final : public Job {
 public:
  explicit Waiting(Seen& seen) : seen_(seen) {}
  ~Waiting() override { ++seen_.freed; }
  void run() noexcept override {
    ++seen_.ran;
    seen_.began.set_value();
    seen_.go.get_future().wait();
    seen_.ended.set_value();
  }
  void cancel() noexcept override { ++seen_.cancelled; }
  void drop() noexcept override { ++seen_.dropped; }
  void withdraw() noexcept override { ++seen_.withdrawn; }
  uint64_t id() const noexcept override { return 7; }

 private:
  Seen& seen_;
};

// Ends at once, so that the thread stays awake for the next one.
class Short final : public Job {
 public:
  explicit Short(std::shared_ptr<std::promise<void>> ended) : ended_(std::move(ended)) {}
  void run() noexcept override { ended_->set_value(); }
  bool was_short() const noexcept override { return true; }
  void cancel() noexcept override {}
  void drop() noexcept override {}
  void withdraw() noexcept override {}

 private:
  const std::shared_ptr<std::promise<void>> ended_;  // may outlive the wait for it
};

// Starts the maximum number of threads.
struct Starter {
  int left;
  std::thread operator()(std::function<void()> body) {
    if (left-- <= 0) throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
    return std::thread(std::move(body));
  }
};

void expect_idle(Pool& pool) {
  const PoolStatus status = pool.status();
  EXPECT_EQ(status.running, 0u);
  EXPECT_EQ(status.queued, 0u);
}

TEST(Pool, WithoutAnyThreadTheJobIsGoneAndTheCallerHearsIt) {
  Seen seen;
  Pool pool(2, Starter{0});
  for (int i = 1; i <= 3; ++i) {
    EXPECT_THROW(pool.submit(std::make_unique<Waiting>(seen)), std::system_error);
    EXPECT_EQ(seen.freed.load(), i);
    expect_idle(pool);
  }
  EXPECT_EQ(seen.ran.load(), 0);
  pool.set_threads(5);  // nothing is waiting, so threads are not needed
}

TEST(Pool, AThreadThatIsThereDoesTheWorkOfThoseThatCannotBeMade) {
  Seen first, second;
  Pool pool(4, Starter{1});
  pool.submit(std::make_unique<Waiting>(first));
  first.began.get_future().wait();
  pool.submit(std::make_unique<Waiting>(second));
  EXPECT_EQ(pool.status().queued, 1u);
  pool.set_threads(8);
  second.go.set_value();
  first.go.set_value();
  second.ended.get_future().wait();
  EXPECT_EQ(first.ran + second.ran, 2);
}

TEST(Pool, TriesAgainWhenThreadsCanBeMade) {
  int left = 0;
  Seen seen;
  Pool pool(1, [&left](std::function<void()> body) { return Starter{left}(std::move(body)); });
  EXPECT_THROW(pool.submit(std::make_unique<Waiting>(seen)), std::system_error);
  left = 1;
  seen.go.set_value();
  pool.submit(std::make_unique<Waiting>(seen));
  seen.ended.get_future().wait();
  EXPECT_EQ(seen.ran.load(), 1);
}

TEST(Pool, AThreadThatStaysAwakeTakesTheNextJobSleepsAfterwardsAndStops) {
  for (int pools = 0; pools < 20; ++pools) {
    Pool pool(2, Starter{2});
    for (int i = 0; i < 100; ++i) {
      const auto ended = std::make_shared<std::promise<void>>();
      pool.submit(std::make_unique<Short>(ended));
      ended->get_future().wait();
      if (i % 20 == 0) std::this_thread::sleep_for(2 * kAwake);  // it sleeps by now
    }
    pool.set_threads(1);
  }  // perhaps while it is awake
}

TEST(Pool, StopDropsWaitingJobsEndsRunningOnesAndRefusesNewOnes) {
  Seen first, second;
  auto pool = std::make_unique<Pool>(1, Starter{1});
  pool->submit(std::make_unique<Waiting>(first));
  first.began.get_future().wait();
  pool->submit(std::make_unique<Waiting>(second));
  second.go.set_value();  // the thread may come to it before the stop
  first.go.set_value();
  std::thread([&] { pool->stop(); }).join();
  EXPECT_EQ(first.ran.load(), 1);
  EXPECT_EQ(second.ran + second.dropped, 1);
  EXPECT_THROW(pool->submit(std::make_unique<Waiting>(second)), std::runtime_error);
  expect_idle(*pool);
}

TEST(Pool, EndDropsTheOwnersWaitingJobsAndWaitsForRunningOnes) {
  Seen first, second, others;
  const int owner = 0, other = 0;
  Pool pool(1, Starter{1});
  pool.submit(std::make_unique<Waiting>(first), &owner);
  first.began.get_future().wait();
  pool.submit(std::make_unique<Waiting>(second), &owner);
  pool.submit(std::make_unique<Waiting>(others), &other);
  std::future<void> end = std::async(std::launch::async, [&] { pool.end(&owner); });
  while (first.cancelled.load() == 0) std::this_thread::yield();
  EXPECT_EQ(end.wait_for(std::chrono::seconds(0)), std::future_status::timeout);  // the job has not ended
  EXPECT_EQ(first.freed.load(), 0);
  first.go.set_value();
  end.get();
  EXPECT_EQ(first.freed.load(), 1);
  EXPECT_EQ(second.ran.load(), 0);
  EXPECT_EQ(second.dropped.load(), 1);
  EXPECT_EQ(second.freed.load(), 1);
  EXPECT_EQ(others.dropped + others.cancelled, 0);
  others.go.set_value();
  others.ended.get_future().wait();
}

TEST(Pool, AnAbandonedJobHasAThreadOfItsOwn) {
  Seen first, second, third;
  const int owner = 0;
  Pool pool(1, Starter{3});
  pool.submit(std::make_unique<Waiting>(first), &owner);
  first.began.get_future().wait();
  pool.submit(std::make_unique<Waiting>(second), &owner);
  pool.abandon(nullptr, 7);  // another owner's
  pool.abandon(&owner, 8);
  EXPECT_EQ(pool.status().abandoned, 0u);
  pool.abandon(&owner, 7);
  EXPECT_EQ(pool.status().abandoned, 1u);
  EXPECT_EQ(pool.status().queued, 1u) << "no thread yet for the one that waits";
  pool.replace_abandoned();
  second.began.get_future().wait();
  EXPECT_EQ(pool.status().abandoned, 1u);
  first.go.set_value();
  first.ended.get_future().wait();
  second.go.set_value();
  second.ended.get_future().wait();
  while (pool.status().running > 0) std::this_thread::yield();
  EXPECT_EQ(pool.status().abandoned, 0u);
  third.go.set_value();
  pool.submit(std::make_unique<Waiting>(third), &owner);  // the number of threads is as before
  third.ended.get_future().wait();
}

TEST(Pool, AWithdrawnJobLeavesTheQueueAndARunningOneStays) {
  Seen first, second;
  const int owner = 0, other = 0;
  Pool pool(1, Starter{1});
  pool.submit(std::make_unique<Waiting>(first), &other);
  first.began.get_future().wait();
  pool.submit(std::make_unique<Waiting>(second), &owner);
  pool.withdraw(nullptr, 7);  // another owner's
  pool.withdraw(&owner, 8);
  pool.withdraw(&other, 7);  // it runs
  EXPECT_EQ(first.withdrawn.load(), 0);
  EXPECT_EQ(pool.status().queued, 1u);
  pool.withdraw(&owner, 7);
  EXPECT_EQ(pool.status().queued, 0u);
  EXPECT_EQ(second.withdrawn.load(), 1);
  EXPECT_EQ(second.freed.load(), 1);
  first.go.set_value();
  first.ended.get_future().wait();
  while (pool.status().running > 0) std::this_thread::yield();
  EXPECT_EQ(second.ran.load(), 0);
}

TEST(Pool, StopDoesNotWaitForAbandonedJobs) {
  Seen seen;
  const int owner = 0;
  Pool pool(1, Starter{1});
  pool.submit(std::make_unique<Waiting>(seen), &owner);
  seen.began.get_future().wait();
  pool.abandon(&owner, 7);  // no thread can be made in its place
  pool.stop();
  EXPECT_EQ(seen.cancelled.load(), 1);
  EXPECT_EQ(pool.status().abandoned, 1u);
  seen.go.set_value();
  while (pool.status().running > 0) std::this_thread::yield();
  EXPECT_EQ(seen.freed.load(), 1);
}

TEST(Pool, EndOfAnOwnerWithoutJobsDoesNotWait) {
  Seen others;
  const int owner = 0, other = 0;
  Pool pool(1, Starter{1});
  pool.submit(std::make_unique<Waiting>(others), &other);
  others.began.get_future().wait();
  pool.end(&owner);
  EXPECT_EQ(others.cancelled.load(), 0);
  others.go.set_value();
}

TEST(Pool, StopCancelsRunningJobs) {
  Seen seen;
  Pool pool(1, Starter{1});
  pool.submit(std::make_unique<Waiting>(seen));
  seen.began.get_future().wait();
  std::thread stop([&] { pool.stop(); });
  while (seen.cancelled.load() == 0) std::this_thread::yield();
  seen.go.set_value();
  stop.join();
  EXPECT_EQ(seen.freed.load(), 1);
}

}  // namespace
}  // namespace ltn::async
