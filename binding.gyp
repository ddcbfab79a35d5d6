{
  'variables': {
    # 'address' or 'undefined', comma-separated: instruments the addon.
    'fl_sanitize%': '',
    # 1: shared memory and wakes as on any POSIX system, on Linux too.
    'fl_generic_posix%': 0,
  },
  'targets': [
    {
      # The name carries NODE_MODULE_VERSION, because the bridge to V8 fits only
      # that one and Node does not check it: lib/binding.js reads it off.
      'target_name': 'forklane',
      'product_name': 'forklane.abi<(node_module_version)',
      'sources': [
        'src/core/status.c',
        'src/core/bytes.c',
        'src/core/scan.c',
        'src/core/latin1.c',
        'src/core/frame.c',
        'src/core/outbox.c',
        'src/core/ring.c',
        'src/transport/socket_posix.c',
        'src/transport/segment_posix.c',
        'src/transport/wake_posix.c',
        'src/transport/lane.c',
        'src/transport/lane_in.c',
        'src/transport/lane_out.c',
        'src/node/check.c',
        'src/node/binding.c',
        'src/node/batch.c',
        'src/node/reader_wrap.c',
        'src/node/writer_wrap.c',
        'src/node/lane_wrap.c',
        'src/node/lane_read.c',
        'src/node/lane_send.c',
        'src/v8/codec.cc',
        'src/v8/text.cc',
        'src/v8/host.cc',
      ],
      'defines': ['NAPI_VERSION=8'],
      'cflags': ['-fvisibility=hidden', '-Wall', '-Wextra'],
      'cflags_c': ['-std=c11'],
      'cflags_cc': ['-fvisibility-inlines-hidden', '-Wno-unused-parameter'],
      'xcode_settings': {
        'GCC_SYMBOLS_PRIVATE_EXTERN': 'YES',
        'GCC_C_LANGUAGE_STANDARD': 'c11',
      },
      'conditions': [
        ['OS == "linux"', {
          'defines': ['_GNU_SOURCE'],
          # V8 calls into the addon when it frees what was handed to it, also
          # when a worker, and with it the addon, has ended.
          'ldflags': ['-Wl,-z,nodelete'],
        }],
        ['fl_generic_posix == 1', {
          'defines': ['FL_GENERIC_POSIX'],
        }],
        ['fl_sanitize != ""', {
          'cflags': ['-fsanitize=<(fl_sanitize)', '-fno-omit-frame-pointer', '-g'],
          'ldflags': ['-fsanitize=<(fl_sanitize)'],
        }],
      ],
    },
  ],
}
