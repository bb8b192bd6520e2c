// SPDX-License-Identifier: MIT
/*
 * A program of the asynchronous API as its compiler saw it at LEVEL 2 or 3: with declarations of
 * its own, so that no header of ours chooses. It writes a word and reads it back, and what lies
 * around the words that the library writes must stay as it was: a caller of 3.0 has 4 bytes for a
 * status where 2.0 has a number of 8.
 */
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "nrt/nrt.h"

#if LEVEL == 2
NRT_STATUS nrta_tensor_write(nrt_tensor_t *, const void *, uint64_t, uint64_t, int, void *,
			     uint64_t *);
NRT_STATUS nrta_tensor_read(void *, nrt_tensor_t *, uint64_t, uint64_t, int, void *, uint64_t *);
NRT_STATUS nrta_error_tracker_create(uint32_t, void **);
void nrta_error_tracker_destroy(void *);
NRT_STATUS nrta_error_tracker_get_list(void *, const void **, size_t *);
NRT_STATUS nrta_get_completion_handle(uint64_t, int *);
#else
NRT_STATUS nrta_tensor_write(nrt_tensor_t *, const void *, uint64_t, uint64_t, int, int,
			     NRT_STATUS *, uint64_t *);
NRT_STATUS nrta_tensor_read(void *, nrt_tensor_t *, uint64_t, uint64_t, int, int, NRT_STATUS *,
			    uint64_t *);
NRT_STATUS nrta_event_register_seq_id_completion(uint64_t, int);
#endif
NRT_STATUS nrta_get_sequence(uint32_t, unsigned int, int, uint64_t *);

struct zone {
	uint32_t before, status, between[2];
	uint64_t seq, behind[2];
};

static bool around(const struct zone *z)
{
	return z->before == 0xa5a5a5a5 && z->between[0] == 0xa5a5a5a5 &&
	       z->between[1] == 0xa5a5a5a5 && z->behind[0] == 0xa5a5a5a5a5a5a5a5 &&
	       z->behind[1] == 0xa5a5a5a5a5a5a5a5;
}

static int refused(const char *what)
{
	fprintf(stderr, "%s\n", what);
	return 1;
}

/* Waits until the descriptor tells of the request. */
static bool told(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	bool is = poll(&p, 1, 30000) == 1;

	close(fd);
	return is;
}

int main(void)
{
	uint32_t there = 0x600df00d, back = 0;
	struct zone w, r;
	nrt_tensor_t *t;
	uint64_t last;
	int fd;

	memset(&w, 0xa5, sizeof(w));
	memset(&r, 0xa5, sizeof(r));
	if (nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "") ||
	    nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 1, 64, "t", &t))
		return refused("no tensor");
#if LEVEL == 2
	void *tracker;
	const void *list;
	size_t n = 7;

	if (nrta_error_tracker_create(1, &tracker) ||
	    nrta_tensor_write(t, &there, 8, 4, 0, tracker, &w.seq) ||
	    nrta_get_completion_handle(w.seq, &fd) || !told(fd) ||
	    nrta_tensor_read(&back, t, 8, 4, 0, tracker, &r.seq) ||
	    nrta_get_completion_handle(r.seq, &fd) || !told(fd) ||
	    nrta_error_tracker_get_list(tracker, &list, &n) || n)
		return refused("a call failed");
	nrta_error_tracker_destroy(tracker);
	/* a unit of writes, 1, and one of reads, 0 */
	if (w.status != 0xa5a5a5a5 || r.status != 0xa5a5a5a5)
		return refused("a status was written");
	if (nrta_get_sequence(1, 1, 0, &last) || last != w.seq ||
	    nrta_get_sequence(1, 0, 0, &last) || last != r.seq)
		return refused("units are not those of 2.0");
#else
	fd = eventfd(0, 0);
	if (nrta_tensor_write(t, &there, 8, 4, 1, 0, (NRT_STATUS *)&w.status, &w.seq) ||
	    nrta_event_register_seq_id_completion(w.seq, fd) || !told(fd))
		return refused("the write failed");
	fd = eventfd(0, 0);
	if (nrta_tensor_read(&back, t, 8, 4, 1, 0, (NRT_STATUS *)&r.status, &r.seq) ||
	    nrta_event_register_seq_id_completion(r.seq, fd) || !told(fd))
		return refused("the read failed");
	if (w.status || r.status)
		return refused("a status is not success");
	if (r.seq != w.seq + 1 || nrta_get_sequence(1, 0, 0, &last) || last != r.seq)
		return refused("units are not those of 3.0");
#endif
	if (!around(&w) || !around(&r))
		return refused("written beside the places");
	if (back != there)
		return refused("another word came back");
	nrt_tensor_free(&t);
	nrt_close();
	printf("level %d\n", LEVEL);
	return 0;
}
