// Bytes of files: the tensors that they are read into, and those that they are written from.
#include <ATen/ops/empty.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>

#include "native/checksum/crc32.h"
#include "native/errors/describe_tensor.h"
#include "native/exports/exports.h"
#include "native/exports/huge_pages.h"

namespace ltn {
namespace {

// newBytes(length): memory for fillBytes or readBytes. Not an op: a loader's data is available at once, also inside
// torch.run.
napi_value new_bytes(Call& call) {
  const int64_t length = read_int(call, call.arguments[0], 0);
  if (length < 0) throw BadArgument(0, "a length of 0 or more", std::to_string(length));
  return write_result(call, at::empty({length}, at::TensorOptions().dtype(c10::ScalarType::Byte)));
}

// The memory of `self` from a byte on, with at least `bytes` left.
char* room_in(const at::Tensor& self, int64_t from, uint64_t bytes, size_t index) {
  if (self.scalar_type() != c10::ScalarType::Byte || !self.is_cpu() || !self.is_contiguous()) {
    throw BadArgument(0, "contiguous bytes", describe_tensor(self));
  }
  if (from < 0 || from > self.numel() || bytes > static_cast<uint64_t>(self.numel() - from)) {
    throw BadArgument(index, "bytes that lie inside a tensor of " + std::to_string(self.numel()),
                      std::to_string(bytes) + " from " + std::to_string(from));
  }
  if (self.numel() > 0 && self.data_ptr() == nullptr) throw BadArgument(0, "a tensor with memory", "one without");
  return static_cast<char*>(self.data_ptr()) + from;
}

// The caller's CRC-32, a Uint32Array of one element; null if the caller wants none.
uint32_t* sum_argument(Call& call, size_t index) {
  const Napi::Value value = argument(call, index);
  if (value.IsNull()) return nullptr;
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != napi_uint32_array ||
      value.As<Napi::TypedArray>().ElementLength() != 1) {
    throw BadArgument(index, "a Uint32Array of one element or null", describe_value(call.env, value));
  }
  return value.As<Napi::Uint32Array>().Data();
}

// Bytes that are summed while they are in the processor's cache.
constexpr size_t kPart = size_t{256} << 10;

// readBytes(self, descriptor, from, sum): fills `self` from that offset of the file, and adds the bytes to `sum`.
// Returns the number of bytes read: fewer than requested at the end of the file or on an error, which the next read of
// the caller finds.
napi_value read_bytes(Call& call) {
  const at::Tensor& self = call.tensor(call.arguments[0], 0);
  const auto descriptor = static_cast<int>(read_int(call, call.arguments[1], 1));
  const int64_t from = read_int(call, call.arguments[2], 2);
  uint32_t* const sum = sum_argument(call, 3);
  char* const to = room_in(self, 0, 0, 0);
  const auto length = static_cast<size_t>(self.numel());
  size_t done = 0;
  while (done < length) {
    const size_t in_page = reinterpret_cast<uintptr_t>(to + done) % kHugePage;
    if (in_page == 0 && length - done >= kHugePage) HugePages::prefer(to + done);
    const size_t wanted = std::min({length - done, kHugePage - in_page, sum == nullptr ? kHugePage : kPart});
    const ssize_t got = pread(descriptor, to + done, wanted, static_cast<off_t>(from) + static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    if (sum != nullptr) *sum = checksum::crc32(to + done, static_cast<size_t>(got), *sum);
    done += static_cast<size_t>(got);
  }
  return write_double(call, static_cast<double>(done));
}

// writeBytes(self, descriptor, sum): appends the bytes to the file, and adds what was written to `sum`. Returns the
// number of bytes written: fewer than there are on an error, which the next write of the caller finds. With a sum, each
// part is copied first: the sum fits the file even if another thread changes the tensor meanwhile.
napi_value write_bytes(Call& call) {
  if (call.state.flags().recording != handles::Flags::kOff) require_up_to_date(call);
  at::Tensor self = call.tensor(call.arguments[0], 0);
  const auto descriptor = static_cast<int>(read_int(call, call.arguments[1], 1));
  uint32_t* const sum = sum_argument(call, 2);
  if (self._is_zerotensor()) self = self.clone();  // autograd's efficient zeros have no memory
  const char* const from = room_in(self, 0, 0, 0);
  const auto length = static_cast<size_t>(self.numel());
  std::vector<char> copy(sum == nullptr ? 0 : std::min(length, kPart));
  size_t done = 0;
  while (done < length) {
    const char* part = from + done;
    const size_t wanted = sum == nullptr ? std::min(length - done, kMaxWrite) : std::min(length - done, copy.size());
    if (sum != nullptr) part = static_cast<const char*>(std::memcpy(copy.data(), part, wanted));
    const ssize_t put = write(descriptor, part, wanted);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) break;
    if (sum != nullptr) *sum = checksum::crc32(part, static_cast<size_t>(put), *sum);
    done += static_cast<size_t>(put);
  }
  return write_double(call, static_cast<double>(done));
}

// fillBytes(self, from, bytes): copies them to where they belong in `self`.
napi_value fill_bytes(Call& call) {
  const int64_t from = read_int(call, call.arguments[1], 1);
  const at::Tensor& self = call.tensor(call.arguments[0], 0);
  const Napi::Value value = argument(call, 2);
  if (!value.IsTypedArray()) throw BadArgument(2, "a typed array", describe_value(call.env, value));
  const auto array = value.As<Napi::Uint8Array>();  // of any element type: only its bytes are used
  char* const to = room_in(self, from, array.ByteLength(), 2);
  if (array.ByteLength() != 0) std::memcpy(to, array.Data(), array.ByteLength());
  return nullptr;
}

// Both return the errno, 0 for success. Node's permission model refuses fsync and fchmod, even for files that the
// program may write.
int64_t sync_file(int64_t descriptor) {
  const int fd = static_cast<int>(descriptor);
#ifdef F_FULLFSYNC
  if (::fcntl(fd, F_FULLFSYNC) == 0) return 0;  // macOS, whose fsync leaves the bytes in the disk's cache
#endif
  while (::fsync(fd) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}
int64_t change_mode(int64_t descriptor, int64_t mode) {
  while (::fchmod(static_cast<int>(descriptor), static_cast<mode_t>(mode)) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

const Export kFileExports[] = {
    exported_body<&new_bytes, 1>("newBytes", "newBytes(int length) -> Tensor"),
    exported_body<&fill_bytes, 3>("fillBytes", "fillBytes(Tensor self, int from, TypedArray bytes) -> ()"),
    exported_body<&read_bytes, 4>("readBytes",
                                  "readBytes(Tensor self, int descriptor, int from, Uint32Array? sum) -> int"),
    exported("syncFile", "syncFile(int descriptor) -> int", &sync_file),
    exported("changeMode", "changeMode(int descriptor, int mode) -> int", &change_mode),
    exported_body<&write_bytes, 3>("writeBytes", "writeBytes(Tensor self, int descriptor, Uint32Array? sum) -> int"),
};

}  // namespace

ExportList file_exports() { return {kFileExports, std::size(kFileExports)}; }

}  // namespace ltn
