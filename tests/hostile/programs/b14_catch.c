/* For some seconds, looks for processes that are still the guest's copy (between clone and exec), and tries to get
 * anything of them: program, memory, descriptors, root. Prints "caught of tried", then what was caught. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long tried, caught;
static char notes[4096];

static void note(int pid, const char *what, const char *target) {
    caught++;
    size_t used = strlen(notes);
    snprintf(notes + used, sizeof notes - used, "%d %s %s\n", pid, what, target);
}

static void attack(int pid) {
    char path[64], target[256] = {0};
    snprintf(path, sizeof path, "/proc/%d/exe", pid);
    tried++;
    if (readlink(path, target, sizeof target - 1) > 0 && (strstr(target, "hood") || strstr(target, "memfd")))
        note(pid, "exe", target);
    for (int n = 3; n < 20; n++) {
        snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, n);
        memset(target, 0, sizeof target);
        /* The guest's control socket and group directory; a shell's own script is no secret. */
        if (readlink(path, target, sizeof target - 1) > 0 && (strstr(target, "cgroup") || strstr(target, "hood")))
            note(pid, "fd", target);
    }
}

int main(int argc, char **argv) {
    time_t end = time(0) + (argc > 1 ? atoi(argv[1]) : 4);
    int self = getpid();
    for (int last = self + 1, misses = 0; time(0) < end;) {
        char path[32];
        snprintf(path, sizeof path, "/proc/%d", last);
        if (last != self && access(path, F_OK) == 0) attack(last), misses = 0;
        else misses++;
        /* The next pids are tried again and again until they exist. */
        if (++last > self + 400 || misses > 40) misses = 0, last = last > self + 400 ? self + 1 : last - 40;
        if (last <= self) last = self + 1;
    }
    printf("%ld of %ld\n%s", caught, tried, notes);
    return 0;
}
