/* SPDX-License-Identifier: MIT */
/*
 * What shell tests of the module need and the shell cannot do:
 *
 * copy N: a process that copies a page to and from core 0 of chip N; prints its pid, then "copied",
 * or the error.
 *
 * refused N: asks for what it does not get: a free, a mapping, an ioctl that is none; prints its
 * pid, then the errors.
 *
 * use N: allocates, maps and copies a page on chip N, and posts a metric; prints the error of each.
 *
 * poll FILE COMMAND: waits in poll() for a change of a sysfs file, while COMMAND runs in a shell
 * (status 1 after a minute).
 *
 * dump FILE: a hang dump, a line for each thing in it.
 *
 * say UID TEXT...: writes each text to the kernel log through chip 0, as that user.
 *
 * boast UID TEXT...: the same, having taken cores 0 and 1, which do nothing.
 *
 * as UID COMMAND...: executes a command as that user.
 *
 * chunk N: how many bytes a chunk takes that N bytes were asked for.
 *
 * own N: takes core N of chip 0, with 77 in its semaphore 3, and ends.
 *
 * semaphore N: what is in semaphore 3 of core N of chip 0.
 */
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tap.h"
#include "uapi/neuron/neuron_dump.h"

#define DEADLINE_MS 600000
#define DUMP_MAX (1 << 20)

static int copy(int index)
{
	static uint8_t in[4096], out[4096];
	uint64_t handle = 0;
	int fd = node(index, O_RDWR), ret;

	printf("%d\n", getpid());
	pattern(in, sizeof(in), 1);
	ret = fd < 0 ? fd : chunk(fd, false, sizeof(in), 0, &handle);
	if (!ret)
		ret = copy_in(fd, handle, in, 0, sizeof(in));
	if (!ret)
		ret = copy_out(fd, handle, out, 0, sizeof(out));
	if (!ret && memcmp(in, out, sizeof(in)))
		ret = -EBADMSG;
	printf("%s\n", ret ? strerror(-ret) : "copied");
	return ret ? 1 : 0;
}

static int refused(int index)
{
	struct neuron_ioctl_mem_free bad = { 12345 };
	int fd = node(index, O_RDWR), status = node(index, O_WRONLY);
	void *map;

	printf("%d\n", getpid());
	printf("%d\n", call(fd, NEURON_IOCTL_MEM_FREE, &bad));
	printf("%d\n", call(status, NEURON_IOCTL_MEM_FREE, &bad));
	printf("%d\n", call(fd, _IO('N', 200), &bad));
	map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 1l << 40);
	printf("%d\n", map == MAP_FAILED ? -errno : 0);
	return fd < 0 || status < 0;
}

static int chunk_takes(uint64_t size)
{
	struct neuron_ioctl_mem_get_extended_info info = { 0 };
	uint64_t handle = 0;
	int fd = node(0, O_RDWR), ret = chunk(fd, false, size, 0, &handle);

	info.mem_handle = handle;
	if (!ret)
		ret = call(fd, NEURON_IOCTL_MEM_GET_EXTENDED_INFO, &info);
	printf("%lld\n", ret ? (long long)ret : (long long)info.size);
	return ret ? 1 : 0;
}

static int use(int index)
{
	static uint8_t page[4096];
	struct neuron_ioctl_post_metric metric = { (void *)page, 8 };
	uint64_t handle = 0, pa;
	int fd = node(index, O_RDWR);
	void *map;

	printf("%d ", chunk(fd, true, sizeof(page), 0, &handle));
	pa = chunk_pa(fd, handle);
	map = mmap(NULL, sizeof(page), PROT_READ, MAP_SHARED, fd, (off_t)pa);
	printf("%d ", map == MAP_FAILED ? -errno : 0);
	/* memory that had another owner is cleared with a copy: that one fails first */
	if (!chunk(fd, false, sizeof(page), 0, &handle))
		printf("%d ", copy_in(fd, handle, page, 0, sizeof(page)));
	else
		printf("no-memory ");
	printf("%d\n", call(fd, NEURON_IOCTL_POST_METRIC, &metric));
	return 0;
}

/* A core of device 0 with 77 in semaphore 3, whose owner ends at once */
static int own(uint32_t nc)
{
	struct neuron_ioctl_semaphore sem = { nc, 3, 77 };
	int fd = node(0, O_RDWR);

	return call(fd, NEURON_IOCTL_SEMAPHORE_WRITE, &sem) ? 1 : 0;
}

static int semaphore(uint32_t nc)
{
	struct neuron_ioctl_semaphore sem = { nc, 3, 0 };
	int fd = node(0, O_RDWR), ret = call(fd, NEURON_IOCTL_SEMAPHORE_READ, &sem);

	printf("%lld\n", ret ? (long long)ret : (long long)sem.value);
	return ret ? 1 : 0;
}

static int wait_change(const char *path, const char *command)
{
	struct pollfd p = { .fd = open(path, O_RDONLY | O_CLOEXEC), .events = POLLPRI };
	char text[64];
	pid_t child;
	int ret;

	if (p.fd < 0 || read(p.fd, text, sizeof(text)) < 0)
		return 2;
	child = fork();
	if (!child) {
		execl("/bin/bash", "bash", "-c", command, (char *)NULL);
		_exit(127);
	}
	ret = poll(&p, 1, DEADLINE_MS);
	waitpid(child, NULL, 0);
	return ret == 1 && p.revents & POLLPRI ? 0 : 1;
}

