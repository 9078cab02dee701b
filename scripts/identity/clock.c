// Moves the wall clock of a program while it runs: the file CLOCK_FILE has the seconds that are added, a 64-bit number.
// Preloaded, since libfaketime moves the environment, behind which Swift looks for the arguments.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int (*system_gettime)(clockid_t, struct timespec *);
static volatile int64_t *added;

__attribute__((constructor)) static void begin(void) {
  system_gettime = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  const char *path = getenv("CLOCK_FILE");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  void *page = file < 0 ? MAP_FAILED : mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
  if (page != MAP_FAILED) added = page;
  if (file >= 0) close(file);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  if (!system_gettime) begin();
  int status = system_gettime(clock, time);
  if (status == 0 && added && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += *added;
  return status;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  struct timespec now;
  (void)zone;
  int status = clock_gettime(CLOCK_REALTIME, &now);
  *time = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
  return status;
}

time_t time(time_t *result) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (result) *result = now.tv_sec;
  return now.tv_sec;
}
