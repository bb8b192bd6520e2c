// SPDX-License-Identifier: MIT
/* See holders.h: what /proc says of each process's descriptors and mappings. */
#include "holders.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "grid.h"
#include "process.h"

#define DMA_BUF (-1)
#define BUFFERS "exp_name:\tneuron\n" /* in fdinfo: the module of that name made it */

static int by_index(const void *a, const void *b)
{
	const struct ls_node *one = a, *other = b;

	return (one->index > other->index) - (one->index < other->index);
}

unsigned ls_nodes(const char *dir, struct ls_node *nodes, unsigned capacity)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	unsigned n = 0;
	struct stat st;

	while (d && n < capacity && (entry = readdir(d))) {
		char *end;

		if (strncmp(entry->d_name, "neuron", 6) ||
		    !isdigit((unsigned char)entry->d_name[6]))
			continue;
		nodes[n].index = (unsigned)strtoul(entry->d_name + 6, &end, 10);
		if (*end || fstatat(dirfd(d), entry->d_name, &st, 0) || !S_ISCHR(st.st_mode))
			continue;
		nodes[n].rdev = st.st_rdev;
		snprintf(nodes[n].path, sizeof(nodes[n].path), "/dev/neuron%u", nodes[n].index);
		n++;
	}
	if (d)
		closedir(d);
	qsort(nodes, n, sizeof(*nodes), by_index);
	return n;
}

/* Adds a process to the list; one more place in it if the process is the first of this node */
static struct ls_holder *holder(struct ls_holders *out, int node, int pid)
{
	struct ls_holder *list;

	for (unsigned i = out->n; i-- && out->list[i].pid == pid;)
		if (out->list[i].node == node)
			return &out->list[i];
	list = reallocarray(out->list, out->n + 1, sizeof(*list));
	if (!list)
		return NULL;
	out->list = list;
	list[out->n] = (struct ls_holder){ .node = node, .pid = pid };
	return &list[out->n++];
}

static bool is_buffer(const char *proc, int pid, const char *fd)
{
	char path[300], line[128];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%d/fdinfo/%s", proc, pid, fd);
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f))
		found = !strcmp(line, BUFFERS);
	if (f)
		fclose(f);
	return found;
}

/* The node that a descriptor is of: its place in the list, DMA_BUF, or -ENOENT */
static int node_of(const char *proc, int pid, int dir, const char *fd, const struct ls_node *nodes,
		   unsigned n)
{
	char link[64] = "";
	struct stat st;

	if (!fstatat(dir, fd, &st, 0) && S_ISCHR(st.st_mode))
		for (unsigned i = 0; i < n; i++)
			if (nodes[i].rdev == st.st_rdev)
				return (int)i;
	if (readlinkat(dir, fd, link, sizeof(link) - 1) < 0 || strncmp(link, "/dmabuf", 7))
		return -ENOENT;
	return is_buffer(proc, pid, fd) ? DMA_BUF : -ENOENT;
}

static int look_at_descriptors(const char *proc, int pid, const struct ls_node *nodes, unsigned n,
			       struct ls_holders *out)
{
	struct dirent *entry;
	char path[280];
	int ret = 0;
	DIR *d;

	snprintf(path, sizeof(path), "%s/%d/fd", proc, pid);
	d = opendir(path);
	if (!d && (errno == EACCES || errno == EPERM))
		out->hidden++;
	while (d && !ret && (entry = readdir(d))) {
		struct ls_holder *h;
		int node = isdigit((unsigned char)entry->d_name[0])
				   ? node_of(proc, pid, dirfd(d), entry->d_name, nodes, n)
				   : -ENOENT;

		if (node == -ENOENT)
			continue;
		h = holder(out, node, pid);
		if (h)
			h->open++;
		else
			ret = -ENOMEM;
	}
	if (d)
		closedir(d);
	return ret;
}

/* A line of maps ends with the file's path: that of a node is told by its name. */
static int look_at_mappings(const char *proc, int pid, const struct ls_node *nodes, unsigned n,
			    struct ls_holders *out)
{
	char path[280], line[512];
	int ret = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%d/maps", proc, pid);
	f = fopen(path, "re");
	while (f && !ret && fgets(line, sizeof(line), f)) {
		char *file = strstr(line, "/dev/neuron");

		if (!file)
			continue;
		file[strcspn(file, " \n")] = '\0'; /* " (deleted)" behind a node that is gone */
		for (unsigned i = 0; !ret && i < n; i++) {
			struct ls_holder *h;

			if (strcmp(file, nodes[i].path) != 0)
				continue;
			h = holder(out, (int)i, pid);
			if (h)
				h->mapped = true;
			else
				ret = -ENOMEM;
		}
	}
	if (f)
		fclose(f);
	return ret;
}

static int by_node(const void *a, const void *b)
{
	const struct ls_holder *one = a, *other = b;
	unsigned left = (unsigned)one->node, right = (unsigned)other->node; /* buffers are last */

	return left != right ? (left > right) - (left < right)
			     : (one->pid > other->pid) - (one->pid < other->pid);
}

int ls_holders(const char *proc, const struct ls_node *nodes, unsigned n, struct ls_holders *out)
{
	DIR *d = opendir(proc);
	struct dirent *entry;
	int ret = d ? 0 : -errno;

	memset(out, 0, sizeof(*out));
	while (!ret && (entry = readdir(d))) {
		char *end;
		long pid = strtol(entry->d_name, &end, 10);

		if (*end || pid <= 0)
			continue;
		ret = look_at_descriptors(proc, (int)pid, nodes, n, out);
		if (!ret)
			ret = look_at_mappings(proc, (int)pid, nodes, n, out);
	}
	if (d)
		closedir(d);
	for (unsigned i = 0; i < out->n; i++)
		ls_process_command(proc, out->list[i].pid, out->list[i].command,
				   sizeof(out->list[i].command));
	if (out->n)
		qsort(out->list, out->n, sizeof(*out->list), by_node);
	return ret;
}

int ls_print_holders(const struct ls_holders *holders, const struct ls_node *nodes,
		     const struct ls_options *opt, FILE *out)
{
	static const char *const titles[] = { "NEURON\nDEVICE", "PID", "OPEN", "MAPPED",
					      "COMMAND" };
	struct grid *g = grid_new();
	int ret = g ? 0 : -ENOMEM;

	for (size_t i = 0; !ret && i < sizeof(titles) / sizeof(titles[0]); i++)
		ret = grid_add_column(g, titles[i], GRID_LEFT);
	for (unsigned i = 0; !ret && i < holders->n; i++) {
		const struct ls_holder *h = &holders->list[i];
		char text[4][16], command[81];

		snprintf(text[0], sizeof(text[0]), "%u", h->node < 0 ? 0 : nodes[h->node].index);
		snprintf(text[1], sizeof(text[1]), "%d", h->pid);
		snprintf(text[2], sizeof(text[2]), "%u", h->open);
		snprintf(text[3], sizeof(text[3]), "%s", h->mapped ? "yes" : "no");
		ls_cut_command(h->command, opt, command);
		ret = grid_add_row(g);
		ret = ret ? ret : grid_set(g, 0, h->node < 0 ? "dma-buf" : text[0]);
		for (unsigned c = 1; !ret && c < 4; c++)
			ret = grid_set(g, c, text[c]);
		ret = ret ? ret : grid_set(g, 4, command);
	}
	if (!ret && holders->n)
		grid_print(g, out);
	if (g)
		grid_free(g);
	return ret;
}
