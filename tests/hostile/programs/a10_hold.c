/* Holds as many kernel objects of one kind as it can, in many processes at once, and says how each of them ended. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static char page[65536];

static long pipes(void) {
    long bytes = 0;
    int ends[2];
    while (pipe2(ends, O_NONBLOCK) == 0) {
        /* As large as an unprivileged pipe may be, and full. */
        fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
        for (long n; (n = write(ends[1], page, sizeof page)) > 0;) bytes += n;
    }
    return bytes;
}

static long sockets(void) {
    long bytes = 0;
    int pair[2], size = 1 << 30;
    while (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0) {
        setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
        for (long n; (n = write(pair[0], page, sizeof page)) > 0;) bytes += n;
    }
    return bytes;
}

/* A watch of each descriptor in each epoll: their product. */
static long watches(void) {
    long count = 0;
    int events[1000];
    struct epoll_event event = {.events = EPOLLIN};
    for (int i = 0; i < 1000; i++) events[i] = eventfd(0, 0);
    for (int poll; (poll = epoll_create1(0)) >= 0;)
        for (int i = 0; i < 1000; i++) {
            if (epoll_ctl(poll, EPOLL_CTL_ADD, events[i], &event) != 0) return count;
            count++;
        }
    return count;
}

static long plain(int event) {
    long count = 0;
    while ((event ? eventfd(0, 0) : open("/dev/null", O_RDONLY)) >= 0) count++;
    return count;
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    int processes = atoi(argv[2]), killed = 0, ended = 0;
    for (int i = 0; i < processes; i++)
        if (fork() == 0) {
            const char *what = argv[1];
            long held = !strcmp(what, "pipes")     ? pipes()
                        : !strcmp(what, "sockets") ? sockets()
                        : !strcmp(what, "epoll")   ? watches()
                                                   : plain(!strcmp(what, "eventfd"));
            printf("%ld held, then %s\n", held, strerror(errno));
            fflush(stdout);
            sleep(1);
            _exit(0);
        }
    for (int status; wait(&status) > 0;) WIFSIGNALED(status) ? killed++ : ended++;
    printf("%d killed, %d ended\n", killed, ended);
    return 0;
}
