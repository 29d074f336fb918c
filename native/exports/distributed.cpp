// torch.distributed: stores, groups and collectives of the second addon, for lib/distributed.
#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "native/distributed/jobs.h"
#include "native/distributed/open.h"
#include "native/env/environment_end.h"
#include "native/errors/describe_tensor.h"
#include "native/exports/exports.h"
#include "native/exports/owned_external.h"

// A namespace of its own: `open`, `take` and the like are names of other files too.
namespace ltn::distributed_js {
namespace {

using distributed::Bytes;
using distributed::Jobs;
using distributed::Milliseconds;
using distributed::Outcome;
using distributed::Progress;
using StoreOwner = std::shared_ptr<distributed::Store>;
using GroupOwner = std::shared_ptr<distributed::Group>;

// Borrowers of the slot table: strands have the numbers up to 2^32.
constexpr uint64_t kFirstBorrower = uint64_t{1} << 40;

int64_t int_at(Call& call, size_t index) { return read_int(call, call.arguments[index], index); }
std::string text_at(Call& call, size_t index) { return read_string(call, call.arguments[index], index); }
Milliseconds milliseconds_at(Call& call, size_t index) { return Milliseconds(int_at(call, index)); }

std::vector<at::Tensor> tensors_at(Call& call, size_t index) {
  const napi_value list = call.arguments[index];
  std::vector<at::Tensor> tensors(list_length(call, list, index, "an array of tensors"));
  for (uint32_t i = 0; i < tensors.size(); ++i) tensors[i] = call.tensor(list_element(call, list, i), index);
  return tensors;
}

Bytes bytes_at(Call& call, size_t index) {
  const Napi::Value value = argument(call, index);
  if (!value.IsTypedArray()) throw BadArgument(index, "a Uint8Array", describe_value(call.env, value));
  const auto bytes = value.As<Napi::Uint8Array>();
  return {bytes.Data(), bytes.Data() + bytes.ByteLength()};
}

napi_value write_job(Call& call, Jobs::Id id) { return write_int(call, static_cast<int64_t>(id)); }

template <class T>
Outcome outcome_of(T value) {
  Outcome outcome;
  outcome.value = std::move(value);
  return outcome;
}

// The operations of each environment that uses torch.distributed. Thread: the environment's JS thread only.
thread_local std::shared_ptr<Jobs> jobs_of_thread;  // an environment has its own thread

Jobs& jobs_of(Call&) {
  if (jobs_of_thread == nullptr) throw CodedError("ERR_TORCH_DISTRIBUTED", "torch.distributed is not open");
  return *jobs_of_thread;
}

// Of a worker that uses torch.distributed. Thread: the environment's JS thread only.
thread_local napi_env worker_of_thread = nullptr;  // an environment has its own thread

bool is_worker() noexcept { return worker_of_thread != nullptr; }

bool is_ended() noexcept { return is_terminated(worker_of_thread); }

constexpr distributed::Interrupts kInterrupts{&is_worker, &is_ended};

// The environment ends. Hooks run last added first, so this one runs before the slot table frees its tensors.
void end_environment(void*) {
  if (jobs_of_thread != nullptr) jobs_of_thread->close();
  jobs_of_thread = nullptr;
  worker_of_thread = nullptr;
}

// distributedOpen(file, onMail, isMainThread) -> whether it has Gloo, whether it has NCCL
napi_value open(Call& call) {
  const distributed::Library& opened = distributed::open_library(text_at(call, 0), kInterrupts);
  napi_value backends = new_array(call, 2);
  set_element(call, backends, 0, write_bool(call, opened.has_gloo));
  set_element(call, backends, 1, write_bool(call, opened.has_nccl));
  if (!read_bool(call, call.arguments[2], 2)) worker_of_thread = call.env;
  if (jobs_of_thread != nullptr) {
    jobs_of_thread->set_receiver(call.arguments[1]);
    return backends;
  }
  jobs_of_thread = Jobs::create(call.env, call.arguments[1]);
  napi_add_env_cleanup_hook(call.env, &end_environment, nullptr);
  return backends;
}

// distributedMail() -> the ids of the jobs that have ended
napi_value mail(Call& call) {
  napi_value array = new_array(call, 0);  // first: a failure after mail() would lose messages
  const std::vector<Jobs::Id> ended = jobs_of(call).mail();
  for (const Jobs::Id id : ended) call.state.slots().return_from(kFirstBorrower + id);
  for (size_t i = 0; i < ended.size(); ++i) set_element(call, array, i, write_job(call, ended[i]));
  call.state.slots().reconcile_inner();  // a sum of sparse tensors replaces what is inside them
  call.state.slots().reconcile_returned();
  return array;
}

napi_value value_of(Call& call, Outcome& outcome) {
  if (const auto* flag = std::get_if<bool>(&outcome.value)) return write_bool(call, *flag);
  if (const auto* number = std::get_if<int64_t>(&outcome.value)) return write_int(call, *number);
  if (const auto* bytes = std::get_if<Bytes>(&outcome.value)) {
    return Napi::Buffer<uint8_t>::Copy(call.env, bytes->data(), bytes->size());
  }
  if (auto* store = std::get_if<StoreOwner>(&outcome.value)) return owned_external(call, std::move(*store));
  if (auto* group = std::get_if<GroupOwner>(&outcome.value)) {
    jobs_of(call).add_group(*group);
    return owned_external(call, std::move(*group));
  }
  return Napi::Env(call.env).Null();
}

// distributedTake(job) -> [message of its failure or null, whether that is a timeout, result]
napi_value take(Call& call) {
  Outcome outcome = jobs_of(call).take(static_cast<Jobs::Id>(int_at(call, 0)));
  const napi_value array = new_array(call, 3);
  const auto& failure = outcome.failure;
  set_element(call, array, 0, failure.has_value() ? write_string(call, failure->message) : Napi::Env(call.env).Null());
  set_element(call, array, 1, write_bool(call, failure.has_value() && failure->timed_out));
  set_element(call, array, 2, value_of(call, outcome));
  return array;
}

napi_value abandon(Call& call) {
  jobs_of(call).abandon(static_cast<Jobs::Id>(int_at(call, 0)));
  return nullptr;
}

// distributedEnd(): the process exits
napi_value end(Call& call) {
  jobs_of(call).close();
  return nullptr;
}

// distributedTcpStore(host, port, isServer, worldSize, waitForWorkers, timeout): worldSize 0 for none
napi_value tcp_store(Call& call) {
  distributed::TcpStoreOptions options;
  options.host = text_at(call, 0);
  options.port = static_cast<uint16_t>(int_at(call, 1));
  options.is_server = read_bool(call, call.arguments[2], 2);
  if (const int64_t size = int_at(call, 3)) options.world_size = static_cast<size_t>(size);
  options.wait_for_workers = read_bool(call, call.arguments[4], 4);
  options.timeout = milliseconds_at(call, 5);
  return write_job(call, jobs_of(call).run([options](const Progress&) {
    return outcome_of(distributed::library().tcp_store(options));
  }));
}

// distributedFileStore(path, worldSize)
napi_value file_store(Call& call) {
  const std::string path = text_at(call, 0);
  const auto size = static_cast<int>(int_at(call, 1));
  return write_job(call, jobs_of(call).run([path, size](const Progress&) {
    return outcome_of(distributed::library().file_store(path, size));
  }));
}

// distributedPrefixStore(prefix, store): a store at once, as nothing blocks
napi_value prefix_store(Call& call) {
  return owned_external(call, distributed::library().prefix_store(text_at(call, 0), owned_by<StoreOwner>(call, 1)));
}

napi_value store_port(Call& call) { return write_int(call, owned_by<StoreOwner>(call, 0)->port()); }

// Asks until the keys exist. libtorch's own wait() keeps the store's connection, so that nothing else could be done
// with the store meanwhile, and cannot be ended early.
void await_keys(distributed::Store& store, const std::vector<std::string>& keys, Milliseconds timeout,
                const Progress& progress) {
  using Clock = std::chrono::steady_clock;
  constexpr Milliseconds kLongest(50);
  const auto start = Clock::now();
  Milliseconds pause(1);
  while (!store.check(keys)) {
    if (progress.cancelled.load()) throw std::runtime_error("the wait was ended");
    if (Clock::now() - start >= timeout) {
      std::string missing;
      for (const std::string& key : keys) {
        if (!store.check({key})) missing += (missing.empty() ? "'" : ", '") + key + "'";
      }
      throw std::runtime_error("timed out after " + std::to_string(timeout.count()) + " ms: no value for " + missing);
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, kLongest);
  }
}

// For functions on a store: `work(store, progress)` runs on a thread that may block.
template <class Work>
napi_value with_store(Call& call, Work work) {
  const StoreOwner store = owned_by<StoreOwner>(call, 0);
  return write_job(call, jobs_of(call).run([store, work = std::move(work)](const Progress& progress) {
    return work(*store, progress);
  }));
}

napi_value store_set(Call& call) {
  return with_store(call, [key = text_at(call, 1), value = bytes_at(call, 2)](auto& store, const Progress&) {
    store.set(key, value);
    return Outcome{};
  });
}

napi_value store_get(Call& call) {
  const auto timeout = milliseconds_at(call, 2);
  return with_store(call, [key = text_at(call, 1), timeout](auto& store, const Progress& progress) {
    await_keys(store, {key}, timeout, progress);
    return outcome_of(store.get(key));
  });
}

napi_value store_wait(Call& call) {
  const auto timeout = milliseconds_at(call, 2);
  return with_store(call, [keys = texts_at(call, 1), timeout](auto& store, const Progress& progress) {
    await_keys(store, keys, timeout, progress);
    return Outcome{};
  });
}

napi_value store_add(Call& call) {
  const int64_t amount = int_at(call, 2);
  return with_store(call, [key = text_at(call, 1), amount](auto& store, const Progress&) {
    return outcome_of(store.add(key, amount));
  });
}

napi_value store_check(Call& call) {
  return with_store(call,
                    [keys = texts_at(call, 1)](auto& store, const Progress&) { return outcome_of(store.check(keys)); });
}

napi_value store_compare_set(Call& call) {
  return with_store(
      call, [key = text_at(call, 1), expected = bytes_at(call, 2), desired = bytes_at(call, 3)](
                auto& store, const Progress&) { return outcome_of(store.compare_set(key, expected, desired)); });
}

napi_value store_delete_key(Call& call) {
  return with_store(
      call, [key = text_at(call, 1)](auto& store, const Progress&) { return outcome_of(store.delete_key(key)); });
}

napi_value store_num_keys(Call& call) {
  return with_store(call, [](auto& store, const Progress&) { return outcome_of(store.num_keys()); });
}

// distributedGroup(store, backend, rank, size, timeout)
napi_value group(Call& call) {
  distributed::GroupOptions options;
  options.backend = text_at(call, 1);
  options.rank = static_cast<int>(int_at(call, 2));
  options.size = static_cast<int>(int_at(call, 3));
  options.timeout = milliseconds_at(call, 4);
  return with_store(call, [options, store = owned_by<StoreOwner>(call, 0)](auto&, const Progress&) {
    store->set_timeout(options.timeout);
    return outcome_of(distributed::own_group(distributed::library().group(store, options)));
  });
}

// distributedSetSequenceNumber(group)
napi_value set_sequence_number(Call& call) {
  return write_job(call, jobs_of(call).run([group = owned_by<GroupOwner>(call, 0)](const Progress&) {
    group->set_sequence_number();
    return Outcome{};
  }));
}

// distributedClose(group)
napi_value close(Call& call) {
  return write_job(call, jobs_of(call).run([group = owned_by<GroupOwner>(call, 0)](const Progress&) {
    group->close();
    return Outcome{};
  }));
}

// distributedSupports(group, dtype, kind)
napi_value supports(Call& call) {
  const auto dtype = static_cast<c10::ScalarType>(int_at(call, 1));
  const auto kind = static_cast<distributed::Kind>(int_at(call, 2));
  return write_bool(call, owned_by<GroupOwner>(call, 0)->supports(dtype, kind));
}

// distributedStart(group, kind, inputs, outputs, [reduceOp, root, tag, allRanks, timeout], inputSplits, outputSplits).
// The tensors are lent to the job until its mail is taken.
napi_value start(Call& call) {
  const GroupOwner group = owned_by<GroupOwner>(call, 0);
  distributed::Collective collective;
  collective.kind = static_cast<distributed::Kind>(int_at(call, 1));
  collective.inputs = tensors_at(call, 2);
  collective.outputs = tensors_at(call, 3);
  const auto numbers = read_list<int64_t>(call, call.arguments[4], 4);
  collective.reduce_op = static_cast<int>(numbers[0]);
  collective.root = static_cast<int>(numbers[1]);
  collective.tag = static_cast<int>(numbers[2]);
  collective.all_ranks = numbers[3] != 0;
  collective.timeout = Milliseconds(numbers[4]);
  for (const int64_t size : read_list<int64_t>(call, call.arguments[5], 5)) collective.input_splits.push_back(size);
  for (const int64_t size : read_list<int64_t>(call, call.arguments[6], 6)) collective.output_splits.push_back(size);
  handles::Borrowed borrowed;
  for (const auto* list : {&collective.inputs, &collective.outputs}) {
    for (const at::Tensor& tensor : *list) borrowed.named.push_back(tensor);
  }
  Jobs& jobs = jobs_of(call);
  const uint64_t borrower = kFirstBorrower + jobs.next();
  call.state.slots().lend_to(borrower, borrowed);
  Jobs::Id id = 0;
  try {
    id = jobs.start(group, std::move(collective));
  } catch (...) {  // out of memory: nothing runs
    call.state.slots().return_from(borrower);
    throw;
  }
  return write_job(call, id);
}

const Export kDistributedExports[] = {
    ltn::exported_body<&open, 3>("distributedOpen",
                                 "distributedOpen(str file, func onMail, bool isMainThread) -> bool[]"),
    ltn::exported_body<&mail, 0>("distributedMail", "distributedMail() -> int[]"),
    ltn::exported_body<&take, 1>("distributedTake", "distributedTake(int job) -> Any"),
    ltn::exported_body<&abandon, 1>("distributedAbandon", "distributedAbandon(int job) -> ()"),
    ltn::exported_body<&end, 0>("distributedEnd", "distributedEnd() -> ()"),
    ltn::exported_body<&tcp_store, 6>("distributedTcpStore",
                                      "distributedTcpStore(str host, int port, bool is_server, int world_size, bool "
                                      "wait_for_workers, int timeout) -> int"),
    ltn::exported_body<&file_store, 2>("distributedFileStore", "distributedFileStore(str path, int world_size) -> int"),
    ltn::exported_body<&prefix_store, 2>("distributedPrefixStore",
                                         "distributedPrefixStore(str prefix, Store store) -> Store"),
    ltn::exported_body<&store_port, 1>("storePort", "storePort(Store store) -> int"),
    ltn::exported_body<&store_set, 3>("storeSet", "storeSet(Store store, str key, Bytes value) -> int"),
    ltn::exported_body<&store_get, 3>("storeGet", "storeGet(Store store, str key, int timeout) -> int"),
    ltn::exported_body<&store_wait, 3>("storeWait", "storeWait(Store store, str[] keys, int timeout) -> int"),
    ltn::exported_body<&store_add, 3>("storeAdd", "storeAdd(Store store, str key, int amount) -> int"),
    ltn::exported_body<&store_check, 2>("storeCheck", "storeCheck(Store store, str[] keys) -> int"),
    ltn::exported_body<&store_compare_set, 4>(
        "storeCompareSet", "storeCompareSet(Store store, str key, Bytes expected, Bytes desired) -> int"),
    ltn::exported_body<&store_delete_key, 2>("storeDeleteKey", "storeDeleteKey(Store store, str key) -> int"),
    ltn::exported_body<&store_num_keys, 1>("storeNumKeys", "storeNumKeys(Store store) -> int"),
    ltn::exported_body<&group, 5>("distributedGroup",
                                  "distributedGroup(Store store, str backend, int rank, int size, int timeout) -> int"),
    ltn::exported_body<&set_sequence_number, 1>("distributedSetSequenceNumber",
                                                "distributedSetSequenceNumber(Group group) -> int"),
    ltn::exported_body<&close, 1>("distributedClose", "distributedClose(Group group) -> int"),
    ltn::exported_body<&supports, 3>("distributedSupports",
                                     "distributedSupports(Group group, int dtype, int kind) -> bool"),
    ltn::exported_body<&start, 7>(
        "distributedStart",
        "distributedStart(Group group, int kind, Tensor[] inputs, Tensor[] outputs, int[] numbers, "
        "int[] input_splits, int[] output_splits) -> int"),
};

}  // namespace

ExportList list() { return {kDistributedExports, std::size(kDistributedExports)}; }

}  // namespace ltn::distributed_js

namespace ltn {

ExportList distributed_exports() { return distributed_js::list(); }

}  // namespace ltn
