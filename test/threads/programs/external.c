/* An addon whose Buffers are memory of its own: read-only pages of zeros that are unmapped when Node finalizes the Buffer,
   at the latest as its environment ends. Who reads them afterwards gets SIGSEGV. */
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

typedef void* Env;
typedef void* Info;
typedef void* Value;

extern int napi_create_external_buffer(Env, size_t, void*, void (*)(Env, void*, void*), void*, Value*);
extern int napi_create_function(Env, const char*, size_t, Value (*)(Env, Info), void*, Value*);
extern int napi_get_cb_info(Env, Info, size_t*, Value*, Value*, void**);
extern int napi_get_value_int64(Env, Value, int64_t*);
extern int napi_set_named_property(Env, Value, const char*, Value);

static void finalize(Env env, void* data, void* length) {
  (void)env;
  munmap(data, (size_t)length);
}

/* external(bytes): Buffer */
static Value external(Env env, Info info) {
  size_t count = 1;
  Value argument = NULL, buffer = NULL;
  int64_t length = 0;
  void* data = NULL;
  if (napi_get_cb_info(env, info, &count, &argument, NULL, NULL) != 0) return NULL;
  if (napi_get_value_int64(env, argument, &length) != 0) return NULL;
  data = mmap(NULL, (size_t)length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return NULL;
  if (napi_create_external_buffer(env, (size_t)length, data, finalize, (void*)(size_t)length, &buffer) != 0) return NULL;
  return buffer;
}

Value napi_register_module_v1(Env env, Value exports) {
  Value function = NULL;
  if (napi_create_function(env, "external", (size_t)-1, external, NULL, &function) != 0) return NULL;
  if (napi_set_named_property(env, exports, "external", function) != 0) return NULL;
  return exports;
}
