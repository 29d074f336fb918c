#include "native/c10d/stores.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "native/c10d/release.h"

namespace ltn::c10d_addon {
namespace {

c10::intrusive_ptr<c10d::TCPStore> open_tcp_store(const std::string& host, c10d::TCPStoreOptions options) {
  try {
    return c10::make_intrusive<c10d::TCPStore>(host, options);
  } catch (const std::exception& error) {  // Debian's libtorch 2.6 is built without libuv, and its default asks for it
    const bool lacks_libuv = std::string(error.what()).find("without libuv") != std::string::npos;
    if (!lacks_libuv || !disable_libuv(options, 0)) throw;
  }
  return c10::make_intrusive<c10d::TCPStore>(host, options);
}

// FileStore opens the file again in its destructor, where an error ends the process. It waits five minutes for a file
// that it cannot make, later releases in the constructor.
void require_usable(const std::string& path) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) {
    const std::string folder = path.substr(0, path.find_last_of('/') + 1);
    TORCH_CHECK(folder.empty() || access(folder.c_str(), W_OK | X_OK) == 0, path,
                " cannot be made: its folder does not exist or does not accept files");
    return;
  }
  TORCH_CHECK(S_ISREG(found.st_mode), path, " is not a file");
  TORCH_CHECK(access(path.c_str(), R_OK | W_OK) == 0, path, " cannot be read and written");
}

}  // namespace

std::shared_ptr<distributed::Store> tcp_store(const distributed::TcpStoreOptions& options) {
  c10d::TCPStoreOptions given;
  given.port = options.port;
  given.isServer = options.is_server;
  if (options.world_size.has_value()) given.numWorkers = *options.world_size;
  given.waitWorkers = options.wait_for_workers;
  given.timeout = options.timeout;
  given.multiTenant = true;  // as PyTorch's rendezvous: a process may open the same server again
  auto store = open_tcp_store(options.host, given);
  const uint16_t port = store->getPort();
  return std::make_shared<C10dStore>(std::move(store), port);
}

std::shared_ptr<distributed::Store> file_store(const std::string& path, int world_size) {
  require_usable(path);
  return std::make_shared<C10dStore>(c10::make_intrusive<c10d::FileStore>(path, world_size), uint16_t{0});
}

std::shared_ptr<distributed::Store> prefix_store(const std::string& prefix,
                                                 const std::shared_ptr<distributed::Store>& store) {
  const auto& inner = static_cast<const C10dStore&>(*store);
  return std::make_shared<C10dStore>(c10::make_intrusive<c10d::PrefixStore>(prefix, inner.c10d()), inner.port());
}

}  // namespace ltn::c10d_addon
