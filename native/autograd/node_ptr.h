// Owners of graph nodes: std::shared_ptr, and c10::intrusive_ptr in later releases of libtorch.
#pragma once

#include <c10/util/intrusive_ptr.h>
#include <torch/csrc/autograd/edge.h>
#include <torch/csrc/autograd/function.h>

#include <memory>

namespace ltn::autograd {

// What owns a node in this libtorch.
using NodePtr = decltype(torch::autograd::Edge::function);

template <class Owner>
struct Owners;

template <>
struct Owners<std::shared_ptr<torch::autograd::Node>> {
  template <class T>
  using Strong = std::shared_ptr<T>;
  template <class T>
  using Weak = std::weak_ptr<T>;

  // libtorch's deleter, found by the argument's type: it frees deep graphs without recursion.
  template <class T>
  static Strong<T> make() {
    return Strong<T>(new T, [](T *node) { deleteNode(node); });
  }
};

template <>
struct Owners<c10::intrusive_ptr<torch::autograd::Node>> {
  template <class T>
  using Strong = c10::intrusive_ptr<T>;
  template <class T>
  using Weak = c10::weak_intrusive_ptr<T>;

  template <class T>
  static Strong<T> make() {
    return c10::make_intrusive<T>();
  }
};

// An owner of a class of nodes, and a reference that does not own.
template <class T>
using OwnedNode = Owners<NodePtr>::Strong<T>;
template <class T>
using WeakNode = Owners<NodePtr>::Weak<T>;

template <class T>
OwnedNode<T> make_node() {
  return Owners<NodePtr>::make<T>();
}

}  // namespace ltn::autograd
