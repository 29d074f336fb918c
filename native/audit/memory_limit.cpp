#include "native/audit/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <string_view>
#include <vector>

namespace ltn::audit {

namespace {

constexpr uint64_t kNone = std::numeric_limits<uint64_t>::max();
// Version 1 expresses "none" as its largest number of pages.
constexpr uint64_t kMax = uint64_t{1} << 60;

std::vector<std::string> lines_of(const std::string& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

bool has(const std::string& list, std::string_view word) {
  const auto words = split(list, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

// `\040` is a space in mountinfo.
std::string unescape(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool octal =
        text[i] == '\\' && i + 3 < text.size() &&
        std::all_of(text.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                    text.begin() + static_cast<std::ptrdiff_t>(i) + 4, [](char c) { return c >= '0' && c <= '7'; });
    out += octal ? static_cast<char>(std::strtol(text.substr(i + 1, 3).c_str(), nullptr, 8)) : text[i];
    if (octal) i += 3;
  }
  return out;
}

// A mounted control group tree: the files of group `root` are in `point`.
struct Mount {
  bool v2 = false;
  std::string controllers, root, point;
};

std::vector<Mount> mounts_of(const std::string& root) {
  std::vector<Mount> mounts;
  for (const std::string& line : lines_of(root + "/proc/self/mountinfo")) {
    // 36 25 0:31 /root /point rw,… [optional fields] - cgroup source rw,memory
    const size_t middle = line.find(" - ");
    if (middle == std::string::npos) continue;
    const auto before = split(line.substr(0, middle), ' '), after = split(line.substr(middle + 3), ' ');
    if (before.size() < 5 || after.size() < 3 || (after[0] != "cgroup" && after[0] != "cgroup2")) continue;
    mounts.push_back({after[0] == "cgroup2", after[2], unescape(before[3]), unescape(before[4])});
  }
  return mounts;
}

uint64_t bytes_in(const std::string& file) {
  std::string text;
  std::ifstream(file) >> text;
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos) return kNone;
  const uint64_t bytes = std::strtoull(text.c_str(), nullptr, 10);
  return bytes >= kMax ? kNone : bytes;
}

// The smallest limit of the process's group and its ancestors inside the mounted tree.
uint64_t group_limit(const std::string& root) {
  const std::vector<Mount> mounts = mounts_of(root);
  // A version 1 memory tree takes precedence over the unified one.
  auto mount = std::find_if(mounts.begin(), mounts.end(),
                            [](const Mount& one) { return !one.v2 && has(one.controllers, "memory"); });
  const bool v1 = mount != mounts.end();
  if (!v1) mount = std::find_if(mounts.begin(), mounts.end(), [](const Mount& one) { return one.v2; });
  if (mount == mounts.end()) return kNone;
  for (const std::string& line : lines_of(root + "/proc/self/cgroup")) {  // 4:memory:/docker/1f
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (v1 ? !has(controllers, "memory") : !controllers.empty()) continue;
    std::string group = line.substr(second + 1);
    // Without its own cgroup namespace, a container sees its group's full path, while the mount shows only the end of
    // it.
    if (mount->root != "/" && group.compare(0, mount->root.size(), mount->root) == 0) {
      group.erase(0, mount->root.size());
    }
    uint64_t least = kNone;
    for (;;) {
      const std::string folder = root + mount->point + (group == "/" ? "" : group);
      for (const char* name : {v1 ? "/memory.limit_in_bytes" : "/memory.max", v1 ? "" : "/memory.high"}) {
        if (*name != '\0') least = std::min(least, bytes_in(folder + name));
      }
      if (group.empty() || group == "/") return least;
      group.erase(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
    }
  }
  return kNone;
}

}  // namespace

MemoryLimit memory_limit(const std::string& root) {
  const auto machine =
      static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const uint64_t group = group_limit(root);
  return group < machine ? MemoryLimit{group, true} : MemoryLimit{machine, false};
}

}  // namespace ltn::audit