static void print_regs(const char *name, const uint32_t *r)
{
	printf(" %s{status=%#x base=%#llx length=%u head=%u tail=%u}", name, r[0],
	       (unsigned long long)r[2] << 32 | r[1], r[3], r[4], r[5]);
}

static void print_section(uint32_t type, const void *data, uint32_t length)
{
	const struct neuron_dump_word *w = data;
	const struct neuron_dump_queue *q = data;
	const struct neuron_dump_core *c = data;
	const struct neuron_dump_process *p = data;
	const struct neuron_dump_nq *n = data;
	const void *end = (const uint8_t *)data + length;

	for (; type == NEURON_DUMP_WORDS && (const void *)w < end; w++)
		printf("word %#llx %#x\n", (unsigned long long)w->address, w->value);
	for (; type == NEURON_DUMP_QUEUES && (const void *)q < end; q++) {
		printf("queue engine=%u queue=%u pid=%u", q->engine, q->queue, q->pid);
		print_regs("tx", q->tx);
		print_regs("rx", q->rx);
		printf("\n");
	}
	for (; type == NEURON_DUMP_CORES && (const void *)c < end; c++)
		printf("core core=%u pid=%u init=%u semaphores=%u semaphore3=%u\n", c->core, c->pid,
		       c->init_state, c->semaphores, c->semaphore[3]);
	for (; type == NEURON_DUMP_PROCESSES && (const void *)p < end; p++)
		printf("process pid=%u flags=%u files=%u\n", p->pid, p->flags, p->files);
	if (type == NEURON_DUMP_NOTIFICATIONS)
		printf("notifications core=%u pid=%u size=%u here=%zu\n", n->core, n->pid, n->size,
		       length - sizeof(*n));
}

static int dump(const char *path)
{
	static uint64_t data[DUMP_MAX / 8];
	const struct neuron_dump_header *h = (void *)data;
	uint32_t size = 0, at;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	while ((n = read(fd, (char *)data + size, sizeof(data) - size)) > 0)
		size += (uint32_t)n;
	if (n < 0 || !size) {
		printf("no dump\n");
		return 1;
	}
	if (size < sizeof(*h) || h->magic != NEURON_DUMP_MAGIC || h->size != size ||
	    h->version != NEURON_DUMP_VERSION || memcmp(data, "NEURDUMP", 8)) {
		printf("malformed header\n");
		return 1;
	}
	printf("header id=%u index=%u bdf=%s state=%u reason=%u cores=%#x "
	       "engine=%u queue=%u pid=%u error=%u flags=%u driver=%s\n",
	       h->id, h->index, h->bdf, h->state, h->reason, h->cores, h->engine, h->queue, h->pid,
	       h->error, h->flags, h->driver);
	for (at = sizeof(*h); at < size;) {
		const struct neuron_dump_section *s = (void *)((char *)data + at);

		if (size - at < sizeof(*s) || s->length % 8 || s->length > size - at - sizeof(*s)) {
			printf("malformed section at %u\n", at);
			return 1;
		}
		print_section(s->type, s + 1, s->length);
		at += (uint32_t)sizeof(*s) + s->length;
	}
	return 0;
}

static int say(uid_t uid, char **texts)
{
	struct neuron_ioctl_printk p = { 0 };
	int fd = node(0, O_WRONLY), ret = fd;

	if (uid && setuid(uid))
		return 1;
	for (; *texts && ret >= 0; texts++) {
		p.buffer = *texts;
		p.size = (uint32_t)strlen(*texts) + 1;
		ret = call(fd, NEURON_IOCTL_PRINTK, &p);
	}
	return ret < 0;
}

static int boast(uid_t uid, char **texts)
{
	struct neuron_ioctl_semaphore sem = { .semaphore_index = 3 };
	int fd = node(0, O_RDWR), ret = fd;

	for (; sem.nc_id < 2 && ret >= 0; sem.nc_id++)
		ret = call(fd, NEURON_IOCTL_SEMAPHORE_WRITE, &sem);
	return ret < 0 || say(uid, texts);
}

static int as(uid_t uid, char **command)
{
	if (setgid(uid) || setuid(uid))
		return 126;
	execvp(command[0], command);
	return 127;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 3 && !strcmp(argv[1], "copy"))
		return copy(atoi(argv[2]));
	if (argc == 3 && !strcmp(argv[1], "refused"))
		return refused(atoi(argv[2]));
	if (argc == 3 && !strcmp(argv[1], "use"))
		return use(atoi(argv[2]));
	if (argc == 4 && !strcmp(argv[1], "poll"))
		return wait_change(argv[2], argv[3]);
	if (argc == 3 && !strcmp(argv[1], "chunk"))
		return chunk_takes(strtoull(argv[2], NULL, 0));
	if (argc > 3 && !strcmp(argv[1], "say"))
		return say((uid_t)atoi(argv[2]), argv + 3);
	if (argc > 3 && !strcmp(argv[1], "boast"))
		return boast((uid_t)atoi(argv[2]), argv + 3);
	if (argc > 3 && !strcmp(argv[1], "as"))
		return as((uid_t)atoi(argv[2]), argv + 3);
	if (argc == 3 && !strcmp(argv[1], "own"))
		return own((uint32_t)atoi(argv[2]));
	if (argc == 3 && !strcmp(argv[1], "semaphore"))
		return semaphore((uint32_t)atoi(argv[2]));
	if (argc == 3 && !strcmp(argv[1], "dump"))
		return dump(argv[2]);
	return 2;
}
