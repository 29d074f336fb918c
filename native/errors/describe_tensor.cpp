#include "native/errors/describe_tensor.h"

#include <c10/util/Exception.h>

#include <sstream>

#include "native/schema/dtypes.h"

namespace ltn {

std::string describe_tensor(const at::Tensor& tensor) {
  std::ostringstream text;
  text << dtype_name(tensor.scalar_type());
  try {
    const auto sizes = tensor.sizes();
    text << '[';
    for (size_t i = 0; i < sizes.size(); ++i) text << (i == 0 ? "" : ", ") << sizes[i];
    text << ']';
  } catch (const c10::Error&) {  // a nested tensor has no sizes; a message must not fail
    text << "[nested]";
  }
  if (tensor.layout() != c10::kStrided) text << ' ' << tensor.layout();
  if (!tensor.is_cpu()) text << " on " << tensor.device().str();
  return text.str();
}

}  // namespace ltn
