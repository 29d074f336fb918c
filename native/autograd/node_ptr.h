// Owners of graph nodes: std::shared_ptr, and c10::intrusive_ptr in later releases of libtorch.
#pragma once

#include <c10/util/intrusive_ptr.h>
#include <torch/csrc/autograd/edge.h>
#include <torch/csrc/autograd/function.h>

#include <memory>

namespace ltn::autograd {

// What owns a node in this libtorch.
using NodePtr = decltype(torch::autograd::Edge::function);

// The base of a class of nodes that are owned by std::shared_ptr, which destroys them when nothing owns them.
template <class Node>
class DestroyedNode : public Node {
 protected:
  virtual void free_parts() = 0;
};

// The same for c10::intrusive_ptr, which destroys a node only when nothing refers to it any more: what the node owns,
// free_parts() frees as soon as nothing owns the node.
template <class Node>
class ReleasedNode : public Node {
 public:
  void release_resources() override {
    free_parts();
    Node::release_resources();
  }

 protected:
  virtual void free_parts() = 0;
};

template <class Owner>
struct Owners;

template <>
struct Owners<std::shared_ptr<torch::autograd::Node>> {
  template <class T>
  using Strong = std::shared_ptr<T>;
  template <class T>
  using Weak = std::weak_ptr<T>;
  using Base = DestroyedNode<torch::autograd::Node>;

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
  using Base = ReleasedNode<torch::autograd::Node>;

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

// The base of a class of nodes.
using NodeBase = Owners<NodePtr>::Base;

template <class T>
OwnedNode<T> make_node() {
  return Owners<NodePtr>::make<T>();
}

}  // namespace ltn::autograd
