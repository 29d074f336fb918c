// c10d's stores behind the interface of native/distributed/library.h.
#pragma once

#include <c10/util/intrusive_ptr.h>

#include <memory>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "native/distributed/library.h"

namespace ltn::c10d_addon {

// Lifetime: shared by JavaScript's values, the groups over it and the calls in progress. Thread: any; c10d locks.
class C10dStore final : public distributed::Store {
 public:
  C10dStore(c10::intrusive_ptr<c10d::Store> store, uint16_t port) : store_(std::move(store)), port_(port) {}

  void set(const std::string& key, const distributed::Bytes& value) override { store_->set(key, value); }
  distributed::Bytes get(const std::string& key) override { return store_->get(key); }
  int64_t add(const std::string& key, int64_t amount) override { return store_->add(key, amount); }
  bool check(const std::vector<std::string>& keys) override { return store_->check(keys); }
  distributed::Bytes compare_set(const std::string& key, const distributed::Bytes& expected,
                                 const distributed::Bytes& desired) override {
    return store_->compareSet(key, expected, desired);
  }
  bool delete_key(const std::string& key) override { return store_->deleteKey(key); }
  int64_t num_keys() override { return store_->getNumKeys(); }
  void set_timeout(distributed::Milliseconds timeout) override { store_->setTimeout(timeout); }
  uint16_t port() const override { return port_; }

  const c10::intrusive_ptr<c10d::Store>& c10d() const noexcept { return store_; }

 private:
  const c10::intrusive_ptr<c10d::Store> store_;
  const uint16_t port_;
};

std::shared_ptr<distributed::Store> tcp_store(const distributed::TcpStoreOptions& options);
std::shared_ptr<distributed::Store> file_store(const std::string& path, int world_size);
std::shared_ptr<distributed::Store> prefix_store(const std::string& prefix,
                                                 const std::shared_ptr<distributed::Store>& store);

}  // namespace ltn::c10d_addon
