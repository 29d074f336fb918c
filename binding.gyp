# Builds build/Release/libtorch_node.node in a checkout: `npm run build`, or node-gyp after `npm run codegen`. The second
# target, with c10d and Gloo, is built where libtorch and the system have them.
# Where the package is installed, `libtorch-node build` compiles the same sources with the same flags, without node-gyp.
{
  'variables': {'c10d%': '<!(node scripts/libtorch.mjs --c10d)'},
  'target_defaults': {
    'include_dirs': ['.', '<!(node -p "require(\'node-addon-api\').include_dir")'],
    'defines': ['<!@(node scripts/addon-flags.mjs --defines)'],
    'configurations': {'Debug': {'defines': ['LTN_DEBUG']}},  # thread rules are checked, and abort
    'cflags!': ['-O3', '-g', '-fno-omit-frame-pointer'],
    'cflags': ['<!@(node scripts/addon-flags.mjs --cflags)'],
    'cflags_cc!': ['-fno-exceptions', '-fno-rtti', '-std=gnu++17', '-std=gnu++20', '-std=gnu++2a'],
    'cflags_cc': ['<!@(node scripts/libtorch.mjs --cflags)'],
    'libraries': ['<!@(node scripts/libtorch.mjs --ldflags)'],
    # gyp ignores cflags on macOS and Windows.
    'xcode_settings': {
      'GCC_ENABLE_CPP_EXCEPTIONS': 'YES',
      'GCC_ENABLE_CPP_RTTI': 'YES',
      'GCC_SYMBOLS_PRIVATE_EXTERN': 'YES',  # -fvisibility=hidden
      'CLANG_CXX_LIBRARY': 'libc++',
      'MACOSX_DEPLOYMENT_TARGET': '11.0',
      'OTHER_CPLUSPLUSFLAGS': ['<!@(node scripts/libtorch.mjs --cflags)'],
    },
    'msvs_settings': {
      'VCCLCompilerTool': {
        'ExceptionHandling': '1',
        'RuntimeTypeInfo': 'true',
        'AdditionalOptions': ['<!@(node scripts/libtorch.mjs --cflags)'],
      },
    },
  },
  'targets': [
    {
      'target_name': 'libtorch_node',
      'product_name': 'libtorch_node',  # gyp would strip the "lib"
      'sources': ['<!@(node scripts/gyp-sources.mjs --units)'],
    },
  ],
  'conditions': [
    ['c10d=="yes"', {
      'targets': [
        {
          'target_name': 'libtorch_node_distributed',
          'product_name': 'libtorch_node_distributed',
          'sources': ['<!@(node scripts/gyp-sources.mjs --c10d --units)'],
          'cflags_cc': ['<!@(node scripts/libtorch.mjs --c10d-cflags)'],
          'libraries': ['<!@(node scripts/libtorch.mjs --c10d-ldflags)'],
        },
      ],
    }],
  ],
}
