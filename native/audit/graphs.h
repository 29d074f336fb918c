// What autograd graphs hold, as counted by the census of each environment (native/handles/graph_census.h).
#ifndef LIBTORCH_NODE_NATIVE_AUDIT_GRAPHS_H_
#define LIBTORCH_NODE_NATIVE_AUDIT_GRAPHS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ltn::audit {

enum GraphFlag : uint32_t {
  kCutOff = 1,         // there are more nodes than were counted
  kCarriesItself = 2,  // the graph reaches back to an earlier value of the same site
  kOnGradient = 8,     // carried by the gradient of a tensor that has no graph itself
  kCollected = 4,      // counted right after a full collection: what lives is reachable
};

// One site. Same layout as in the file.
struct GraphRow {
  uint32_t site = 0;
  uint32_t flags = 0;            // of GraphFlag
  uint64_t tensors = 0;          // live ones that have a graph
  uint64_t nodes = 0;            // of the largest such graph
  uint64_t hidden_storages = 0;  // created here, without a live tensor, but still held
  uint64_t hidden_bytes = 0;
};
inline constexpr size_t kGraphBytes = 40;
static_assert(sizeof(GraphRow) == kGraphBytes);

struct BirthInfo {
  bool known = false;
  uint32_t site = 0;
  int64_t birth_ms = 0;
  float weight = 1;
};

// Site and birth time of live records. Any thread.
void births_of(uint32_t capture, const uint32_t* records, size_t count, BirthInfo* births) noexcept;

// Rows for the next round. Any thread.
void add_graphs(uint32_t capture, const std::vector<GraphRow>& rows) noexcept;

// Rounds of the running capture so far. Any thread.
uint32_t rounds_so_far() noexcept;

}  // namespace ltn::audit

#endif  // LIBTORCH_NODE_NATIVE_AUDIT_GRAPHS_H_
