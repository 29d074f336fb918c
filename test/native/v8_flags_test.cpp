// V8's flags that are set for a moment, with a page of flags of this test's in the place of V8's.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "native/v8/flags.h"

// As V8's own are named, so that dlsym() finds them.
__attribute__((visibility("default"))) alignas(4096) uint8_t page[4096] __asm__("_ZN2v88internal8v8_flagsE");
__attribute__((visibility("default"))) void set_flags(const char* text) __asm__("_ZN2v82V818SetFlagsFromStringEPKc");

namespace {

constexpr size_t kThis = 100, kOther = 200;
int sets = 0;
// What another thread does at each call of V8's parser, before or after the flag is set.
std::function<void(bool on)> meanwhile;

}  // namespace

void set_flags(const char* text) {
  const bool on = std::strcmp(text, "--this") == 0;
  ++sets;
  page[kThis] = on ? 1 : 0;
  if (meanwhile) meanwhile(on);
}

namespace ltn {
namespace {

struct V8FlagTest : testing::Test {
  V8FlagTest() {
    std::memset(page, 0, sizeof page);
    page[kOther] = 1;
    sets = 0;
    meanwhile = {};
  }
};
V8Flag find() { return {"--this", "--no-this"}; }

TEST_F(V8FlagTest, AreFoundAndAsBefore) {
  for (const uint8_t before : {0, 1}) {
    page[kThis] = before;
    V8Flag flag = find();
    EXPECT_TRUE(flag.found());
    EXPECT_EQ(page[kThis], before);
    EXPECT_EQ(flag.exchange(true), before == 1);
    EXPECT_EQ(page[kThis], 1);
    EXPECT_TRUE(flag.exchange(false));
    EXPECT_EQ(page[kThis], 0);
    EXPECT_EQ(page[kOther], 1);
  }
}

TEST_F(V8FlagTest, AreFoundBesideAThreadThatSetsAnother) {
  for (const uint8_t before : {0, 1}) {
    page[kThis] = before;
    sets = 0;
    // In the first three tries the other flag changes as this one does.
    meanwhile = [](bool on) { page[kOther] = sets > 6 || on ? 1 : 0; };
    V8Flag flag = find();
    EXPECT_GT(sets, 6);
    EXPECT_TRUE(flag.found());
    EXPECT_EQ(page[kThis], before);
    flag.exchange(true);
    EXPECT_EQ(page[kThis], 1);
  }
}

TEST_F(V8FlagTest, AreNotFoundIfAnotherIsAlwaysTheSame) {
  page[kThis] = 1;
  meanwhile = [](bool on) { page[kOther] = on ? 1 : 0; };
  V8Flag flag = find();
  EXPECT_FALSE(flag.found());
  EXPECT_EQ(page[kThis], 1);
  EXPECT_FALSE(flag.exchange(false));
  EXPECT_TRUE(flag.exchange(true));
  EXPECT_EQ(page[kThis], 1);
}

TEST_F(V8FlagTest, AreSetForAWhileByOneOrTwo) {
  V8Flag flag = find();
  {
    const V8FlagFor on(flag, true);
    EXPECT_EQ(page[kThis], 1);
  }
  EXPECT_EQ(page[kThis], 0);
  flag.exchange(true);
  {
    const V8FlagFor first(flag, false);
    {
      const V8FlagFor second(flag, false);
      EXPECT_EQ(page[kThis], 0);
    }
    EXPECT_EQ(page[kThis], 0);
  }
  EXPECT_EQ(page[kThis], 1);
}

}  // namespace
}  // namespace ltn
