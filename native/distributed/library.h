// The interface between the addon and the second addon (native/c10d), which contains everything that needs c10d and
// Gloo.
//
// The second addon knows neither Node nor handles: it gets and returns tensors, which libtorch counts, and plain C++
// values. So the addon alone owns slots, loans and promises, and the second one cannot break their rules.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/version.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "native/distributed/batch_norm.h"
#include "native/distributed/reducer.h"

namespace ltn::distributed {

using Milliseconds = std::chrono::milliseconds;
using Bytes = std::vector<uint8_t>;

// Why an operation failed.
struct Failure {
  bool timed_out = false;
  std::string message;
};

// A key-value store that all ranks can reach. Thread: any; calls block, each for about as long as a round trip, because
// get() is only called for keys that exist.
class Store {
 public:
  virtual ~Store() = default;
  virtual void set(const std::string& key, const Bytes& value) = 0;
  virtual Bytes get(const std::string& key) = 0;
  virtual int64_t add(const std::string& key, int64_t amount) = 0;
  virtual bool check(const std::vector<std::string>& keys) = 0;
  virtual Bytes compare_set(const std::string& key, const Bytes& expected, const Bytes& desired) = 0;
  virtual bool delete_key(const std::string& key) = 0;
  virtual int64_t num_keys() = 0;
  // Of the calls that libtorch itself makes (a group's rendezvous).
  virtual void set_timeout(Milliseconds timeout) = 0;
  // Of a TCPStore: where its server listens; otherwise 0.
  virtual uint16_t port() const = 0;
};

struct TcpStoreOptions {
  std::string host;
  uint16_t port = 0;
  bool is_server = false;
  std::optional<size_t> world_size;
  bool wait_for_workers = true;
  Milliseconds timeout{0};
};

enum class Kind : uint8_t {
  Broadcast,
  AllReduce,
  Reduce,
  AllGather,
  AllGatherIntoTensor,
  Gather,
  Scatter,
  ReduceScatter,
  AllToAll,
  AllToAllSingle,
  Send,
  Recv,
  Barrier,
  MonitoredBarrier,
};

// The arguments of a collective. Lifetime: the work shares the tensors until it has ended.
struct Collective {
  Kind kind = Kind::Barrier;
  std::vector<at::Tensor> inputs;
  std::vector<at::Tensor> outputs;
  std::vector<int64_t> input_splits;   // AllToAllSingle
  std::vector<int64_t> output_splits;  // AllToAllSingle
  int reduce_op = 0;                   // a position in kReduceOps
  int root = -1;                       // the peer of Send and Recv, -1 for any
  int tag = 0;                         // Send, Recv
  bool all_ranks = false;              // MonitoredBarrier: names every missing rank, not the first
  Milliseconds timeout{0};
};

constexpr const char* kReduceOps[] = {"sum", "product", "min", "max", "band", "bor", "bxor", "avg"};

// A collective in progress. Thread: any.
class Work {
 public:
  virtual ~Work() = default;
  // Calls `done` once when the work has ended, on any thread, perhaps before this returns. False if the work cannot
  // tell; then wait() must be called.
  virtual bool on_end(std::function<void(std::exception_ptr)> done) = 0;
  // Blocks until the end; throws its failure.
  virtual void wait() = 0;
  // Ends a Send or Recv that waits for its peer; nothing else can be ended alone.
  virtual void cancel() noexcept = 0;
  // Of a Recv that has ended: the rank that sent.
  virtual int64_t source() const = 0;
};

struct GroupOptions {
  std::string backend;
  int rank = 0;
  int size = 1;
  Milliseconds timeout{0};
};

// The ranks that take part in collectives. Thread: start() on one thread at a time (the JS thread; in a backward that
// of the backward), so that the order is that of the program; the rest on any. Its destructor may block: see
// own_group().
class Group {
 public:
  virtual ~Group() = default;
  // Throws what libtorch refuses at once.
  virtual std::shared_ptr<Work> start(Collective collective) = 0;
  // Agrees on the first sequence number through the store, which blocks: as PyTorch, after the store's barrier.
  virtual void set_sequence_number() = 0;
  // The number of ranks.
  virtual int size() const noexcept = 0;
  // Ends all work in progress with an error, here and on the other ranks. The group is unusable afterwards.
  virtual void abort() noexcept = 0;
  // abort(), and frees the connections. Blocks until its threads have ended.
  virtual void close() noexcept = 0;
  // "bool" if the backend has no kernels for it; empty if it has.
  virtual bool supports(c10::ScalarType dtype, Kind kind) const = 0;
};

// What the second addon offers. Lifetime: the process; the library is never unloaded.
struct Library {
  const char* stamp;
  bool has_gloo;
  bool has_nccl;
  std::shared_ptr<Store> (*tcp_store)(const TcpStoreOptions& options);  // blocks until connected
  std::shared_ptr<Store> (*file_store)(const std::string& path, int world_size);
  std::shared_ptr<Store> (*prefix_store)(const std::string& prefix, const std::shared_ptr<Store>& store);
  Group* (*group)(const std::shared_ptr<Store>& store, const GroupOptions& options);  // blocks until connected
  Failure (*failure)(std::exception_ptr error);
  // These three block until all ranks of the group have called them (reducer.h).
  std::unique_ptr<Reducer> (*reducer)(const Group& group, const ReducerOptions& options);
  void (*verify_parameters)(const Group& group, const std::vector<at::Tensor>& parameters);
  void (*broadcast_coalesced)(const Group& group, const std::vector<at::Tensor>& tensors, int root);
  BatchNorm* batch_norm;  // batch_norm.h
};

// What ends a wait early. Lifetime: the process.
struct Interrupts {
  bool (*apply)() noexcept;      // whether this thread runs JavaScript that another one can end: that of a worker
  bool (*requested)() noexcept;  // where they apply: whether that has happened
};

// Both addons are built together. The stamp catches a mixture of builds.
constexpr const char* kStamp = "4 for libtorch " TORCH_VERSION;
constexpr const char* kEntry = "ltn_distributed_library";
using Entry = const Library* (*)(const Interrupts& interrupts);

}  // namespace ltn::distributed
