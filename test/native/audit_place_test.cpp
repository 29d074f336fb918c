// The place of a capture: folders and files that others swap or plant while it is written.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "native/audit/capture_file.h"
#include "native/audit/capture_place.h"
#include "native/audit/compaction.h"

namespace ltn::audit {
namespace {

namespace fs = std::filesystem;

class AuditPlace : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/ltn-place-XXXXXX";
    root = ::mkdtemp(pattern);
    fs::create_directory(root + "/own");
    path = root + "/own/c.ltna";
  }
  void TearDown() override { fs::remove_all(root); }

  static void write(const std::string& file, const std::string& text) { std::ofstream(file) << text; }
  static std::string read(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  }
  static int mode_of(const std::string& file) {
    struct stat found {};
    return ::lstat(file.c_str(), &found) == 0 ? static_cast<int>(found.st_mode & 0777) : -1;
  }
  static size_t count(const std::string& folder) {
    size_t n = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder)) ++n;
    return n;
  }

  // A capture of many rounds, which can be shortened.
  void fill(CaptureFile* file) const {
    PacketBuffer buffer;
    buffer.put_header();
    for (uint64_t i = 0; i < 200; ++i) {
      Tick tick;
      tick.ms = i;
      buffer.put_tick(tick);
    }
    ASSERT_TRUE(file->append(buffer.bytes()));
  }
  static bool make_smaller(CaptureFile* file) {
    Compacted done;
    return compact(
        file, 4096, [](std::vector<BirthEntry>*) {}, &done);
  }

  std::string root, path;
};

TEST_F(AuditPlace, ACaptureIsPrivateFromTheFirstByteWhateverTheUmask) {
  const mode_t before = ::umask(0);
  CaptureFile file;
  ASSERT_TRUE(file.claim(path, nullptr));
  EXPECT_EQ(mode_of(path), 0600);
  fill(&file);
  ASSERT_TRUE(make_smaller(&file));
  ::umask(before);
  EXPECT_EQ(mode_of(path), 0600);
  EXPECT_LE(read(path).size(), 4096u);
  EXPECT_EQ(count(root + "/own"), 1u);
}

TEST_F(AuditPlace, AFileThatWaitsIsTakenForItsOwnerAlone) {
  PacketBuffer header;
  header.put_header(kReserved);
  write(path, header.bytes());
  ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
  CaptureFile file;
  ASSERT_TRUE(file.claim(path, nullptr));
  EXPECT_EQ(mode_of(path), 0600);
}

TEST_F(AuditPlace, AFileOfAnotherUserIsNotTaken) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  PacketBuffer header;
  header.put_header(kReserved);
  write(path, header.bytes());
  ASSERT_EQ(::chown(path.c_str(), 65534, 65534), 0);
  CaptureFile file;
  std::string why;
  EXPECT_FALSE(file.claim(path, &why));
  EXPECT_NE(why.find("belongs to another user"), std::string::npos) << why;
  EXPECT_EQ(read(path), header.bytes());
}

TEST_F(AuditPlace, ASwappedParentFolderLeavesTheFilesOfTheOtherAlone) {
  CaptureFile file;
  ASSERT_TRUE(file.claim(path, nullptr));
  fill(&file);
  fs::create_directory(root + "/other");
  write(root + "/other/c.ltna", "of another");
  write(root + "/other/c.ltna.new", "of another too");
  fs::rename(root + "/own", root + "/moved");
  fs::create_directory_symlink(root + "/other", root + "/own");
  ASSERT_TRUE(make_smaller(&file)) << "it goes on where it began";
  EXPECT_EQ(read(root + "/other/c.ltna"), "of another");
  EXPECT_EQ(read(root + "/other/c.ltna.new"), "of another too");
  EXPECT_EQ(count(root + "/other"), 2u);
  EXPECT_EQ(count(root + "/moved"), 1u);
  EXPECT_EQ(read(root + "/moved/c.ltna").size(), static_cast<size_t>(file.size()));
}

TEST_F(AuditPlace, AFileThatTookTheNameStays) {
  CaptureFile file;
  ASSERT_TRUE(file.claim(path, nullptr));
  fill(&file);
  fs::rename(path, root + "/own/moved");
  write(path, "of another");
  EXPECT_FALSE(make_smaller(&file));
  EXPECT_EQ(read(path), "of another");
  EXPECT_EQ(count(root + "/own"), 2u) << "nothing is left beside it";
  EXPECT_TRUE(file.append("x")) << "it goes on where it is";
  EXPECT_EQ(read(root + "/own/moved").size(), static_cast<size_t>(file.size()));
}

