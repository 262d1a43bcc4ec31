/* Asks for clone3 with flags that another thread changes all the time between none and CLONE_NEWUSER|CLONE_NEWNS, and for
 * a mount whose type changes; prints how often it asked, and how often something was granted. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long arguments[11];
static volatile char type[8] = "tmpfs";

static void *swap(void *unused) {
    for (;;) {
        arguments[0] = 0x10020000;
        type[0] = 'x';
        arguments[0] = 0;
        type[0] = 't';
    }
    return unused;
}

int main(int argc, char **argv) {
    pthread_t thread;
    time_t end = time(0) + (argc > 1 ? atoi(argv[1]) : 2);
    long asked = 0, granted = 0;
    arguments[4] = SIGCHLD;
    if (pthread_create(&thread, 0, swap, 0)) return 2;
    while (time(0) < end) {
        long child = syscall(SYS_clone3, arguments, sizeof arguments);
        if (child == 0) _exit(0);
        if (child > 0) granted++, waitpid(child, 0, 0);
        if (mount("none", "/mnt", (const char *)type, 0, 0) == 0) granted++;
        asked += 2;
    }
    printf("%ld %ld\n", asked, granted);
    return 0;
}
