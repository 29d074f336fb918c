// Scopes of the slot table: their tensors and their ends, in every order.
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "native/audit/audit.h"
#include "native/handles/slot_table.h"
#include "test/native/support/ledger.h"
#include "test/native/support/packets.h"

namespace ltn::handles {
namespace {

class SlotScopes : public ::testing::Test {
 protected:
  Handle make() { return table.create(at::zeros({2})); }
  bool alive(Handle handle) { return table.find(handle) != nullptr; }

  accounting::ExternalMemory external{&ignore_report, nullptr};
  Flags flags;
  SlotTable table{1, external, flags};
};

TEST_F(SlotScopes, ClosingFreesExactlyTheTensorsMadeInside) {
  const Handle outside = make();
  const ScopeId scope = table.open_scope();
  EXPECT_NE(flags.scope, 0u);
  const std::vector<Handle> inside{make(), make(), make()};
  EXPECT_EQ(table.scope_of(inside[1]), scope);
  EXPECT_EQ(table.scope_of(outside), 0u);
  table.free(inside[1]);
  EXPECT_TRUE(table.close_scope(scope));
  for (const Handle handle : inside) EXPECT_FALSE(alive(handle));
  EXPECT_TRUE(alive(outside));
  EXPECT_FALSE(table.close_scope(scope));
  EXPECT_EQ(flags.scope, 0u);
  EXPECT_EQ(table.current_scope(), 0u);
}

TEST_F(SlotScopes, NestedScopesEndInnermostFirst) {
  const ScopeId outer = table.open_scope();
  const Handle a = make();
  const ScopeId inner = table.open_scope();
  const Handle b = make();
  EXPECT_EQ(table.parent_of(inner), outer);
  EXPECT_TRUE(table.close_scope(inner));
  EXPECT_EQ(table.current_scope(), outer);
  EXPECT_FALSE(alive(b));
  EXPECT_TRUE(alive(a));
  EXPECT_TRUE(table.close_scope(outer));
  EXPECT_FALSE(alive(a));
}

TEST_F(SlotScopes, AScopeThatIsTakenOutOutlivesTheOneItWasOpenedIn) {
  const ScopeId around = table.open_scope();
  const ScopeId outer = table.open_scope();
  const Handle in_outer = make();
  const ScopeId taken = table.open_scope();
  const Handle in_taken = make();
  const ScopeId inside = table.open_scope();
  const Handle in_inside = make();
  EXPECT_FALSE(table.reparent(taken, inside)) << "a scope cannot lie inside itself";
  table.enter_scope(outer);
  EXPECT_TRUE(table.reparent(taken, table.parent_of(outer)));
  EXPECT_EQ(table.parent_of(taken), around);
  EXPECT_TRUE(table.close_scope(outer));
  EXPECT_EQ(table.current_scope(), around);
  EXPECT_FALSE(alive(in_outer));
  EXPECT_TRUE(alive(in_taken) && alive(in_inside));
  EXPECT_TRUE(table.reparent(taken, 0));
  EXPECT_TRUE(table.close_scope(around));
  EXPECT_TRUE(alive(in_taken) && alive(in_inside)) << "it is under none now";
  EXPECT_TRUE(table.close_scope(taken));
  EXPECT_FALSE(alive(in_taken) || alive(in_inside));
  EXPECT_FALSE(table.reparent(taken, 0)) << "it is closed";
}

TEST_F(SlotScopes, ClosingAnOuterScopeEndsThoseInside) {
  const ScopeId outer = table.open_scope();
  const ScopeId middle = table.open_scope();
  const ScopeId inner = table.open_scope();
  const Handle handle = make();
  EXPECT_TRUE(table.close_scope(outer));
  EXPECT_FALSE(alive(handle));
  for (const ScopeId scope : {outer, middle, inner}) EXPECT_FALSE(table.is_open(scope));
  EXPECT_EQ(table.current_scope(), 0u);
}

TEST_F(SlotScopes, ClosingAlsoEndsInnerScopesThatAreNotCurrent) {
  const ScopeId outer = table.open_scope();
  const ScopeId left = table.open_scope();  // like an async scope: open, but not current
  const Handle in_left = make();
  table.enter_scope(outer);
  const ScopeId right = table.open_scope();
  const Handle in_right = make();
  EXPECT_TRUE(table.close_scope(outer));
  for (const ScopeId scope : {outer, left, right}) EXPECT_FALSE(table.is_open(scope));
  EXPECT_FALSE(alive(in_left));
  EXPECT_FALSE(alive(in_right));
}

TEST_F(SlotScopes, ClosingAScopeFromOutsideLeavesTheCurrentOne) {
  const ScopeId first = table.open_scope();
  const ScopeId inside = table.open_scope();
  const Handle a = make();
  table.enter_scope(0);
  const ScopeId second = table.open_scope();
  const Handle b = make();
  EXPECT_TRUE(table.close_scope(first));
  EXPECT_FALSE(alive(a));
  EXPECT_FALSE(table.is_open(inside));
  EXPECT_TRUE(alive(b));
  EXPECT_EQ(table.current_scope(), second);
  EXPECT_TRUE(table.close_scope(second));
}

TEST_F(SlotScopes, AStaleScopeIdDoesNotReachTheNextScopeInItsPlace) {
  const ScopeId old = table.open_scope();
  table.close_scope(old);
  const ScopeId fresh = table.open_scope();
  EXPECT_NE(old, fresh);
  const Handle handle = make();
  EXPECT_FALSE(table.close_scope(old));
  EXPECT_TRUE(alive(handle));
  table.enter_scope(old);
  EXPECT_EQ(table.current_scope(), 0u);
}

TEST_F(SlotScopes, MovedTensorsEndWithTheirNewOwner) {
  const ScopeId outer = table.open_scope();
  const ScopeId inner = table.open_scope();
  const Handle to_outer = make();
  const Handle to_collector = make();
  EXPECT_TRUE(table.move(to_outer, outer));
  EXPECT_TRUE(table.move(to_collector, 0));
  table.close_scope(inner);
  EXPECT_TRUE(alive(to_outer));
  EXPECT_EQ(table.scope_of(to_outer), outer);
  table.close_scope(outer);
  EXPECT_FALSE(alive(to_outer));
  EXPECT_TRUE(alive(to_collector));
}

// Two hundred thousand nested open scopes: ended by one pass, whereas a scan of all scopes for each of them would take
// hours.
TEST_F(SlotScopes, ClosingTakesAsLongAsThereIsInside) {
  constexpr int kDeep = 200'000;
  const ScopeId outer = table.open_scope();
  const ScopeId beside = table.open_scope();
  table.enter_scope(outer);
  std::vector<ScopeId> inside;
  for (int i = 0; i < kDeep; ++i) inside.push_back(table.open_scope());
  const Handle innermost = make();
  table.enter_scope(beside);
  for (int i = 0; i < kDeep; ++i) {  // and as many siblings
    table.enter_scope(beside);
    inside.push_back(table.open_scope());
  }
  const Handle last = make();
  table.enter_scope(0);
  EXPECT_TRUE(table.close_scope(outer));
  EXPECT_FALSE(alive(innermost));
  EXPECT_FALSE(alive(last));
  for (const ScopeId scope : inside) ASSERT_FALSE(table.is_open(scope));
  EXPECT_FALSE(table.is_open(beside));
  EXPECT_EQ(table.current_scope(), 0u);
  // All of them can be reopened.
  const ScopeId again = table.open_scope();
  EXPECT_TRUE(table.is_open(again));
  EXPECT_TRUE(table.close_scope(again));
}

TEST_F(SlotScopes, AScopeAmongOthersIsTakenOutAndPutBack) {
  const ScopeId a = table.open_scope();
  const ScopeId b = table.open_scope();
  table.enter_scope(a);
  const ScopeId c = table.open_scope();
  table.enter_scope(a);
  const ScopeId d = table.open_scope();
  EXPECT_TRUE(table.reparent(c, 0));
  EXPECT_TRUE(table.reparent(b, d));
  EXPECT_FALSE(table.reparent(d, b)) << "inside itself";
  table.enter_scope(c);
  EXPECT_TRUE(table.close_scope(d));
  EXPECT_FALSE(table.is_open(b));
  EXPECT_TRUE(table.reparent(c, a));
  EXPECT_TRUE(table.close_scope(a));
  EXPECT_FALSE(table.is_open(c));
  EXPECT_EQ(table.current_scope(), 0u);
}

// Numbers of scopes in captures have 32 bits, those of scopes 53: at each 4,096th scope in a place the lower bits begin
// anew, and the first place's number was kKept then.
TEST_F(SlotScopes, NoScopeIsTakenForTheCollectorInACapture) {
  char pattern[] = "/tmp/ltn-scopes-XXXXXX";
  const std::string folder = ::mkdtemp(pattern);
  audit::Options options;
  options.path = folder + "/c.ltna";
  ASSERT_TRUE(audit::start(options, nullptr));
  for (int generation = 1; generation < 4096; ++generation) table.close_scope(table.open_scope());
  const ScopeId scope = table.open_scope();
  ASSERT_EQ(scope, (ScopeId{4096} << kScopeIndexBits) + 1) << "the low 32 bits are 1";
  make();
  audit::tag_pending(1, audit::define_site(0, "[]", 1));
  const Handle moved = table.create(at::zeros({2}));
  audit::tag_pending(1, audit::define_site(0, "[]", 1));
  EXPECT_TRUE(table.move(moved, 0));
  EXPECT_TRUE(table.move(moved, scope));
  audit::stop("test");
  bool torn = false;
  size_t births = 0;
  for (const audit::Packet& packet : audit::parse(audit::read_file(options.path), &torn)) {
    for (size_t at = 0; packet.type == 7 && at < packet.payload.size(); at += 48) {
      ++births;
      EXPECT_EQ(packet.payload[at + 43] >> 1 & 3, 3) << "a scope's";
    }
    for (size_t at = 0; packet.type == 14 && at < packet.payload.size(); at += 8) {
      EXPECT_GT(audit::u32(packet.payload, at + 4), 1u);
      EXPECT_EQ(audit::u32(packet.payload, at + 4) & 0xfffff, 1u) << "the place that tells open ones apart";
    }
    EXPECT_NE(packet.type, 15) << "nothing is kept";
  }
  EXPECT_EQ(births, 2u);
  ::unlink(options.path.c_str());
  ::rmdir(folder.c_str());
}

// Compared with a model: scopes as sets with parents, closed at random, with tensors made, moved and freed in between.
TEST_F(SlotScopes, AgreesWithAModelOverRandomOrders) {
  struct ModelScope {
    ScopeId id, parent;
  };
  for (uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    std::vector<ModelScope> open;
    std::vector<std::pair<Handle, ScopeId>> tensors;
    const auto pick = [&](size_t size) { return std::uniform_int_distribution<size_t>(0, size - 1)(random); };
    for (int step = 0; step < 60; ++step) {
      switch (pick(6)) {
        case 0: {
          const ScopeId parent = table.current_scope();
          open.push_back({table.open_scope(), parent});
          break;
        }
        case 1:
        case 2:
          tensors.emplace_back(make(), table.current_scope());
          break;
        case 3:
          table.enter_scope(open.empty() ? 0 : open[pick(open.size())].id);
          break;
        case 4:
          if (!tensors.empty()) {
            auto& [handle, owner] = tensors[pick(tensors.size())];
            owner = open.empty() ? 0 : open[pick(open.size())].id;
            ASSERT_TRUE(table.move(handle, owner));
          }
          break;
        default: {
          if (open.empty()) break;
          std::vector<ScopeId> ending{open[pick(open.size())].id};
          ASSERT_TRUE(table.close_scope(ending[0]));
          // Parents come before their children in `open`.
          for (const ModelScope& scope : open) {
            if (std::find(ending.begin(), ending.end(), scope.parent) != ending.end()) ending.push_back(scope.id);
          }
          const auto ended = [&](ScopeId id) { return std::find(ending.begin(), ending.end(), id) != ending.end(); };
          open.erase(std::remove_if(open.begin(), open.end(), [&](const auto& s) { return ended(s.id); }), open.end());
          for (const auto& [handle, owner] : tensors) ASSERT_EQ(alive(handle), !ended(owner)) << "seed " << seed;
          tensors.erase(std::remove_if(tensors.begin(), tensors.end(), [&](const auto& t) { return ended(t.second); }),
                        tensors.end());
          for (const ScopeId id : ending) ASSERT_FALSE(table.is_open(id)) << "seed " << seed;
        }
      }
      for (const ModelScope& scope : open) ASSERT_EQ(table.parent_of(scope.id), scope.parent) << "seed " << seed;
    }
    for (const ModelScope& scope : open) table.close_scope(scope.id);
    for (const auto& [handle, owner] : tensors) table.free(handle);
    ASSERT_EQ(table.live(), 0u);
    table.enter_scope(0);
  }
}

}  // namespace
}  // namespace ltn::handles
