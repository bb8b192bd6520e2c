/* SPDX-License-Identifier: MIT */
#include "peers.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

const char *peers_server;
char peers_socket[128], peers_machine[140];

pid_t server_start(const char *const *args)
{
	static char dir[] = "/tmp/emud-test.XXXXXX";
	const char *argv[16] = { peers_server, "--socket", peers_socket };
	const struct timespec ms = { 0, 1000000 };
	struct stat st;
	pid_t pid, maker = getpid();

	if (!strcmp(dir + sizeof(dir) - 7, "XXXXXX"))
		ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(peers_socket, sizeof(peers_socket), "%s/s", dir);
	snprintf(peers_machine, sizeof(peers_machine), "unix:%s", peers_socket);
	for (unsigned int i = 0; args[i]; i++)
		argv[3 + i] = args[i];
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (!pid) {
		/* a test that fails leaves no server behind */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == maker)
			execv(peers_server, (char **)(uintptr_t)argv);
		_exit(127);
	}
	for (int i = 0; stat(peers_socket, &st) && i < CHECK_WAIT_MS; i++) {
		ck_assert_int_eq(waitpid(pid, NULL, WNOHANG), 0);
		nanosleep(&ms, NULL);
	}
	ck_assert(S_ISSOCK(st.st_mode));
	return pid;
}

int server_end(pid_t server, int sig)
{
	int status;

	ck_assert_int_eq(kill(server, sig), 0);
	ck_assert_int_eq(waitpid(server, &status, 0), server);
	if (sig == SIGKILL)
		unlink(peers_socket);
	return status;
}

struct peer peer_start(peer_main *main, const void *arg)
{
	struct peer peer;
	int fd[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	peer.pid = fork();
	ck_assert_int_ge(peer.pid, 0);
	if (!peer.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(fd[0]);
		main(fd[1], arg);
		_exit(0);
	}
	close(fd[1]);
	peer.fd = fd[0];
	return peer;
}

void say(int fd, char what)
{
	if (send(fd, &what, 1, MSG_NOSIGNAL) < 0)
		fprintf(stderr, "%d: the other has ended\n", getpid());
}

char hear(int fd)
{
	char what = 0;

	while (read(fd, &what, 1) < 0 && errno == EINTR)
		;
	return what;
}

int peer_wait(struct peer *peer)
{
	int status = -1;

	close(peer->fd);
	ck_assert_int_eq(waitpid(peer->pid, &status, 0), peer->pid);
	return status;
}

ndlx_device_t *peer_open(int index)
{
	ndlx_device_t *dev;

	MUST_BE(ndlx_machine_set(peers_machine), 0);
	MUST_BE(ndlx_open_device(index, NULL, &dev), 0);
	return dev;
}

uint64_t peer_memory(ndlx_device_t *dev, uint64_t size, bool host, uint64_t *pa)
{
	const struct ndlx_mem_params p = { .size = size, .host = host };
	uint64_t handle;

	MUST_BE(ndlx_memory_alloc(dev, &p, &handle), 0);
	MUST_BE(ndlx_memory_get_pa(dev, handle, pa), 0);
	return handle;
}
