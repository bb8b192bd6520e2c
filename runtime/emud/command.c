/* SPDX-License-Identifier: MIT */
/*
 * The command: it has the signals that the server is sent, but for those that a terminal sends to
 * both, and the server ends with its status, as a shell tells it.
 */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"

extern char **environ;

int emud_command_place(struct emud_command *command, struct emud_listen *at)
{
	const char *dir = getenv("XDG_RUNTIME_DIR");

	if (at->path)
		return 0;
	if (!dir || access(dir, W_OK))
		dir = getenv("TMPDIR");
	if (snprintf(command->directory, sizeof(command->directory), "%s/neuron-emud.XXXXXX",
		     dir ? dir : "/tmp") >= (int)sizeof(command->directory))
		strcpy(command->directory, "/tmp/neuron-emud.XXXXXX");
	if (!mkdtemp(command->directory)) {
		command->directory[0] = '\0';
		return -errno;
	}
	snprintf(command->path, sizeof(command->path), "%s/s", command->directory);
	at->path = command->path;
	return 0;
}

void emud_command_end(struct emud_command *command)
{
	if (command->directory[0])
		rmdir(command->directory);
}

static int spawn(struct emud_command *command)
{
	posix_spawnattr_t attr;
	sigset_t none, pipe;
	int ret;

	sigemptyset(&none);
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &pipe);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	ret = -posix_spawnp(&command->pid, command->argv[0], NULL, &attr, command->argv, environ);
	posix_spawnattr_destroy(&attr);
	return ret;
}

int emud_command_start(struct emud_command *command, const char *path)
{
	char *absolute = realpath(path, NULL), *value;
	int ret = -ENOMEM;

	if (absolute && asprintf(&value, "unix:%s", absolute) >= 0) {
		setenv("NEURON_EMU", value, 1);
		/* they are the server's, which has injected them */
		unsetenv("NEURON_EMU_FAULTS");
		ret = spawn(command);
		free(value);
	}
	free(absolute);
	return ret;
}

bool emud_command_signal(void *opaque, uint32_t signal, bool by_terminal)
{
	struct emud_command *command = opaque;
	int status;

	if (signal != SIGCHLD) {
		if (!by_terminal)
			kill(command->pid, (int)signal);
		return false;
	}
	if (waitpid(command->pid, &status, WNOHANG) != command->pid)
		return false;
	command->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return true;
}
