// SPDX-License-Identifier: MIT
/* Answers about cores: semaphores, events, locks, marks, initialisation, datastores, resets. */
#include "answers.h"

#include <sys/mman.h>

static void semaphores(int fd)
{
	struct neuron_ioctl_semaphore s = { 1, chip->target->semaphores - 1u, 10 };
	struct neuron_ioctl_event e = { 1, 255, 1 };

	SAY(fd, SEMAPHORE_WRITE, "10", &s);
	s.value = 5;
	SAY(fd, SEMAPHORE_INCREMENT, "by 5", &s);
	s.value = 3;
	SAY(fd, SEMAPHORE_DECREMENT, "by 3", &s);
	ASK(fd, SEMAPHORE_READ, "", &s);
	field("value", s.value), end();
	SAY(fd, EVENT_SET, "", &e);
	e.value = 99;
	ASK(fd, EVENT_GET, "", &e);
	field("value", e.value), end();
	e.value = 0;
	SAY(fd, EVENT_SET, "clear", &e);
	ASK(fd, EVENT_GET, "cleared", &e);
	field("value", e.value), end();
}

static void locks(int fd)
{
	struct neuron_ioctl_crwl l = { 2, { { 7 } } };

	SAY(fd, CRWL_WRITER_ENTER, "", &l);
	SAY(fd, CRWL_WRITER_DOWNGRADE, "", &l);
	SAY(fd, CRWL_READER_ENTER, "", &l);
	SAY(fd, CRWL_READER_EXIT, "", &l);
	SAY(fd, CRWL_READER_EXIT, "the last", &l);
	SAY(fd, CRWL_WRITER_ENTER, "the same uuid again", &l);
	SAY(fd, CRWL_WRITER_DOWNGRADE, "the lock was taken", &l);
	SAY(fd, CRWL_READER_EXIT, "and given back", &l);
}

static void mark(int fd, const char *what, uint32_t count, uint32_t start, uint32_t end_index)
{
	struct neuron_ioctl_crwl_nc_map m = { count, start, end_index, 77, 0 };

	ASK(fd, CRWL_NC_RANGE_MARK, what, &m);
	field("bitmap", (long long)m.bitmap), field("available", m.max_nc_available), end();
}

static void marks(void)
{
	int fd = node(0, O_WRONLY);
	struct neuron_ioctl_crwl_nc_map_ext ext = { 2, 0, 15, 77, { 0 } };
	struct neuron_ioctl_crwl_nc_map un = { 2, 0, 1, 0, 3 };

	mark(fd, "two of four", 2, 0, 3);
	mark(fd, "the next two", 2, 0, 3);
	SAY(fd, CRWL_NC_RANGE_UNMARK, "two", &un);
	mark(fd, "one again", 1, 0, 3);
	ASK(fd, CRWL_NC_RANGE_MARK_EXT0, "two", &ext);
	field("bitmap", (long long)ext.bitmap[0]), field("available", ext.max_nc_available), end();
	SAY(fd, CRWL_NC_RANGE_UNMARK_EXT0, "them", &ext);
	close(fd);
	fd = node(0, O_WRONLY);
	mark(fd, "all after a close", 4, 0, 3);
	close(fd);
}

static void initialisation(int fd)
{
	struct neuron_ioctl_cinit_set c = { chip->cores - 1u, NEURON_CINIT_STATE_STARTED, 0 };
	struct neuron_ioctl_nc_model_started_count n = { chip->cores - 1u, 99 };

	ASK(fd, CINIT_SET_STATE, "started", &c);
	field("state", c.new_state), end();
	c.state = NEURON_CINIT_STATE_COMPLETED;
	ASK(fd, CINIT_SET_STATE, "completed", &c);
	field("state", c.new_state), end();
	c.state = NEURON_CINIT_STATE_STARTED;
	ASK(fd, CINIT_SET_STATE, "started when completed", &c);
	field("state", c.new_state), end();
	ASK(fd, NC_MODEL_STARTED_COUNT, "", &n);
	field("count", (long long)n.started_count), end();
}

static void datastore(int fd)
{
	struct neuron_ioctl_neuron_ds_info own = { 0, 0, 0 };
	void *p;

	ASK(fd, ACQUIRE_NEURON_DS, "own", &own);
	field("size", own.size), end();
	p = mmap(NULL, own.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)own.mmap_offset);
	printf("mmap datastore = %d", p == MAP_FAILED ? -errno : 0);
	if (p != MAP_FAILED) {
		field("zero", all_bytes(p, own.size, 0));
		munmap(p, own.size);
	}
	end();
	own.pid = 0;
	SAY(fd, RELEASE_NEURON_DS, "own", &own);
}

static void resets(int fd)
{
	struct neuron_ioctl_device_reset r = { NEURON_NC_MAP_DEVICE, 0 };
	struct neuron_ioctl_device_ready ready = { 0, 99 };
	uint8_t byte = 99;

	ASK(fd, NC_RESET, "all cores", &r);
	field("own", r.request_id == (uint32_t)getpid()), end();
	ready.request_id = r.request_id;
	ASK(fd, NC_RESET_READY, "", &ready);
	field("result", ready.result), end();
	SAY(fd, DEVICE_RESET, "", NULL);
	ASK(fd, DEVICE_READY, "after a reset", &byte);
	field("ready", byte), end();
}

void answers_cores(int fd)
{
	semaphores(fd);
	locks(fd);
	marks();
	initialisation(fd);
	datastore(fd);
	resets(fd);
}
