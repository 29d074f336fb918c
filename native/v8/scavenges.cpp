#include "native/v8/scavenges.h"

#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "native/v8/symbols.h"

namespace ltn {
namespace {

// A tagged pointer: the lowest bit is set for an object.
using Tagged = uintptr_t;

// std::vector, as libstdc++ and libc++ store it.
struct ObjectList {
  Tagged* begin;
  Tagged* end;
  Tagged* capacity;

  size_t size() const noexcept { return static_cast<size_t>(end - begin); }
};

// v8::Isolate of Node 20 to 26 takes 63 to 71 KB up to the lists.
constexpr size_t kWords = 16'384;
constexpr size_t kWordsAtOnce = 512, kPairWords = 6;
constexpr size_t kMinObjects = 100, kMaxObjects = 1'000'000;

// v8::GCType.
constexpr int kScavenge = 1;
constexpr int kAllCollections = 0x1F;

struct CollectionFunctions {
  using Callback = void (*)(void* isolate, int type, int flags, void* data);
  using Add = void (*)(void* isolate, Callback callback, void* data, int types);
  using Remove = void (*)(void* isolate, Callback callback, void* data);
  Add add_prologue = nullptr, add_epilogue = nullptr;
  Remove remove_prologue = nullptr;
  CurrentIsolate current_isolate = nullptr;

