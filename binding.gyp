# Builds build/Release/libtorch_node.node: `npm run build`, or node-gyp after `npm run codegen`.
# NAPI_EXPERIMENTAL with NAPI_VERSION undefined gives basic finalizers, which run during collection (ARCHITECTURE.md).
{
  'targets': [
    {
      'target_name': 'libtorch_node',
      'product_name': 'libtorch_node',  # gyp would strip the "lib"
      'sources': ['<!@(node scripts/gyp-sources.mjs)'],
      'include_dirs': ['.', '<!(node -p "require(\'node-addon-api\').include_dir")'],
      # A worker that is terminated can throw no more: node-addon-api shall not end the process for that.
      'defines': ['NAPI_EXPERIMENTAL', 'NAPI_CPP_EXCEPTIONS', 'NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS'],
      'configurations': {'Debug': {'defines': ['LTN_DEBUG']}},  # thread rules are checked, and abort
      'cflags!': ['-O3', '-g', '-fno-omit-frame-pointer'],
      'cflags': ['-O2', '-fvisibility=hidden'],
      'cflags_cc!': ['-fno-exceptions', '-fno-rtti', '-std=gnu++17', '-std=gnu++20', '-std=gnu++2a'],
      'cflags_cc': ['<!@(node scripts/libtorch.mjs --cflags)'],
      'libraries': ['<!@(node scripts/libtorch.mjs --ldflags)'],
    },
  ],
}
