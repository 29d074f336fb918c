// Lines that opened scopes: written once, and only while their scopes stay.
#include <gtest/gtest.h>

#include "native/audit/recorder.h"

namespace ltn::audit {
namespace {

size_t openings(Recorder* recorder) {
  Recorder::Changes changes;
  recorder->drain(&changes);
  return changes.openings.size();
}

constexpr uint32_t kNextGeneration = 1U << 20;  // scopes at one place differ above these bits

TEST(AuditExtras, APlaceThatManyScopesUsedIsWrittenOnce) {
  Recorder recorder;
  for (uint32_t i = 0; i < 1000; ++i) {
    recorder.scope_opened(1, 7 + i * kNextGeneration, 3);
    recorder.scope_opened(1, 7 + i * kNextGeneration, 0);
  }
  recorder.scope_opened(1, 7, 3);
  EXPECT_EQ(openings(&recorder), 0u);  // younger than a round
  EXPECT_EQ(openings(&recorder), 1u);
  EXPECT_EQ(openings(&recorder), 0u);
}

TEST(AuditExtras, AScopeThatEndedWithinARoundIsNotWritten) {
  Recorder recorder;
  recorder.scope_opened(1, 7, 3);
  EXPECT_EQ(openings(&recorder), 0u);
  recorder.scope_opened(1, 7, 0);
  EXPECT_EQ(openings(&recorder), 0u);
}

TEST(AuditExtras, TheScopesOfAnEndedEnvironmentAreForgotten) {
  Recorder recorder;
  recorder.scope_opened(1, 7, 3);
  recorder.scope_opened(2, 7, 3);
  recorder.environment_ended(1);
  openings(&recorder);
  EXPECT_EQ(openings(&recorder), 1u);
}

}  // namespace
}  // namespace ltn::audit
