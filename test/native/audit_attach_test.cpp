// A capture that begins during the run: reports of the recorder and the slot table about earlier tensors, requests, and
// the memory limit.
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "native/accounting/cpu_allocator.h"
#include "native/accounting/totals.h"
#include "native/audit/memory_limit.h"
#include "native/audit/recorder.h"
#include "native/audit/requests.h"
#include "native/handles/slot_table.h"

namespace ltn::audit {
namespace {

Birth birth_of(const void* storage, uint64_t bytes, bool is_new) {
  Birth birth;
  birth.storage = storage;
  birth.storage_bytes = bytes;
  birth.storage_is_new = is_new;
  return birth;
}

class AuditBegin : public ::testing::Test {
 protected:
  // The latest row of the site with `file`, over all drains.
  CellRow row(const std::string& file) {
    Recorder::Changes changes;
    recorder.drain(&changes);
    sites.insert(sites.end(), changes.sites.begin(), changes.sites.end());
    for (const CellRow& one : changes.rows) rows[one.site] = one;
    for (const auto& site : sites) {
      if (site.json.find(file) != std::string::npos) return rows[site.id];
    }
    return {};
  }
  Recorder recorder;
  std::vector<Recorder::SiteDefinition> sites;
  std::map<uint32_t, CellRow> rows;
  int a = 0, b = 0;  // their addresses are storage identities
};

TEST_F(AuditBegin, CountsEarlierTensorsUntilTheyDie) {
  recorder.begin(1);
  const uint32_t first = recorder.found(birth_of(&a, 1000, true), 99, 1);
  recorder.found(birth_of(&a, 1000, true), 99, 1);  // another handle on it
  recorder.found(birth_of(&b, 24, true), 99, 1);
  EXPECT_EQ(row("before attach").live_tensors, 3u);
  EXPECT_EQ(row("before attach").live_bytes, 1024u);
  recorder.freed(first, 1);
  EXPECT_EQ(row("before attach").live_tensors, 2u);
  EXPECT_EQ(row("before attach").live_bytes, 1024u);
  recorder.storage_released(&b);
  EXPECT_EQ(row("before attach").live_bytes, 1000u);
}

TEST_F(AuditBegin, CountsOnlyNewTensorsAsMade) {
  recorder.begin(1);
  recorder.found(birth_of(&a, 1000, true), 99, 1);
  EXPECT_EQ(recorder.created_totals().tensors, 0u);
  EXPECT_EQ(recorder.created_totals().bytes, 0u);
  recorder.created(birth_of(&b, 24, true), 1, false, 200, 1);
  EXPECT_EQ(recorder.created_totals().tensors, 1u);
  recorder.tag_pending(0, recorder.define_site(0, 0, R"([{"file":"made.js"}])"));
  EXPECT_EQ(recorder.created_totals().tensors, 1u);
  EXPECT_EQ(recorder.created_totals().bytes, 24u);
  EXPECT_EQ(row("before attach").allocated_tensors, 1u) << "the inventory itself is in the capture";
}

TEST_F(AuditBegin, ChargesAViewOfAnotherThreadOnlyUntilItsBaseIsTold) {
  recorder.begin(1);
  recorder.created(birth_of(&a, 1000, false), 1, false, 200, 1);
  recorder.tag_pending(0, recorder.define_site(0, 0, R"([{"file":"view.js"}])"));
  EXPECT_EQ(row("view.js").live_bytes, 1000u);
  recorder.found(birth_of(&a, 1000, true), 99, 1);
  EXPECT_EQ(row("view.js").live_bytes, 0u);
  EXPECT_EQ(row("before attach").live_bytes, 1000u);
}

TEST_F(AuditBegin, IsIndependentOfOtherCaptures) {
  recorder.begin(1);
  const uint32_t old = recorder.created(birth_of(&a, 8, true), 1, false, 1, 1);
  recorder.begin(2);
  EXPECT_EQ(recorder.created(birth_of(&b, 8, true), 1, false, 1, 1), 0u);
  EXPECT_EQ(recorder.found(birth_of(&b, 8, true), 1, 1), 0u);
  const uint32_t now = recorder.found(birth_of(&b, 8, true), 1, 2);
  EXPECT_EQ(now, old) << "the test is for ids that are used again";
  recorder.freed(old, 1);
  recorder.storage_moved(old, &a, 5, true, 1);
  EXPECT_EQ(recorder.recorded_totals().tensors, 1u);
  EXPECT_EQ(recorder.recorded_totals().bytes, 8u);
  recorder.freed(now, 2);
  EXPECT_EQ(recorder.recorded_totals().tensors, 0u);
}

// A table that outlives captures.
class AuditOfTable : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { accounting::install_counting_cpu_allocator(); }
  void SetUp() override {
    char pattern[] = "/tmp/ltn-attach-XXXXXX";
    folder = ::mkdtemp(pattern);
  }
  void TearDown() override {
    stop("test");
    std::filesystem::remove_all(folder);
  }
  void begin(Options::Mode mode = Options::Full) {
    Options options;
    options.path = folder + "/" + std::to_string(++captures);
    options.totals = &accounting::read_totals;
    options.mode = mode;
    options.sample_bytes = uint64_t{1} << 40;  // only storages of that size are drawn
    ASSERT_TRUE(start(options, nullptr));
  }
  handles::Handle make(int64_t count) { return table.create(at::zeros({count}, at::kFloat)); }
  // Bytes and tensors of all sites, which must equal those of the ledger.
  void expect_whole() {
    table.report_to_capture();
    uint64_t bytes = 0, tensors = 0;
    for (const Snapshot::Row& row : take_snapshot(1000).rows) {
      bytes += row.live_bytes;
      tensors += row.live_tensors;
    }
    const Totals totals = accounting::read_totals();
    EXPECT_EQ(bytes, totals.bytes);
    EXPECT_EQ(tensors, totals.tensors);
  }

