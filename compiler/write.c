/* SPDX-License-Identifier: MIT */
/* The end of a compilation: what was scheduled becomes a NEFF, which is proved and written. */
#include "write.h"

#include <errno.h>

#include "jobs.h"

/* A model that is checked and written at the same time: neither changes it */
struct emitted {
	const struct neff_model *model;
	const struct ncc_options *given;
	void **out;
	size_t *size;
};

static bool may_be_taken(const struct emitted *e)
{
	return e->given->emitted && neff_is_small(e->model);
}

static int fail(int rc, const struct neff_error *ne, struct ncc_error *err)
{
	return rc == -EINVAL
		       ? ncc_fail(err, -E2BIG, "too large: no loader would take the file: %.200s",
				  ne->text)
		       : ncc_fail(err, rc, "cannot write the NEFF: %.200s", ne->text);
}

/* Who takes a model without a file leaves it to us to check what a file would be refused for. */
static int check(const struct emitted *e, struct ncc_error *err)
{
	struct neff_error ne;
	int rc = ncc_check_model(e->model, err);

	if (rc || !may_be_taken(e))
		return rc;
	rc = neff_check(e->model, &ne);
	return rc ? fail(rc, &ne, err) : 0;
}

static int check_or_write(void *arg, unsigned int write, const struct ncc_options *opt,
			  struct ncc_error *err)
{
	const struct emitted *e = arg;
	struct neff_error ne;
	int rc;

	if (!write)
		return check(e, err);
	if (may_be_taken(e) && e->given->emitted(e->given->opaque, e->model))
		return 0;
	rc = neff_write(e->model, e->out, e->size, &ne);
	return rc ? fail(rc, &ne, err) : 0;
}

#define WORTH_BYTES 262144 /* of instructions: fewer are written before another thread is there */

static struct ncc_options write_options(const struct neff_model *model,
					const struct ncc_options *given)
{
	struct ncc_options opt = *given;
	size_t bytes = 0;

	for (unsigned int i = 0; i < model->nsubgraphs; i++)
		for (unsigned int e = 0; e < model->target->engines; e++)
			bytes += model->subgraphs[i].engine[e].instr_size;
	opt.progress = NULL; /* it is one step for who looks on */
	if (!opt.jobs && bytes < WORTH_BYTES)
		opt.jobs = 1;
	return opt;
}

int ncc_write_neff(struct ncc_output *o, const struct ncc_options *opt, struct ncc_error *err)
{
	struct emitted e = { .given = opt, .out = &o->file, .size = &o->size };
	struct ncc_options some;
	struct neff_model *model;
	int rc = ncc_out_model(o, &model, err);

	if (rc)
		return rc;
	e.model = model;
	some = write_options(model, opt);
	rc = ncc_name_inputs(model, err) ?: ncc_jobs_run(2, check_or_write, &e, &some, err);
	ncc_out_free(model);
	return rc;
}
