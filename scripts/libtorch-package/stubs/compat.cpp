/**
 * The symbols of glibc 2.38 and of GCC 13's and 14's libstdc++ that Debian 13's libraries ask for, in terms of what
 * glibc 2.36 and GCC 12's libstdc++ have. On a newer system nothing here is called: the program's own C and C++
 * libraries come first in the order of lookup. Includes no header that would redirect these names to the new ones.
 */
#include <cstdarg>
#include <cstddef>
#include <exception>
#include <ios>

#if defined(__aarch64__)
#define OLDEST_GLIBC "GLIBC_2.17"
#elif defined(__x86_64__)
#define OLDEST_GLIBC "GLIBC_2.2.5"
#else
#error "expected x86-64 or aarch64"
#endif
#define OLD(name) __asm__(".symver old_" #name "," #name "@" OLDEST_GLIBC)
#if defined(__aarch64__)
#define FMOD_GLIBC OLDEST_GLIBC
#else
#define FMOD_GLIBC "GLIBC_2.15"
#endif

OLD(strtol);
OLD(strtoul);
OLD(strtoll);
OLD(strtoull);
// glibc's own fmod without matherr's variables. An old fmod could not be named in a file that defines fmod.
__asm__(".symver finite_fmod,__fmod_finite@" FMOD_GLIBC);
__asm__(".symver finite_fmodf,__fmodf_finite@" FMOD_GLIBC);

#define EXPORTED __attribute__((visibility("default")))

// On systems whose libstdc++ does not initialise the standard streams itself, each program that includes <iostream>
// does.
static std::ios_base::Init streams;

extern "C" {
long old_strtol(const char*, char**, int);
unsigned long old_strtoul(const char*, char**, int);
long long old_strtoll(const char*, char**, int);
unsigned long long old_strtoull(const char*, char**, int);
double finite_fmod(double, double);
float finite_fmodf(float, float);
int __isoc99_vsscanf(const char*, const char*, va_list);
int __isoc99_vfscanf(void*, const char*, va_list);
void* __cxa_begin_catch(void*) noexcept;

// C23's conversions differ only in numbers like 0b101 with base 0 or 2, which libtorch does not read.
EXPORTED long __isoc23_strtol(const char* text, char** end, int base) { return old_strtol(text, end, base); }
EXPORTED unsigned long __isoc23_strtoul(const char* text, char** end, int base) { return old_strtoul(text, end, base); }
EXPORTED long long __isoc23_strtoll(const char* text, char** end, int base) { return old_strtoll(text, end, base); }
EXPORTED unsigned long long __isoc23_strtoull(const char* text, char** end, int base) {
  return old_strtoull(text, end, base);
}

EXPORTED int __isoc23_sscanf(const char* text, const char* format, ...) {
  va_list values;
  va_start(values, format);
  const int read = __isoc99_vsscanf(text, format, values);
  va_end(values);
  return read;
}

EXPORTED int __isoc23_fscanf(void* file, const char* format, ...) {
  va_list values;
  va_start(values, format);
  const int read = __isoc99_vfscanf(file, format, values);
  va_end(values);
  return read;
}

// Those of 2.38 do not set matherr's variables either.
EXPORTED double fmod(double x, double y) { return finite_fmod(x, y); }
EXPORTED float fmodf(float x, float y) { return finite_fmodf(x, y); }

// GCC 14 calls it where an exception leaves a function that is noexcept.
EXPORTED void __cxa_call_terminate(void* exception) noexcept {
  if (exception != nullptr) __cxa_begin_catch(exception);
  std::terminate();
}
}

// Since GCC 13, <iostream> refers to it to link the initialisation of the streams, which `streams` does above.
EXPORTED void linkStreams() __asm__("_ZSt21ios_base_library_initv");
void linkStreams() {}
