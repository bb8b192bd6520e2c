/* SPDX-License-Identifier: MIT */
/* See cc.h. What a board is in memory, and who of those who share it is alive. */
#include "cc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAGIC 0x6f626363u /* "ccbo" */
#define WORDS (64u << 10) /* what members gather at once */
#define AREA (16u << 20)
#define LOOK_US 20000 /* between two looks at who is alive */

struct slot {
	bool used;
	alignas(64) uint8_t bytes[];
};

struct shared {
	uint32_t magic;
	struct cc_form form;
	pthread_mutex_t lock;
	bool spoiled; /* a process died with the lock */
	uint32_t words[CC_WORDS];
	uint32_t top; /* slots that were ever used */

	uint32_t members; /* 0: of one process alone */
	uint32_t come; /* that have come; a word to sleep on */
	struct {
		bool come;
		uint32_t process; /* the member of the same one that came first */
	} member[CC_MEMBERS];

	/* the members' barrier: those who are there, how often it has opened, whether it works */
	uint32_t here, generation;
	bool broken;
	alignas(64) uint8_t gathered[WORDS];
	alignas(4096) uint8_t area[AREA];
	alignas(64) uint8_t slots[];
};

struct cc_board {
	struct shared *shared;
	size_t size, stride;
	int fd; /* -1: it is the process's own */
	uint32_t self;
	pid_t owner; /* who mapped it: a child of that one has neither part nor lock */
};

/* ---- memory ---- */

static size_t stride_of(const struct cc_form *form)
{
	return (sizeof(struct slot) + form->slot + 63) & ~(size_t)63;
}

static size_t size_of(const struct cc_form *form)
{
	return sizeof(struct shared) + form->slots * stride_of(form);
}

