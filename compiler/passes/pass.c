// SPDX-License-Identifier: MIT
/* The order of the passes, and what they share. Called by ncc.c. */
#include "pass.h"

#include <errno.h>
#include <string.h>

#include "passes.h"

struct ncc_op *pass_new(struct ncc_pass *p, enum ncc_kind kind, const struct ncc_op *like,
			const struct ncc_shape *shape, struct ncc_op *a, struct ncc_op *b)
{
	struct ncc_op *op = ncc_op_new(p->m, kind, like->name, b ? 2 : 1);

	if (!op)
		return NULL;
	op->where = like->where;
	op->shape = *shape;
	op->in[0] = a;
	if (b)
		op->in[1] = b;
	return op;
}

struct ncc_build pass_build(struct ncc_pass *p, const struct ncc_op *op, int64_t *const_bytes)
{
	return (struct ncc_build){ .m = p->m,
				   .err = p->err,
				   .kind = ncc_kind_name(op->kind),
				   .name = op->name,
				   .where = op->where,
				   .const_bytes = const_bytes };
}

int pass_no_memory(struct ncc_pass *p)
{
	return ncc_fail(p->err, -ENOMEM, "out of memory");
}

int pass_expand(struct ncc_pass *p, bool (*is_one)(const struct ncc_op *op),
		struct ncc_op *(*expand)(struct ncc_build *bl, const struct ncc_op *op))
{
	int64_t const_bytes = 0;

	for (struct ncc_op *op = p->m->first; op; op = op->next) {
		struct ncc_build bl = pass_build(p, op, &const_bytes);

		if (!is_one(op))
			continue;
		p->err->text[0] = 0;
		op->replaced = expand(&bl, op);
		if (!op->replaced)
			return p->err->text[0] ? -EFBIG : pass_no_memory(p);
	}
	return 0;
}

static const struct {
	const char *name;
	int (*run)(struct ncc_pass *p);
} passes[] = {
	{ "simplify", pass_simplify },	 { "idioms", pass_idioms },
	{ "scale", pass_scale },	 { "windows", pass_windows },
	{ "depthwise", pass_depthwise }, { "patches", pass_patches },
	{ "integers", pass_integers },	 { "simplify", pass_simplify },
	{ "autocast", pass_autocast },	 { "simplify", pass_simplify },
	{ "contract", pass_contract },	 { "simplify", pass_simplify },
	{ "flatten", pass_flatten },	 { "simplify", pass_simplify },
	{ "layout", pass_layout },
};

const char *ncc_pass_name(unsigned int i)
{
	return i < sizeof(passes) / sizeof(passes[0]) ? passes[i].name : NULL;
}

void ncc_dump_ir(const struct ncc_module *m, const struct ncc_options *opt, const char *pass)
{
	if (!opt->dump || !opt->dump_after ||
	    (strcmp(opt->dump_after, "all") && strcmp(opt->dump_after, pass)))
		return;
	fprintf(opt->dump, "// after %s\n", pass);
	ncc_print(m, opt->print_elements, opt->dump);
}

int ncc_run_passes(struct ncc_module *m, const struct ncc_options *opt, struct ncc_error *err)
{
	struct ncc_pass p = { m, opt, err };
	int rc = ncc_verify(m, err);

	if (!rc)
		ncc_dump_ir(m, opt, m->kept ? NCC_PASS_LOOPS : NCC_PASS_READ);
	for (size_t i = 0; !rc && i < sizeof(passes) / sizeof(passes[0]); i++) {
		char text[320];

		rc = passes[i].run(&p);
		if (rc)
			return rc;
		ncc_sweep(m);
		rc = ncc_verify(m, err);
		if (rc) {
			snprintf(text, sizeof(text), "%.300s", err->text);
			return ncc_fail(err, rc, "internal: after the pass '%s': %s",
					passes[i].name, text);
		}
		ncc_dump_ir(m, opt, passes[i].name);
	}
	return rc;
}