  CollectionFunctions() noexcept {
    find_in_v8(&add_prologue, "_ZN2v87Isolate21AddGCPrologueCallbackEPFvPS0_NS_6GCTypeENS_15GCCallbackFlagsEPvES4_S2_");
    find_in_v8(&add_epilogue, "_ZN2v87Isolate21AddGCEpilogueCallbackEPFvPS0_NS_6GCTypeENS_15GCCallbackFlagsEPvES4_S2_");
    find_in_v8(&remove_prologue,
               "_ZN2v87Isolate24RemoveGCPrologueCallbackEPFvPS0_NS_6GCTypeENS_15GCCallbackFlagsEPvES4_");
    find_in_v8(&current_isolate);
  }
  bool complete() const noexcept {
    return add_prologue != nullptr && add_epilogue != nullptr && remove_prologue != nullptr &&
           current_isolate != nullptr;
  }
};

// Reads memory that may not be there. False if the system cannot tell, or does not allow it.
bool read_memory(const void* from, void* to, size_t bytes) noexcept {
#ifdef __linux__
  const iovec local{to, bytes}, remote{const_cast<void*>(from), bytes};
  return ::process_vm_readv(::getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
#else
  static_cast<void>(from), static_cast<void>(to), static_cast<void>(bytes);
  return false;
#endif
}

// Whether the words are a list of many objects whose last element, but not the first, is `undefined`.
bool is_snapshot_list(const ObjectList& list, Tagged undefined) noexcept {
  const auto address = reinterpret_cast<uintptr_t>(list.begin);
  if (address == 0 || address % alignof(Tagged) != 0 || list.end <= list.begin || list.capacity < list.end)
    return false;
  if (list.size() < kMinObjects || list.size() > kMaxObjects) return false;
  Tagged first = 0, last = 0;
  if (!read_memory(list.begin, &first, sizeof first) || !read_memory(list.end - 1, &last, sizeof last)) return false;
  return last == undefined && first != undefined && (first & 1) != 0;
}

// The two lists, which are next to each other. Null unless there is exactly one such pair.
ObjectList* find_lists(void* isolate, Tagged undefined) noexcept {
  std::array<uintptr_t, kWordsAtOnce + kPairWords> words{};  // a copy: where the isolate ends is not known
  const auto list_at = [&](size_t at) {
    const auto word = [&](size_t i) { return reinterpret_cast<Tagged*>(words[at + i]); };
    return ObjectList{word(0), word(1), word(2)};
  };
  auto* const start = static_cast<uintptr_t*>(isolate);
  ObjectList* found = nullptr;
  for (size_t from = 0; from < kWords; from += kWordsAtOnce) {
    if (!read_memory(start + from, words.data(), sizeof words)) break;
    for (size_t at = 0; at < kWordsAtOnce; ++at) {
      if (!is_snapshot_list(list_at(at), undefined) || !is_snapshot_list(list_at(at + 3), undefined)) continue;
      if (found != nullptr) return nullptr;
      found = reinterpret_cast<ObjectList*>(start + from + at);
    }
  }
  return found;
}

// Lifetime: the thread's, which has one isolate; that ends before. Thread: the isolate's. Between the prologue and the
// epilogue of a short scavenge the first elements of the lists are here, at all other times in the lists.
class SnapshotLists {
 public:
  size_t shorten(napi_value undefined) noexcept {
    static const CollectionFunctions v8;
    if (!v8.complete()) return 0;
    void* const isolate = v8.current_isolate();
    if (isolate == nullptr) return 0;
    if (isolate != isolate_) install(v8, isolate, undefined);
    if (lists_ == nullptr) return 0;
    // V8 does not check whether there is one to be removed.
    if (std::exchange(has_prologue_, true)) v8.remove_prologue(isolate, &before, this);
    v8.add_prologue(isolate, &before, this, kAllCollections);
    requested_ = true;
    return lists_[0].size() + lists_[1].size();
  }

  uint64_t scavenges() const noexcept { return scavenges_; }

 private:
  void install(const CollectionFunctions& v8, void* isolate, napi_value undefined) noexcept {
    isolate_ = isolate;
    lists_ = nullptr;
    hidden_ = has_prologue_ = false;
    // A Node-API value is a pointer to a slot with the object's tagged pointer, as in native/v8/symbols.h.
    if (!read_memory(undefined, &undefined_, sizeof undefined_)) return;
    lists_ = find_lists(isolate, undefined_);
    if (lists_ != nullptr) v8.add_epilogue(isolate, &after, this, kAllCollections);
  }

  static void before(void* isolate, int type, int, void* self) noexcept {
    auto* const lists = static_cast<SnapshotLists*>(self);
    if (isolate != lists->isolate_) return;
    if (type == kScavenge && std::exchange(lists->requested_, false))
      lists->hide();
    else
      lists->show();
  }
  static void after(void* isolate, int, int, void* self) noexcept {
    auto* const lists = static_cast<SnapshotLists*>(self);
    if (isolate == lists->isolate_) lists->show();
  }

  void hide() noexcept {
    if (hidden_) return;
    for (size_t i = 0; i < first_.size(); ++i) {
      // Another copy of this addon has hidden them, or V8 has changed them: then neither is hidden.
      const ObjectList& list = lists_[i];
      if (list.size() < kMinObjects || *list.begin == undefined_ || *(list.end - 1) != undefined_) return;
      first_[i] = *list.begin;
    }
    hidden_ = true;
    ++scavenges_;
    for (size_t i = 0; i < first_.size(); ++i) *lists_[i].begin = undefined_;
  }

  void show() noexcept {
    requested_ = false;
    if (!std::exchange(hidden_, false)) return;
    for (size_t i = 0; i < first_.size(); ++i) *lists_[i].begin = first_[i];
  }

  void* isolate_ = nullptr;
  bool has_prologue_ = false;
  bool requested_ = false;
  bool hidden_ = false;
  ObjectList* lists_ = nullptr;
  Tagged undefined_ = 0;
  std::array<Tagged, 2> first_{};
  uint64_t scavenges_ = 0;
};

SnapshotLists& lists_of_thread() noexcept {
  thread_local SnapshotLists lists;
  return lists;
}

}  // namespace

size_t shorten_scavenge(napi_value undefined) noexcept { return lists_of_thread().shorten(undefined); }

uint64_t short_scavenges() noexcept { return lists_of_thread().scavenges(); }

}  // namespace ltn
