// Sharing of tensors between threads, for lib/tensor/share.ts.
#include "native/convert/id_number.h"
#include "native/exports/borrowed_buffer.h"
#include "native/exports/exports.h"
#include "native/share/alias.h"
#include "native/share/backing_store.h"
#include "native/share/token_table.h"

namespace ltn {
namespace {

share::TokenId read_token(Call& call, size_t index) {
  const double number = id_number(call, index);
  return number > 0 && number < 0x1p53 ? static_cast<share::TokenId>(number) : 0;  // 0 is not the id of any token
}

// Offers the tensor under a new id. `exact` false omits the backing store, as if V8 could not be asked. `site`: of the
// call, in a recording; else 0.
napi_value share_tensor(Call& call) {
  const at::Tensor& self = call.tensor(call.arguments[0], 0);
  if (const auto reason = share::why_not(self, &BorrowedBuffer::destroy)) throw CodedError("ERR_TORCH_SHARED", *reason);
  std::shared_ptr<const void> store;
  if (read_bool(call, call.arguments[2], 2) && share::knows_backing_stores()) {
    store = share::backing_store_of(call.arguments[1]);
    if (store == nullptr) throw BadArgument(1, "a SharedArrayBuffer", describe_value(call.env, call.arguments[1]));
  }
  share::Offer offer{share::alias_of(self), self.requires_grad()};
  share::pin_storages(self);
  const auto site = static_cast<uint32_t>(read_int(call, call.arguments[3], 3));
  const auto handle = static_cast<handles::Handle>(id_number(call, 0));
  const uint32_t record = site == 0 ? 0 : call.state.slots().record_of(handle);
  const auto id = share::process_tokens().add(std::move(offer), store, call.state.number(), site, record);
  return write_double(call, static_cast<double>(id));
}

napi_value from_shared(Call& call) {
  const auto store = share::backing_store_of(call.arguments[1]);
  const auto offer = share::process_tokens().take(read_token(call, 0), store);
  if (!offer.has_value()) {
    throw CodedError("ERR_TORCH_SHARED",
                     "no tensor belongs to the token: it was disposed, or comes from another process");
  }
  at::Tensor tensor = share::alias_of(offer->tensor);
  if (offer->requires_grad) tensor.requires_grad_(true);
  return write_result(call, std::move(tensor));
}

napi_value revoke_shared(Call& call) { return write_bool(call, share::process_tokens().revoke(read_token(call, 0))); }

bool share_sweep_is_due() { return share::process_tokens().sweep_is_due(); }

// Sweeps, and returns the bytes held by tokens that can still be taken.
int64_t sweep_shared() {
  share::sweep_expired();
  return static_cast<int64_t>(share::process_tokens().totals().bytes);
}

const Export kShareExports[] = {
    exported_body<&share_tensor, 4>("share",
                                    "share(Tensor self, SharedArrayBuffer token, bool exact, int site) -> int"),
    exported_body<&from_shared, 2>("fromShared", "fromShared(int id, SharedArrayBuffer token) -> Tensor"),
    exported_body<&revoke_shared, 1>("revokeShared", "revokeShared(int id) -> bool"),
    exported("shareSweepIsDue", "shareSweepIsDue() -> bool", &share_sweep_is_due),
    exported("sweepShared", "sweepShared() -> int", &sweep_shared),
};

}  // namespace

ExportList share_exports() { return {kShareExports, std::size(kShareExports)}; }

}  // namespace ltn
