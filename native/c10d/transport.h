// Gloo's connections over TCP, made safe against what a rank may send.
#pragma once

#include <gloo/transport/device.h>

#include <memory>

namespace ltn::c10d_addon {

// A device whose connections turn each error into the error of what waits on them. Gloo's own end the process where a
// message is larger than what waits for it, fill a part of the tensor where it is smaller, and stop where a send or
// receive was withdrawn before its message came. Devices other than TCP are returned as they are.
std::shared_ptr<::gloo::transport::Device> checked(std::shared_ptr<::gloo::transport::Device> device);

}  // namespace ltn::c10d_addon
