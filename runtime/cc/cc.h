/* SPDX-License-Identifier: MIT */
/*
 * The board: a memory by which those who do something together know of each other. A process has
 * one of its own; processes of one host that belong to one job share one, which each of them gets
 * where they meet (meet.c). It has a lock, words to sleep on, the job's members, and slots, which
 * are the user's: libnrt keeps a group of ranks in each.
 *
 * A member is what NEURON_RT_ROOT_COMM_ID's job has `count` of. A process may be several, and is
 * alive as long as it has the board: the kernel frees its record lock on the board's file when it
 * ends, however it does. Pointers in the board are of the process alone that wrote them. What lies
 * in it is trusted as far as the processes are, which all are the same user's.
 *
 * Functions return 0 or -errno. Called by runtime/nrt.
 */
#ifndef CC_H
#define CC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CC_MEMBERS 1024 /* of a job at most */

struct cc_board;

/* What a user needs of a board: the same in all processes of a job, or they do not meet */
struct cc_form {
	uint32_t version; /* the user's */
	uint32_t slots;
	uint32_t slot; /* bytes of one */
};

int cc_board_new(const struct cc_form *form, struct cc_board **board);
void cc_board_free(struct cc_board *board); /* NULL: nothing */

struct cc_meeting {
	const char *root; /* the job's name, as host:port */
	uint32_t member, count; /* member 0's process makes the board */
	uint64_t timeout_ms;
};
/*
 * Waits until all members of a job have come. board: NULL, or what another member of this process
 * was given, which it then is again. why: the text of an error. -EADDRINUSE: another job has the
 * name; -EPROTO: other members are of another version or count; -EEXIST: a member came twice;
 * -ETIMEDOUT; -EOWNERDEAD: a process ended meanwhile
 */
int cc_meet(const struct cc_meeting *m, const struct cc_form *form, struct cc_board **board,
	    char *why, size_t room);
bool cc_board_is_shared(const struct cc_board *board);

/* False: a process died with it, and what the lock protects is no more to be relied on (cc_spoiled)
 */
bool cc_lock(struct cc_board *board);
bool cc_spoiled(const struct cc_board *board);
void cc_unlock(struct cc_board *board);
/*
 * With the lock: sleeps until cc_wake() of the word, or for so long, without it. False: that long.
 * It may return true for no reason.
 */
bool cc_wait(struct cc_board *board, uint32_t *word, uint64_t us);
void cc_wake(struct cc_board *board, uint32_t *word); /* with the lock */

/* This process, as others tell it from theirs; it is alive while it has the board. */
uint32_t cc_self(const struct cc_board *board);
bool cc_alive(const struct cc_board *board, uint32_t process);
/* With the lock: has a process of the job gone that had come? */
bool cc_one_has_gone(const struct cc_board *board);
/* This process is a child of the one that has it, which is not to use it. */
bool cc_inherited(const struct cc_board *board);

#define CC_WORDS 4
/* Words for the user of the slots, which begin as 0 */
uint32_t *cc_words(struct cc_board *board);
/*
 * With the lock. A free slot, of zeros as far as size bytes; NULL: there is none, or none is as
 * large
 */
void *cc_slot_new(struct cc_board *board, size_t size);
void cc_slot_free(void *slot);
/* The slot in use that comes behind this one; of NULL: the first one. NULL: there is no other */
void *cc_slot_next(struct cc_board *board, const void *slot);

/* Memory for whoever may use it now, by the users' own rules */
uint8_t *cc_area(struct cc_board *board, size_t *size);

/*
 * What members do together, each called by all of them in the same order, without the lock.
 * -ETIMEDOUT, -EOWNERDEAD: a process has ended, and none of these works any more
 */
int cc_barrier(struct cc_board *board, uint64_t timeout_ms);
/* size bytes of each member, in the order of the members */
int cc_gather(struct cc_board *board, uint32_t member, const void *bytes, size_t size, void *all,
	      uint64_t timeout_ms);
uint32_t cc_members(const struct cc_board *board); /* 0: it is the process's own */

/* meet.c to board.c: a board's file, of which nobody has a part yet */
int cc_file_new(const struct cc_form *form, uint32_t members, int *fd);
int cc_file_join(int fd, const struct cc_form *form, uint32_t member, struct cc_board **board);
/* Says that a further member of this process is there */
int cc_come(struct cc_board *board, uint32_t member);
/* All have come (0), somebody who had has gone (-EOWNERDEAD), or the time is over (-ETIMEDOUT) */
int cc_wait_come(struct cc_board *board, uint64_t us);

#endif
