// Ownership of a capture's file descriptor, whatever fails.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <string>
#include <utility>

#include "native/audit/audit.h"
#include "native/audit/capture_file.h"
#include "native/audit/descriptor.h"
#include "native/audit/requests.h"
#include "test/native/support/allocations.h"

namespace ltn::audit {
namespace {

size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) != -1; }

TEST(AuditDescriptor, IsClosedByItsLastOwner) {
  const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  {
    Descriptor outer;
    EXPECT_FALSE(outer);
    {
      Descriptor inner(fd);
      EXPECT_TRUE(inner);
      outer = std::move(inner);
    }
    EXPECT_TRUE(is_open(fd));
    EXPECT_EQ(outer.get(), fd);
    Descriptor moved(std::move(outer));
    const int released = moved.release();
    EXPECT_EQ(released, fd);
    EXPECT_FALSE(moved);
    moved.reset(released);
  }
  EXPECT_FALSE(is_open(fd));
}

TEST(AuditDescriptor, OfACaptureIsClosedAtWhicheverAllocationItsBeginFails) {
  char pattern[] = "/tmp/ltn-descriptor-XXXXXX";
  const std::string folder = ::mkdtemp(pattern);
  const std::string path = folder + "/a capture with a name that no short string holds.ltna";
  PacketBuffer header;
  header.put_header(kReserved);
  int failures = 0;
  for (bool done = false; !done; ++failures) {
    std::ofstream(path, std::ios::binary) << header.bytes();
    const Descriptor theirs(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    const std::string request = "ltn1 attach interval=1000 fd=" + std::to_string(theirs.get()) + " path=" + folder +
                                "/a%20capture%20with%20a%20name%20that%20no%20short%20string%20holds.ltna";
    RequestHandler handler{Sources()};
    std::string answer;
    const size_t before = open_descriptors();
    thread_allocations_left = failures;
    try {
      answer = handler.answer(request, 1, ::getpid());
    } catch (const std::bad_alloc&) {  // what this test provokes
    }
    thread_allocations_left = -1;
    done = answer.find("\"ok\":true") != std::string::npos;
    EXPECT_EQ(handler.is_recording_of(1), recording());
    handler.client_closed(1);  // like the server after a failed request
    EXPECT_EQ(open_descriptors(), before) << "after " << failures << " allocations";
    EXPECT_FALSE(recording());
    ASSERT_LT(failures, 10'000);
  }
  EXPECT_GT(failures, 20);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace ltn::audit
