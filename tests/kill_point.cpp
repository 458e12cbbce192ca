// SPDX-License-Identifier: Apache-2.0
// To be preloaded (LD_PRELOAD) into a program: ends it by SIGKILL before its N-th call that changes
// files, N being SIMILE_KILL_AT in the environment. Without that it writes the number of such calls
// to the file SIMILE_KILL_COUNT names, when the program ends. See tests/kill_training.sh.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>

namespace {

std::atomic<long> calls{0};

long kill_at() {
  static const long number = [] {
    const char* text = getenv("SIMILE_KILL_AT");
    return text == nullptr ? 0L : atol(text);
  }();
  return number;
}

void count_call() {
  if (++calls != kill_at()) return;
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

struct Counter {
  ~Counter() {
    const char* path = getenv("SIMILE_KILL_COUNT");
    if (path == nullptr || kill_at() > 0) return;
    const long number = calls;
    if (FILE* file = fopen(path, "w")) {
      fprintf(file, "%ld\n", number);
      fclose(file);
    }
  }
} counter;

template <typename Function>
Function next(Function, const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

#define SIMILE_COUNT(result, name, parameters, arguments) \
  extern "C" result name parameters {                     \
    static const auto original = next(&name, #name);      \
    count_call();                                         \
    return original arguments;                            \
  }

SIMILE_COUNT(int, rename, (const char* a, const char* b), (a, b))
SIMILE_COUNT(int, renameat2, (int a, const char* b, int c, const char* d, unsigned e),
             (a, b, c, d, e))
SIMILE_COUNT(int, unlink, (const char* a), (a))
SIMILE_COUNT(int, unlinkat, (int a, const char* b, int c), (a, b, c))
SIMILE_COUNT(int, remove, (const char* a), (a))
SIMILE_COUNT(int, rmdir, (const char* a), (a))
SIMILE_COUNT(int, mkdir, (const char* a, mode_t b), (a, b))
SIMILE_COUNT(int, ftruncate, (int a, off_t b), (a, b))
SIMILE_COUNT(int, fsync, (int a), (a))
SIMILE_COUNT(FILE*, fopen, (const char* a, const char* b), (a, b))
SIMILE_COUNT(int, fclose, (FILE * a), (a))
SIMILE_COUNT(int, fflush, (FILE * a), (a))
SIMILE_COUNT(int, fputs, (const char* a, FILE* b), (a, b))
SIMILE_COUNT(size_t, fwrite, (const void* a, size_t b, size_t c, FILE* d), (a, b, c, d))
