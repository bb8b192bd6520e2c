// SPDX-License-Identifier: MIT
/* A model's obstacles: noted one by one, equal ones counted, reported together (obstacles.h) */
#include "obstacles.h"

#include <errno.h>
#include <string.h>

/* The place of the reason in build_fail's and ncc_fail_op's text: behind the name, and the place */
static size_t reason_of(const struct ncc_build *b, const char *text)
{
	char name[100], where[100];
	const char *at;

	snprintf(name, sizeof(name), " '%.80s'", b->name ? b->name : "");
	snprintf(where, sizeof(where), " (%.90s)", b->where ? b->where : "");
	at = strstr(text, name);
	if (!at)
		return 0;
	at += strlen(name);
	if (!strncmp(at, where, strlen(where)))
		at += strlen(where);
	return strncmp(at, ": ", 2) ? 0 : (size_t)(at - text) + 2;
}

static bool same(const struct ncc_obstacle *a, const struct ncc_obstacle *b)
{
	bool kinds = !a->kind || !b->kind ? a->kind == b->kind : !strcmp(a->kind, b->kind);

	return kinds && !strcmp(a->text + a->reason, b->text + b->reason);
}

static void list(struct ncc_obstacles *o, const struct ncc_obstacle *x)
{
	for (unsigned int i = 0; i < o->n; i++) {
		if (!same(&o->list[i], x))
			continue;
		o->list[i].count++;
		return;
	}
	if (o->n == NCC_OBSTACLES)
		o->others++;
	else
		o->list[o->n++] = *x;
}

bool ncc_obstacle_follows(const struct ncc_obstacles *o, const struct ncc_build *b, int rc)
{
	return o->noted == NCC_OBSTACLES_MOST ||
	       (o->noted && (rc == -ENOMEM || b->m->made >= NCC_MAX_MADE));
}

int ncc_obstacle(struct ncc_obstacles *o, const struct ncc_build *b, const void *of,
		 const char *kind, int rc)
{
	struct ncc_obstacle x = { .kind = kind };

	o->seen++;
	for (unsigned int i = 0; i < o->noted; i++) {
		if (o->of[i] != of)
			continue;
		b->err->text[0] = 0;
		return 0;
	}
	x.reason = reason_of(b, b->err->text);
	memcpy(x.text, b->err->text, sizeof(x.text));
	o->rc = o->rc ? o->rc : rc;
	list(o, &x);
	b->err->text[0] = 0;
	o->of[o->noted++] = of;
	return o->noted < NCC_OBSTACLES_MOST ? 0 : rc;
}

static void report(const struct ncc_obstacles *o, const struct ncc_options *opt)
{
	char line[sizeof(o->list[0].text) + 40];

	for (unsigned int i = 0; i < o->n; i++) {
		const struct ncc_obstacle *x = &o->list[i];
		int n = snprintf(line, sizeof(line), "%s", x->text);

		if (x->count)
			snprintf(line + n, sizeof(line) - (size_t)n, " (and %u more like it)",
				 x->count);
		opt->obstacle(opt->opaque, line);
	}
	if (o->others) {
		snprintf(line, sizeof(line), "%u more%s", o->others,
			 o->noted < NCC_OBSTACLES_MOST ? "" : ", and what comes after them");
		opt->obstacle(opt->opaque, line);
	}
}

int ncc_obstacles_report(const struct ncc_obstacles *o, const struct ncc_options *opt,
			 struct ncc_error *err)
{
	if (!o->n)
		return 0;
	memcpy(err->text, o->list[0].text, sizeof(err->text));
	if (opt->obstacle)
		report(o, opt);
	return o->rc;
}
