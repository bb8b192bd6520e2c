/* SPDX-License-Identifier: MIT */
/*
 * Private to groups (group.c) and chains (chain.c): element-wise operations of one
 * shape, or one of them alone, that are generated piece by piece.
 */
#ifndef NCC_GEN_GROUP_H
#define NCC_GEN_GROUP_H

#include "tile.h"

#define GROUP_MEMBERS PLAN_MAX_GROUP
#define GROUP_VIEWS (GROUP_MEMBERS * 4) /* three operands and a result each */

/* A value that comes from outside the group or goes there; all slots are cut into pieces alike. */
struct slot {
	struct ncc_op *op;
	uint8_t dtype; /* of a source: the type to fetch (0: its own) */
	bool result;
	unsigned int last; /* of a source: the last member that reads it */
	struct tile_store store; /* of a result */
};

#define NO_SLOT INT32_MAX
#define NO_MEMBER UINT32_MAX

struct group {
	unsigned int n;
	struct ncc_op *op[GROUP_MEMBERS];
	int in[GROUP_MEMBERS][TILE_OPERANDS]; /* slot, or -1 - member, or NO_SLOT: an immediate */
	int out[GROUP_MEMBERS]; /* slot, or NO_SLOT */
	unsigned int last[GROUP_MEMBERS]; /* the last member that reads this one */
	unsigned int into[GROUP_MEMBERS]; /* the member whose instruction does it too (chain.c) */
	unsigned int nslots;
	/* Most of it is not used, so nothing from here on is cleared in advance. */
	struct slot slot[GROUP_VIEWS];
	/* Of the current piece: */
	struct ncc_view tile[GROUP_MEMBERS], got[GROUP_VIEWS];
	struct ncc_view asked[GROUP_VIEWS]; /* what was fetched as got */
};

/* The views of all slots in one form */
struct form {
	struct ncc_view v[GROUP_VIEWS];
	unsigned int lead; /* a result: it has every element once */
};

/* The member that operand i of member m is; NO_MEMBER: it comes from outside */
static inline unsigned int group_operand(const struct group *x, unsigned int m, unsigned int i)
{
	return x->in[m][i] < 0 ? (unsigned int)(-1 - x->in[m][i]) : NO_MEMBER;
}

/*
 * chain.c. Finds members that the instruction of their only reader does too. Sources that such a
 * member reads are needed until then.
 */
void chain_find(struct group *x, const struct form *f, int pdim);
/* The member whose chain m is the end of; NO_MEMBER: none */
unsigned int chain_begin(const struct group *x, unsigned int m);
/* The member whose piece m's may take the place of, as far as is known before; or NO_MEMBER */
unsigned int chain_place(const struct group *x, unsigned int m);
/* The bytes of a partition that pieces of that size take which live at one time, at most */
int64_t chain_live_bytes(const struct group *x, const struct form *f, const int64_t *size,
			 int pdim);

#endif