TEST_F(AuditPlace, PlantedNamesAreNeitherFollowedNorWritten) {
  write(root + "/precious", "precious");
  ASSERT_EQ(::symlink((root + "/precious").c_str(), (path + ".new").c_str()), 0);
  CaptureFile file;
  ASSERT_TRUE(file.claim(path, nullptr));
  fill(&file);
  ASSERT_TRUE(make_smaller(&file));
  EXPECT_EQ(read(root + "/precious"), "precious");
  EXPECT_TRUE(fs::is_symlink(path + ".new"));
  EXPECT_FALSE(fs::is_symlink(path));
}

TEST_F(AuditPlace, SpecialFilesAreNotOpened) {
  std::string why;
  CaptureFile file;
  fs::create_symlink(root + "/precious", path);
  EXPECT_FALSE(file.claim(path, &why)) << "a link to nothing is not followed either";
  EXPECT_FALSE(fs::exists(root + "/precious"));
  fs::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_FALSE(file.claim(path, &why)) << "and nobody waits for a pipe";
  flag_foreign_loss(path);
  for (const char* name : {"/.", "/..", "/"}) EXPECT_FALSE(file.claim(root + name, &why)) << name;
}

TEST_F(AuditPlace, LossIsToldInCapturesOnly) {
  const std::string text = "no capture, but long enough for one";
  write(path, text);
  flag_foreign_loss(path);
  EXPECT_EQ(read(path), text);
}

TEST_F(AuditPlace, AnOpenFileIsTakenUnderItsNameOnly) {
  PacketBuffer header;
  header.put_header(kReserved);
  for (const char* name : {"/own/a", "/own/b"}) write(root + name, header.bytes());
  const auto open_a = [&] { return Descriptor(::open((root + "/own/a").c_str(), O_RDWR | O_CLOEXEC)); };
  CaptureFile file;
  std::string why;
  EXPECT_FALSE(file.claim_open(open_a(), root + "/own/b", &why));
  EXPECT_NE(why.find("under the same name"), std::string::npos);
  EXPECT_FALSE(file.claim_open(open_a(), root + "/no/a", &why));
  EXPECT_TRUE(file.claim_open(open_a(), root + "/own/a", &why));
  file.close();
  EXPECT_TRUE(file.claim_open(open_a(), "", &why));
  fill(&file);
  EXPECT_FALSE(make_smaller(&file)) << "nobody said where it lies";
}

TEST_F(AuditPlace, AnOpenFileIsTakenForItsOwnerAlone) {
  PacketBuffer header;
  header.put_header(kReserved);
  write(path, header.bytes());
  ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
  CaptureFile file;
  ASSERT_TRUE(file.claim_open(Descriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC)), "", nullptr));
  EXPECT_EQ(mode_of(path), 0600);
}

TEST_F(AuditPlace, AnOpenFileOfAnotherUserIsNotTaken) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  PacketBuffer header;
  header.put_header(kReserved);
  write(path, header.bytes());
  ASSERT_EQ(::chown(path.c_str(), 65534, 65534), 0);
  for (const std::string& named : {path, std::string()}) {
    CaptureFile file;
    std::string why;
    EXPECT_FALSE(file.claim_open(Descriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC)), named, &why));
    EXPECT_NE(why.find("belongs to another user"), std::string::npos) << why;
  }
  EXPECT_EQ(read(path), header.bytes());
}

// Takes the names between the check and the use.
TEST_F(AuditPlace, ReplacesOnlyTheRightFile) {
  CapturePlace place;
  ASSERT_TRUE(place.open(path));
  const Descriptor before = place.make_file();
  std::string temporary;
  const Descriptor now = place.make_temporary(&temporary);
  ASSERT_TRUE(before && now);
  EXPECT_EQ(mode_of(root + "/own/" + temporary), 0600);
  std::string other;
  const Descriptor another = place.make_temporary(&other);
  EXPECT_NE(temporary, other);
  EXPECT_FALSE(place.replace(now.get(), before.get(), temporary)) << "the other way round";
  EXPECT_FALSE(place.replace(before.get(), now.get(), other));
  place.remove_temporary(other, now.get());
  EXPECT_EQ(count(root + "/own"), 3u) << "a name of another file is not removed";
  EXPECT_TRUE(place.replace(before.get(), now.get(), temporary));
  EXPECT_TRUE(place.holds(now.get()));
  EXPECT_FALSE(place.holds(before.get()));
  EXPECT_EQ(count(root + "/own"), 2u);
}

}  // namespace
}  // namespace ltn::audit
