// TorchScript's own ops that end the process or never come back for some integers and texts.
#pragma once

namespace ltn::models {

// Puts a check before each of these ops, once per process. Called before a model is read, which looks its ops up.
void replace_ops();

}  // namespace ltn::models
