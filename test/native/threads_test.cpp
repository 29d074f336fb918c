// Threads that share the ledger, the token table and the recorder, like environments and the pool's threads. Under
// `npm run test:tsan` their accesses are checked; here the sums must be right at the end.
#include <ATen/SparseTensorImpl.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/sparse_coo_tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "native/accounting/cpu_allocator.h"
#include "native/accounting/totals.h"
#include "native/async/pool.h"
#include "native/audit/audit.h"
#include "native/handles/slot_table.h"
#include "native/share/alias.h"
#include "native/share/token_table.h"
#include "test/native/support/ledger.h"

namespace ltn {
namespace {

using handles::Handle;
using handles::Reach;
using handles::SlotTable;

// native/async/mailbox.h without Node: the ends of batches, for the thread that sent them.
class Ends {
 public:
  void post(uint64_t strand) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_.push_back(strand);
    wake_.notify_one();
  }
  std::vector<uint64_t> take() {
    std::unique_lock<std::mutex> lock(mutex_);
    wake_.wait(lock, [this] { return !ended_.empty(); });
    return std::exchange(ended_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<uint64_t> ended_;
};

class Steps final : public async::Job {
 public:
  Steps(uint64_t strand, Ends& ends, std::function<void()> body)
      : strand_(strand), ends_(ends), body_(std::move(body)) {}
  void run() noexcept override {
    body_();
    end();
  }
  void cancel() noexcept override {}  // its steps are short
  void drop() noexcept override { end(); }
  void withdraw() noexcept override { end(); }

 private:
  void end() noexcept {
    body_ = nullptr;  // releases its tensors first, like a batch
    ends_.post(strand_);
  }
  const uint64_t strand_;
  Ends& ends_;
  std::function<void()> body_;
};

at::Tensor sparse(int64_t elements) {
  return at::sparse_coo_tensor(at::arange(elements).unsqueeze(0), at::ones({elements}), {100});
}

// Replaces the tensors inside in code compiled here, because the sanitizer does not see libtorch's own code.
void narrow(const at::Tensor& tensor) {
  auto* impl = static_cast<at::SparseTensorImpl*>(tensor.unsafeGetTensorImpl());
  if (impl->nnz() > 1) impl->set_nnz_and_narrow(impl->nnz() - 1);
}

// One environment: a thread with a slot table, whose chains of steps replace the storages of sparse tensors while the
// thread reads everything that it may read.
class Environment {
 public:
  Environment(uint32_t number, async::Pool& pool, int rounds) : number_(number), pool_(pool), rounds_(rounds) {}

  void run() {
    SlotTable table(number_, external_, flags_);
    for (uint64_t strand = 0; strand < kChains; ++strand) {
      targets_.push_back(table.create(sparse(3)));
      leaves_.push_back(table.create(at::zeros({100})));
      table.find(leaves_.back())->set_requires_grad(true);
      table.find(leaves_.back())->mutable_grad() = sparse(2);
    }
    const Handle added = table.create(sparse(5));
    int left = rounds_;
    for (uint64_t strand = 0; strand < kChains; ++strand) send(table, strand, added);
    for (uint64_t under_way = kChains; under_way > 0;) {
      look(table, added);
      for (const uint64_t strand : ends_.take()) {
        table.return_from(strand);
        table.reconcile(targets_[strand]);
        table.reconcile(added);
        table.reconcile_inner();
        table.reconcile_returned();
        if (left-- > 0) {
          send(table, strand, added);
        } else {
          --under_way;
        }
      }
    }
    external_.flush();
    // At the end the ledger equals the memory of the tensors.
    uint64_t bytes = 0;
    table.for_each([&](Handle, const handles::TensorFacts&, accounting::StorageEntry* const* entries, size_t count) {
      for (size_t i = 0; i < count; ++i) bytes += entries[i]->bytes;
    });
    uint64_t held = 0;
    const auto add = [&](const at::Tensor& tensor) {
      held += tensor._indices().storage().nbytes() + tensor._values().storage().nbytes();
    };
    for (const Handle handle : targets_) add(*table.find(handle));
    for (const Handle handle : leaves_) held += table.find(handle)->storage().nbytes();
    add(*table.find(added));
    EXPECT_EQ(bytes, held);
  }

 private:
  static constexpr uint64_t kChains = 3;

  void send(SlotTable& table, uint64_t strand, Handle added) {
    const at::Tensor target = *table.find(targets_[strand]);
    const at::Tensor other = *table.find(added);
    const at::Tensor leaf = *table.find(leaves_[strand]);
    table.lend_to(strand, {{target, other}, {}, strand == 0 ? Reach::Gradients : Reach::Arguments});
    pool_.submit(std::make_unique<Steps>(strand, ends_, [target, other, leaf, strand] {
      for (int i = 0; i < 4; ++i) {
        target.add_(other);
        narrow(target);
        target.zero_();
        if (strand == 0) {  // like autograd's engine
          leaf.grad().add_(other);
          narrow(leaf.grad());
        }
      }
      target.add_(other);
    }));
  }

  // All functions that read tensors other than their arguments.
  void look(SlotTable& table, Handle added) {
    table.reconcile_inner();
    table.reconcile_all();
    table.report_to_capture();
    table.for_each([](Handle, const handles::TensorFacts& facts, accounting::StorageEntry* const*, size_t) {
      EXPECT_EQ(facts.sizes.size(), 1u);
    });
    const handles::ScopeId scope = table.open_scope();
    table.create(at::zeros({10}));
    table.create(at::Tensor(*table.find(targets_[0])));  // a second handle of a tensor that a step uses
    table.create(at::Tensor(table.find(leaves_[0])->grad()));
    table.create(at::Tensor(*table.find(added)));
    table.close_scope(scope);
  }

  const uint32_t number_;
  async::Pool& pool_;
  const int rounds_;
  int64_t reported_ = 0;
  accounting::ExternalMemory external_{&sum_reports, &reported_};
  handles::Flags flags_;
  Ends ends_;
  std::vector<Handle> targets_, leaves_;
};

class Threads : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { accounting::install_counting_cpu_allocator(); }
  void together(size_t count, const std::function<void(uint32_t)>& body) {
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < count; ++i) threads.emplace_back(body, i + 1);
    for (std::thread& thread : threads) thread.join();
  }
};

TEST_F(Threads, StrandsReplaceStoragesWhileTheirEnvironmentsLookAround) {
  const uint64_t before = accounting::ledger_totals().bytes;
  async::Pool pool(3, [](std::function<void()> body) { return std::thread(std::move(body)); });
  together(2, [&](uint32_t number) { Environment(number, pool, 60).run(); });
  pool.stop();
  EXPECT_EQ(accounting::ledger_totals().bytes, before);
}

// Storages shared by several environments, and short-lived tokens.
TEST_F(Threads, EnvironmentsShareTensorsByTokens) {
  const uint64_t before = accounting::ledger_totals().bytes;
  share::TokenTable tokens;
  std::mutex mutex;
  std::vector<std::pair<share::TokenId, std::shared_ptr<const void>>> offered;  // guarded by mutex
  together(4, [&](uint32_t number) {
    int64_t reported = 0;
    accounting::ExternalMemory external{&sum_reports, &reported};
    handles::Flags flags;
    {
      SlotTable table(number, external, flags);
      for (int round = 0; round < 100; ++round) {
        const at::Tensor tensor = round % 2 == 0 ? at::zeros({16}) : sparse(4);
        const Handle handle = table.create(at::Tensor(tensor));
        table.use(handle);
        share::pin_storages(tensor);
        const auto store = std::make_shared<int>(round);
        const auto id = tokens.add({share::alias_of(tensor), false}, store, number);
        table.settle_used();
        std::pair<share::TokenId, std::shared_ptr<const void>> other;
        {
          const std::lock_guard<std::mutex> lock(mutex);
          offered.emplace_back(id, store);
          other = offered[static_cast<size_t>(round * 7) % offered.size()];
          if (offered.size() > 20) offered.erase(offered.begin());
        }
        if (auto offer = tokens.take(other.first, other.second)) table.create(share::alias_of(offer->tensor));
        if (round % 3 == 0) table.free(handle);
        if (round % 5 == 0) tokens.sweep_expired();
        if (round % 7 == 0) tokens.revoke(other.first);
        static_cast<void>(tokens.totals());
        static_cast<void>(accounting::ledger_totals());
        external.settle();
      }
      tokens.end_environment(number);
    }
    external.flush();
  });
  offered.clear();
  tokens.sweep_expired();
  EXPECT_EQ(tokens.totals().tokens, 0u);
  EXPECT_EQ(accounting::ledger_totals().bytes, before);
}

// Captures begin and end while environments make and free tensors, and strands are running.
TEST_F(Threads, CapturesBeginAndEndWhileEnvironmentsWork) {
  char pattern[] = "/tmp/ltn-threads-XXXXXX";
  const std::string folder = ::mkdtemp(pattern);
  async::Pool pool(2, [](std::function<void()> body) { return std::thread(std::move(body)); });
  std::thread environments([&] { together(2, [&](uint32_t number) { Environment(number, pool, 40).run(); }); });
  for (int round = 0; round < 6; ++round) {
    audit::Options options;
    options.path = folder + "/" + std::to_string(round) + ".ltna";
    options.interval_ms = 5;
    options.mode = round % 2 == 0 ? audit::Options::Full : audit::Options::Sample;
    options.sample_bytes = 64;
    options.totals = [] {
      audit::Totals totals;
      accounting::ledger_sums(&totals.tensors, &totals.storages, &totals.bytes);
      return totals;
    };
    std::string why;
    EXPECT_TRUE(audit::start(options, &why)) << why;
    audit::tag_pending(1, audit::define_site(0, "[]", 1));
    audit::mark("round");
    static_cast<void>(audit::take_snapshot(10));
    std::this_thread::yield();
    audit::stop("test");
    ::unlink(options.path.c_str());
  }
  environments.join();
  pool.stop();
  ::rmdir(folder.c_str());
}

}  // namespace
}  // namespace ltn
