/* Works in bursts shorter than a tick of the kernel's clock and sleeps over each tick; prints the seconds of processor
 * time that it knows it had, those that the sandbox's group was charged, and those that passed. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static double charged(void) {
    char text[512] = {0};
    int fd = open("/sys/fs/cgroup/cpuacct/cpuacct.usage", O_RDONLY);
    if (fd >= 0) {
        if (read(fd, text, sizeof text - 1) <= 0) exit(3);
        return atof(text) / 1e9;
    }
    fd = open("/sys/fs/cgroup/cpu.stat", O_RDONLY);
    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0) exit(3);
    return atof(strstr(text, "usage_usec ") + 11) / 1e6;
}

int main(int argc, char **argv) {
    int processes = argc > 1 ? atoi(argv[1]) : 64;
    double seconds = argc > 2 ? atof(argv[2]) : 4, began = now(CLOCK_MONOTONIC), before = charged(), worked = 0;
    double *mine = mmap(0, processes * sizeof *mine, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < processes; i++)
        if (fork() == 0) {
            while (now(CLOCK_MONOTONIC) - began < seconds) {
                /* The tick is at a multiple of 1, 3.3, 4 or 10 ms: stay away from the multiples of one millisecond. */
                double t = now(CLOCK_MONOTONIC) * 1000, part = t - (long)t;
                if (part > 0.1 && part < 0.8) {
                    for (volatile int n = 0; n < 20000; n++) {}
                } else {
                    struct timespec nap = {0, 200000};
                    nanosleep(&nap, 0);
                }
            }
            mine[i] = now(CLOCK_PROCESS_CPUTIME_ID);
            _exit(0);
        }
    while (wait(0) > 0) {}
    for (int i = 0; i < processes; i++) worked += mine[i];
    printf("%f %f %f\n", worked, charged() - before, now(CLOCK_MONOTONIC) - began);
    return 0;
}
