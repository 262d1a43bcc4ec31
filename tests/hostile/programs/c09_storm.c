/* Changes a directory as fast as it can, in several processes, for some seconds; prints how many changes it made. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc < 4) return 2;
    int processes = atoi(argv[3]);
    long *made = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), sum = 0;
    if (chdir(argv[1])) return 3;
    for (int i = 0; i < processes && i < 512; i++)
        if (fork() == 0) {
            char one[32], other[32];
            snprintf(one, sizeof one, "one%d", i);
            snprintf(other, sizeof other, "other%d", i);
            close(open(one, O_CREAT | O_WRONLY, 0600));
            for (time_t end = time(0) + atoi(argv[2]); time(0) < end; made[i] += 4) {
                if (rename(one, other) || rename(other, one) || chmod(one, 0600) || truncate(one, made[i] % 2)) _exit(1);
            }
            _exit(0);
        }
    while (wait(0) > 0) {}
    for (int i = 0; i < processes; i++) sum += made[i];
    printf("%ld\n", sum);
    return 0;
}
