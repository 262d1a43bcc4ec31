/* Exchanges two names for some seconds, as fast as it can. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv) {
    if (argc < 4) return 2;
    for (time_t end = time(0) + atoi(argv[3]); time(0) < end;)
        for (int i = 0; i < 1000; i++) renameat2(AT_FDCWD, argv[1], AT_FDCWD, argv[2], RENAME_EXCHANGE);
    return 0;
}