  std::string folder;
  int captures = 0;
  int64_t reported = 0;
  accounting::ExternalMemory external{[](void* context, int64_t bytes) { *static_cast<int64_t*>(context) += bytes; },
                                      &reported};
  handles::Flags flags;
  handles::SlotTable table{1, external, flags};
};

TEST_F(AuditOfTable, IsWholeWhateverHappensFirst) {
  const handles::Handle base = make(100);
  const handles::Handle other = make(50);
  make(7);
  begin();
  table.create(table.use(base)->view({10, 10}));  // a birth
  table.settle_used();
  expect_whole();
  stop("done");

  make(3);
  begin();
  table.free(other);  // the death of a tensor in the previous capture
  expect_whole();
  stop("done");

  table.free(base);  // without a recording
  begin();
  expect_whole();
  stop("done");
  EXPECT_EQ(take_snapshot(10).rows.size(), 0u);
}

TEST_F(AuditOfTable, TensorsNotDrawnAreCountedButNotRecorded) {
  const auto recorded = [] {
    uint64_t tensors = 0;
    for (const Snapshot::Row& row : take_snapshot(1000).rows) tensors += row.live_tensors;
    return tensors;
  };
  const handles::Handle before = make(5);
  begin(Options::Sample);
  table.report_to_capture();
  EXPECT_EQ(recorded(), 1u);  // earlier tensors are exact
  std::vector<handles::Handle> small;
  for (int i = 0; i < 100; ++i) small.push_back(make(25));
  EXPECT_EQ(recorded(), 1u);
  const Totals totals = accounting::read_totals();
  EXPECT_EQ(totals.tensors, 101u);
  EXPECT_EQ(totals.storages, 101u);
  EXPECT_EQ(totals.bytes, 20u + 100 * 100);

  // A view of an unrecorded tensor is not recorded either; both have one storage.
  const handles::Handle view = table.create(table.use(small[0])->view({5, 5}));
  table.settle_used();
  EXPECT_EQ(recorded(), 1u);
  EXPECT_EQ(accounting::read_totals().storages, 101u);
  EXPECT_EQ(accounting::read_totals().bytes, totals.bytes);
  table.free(small[0]);
  EXPECT_EQ(accounting::read_totals().bytes, totals.bytes);  // the view holds it
  table.free(view);
  EXPECT_EQ(accounting::read_totals().bytes, totals.bytes - 100);
  table.free(before);
  EXPECT_EQ(recorded(), 0u);
  stop("done");

  begin();  // and the next capture finds the tensors that this one skipped
  expect_whole();
  make(4);
  expect_whole();
}

TEST_F(AuditOfTable, TellsV8OfTheSameBytes) {
  make(1000);
  external.flush();
  const int64_t before = external.reported();
  begin();
  expect_whole();
  external.flush();
  EXPECT_EQ(external.reported(), before);
}

TEST(AuditRequests, AreReadOrRefused) {
  Request request;
  std::string why;
  ASSERT_TRUE(parse_request("ltn1 attach fd=7 path=/a%20b/%C3%A4 max=", &request, &why));
  EXPECT_EQ(request.verb, "attach");
  EXPECT_EQ(request.number("fd", 0), 7u);
  EXPECT_EQ(request.number("max", 5), 5u);
  EXPECT_EQ(request.number("none", 6), 6u);
  EXPECT_EQ(request.text("path"), "/a b/\xC3\xA4");
  for (const char* bad : {"", " ", "GET / HTTP/1.1", "ltn", "ltn1 mark name", "ltn1 mark =x", "ltn1 mark name=%2",
                          "ltn1 mark name=%zz", "ltn1 mark name=%00", "ltn1 mark name=%FF", "ltn1 mark name=%E2%82"}) {
    EXPECT_FALSE(parse_request(bad, &request, &why)) << bad;
    EXPECT_NE(why, "");
  }
  EXPECT_FALSE(parse_request("ltn2 status", &request, &why));
  EXPECT_NE(why.find("version 1"), std::string::npos);
  for (const char* number : {"-1", "1x", "99999999999999999999999", " 1"}) {
    request.fields["n"] = number;
    EXPECT_EQ(request.number("n", 3), 3u) << number;
  }
}

class AuditMemoryLimit : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/ltn-limit-XXXXXX";
    root = ::mkdtemp(pattern);
  }
  void TearDown() override { std::filesystem::remove_all(root); }
  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root + file).parent_path());
    std::ofstream(root + file) << text;
  }
  std::string root;
};

