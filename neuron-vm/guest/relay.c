/* SPDX-License-Identifier: MIT */
/*
 * neuron-vm-relay: runs the micro guest's command with pipes as its outputs, copies them to the
 * guest's ports and reports its start, then its status and how many bytes each port was given:
 * the status may overtake them. A port can be opened only once, a pipe as /dev/stderr as often as
 * a program likes; and a daemon the command left behind does not hold up the end. Called by
 * micro-init.
 *
 *   neuron-vm-relay OUT-PORT ERR-PORT STATUS-PORT COMMAND ARGS...
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define STREAMS 2

struct stream {
	int pipe; /* -1 at its end */
	int port;
	uint64_t sent;
};

static void die(const char *what)
{
	fprintf(stderr, "neuron-vm-relay: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void copy_out(struct stream *s, const char *data, ssize_t size)
{
	while (size > 0) {
		ssize_t n = write(s->port, data, size);

		if (n < 0 && errno != EINTR)
			die("port");
		if (n > 0) {
			data += n;
			size -= n;
			s->sent += (uint64_t)n;
		}
	}
}

/* Copies what is there; false when there was nothing */
static bool pump(struct stream *s)
{
	char data[65536];
	ssize_t n;

	if (s->pipe < 0)
		return false;
	n = read(s->pipe, data, sizeof(data));
	if (n > 0) {
		copy_out(s, data, n);
		return true;
	}
	if (!n || (errno != EAGAIN && errno != EINTR)) {
		close(s->pipe);
		s->pipe = -1;
	}
	return false;
}

static void run(char **argv, const int ends[STREAMS])
{
	int null = open("/dev/null", O_RDONLY);

	if (null < 0 || dup2(null, 0) < 0 || dup2(ends[0], 1) < 0 || dup2(ends[1], 2) < 0)
		die("redirection");
	execvp(argv[0], argv);
	dprintf(2, "%s: %s\n", argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

static pid_t start(char **argv, struct stream s[STREAMS])
{
	int ends[STREAMS];
	pid_t child;

	for (int i = 0; i < STREAMS; i++) {
		int fds[2];

		if (pipe2(fds, O_CLOEXEC) < 0 || fcntl(fds[0], F_SETFL, O_NONBLOCK) < 0)
			die("pipe");
		s[i].pipe = fds[0];
		ends[i] = fds[1];
	}
	child = fork();
	if (child < 0)
		die("fork");
	if (!child)
		run(argv, ends);
	for (int i = 0; i < STREAMS; i++)
		close(ends[i]);
	return child;
}

static void wait_and_pump(pid_t child, struct stream s[STREAMS])
{
	struct pollfd fds[STREAMS + 1] = { 0 };

	fds[STREAMS].fd = pidfd_open(child, 0);
	if (fds[STREAMS].fd < 0)
		die("pidfd");
	for (int i = 0; i <= STREAMS; i++)
		fds[i].events = POLLIN;
	do {
		for (int i = 0; i < STREAMS; i++) {
			pump(&s[i]);
			fds[i].fd = s[i].pipe; /* poll leaves out a negative one */
		}
		if (poll(fds, STREAMS + 1, -1) < 0 && errno != EINTR)
			die("poll");
	} while (!fds[STREAMS].revents);
	/* what the command wrote is in the pipes by now */
	for (int i = 0; i < STREAMS; i++)
		while (pump(&s[i]))
			;
}

int main(int argc, char **argv)
{
	struct stream s[STREAMS] = { 0 };
	int status, port;
	pid_t child;

	if (argc < 5)
		return 2;
	for (int i = 0; i < STREAMS; i++) {
		s[i].port = open(argv[1 + i], O_WRONLY | O_CLOEXEC);
		if (s[i].port < 0)
			die(argv[1 + i]);
	}
	port = open(argv[3], O_WRONLY | O_CLOEXEC);
	if (port < 0)
		die(argv[3]);
	dprintf(port, "started\n");
	child = start(argv + 4, s);
	wait_and_pump(child, s);
	if (waitpid(child, &status, 0) != child)
		die("wait");
	status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	dprintf(port, "exit %d %" PRIu64 " %" PRIu64 "\n", status, s[0].sent, s[1].sent);
	return 0;
}