static int begin(struct shared *s, const struct cc_form *form, uint32_t members)
{
	pthread_mutexattr_t attr;
	int err = pthread_mutexattr_init(&attr);

	if (err)
		return -err;
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	err = pthread_mutex_init(&s->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	s->form = *form;
	s->members = members;
	s->magic = MAGIC;
	return -err;
}

/* Maps the file, or without one memory of the process's own. */
static int map(int fd, const struct cc_form *form, struct cc_board **board)
{
	const int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	struct cc_board *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->size = size_of(form);
	b->stride = stride_of(form);
	b->fd = fd;
	b->owner = getpid();
	b->shared = mmap(NULL, b->size, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, fd, 0);
	if (b->shared == MAP_FAILED) {
		int err = -errno;

		free(b);
		return err;
	}
	*board = b;
	return 0;
}

int cc_board_new(const struct cc_form *form, struct cc_board **board)
{
	int err = map(-1, form, board);

	if (err)
		return err;
	err = begin((*board)->shared, form, 0);
	if (err)
		cc_board_free(*board);
	return err;
}

void cc_board_free(struct cc_board *b)
{
	if (!b)
		return;
	munmap(b->shared, b->size);
	if (b->fd >= 0)
		close(b->fd); /* and with it the locks: the process's members are gone */
	free(b);
}

int cc_file_new(const struct cc_form *form, uint32_t members, int *fd)
{
	struct shared *s = NULL;
	int err = 0;

	*fd = memfd_create("neuron-board", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*fd < 0)
		return -errno;
	if (ftruncate(*fd, (off_t)size_of(form)) ||
	    fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		err = -errno;
	if (!err) {
		s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
		err = s == MAP_FAILED ? -errno : begin(s, form, members);
	}
	if (s && s != MAP_FAILED)
		munmap(s, sizeof(*s));
	if (err)
		close(*fd);
	return err;
}

int cc_file_join(int fd, const struct cc_form *form, uint32_t member, struct cc_board **board)
{
	struct stat st;
	int err = 0;

	if (fstat(fd, &st) || (uint64_t)st.st_size != size_of(form))
		err = -EPROTO;
	if (!err)
		err = map(fd, form, board);
	if (err) {
		close(fd);
		return err;
	}
	if ((*board)->shared->magic != MAGIC ||
	    memcmp(&(*board)->shared->form, form, sizeof(*form)) != 0) {
		cc_board_free(*board);
		return -EPROTO;
	}
	(*board)->self = member;
	return 0;
}

bool cc_spoiled(const struct cc_board *b)
{
	return b->shared->spoiled;
}

bool cc_inherited(const struct cc_board *b)
{
	return b->owner != getpid();
}

bool cc_board_is_shared(const struct cc_board *b)
{
	return b->fd >= 0;
}

/* ---- the lock, and words to sleep on ---- */

bool cc_lock(struct cc_board *b)
{
	if (pthread_mutex_lock(&b->shared->lock) == EOWNERDEAD) {
		b->shared->spoiled = true;
		pthread_mutex_consistent(&b->shared->lock);
	}
	return !b->shared->spoiled;
}

void cc_unlock(struct cc_board *b)
{
	pthread_mutex_unlock(&b->shared->lock);
}

bool cc_wait(struct cc_board *b, uint32_t *word, uint64_t us)
{
	const struct timespec t = { (time_t)(us / 1000000), (long)(us % 1000000) * 1000 };
	const uint32_t seen = __atomic_load_n(word, __ATOMIC_RELAXED);
	bool over;

	cc_unlock(b);
	over = syscall(SYS_futex, word, b->fd < 0 ? FUTEX_WAIT_PRIVATE : FUTEX_WAIT, seen, &t, NULL,
		       0) &&
	       errno == ETIMEDOUT;
	cc_lock(b);
	return !over;
}

void cc_wake(struct cc_board *b, uint32_t *word)
{
	__atomic_add_fetch(word, 1, __ATOMIC_RELAXED);
	syscall(SYS_futex, word, b->fd < 0 ? FUTEX_WAKE_PRIVATE : FUTEX_WAKE, INT_MAX, NULL, NULL,
		0);
}

uint32_t *cc_words(struct cc_board *b)
{
	return b->shared->words;
}

uint8_t *cc_area(struct cc_board *b, size_t *size)
{
	*size = AREA;
	return b->shared->area;
}

/* ---- slots ---- */

static struct slot *slot_at(struct cc_board *b, uint32_t i)
{
	return (struct slot *)(b->shared->slots + i * b->stride);
}

void *cc_slot_new(struct cc_board *b, size_t size)
{
	struct shared *s = b->shared;
	uint32_t i = 0;

	while (i < s->top && slot_at(b, i)->used)
		i++;
	if (i == s->form.slots || size > s->form.slot)
		return NULL;
	s->top += i == s->top;
	slot_at(b, i)->used = true;
	return memset(slot_at(b, i)->bytes, 0, size);
}

void cc_slot_free(void *slot)
{
	((struct slot *)((uint8_t *)slot - offsetof(struct slot, bytes)))->used = false;
}

void *cc_slot_next(struct cc_board *b, const void *slot)
{
	uint32_t i = 0;

	if (slot)
		i = (uint32_t)(((const uint8_t *)slot - b->shared->slots) / b->stride) + 1;
	while (i < b->shared->top && !slot_at(b, i)->used)
		i++;
	return i < b->shared->top ? slot_at(b, i)->bytes : NULL;
}

/* ---- who is there ---- */

uint32_t cc_self(const struct cc_board *b)
{
	return b->self;
}

uint32_t cc_members(const struct cc_board *b)
{
	return b->shared->members;
}

/* A process has a record lock on the byte of its number, which the kernel lets go when it ends. */
static struct flock byte_of(uint32_t process)
{
	return (struct flock){
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = process, .l_len = 1
	};
}

bool cc_alive(const struct cc_board *b, uint32_t process)
{
	struct flock f = byte_of(process);

	return process == b->self || b->fd < 0 || fcntl(b->fd, F_GETLK, &f) || f.l_type != F_UNLCK;
}

int cc_come(struct cc_board *b, uint32_t member)
{
	struct flock f = byte_of(b->self);
	struct shared *s = b->shared;
	int err = 0;

	if (member == b->self && fcntl(b->fd, F_SETLK, &f))
		return errno == EAGAIN || errno == EACCES ? -EEXIST : -errno;
	if (!cc_lock(b))
		err = -EOWNERDEAD;
	else if (member >= s->members || s->member[member].come)
		err = -EEXIST;
	if (!err) {
		s->member[member].come = true;
		s->member[member].process = b->self;
		cc_wake(b, &s->come);
	}
	cc_unlock(b);
	return err;
}

bool cc_one_has_gone(const struct cc_board *b)
{
	const struct shared *s = b->shared;

	for (uint32_t i = 0; i < s->members; i++)
		if (s->member[i].come && s->member[i].process == i && !cc_alive(b, i))
			return true;
	return false;
}

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

int cc_wait_come(struct cc_board *b, uint64_t us)
{
	const uint64_t until = now_us() + us;
	struct shared *s = b->shared;
	bool good = cc_lock(b);
	int err = 0;

	while (good && s->come < s->members && !err) {
		if (cc_one_has_gone(b))
			err = -EOWNERDEAD;
		else if (now_us() >= until)
			err = -ETIMEDOUT;
		else
			cc_wait(b, &s->come, LOOK_US);
		good = !s->spoiled;
	}
	cc_unlock(b);
	return good ? err : -EOWNERDEAD;
}

/* ---- what members do together ---- */

int cc_barrier(struct cc_board *b, uint64_t timeout_ms)
{
	const uint64_t until = now_us() + timeout_ms * 1000;
	struct shared *s = b->shared;
	bool good = cc_lock(b);
	const uint32_t generation = s->generation;
	int err = 0;

	if (good && !s->broken && ++s->here == s->members) {
		s->here = 0;
		cc_wake(b, &s->generation);
	}
	while (good && s->generation == generation && !s->broken && !err) {
		cc_wait(b, &s->generation, LOOK_US);
		if (s->generation != generation)
			break;
		if (cc_one_has_gone(b))
			err = -EOWNERDEAD;
		else if (now_us() >= until)
			err = -ETIMEDOUT;
		s->broken |= err != 0;
		good = !s->spoiled;
	}
	if (good && !err && s->generation == generation)
		err = -EOWNERDEAD; /* as another one has found */
	cc_unlock(b);
	return good ? err : -EOWNERDEAD;
}

int cc_gather(struct cc_board *b, uint32_t member, const void *bytes, size_t size, void *all,
	      uint64_t timeout_ms)
{
	struct shared *s = b->shared;
	const size_t piece = WORDS / s->members;
	int err = 0;

	for (size_t at = 0; at < size && !err; at += piece) {
		const size_t n = size - at < piece ? size - at : piece;

		memcpy(s->gathered + member * piece, (const uint8_t *)bytes + at, n);
		err = cc_barrier(b, timeout_ms);
		for (uint32_t i = 0; i < s->members && !err; i++)
			memcpy((uint8_t *)all + i * size + at, s->gathered + i * piece, n);
		/* nobody writes the next piece before all have read this one */
		if (!err)
			err = cc_barrier(b, timeout_ms);
	}
	return err;
}
