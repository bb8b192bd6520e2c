// SPDX-License-Identifier: MIT
/*
 * The reader of StableHLO's text: a file as people have it becomes what mlir.h says. It is not
 * trusted: what is made is bounded by the bytes that say it, how deep things are by MLIR_MAX_DEPTH,
 * names are found by a hash. Text is pretty, each operation in a form of its own, or generic; both
 * may be in one file. Called as mlir_read_bytecode is.
 */
#include "text.h"

#include <errno.h>
#include <string.h>

#define MOST_BYTES (2000ll << 20)

/* The first words of a file of MLIR; a name's end follows */
static bool begins(const struct token t)
{
	static const char *const words[] = { "module", "builtin.module", "func.func" };

	if (t.kind == TOKEN_HASH || t.kind == TOKEN_TYPE)
		return true;
	if (token_is(t, "\"builtin.module\"") || token_is(t, "\"func.func\""))
		return true;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (token_is(t, words[i]))
			return true;
	return false;
}

static struct text text_of(const void *buf, size_t size, struct mlir *m, struct ncc_error *err)
{
	return (struct text){ .r = { .m = m, .err = err, .base = buf, .size = size },
			      .form_of = text_form_of,
			      .base = buf,
			      .at = buf,
			      .end = (const char *)buf + size };
}

/* The tensor IR, a format of this compiler, begins with: module "name" */
bool mlir_is_text(const void *buf, size_t size)
{
	struct ncc_error ignored;
	struct text x = text_of(buf, size, NULL, &ignored);

	text_next(&x);
	if (text_bad(&x) || !begins(x.t))
		return false;
	return x.t.kind != TOKEN_WORD || text_peek(&x).kind != TOKEN_STRING;
}

/* A type of an alias is one without others in it, so that what has many of them is as long as that */
static const struct mlir_type *alias_type(struct text *x)
{
	const char *at = x->t.p;
	const struct mlir_type *t = text_type(x);

	if (t && (t->kind == MLIR_TUPLE || t->kind == MLIR_FUNCTION))
		text_fail_at(x, at, -ENOTSUP, "an alias of %s", t->name);
	return text_bad(x) ? NULL : t;
}

/* #name = ... or !name = ...: it may be used from here on, a location's everywhere */
static void take_alias(struct text *x)
{
	const struct token name = x->t;
	struct name *e;
	const void *what;

	if (names_find(&x->aliases, name.p, name.n, 0))
		text_fail_at(x, name.p, -EINVAL, "'%.*s' is defined twice",
			     (int)(name.n < 80 ? name.n : 80), name.p);
	text_next(x);
	text_expect(x, '=');
	if (text_is_word(x, "loc")) {
		text_location_alias(x, name);
		return;
	}
	x->in_alias = true;
	what = name.kind == TOKEN_TYPE ? (const void *)alias_type(x) : (const void *)text_attr(x);
	x->in_alias = false;
	e = what ? names_add(x, &x->aliases, name) : NULL;
	if (e)
		e->what = (void *)(uintptr_t)what;
}

static void take_top(struct text *x, struct list *ops)
{
	while (!text_bad(x) && x->t.kind != TOKEN_END) {
		if (x->t.kind == TOKEN_HASH || x->t.kind == TOKEN_TYPE)
			take_alias(x);
		else if (x->t.kind == TOKEN_RESOURCES)
			text_blobs(x);
		else
			text_op(x, ops);
	}
}

/* Functions that were made are behind the file's own. */
static bool add_made(struct text *x, struct mlir_op *module)
{
	struct mlir_block *b = &module->regions[0].blocks[0];
	struct mlir_op *all = reader_alloc(&x->r, b->nops + x->made.n + 1, sizeof(*all));

	if (!all)
		return false;
	if (b->nops)
		memcpy(all, b->ops, b->nops * sizeof(*all));
	if (x->made.n)
		memcpy(all + b->nops, x->made.p, x->made.n * sizeof(*all));
	b->ops = all;
	b->nops += x->made.n;
	return true;
}

/* A file of functions alone is the module that they are in. */
static struct mlir_op *module_of(struct text *x, const struct list *ops)
{
	struct mlir_op *m = ops->p;
	struct mlir_region *region;
	struct mlir_block *b;

	if (ops->n == 1 && !strcmp(m->name, "builtin.module"))
		return m;
	m = reader_alloc(&x->r, 1, sizeof(*m));
	region = reader_alloc(&x->r, 1, sizeof(*region));
	b = reader_alloc(&x->r, 1, sizeof(*b));
	if (!m || !region || !b)
		return NULL;
	b->nops = ops->n;
	b->ops = ops->p;
	*region = (struct mlir_region){ 1, b };
	m->name = m->spelled = "builtin.module";
	m->nregions = 1;
	m->regions = region;
	return m;
}

int mlir_read_text(const void *buf, size_t size, struct mlir *m, struct ncc_error *err)
{
	struct text x = text_of(buf, size, m, err);
	struct list ops = { 0 };
	struct mlir_op *module;

	*m = (struct mlir){ .size = size };
	if (size > MOST_BYTES)
		return ncc_fail(err, -EFBIG, "the file is larger than %lld bytes", MOST_BYTES);
	text_next(&x);
	take_top(&x, &ops);
	if (!text_bad(&x) && !ops.n)
		text_expected(&x, "a module");
	text_resolve_resources(&x);
	module = text_bad(&x) ? NULL : module_of(&x, &ops);
	if (!module)
		return x.r.rc;
	if (module->nregions != 1 || module->regions[0].nblocks != 1)
		return text_fail_at(&x, x.base, -EINVAL, "a module without anything in it");
	text_resolve_locations(&x, module);
	if (!add_made(&x, module))
		return x.r.rc;
	m->module = module;
	return x.r.rc;
}
