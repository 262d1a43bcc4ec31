/* Looks for new processes without pause, and tries on each all that would give a part of it away: ptrace, its memory, its
 * descriptors, its files in /proc. What is got of a process that already is a payload with this one's own ids is meant to be;
 * a line "HOLE ..." says that something was got of one that was not. First line of output: the counts, as JSON. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long processes, attempts, early, got;
static char holes[16384];

struct state { long uid, seccomp; unsigned long long effective, permitted; char tracer; };

/* Ids, capabilities and filter of a process as they are now; 0 when it is gone. */
static int look(int pid, struct state *s) {
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    int fd = open(path, O_RDONLY);
    if (fd < 0) return 0;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0) return 0;
    text[n] = 0;
    char *uid = strstr(text, "\nUid:"), *eff = strstr(text, "\nCapEff:"), *prm = strstr(text, "\nCapPrm:"), *sec = strstr(text, "\nSeccomp:");
    if (!uid || !eff || !prm || !sec) return 0;
    s->uid = atol(uid + 5);
    s->effective = strtoull(eff + 8, 0, 16);
    s->permitted = strtoull(prm + 8, 0, 16);
    s->seccomp = atol(sec + 9);
    return 1;
}

/* Whether it is an ordinary payload: behind the filter, and with no more capabilities than root inside may have. */
static int payload(const struct state *s) {
    return s->seccomp == 2 && !(s->permitted & ~0xa80425fbULL);
}

static void hole(int pid, const char *what, const char *detail) {
    size_t used = strlen(holes);
    snprintf(holes + used, sizeof holes - used, "HOLE %s of %d: %.200s\n", what, pid, detail);
}

/* Something was got; `before` is how the process was just before the attempt. It was a hole unless it was a payload then, or
 * is found to be one the moment after (it cannot have been taken back, so it may have become one in between). */
static void judge(int pid, const struct state *before, const char *what, const char *detail) {
    struct state after;
    got++;
    if (payload(before) || (look(pid, &after) && payload(&after))) return;
    hole(pid, what, detail);
}

static void open_one(int pid, const char *name, int flags) {
    struct state before;
    char path[96], target[256] = {0}, bytes[256];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    if (!look(pid, &before)) return;
    attempts++;
    int fd = open(path, flags | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return;
    /* `mem` opens for its owner, too; reading is what counts. Empty files tell nothing. */
    ssize_t n = flags == O_PATH ? 1 : read(fd, bytes, sizeof bytes);
    if (n > 0) {
        if (readlink(path, target, sizeof target - 1) < 0) target[0] = 0;
        judge(pid, &before, name, target);
    }
    close(fd);
}

static void attack(int pid) {
    static const char *files[] = {"mem", "environ", "maps", "auxv", "exe", "pagemap", "syscall", "stack", "personality"};
    static const char *links[] = {"root", "cwd", "ns/mnt", "ns/net", "ns/user", "ns/pid", "fd/3", "fd/4", "fd/5", "fd/6", "fd/64", "fd/65"};
    struct state s;
    char buffer[64];
    if (!look(pid, &s)) return;
    if (!payload(&s)) early++;
    attempts++;
    if (ptrace(PTRACE_SEIZE, pid, 0, 0) == 0) {
        judge(pid, &s, "ptrace", "seized");
        ptrace(PTRACE_INTERRUPT, pid, 0, 0);
        waitpid(pid, 0, __WALL);
        ptrace(PTRACE_DETACH, pid, 0, 0);
    }
    int pidfd = syscall(SYS_pidfd_open, pid, 0);
    for (int n = 0; pidfd >= 0 && n < 12; n++) {
        attempts++;
        if (!look(pid, &s)) break;
        int fd = syscall(SYS_pidfd_getfd, pidfd, n, 0);
        if (fd >= 0) judge(pid, &s, "pidfd_getfd", ""), close(fd);
    }
    if (pidfd >= 0) close(pidfd);
    /* Anywhere in the usual places of a program and its stack. */
    for (unsigned long at = 0x400000; at < 0x800000; at += 0x100000) {
        struct iovec ours = {buffer, sizeof buffer}, theirs = {(void *)at, sizeof buffer};
        attempts++;
        if (!look(pid, &s)) return;
        if (process_vm_readv(pid, &ours, 1, &theirs, 1, 0) > 0) judge(pid, &s, "process_vm_readv", "");
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) open_one(pid, files[i], O_RDONLY);
    open_one(pid, "mem", O_RDWR);
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) open_one(pid, links[i], O_PATH);
}

int main(int argc, char **argv) {
    time_t end = time(0) + (argc > 1 ? atoi(argv[1]) : 10);
    static char known[1 << 22];
    while (time(0) < end) {
        DIR *proc = opendir("/proc");
        for (struct dirent *entry; proc && (entry = readdir(proc));) {
            int pid = atoi(entry->d_name);
            if (pid <= 1 || pid == getpid()) continue;
            if (!known[pid]) processes++;
            /* A new one again and again, as long as it is on its way. */
            if (known[pid] < 20) known[pid]++, attack(pid);
        }
        if (proc) closedir(proc);
    }
    printf("{\"processes\": %ld, \"attempts\": %ld, \"seen on their way\": %ld, \"got of payloads\": %ld}\n%s", processes, attempts, early, got, holes);
    return 0;
}
