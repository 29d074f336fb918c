// The memory that native code shares with JavaScript, declared once for both: native code uses the struct, and codegen
// writes its names for TypeScript (lib/generated/codes.d.ts).
#pragma once

#include <cstddef>
#include <cstdint>

namespace codegen {

// One ArrayBuffer per environment.
struct Flags {
  uint32_t audit_pending = 0;  // new handles that wait for their stack, for the audit or the watch
  uint32_t scope = 0;          // non-zero while a scope is current
  double result = 0;           // the handle of the last op's result, 0 for none
  uint32_t collect = kNone;    // many new bytes await the collector, which should run
  uint32_t recording = kOff;   // ops are recorded into the current strand (native/ops/record.h), not run
  double ints[512] = {};       // lists passed to an op, of integers or handles: see lib/call/packed.ts

  static constexpr uint32_t kPackedLengths = 128;  // a list in `ints` is passed as kPackedLengths * first + length

  // The list of such a number; null for every other number.
  const double* packed(double number, size_t* length) const {
    constexpr size_t kRoom = sizeof(ints) / sizeof(double);
    if (!(number >= 0 && number < 1e6)) return nullptr;
    const auto code = static_cast<uint32_t>(number);
    const size_t first = code / kPackedLengths;
    *length = code % kPackedLengths;
    return first + *length > kRoom ? nullptr : ints + first;
  }

  // Of `collect`: nothing is due; so many bytes are new that JavaScript should see whether a scavenge is due; a full
  // collection is; a scavenge is, and the next op runs it, before its result is allocated.
  static constexpr uint32_t kNone = 0, kScavenge = 1, kCollectAll = 2, kBeforeOp = 3;
  // Of `recording`: ops whose results are tensors; all ops; all ops, and the last one's result is not a tensor; like
  // the first, for calls inside the function of torch.run.
  static constexpr uint32_t kOff = 0, kTensorOps = 1, kAllOps = 2, kRecordedValue = 3, kBody = 4;
};

// A name in TypeScript with its number.
struct FlagName {
  const char* name;
  size_t value;
};

// Indices into the Uint32Array over the struct.
inline constexpr FlagName kFlagWords[] = {
    {"AuditPending", offsetof(Flags, audit_pending) / sizeof(uint32_t)},
    {"Scope", offsetof(Flags, scope) / sizeof(uint32_t)},
    {"Collect", offsetof(Flags, collect) / sizeof(uint32_t)},
    {"Recording", offsetof(Flags, recording) / sizeof(uint32_t)},
};
// Bytes before the doubles.
inline constexpr FlagName kFlagOffsets[] = {
    {"Result", offsetof(Flags, result)},
    {"Ints", offsetof(Flags, ints)},
};
inline constexpr FlagName kPackingValues[] = {
    {"Lengths", Flags::kPackedLengths},
};
// Values of `collect` and of `recording`.
inline constexpr FlagName kCollectValues[] = {
    {"None", Flags::kNone},
    {"Scavenge", Flags::kScavenge},
    {"All", Flags::kCollectAll},
    {"BeforeOp", Flags::kBeforeOp},
};
inline constexpr FlagName kRecordingValues[] = {
    {"Off", Flags::kOff},       {"TensorOps", Flags::kTensorOps},
    {"AllOps", Flags::kAllOps}, {"RecordedValue", Flags::kRecordedValue},
    {"Body", Flags::kBody},
};

}  // namespace codegen
