// SPDX-License-Identifier: MIT
/* The order of the passes, and the IR as it is after each. Called by ncc.c. */
#include "passes.h"

#include <string.h>

#include "pass.h"

static const struct {
	const char *name;
	int (*run)(struct ncc_pass *p);
} passes[] = {
	/* clang-format off */
	{ "simplify",  pass_simplify },
	{ "idioms",    pass_idioms },
	{ "scale",     pass_scale },
	{ "windows",   pass_windows },
	{ "depthwise", pass_depthwise },
	{ "batches",   pass_batches },
	{ "patches",   pass_patches },
	{ "gradients", pass_gradients },
	{ "integers",  pass_integers },
	{ "simplify",  pass_simplify },
	{ "common",    pass_common },
	{ "gathers",   pass_gathers },
	{ "autocast",  pass_autocast },
	{ "simplify",  pass_simplify },
	{ "contract",  pass_contract },
	{ "simplify",  pass_simplify },
	{ "sparse",    pass_sparse },
	{ "flatten",   pass_flatten },
	{ "simplify",  pass_simplify },
	{ "common",    pass_common },
	/* clang-format on */
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
		ncc_dump_ir(m, opt, m->piece ? NCC_PASS_LOOPS : NCC_PASS_READ);
	for (size_t i = 0; !rc && i < sizeof(passes) / sizeof(passes[0]); i++) {
		char text[320];

		if (opt->progress)
			opt->progress(opt->opaque, "passes", (unsigned int)i + 1,
				      sizeof(passes) / sizeof(passes[0]));
		rc = ncc_wanted(opt, err) ?: passes[i].run(&p);
		if (rc)
			return rc;
		ncc_sweep(m);
		if (!opt->verify_once || i + 1 == sizeof(passes) / sizeof(passes[0]))
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
