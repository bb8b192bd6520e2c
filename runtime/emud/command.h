/* SPDX-License-Identifier: MIT */
/* The command for whose time a server serves */
#ifndef EMUD_COMMAND_H
#define EMUD_COMMAND_H

#include "emud.h"

struct emud_command {
	char **argv;
	pid_t pid;
	int status; /* what the server ends with */
	char directory[96], path[108]; /* of the socket, if it has a place of its own */
};

/* Gives the socket a place that is this user's alone, unless it has one. Returns 0 or -errno. */
int emud_command_place(struct emud_command *command, struct emud_listen *at);
/* Starts it with NEURON_EMU; -ENOENT: there is none */
int emud_command_start(struct emud_command *command, const char *path);
/* Passes signals on; true: the command has ended, and there is its status */
bool emud_command_signal(void *command, uint32_t signal, bool by_terminal);
void emud_command_end(struct emud_command *command);

#endif
