// The measured programs, by the name that is the first argument.
#pragma once

namespace bench {

namespace guards {
int run(int argc, char** argv);
}
namespace ops {
int run(int argc, char** argv);
}
namespace peers {
int run(int argc, char** argv);
}
namespace train {
int run(int argc, char** argv);
}

}  // namespace bench