TEST_F(AuditMemoryLimit, IsTheMachinesWhereNoGroupSaysMore) {
  const MemoryLimit machine = memory_limit(root);
  EXPECT_FALSE(machine.of_group);
  EXPECT_GT(machine.bytes, uint64_t{1} << 20);
  write("/proc/self/cgroup", "0::/service\n");
  write("/proc/self/mountinfo", "30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  write("/sys/fs/cgroup/service/memory.max", "max\n");
  EXPECT_EQ(memory_limit(root).bytes, machine.bytes);
}

TEST_F(AuditMemoryLimit, IsTheSmallestOfTheGroupsAround) {
  write("/proc/self/cgroup", "1:name=systemd:/x\n0::/outer/inner\n");
  write("/proc/self/mountinfo", "30 25 0:26 / /sys/fs/with\\040space rw shared:4 - cgroup2 cgroup2 rw\n");
  write("/sys/fs/with space/outer/inner/memory.max", "8000000\n");
  write("/sys/fs/with space/outer/inner/memory.high", "7000000\n");
  write("/sys/fs/with space/outer/memory.max", "6000000\n");
  EXPECT_EQ(memory_limit(root).bytes, 6000000u);
  EXPECT_TRUE(memory_limit(root).of_group);
}

TEST_F(AuditMemoryLimit, ReadsVersion1AndTheViewInAContainer) {
  write("/proc/self/cgroup", "4:cpu,memory:/docker/1f/app\n0::/\n");
  write("/proc/self/mountinfo",
        "30 25 0:26 / /unified rw - cgroup2 cgroup2 rw\n31 25 0:27 /docker/1f /memory rw - cgroup cgroup "
        "rw,cpu,memory\n");
  write("/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("/memory/app/memory.limit_in_bytes", "5000000\n");
  EXPECT_EQ(memory_limit(root).bytes, 5000000u);
}

}  // namespace
}  // namespace ltn::audit
