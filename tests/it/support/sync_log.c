/* Preloaded into a process under test: every fsync and fdatasync writes "fsync PATH" to the file $SYNC_LOG, and fails with EIO if PATH
 * followed by "$" contains $SYNC_FAIL and the file $SYNC_FAIL_WHEN is there. So a test sees what was made durable in which order, and
 * what happens when it was not. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int noted(int fd, long call)
{
    char link[64], path[4200], line[4300];
    const char *log = getenv("SYNC_LOG"), *fail = getenv("SYNC_FAIL"), *when = getenv("SYNC_FAIL_WHEN");
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 2);
    if (length < 0)
        length = 0;
    path[length] = '$';
    path[length + 1] = 0;
    if (fail && when && strstr(path, fail) && access(when, F_OK) == 0) {
        errno = EIO;
        return -1;
    }
    long answer = syscall(call, fd);
    int error = errno;
    if (log) {
        int to = open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        int size = snprintf(line, sizeof line, "fsync %.*s\n", (int)length, path);
        if (to >= 0) {
            if (write(to, line, size) != size)
                abort();
            close(to);
        }
    }
    errno = error;
    return (int)answer;
}

int fsync(int fd) { return noted(fd, SYS_fsync); }
int fdatasync(int fd) { return noted(fd, SYS_fdatasync); }
