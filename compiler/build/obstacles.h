/* SPDX-License-Identifier: MIT */
/*
 * The reasons for which a front end cannot import a model: it notes each, goes on with stand-ins,
 * and at the end reports them all. Called by the importers of hlo/ and onnx/.
 */
#ifndef NCC_OBSTACLES_H
#define NCC_OBSTACLES_H

#include "build.h"

#define NCC_OBSTACLES 20 /* different ones that are reported */
#define NCC_OBSTACLES_MOST 1000 /* noted before an importer gives up */

struct ncc_obstacle {
	const char *kind; /* the operation's; NULL: the reason is the same for any */
	size_t reason; /* where in text it begins, behind kind, name and place */
	unsigned int count; /* of equal ones, of other operations */
	char text[sizeof(((struct ncc_error *)0)->text)];
};

struct ncc_obstacles {
	int rc; /* of the first */
	unsigned int n, noted, others; /* others: different ones that the list has no room for */
	unsigned int seen; /* how often ncc_obstacle() was called */
	const void *of[NCC_OBSTACLES_MOST]; /* what was refused, each once */
	struct ncc_obstacle list[NCC_OBSTACLES];
};

/*
 * Notes what err says of an operation, `of` which is told of once however often it is imported.
 * kind is as in struct ncc_obstacle. err becomes empty. 0, or rc if there are too many to go on:
 * then it is not called again
 */
int ncc_obstacle(struct ncc_obstacles *o, const struct ncc_build *b, const void *of,
		 const char *kind, int rc);
/*
 * Is there no place for more, or is it a want of room behind an obstacle, whose stand-ins may have
 * taken it? Then the import ends, and what was noted before is all that is told.
 */
bool ncc_obstacle_follows(const struct ncc_obstacles *o, const struct ncc_build *b, int rc);
/* Reports all: err gets the first, opt->obstacle a line for each. The first's code; 0: none */
int ncc_obstacles_report(const struct ncc_obstacles *o, const struct ncc_options *opt,
			 struct ncc_error *err);

#endif
