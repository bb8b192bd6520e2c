/* SPDX-License-Identifier: MIT */
/* See tensors.h. */
#include "tensors.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "sizes.h"

static const struct rtd_client_method describe_method = {
	"/nrtx.nmgr_x/describe_model", &nrtx__describe_model_response__descriptor
};

/*
 * The daemon's description of a tensor, as .npy files have it. It is checked, because its values
 * may contradict each other.
 */
static bool model_shape(const Nrtx__TensorInfo *info, struct npy *npy)
{
	memset(npy, 0, sizeof(*npy));
	if (info->n_shape > NPY_MAX_DIMS || info->dtype > UINT8_MAX) {
		cli_fail(info->name, "a type or rank that .npy files do not carry");
		return false;
	}
	npy->dtype = info->dtype;
	npy->ndim = info->n_shape;
	for (unsigned int i = 0; i < npy->ndim; i++)
		npy->shape[i] = info->shape[i];
	npy->size = info->size;
	if (!rows_model_ok(npy)) {
		cli_fail(info->name, "a type or size that .npy files do not carry");
		return false;
	}
	return true;
}

static bool bind_rows(struct tensors *t, const char *name, const struct npy *model,
		      const struct npy *file)
{
	struct rows before = t->rows;

	if ((!before.split || file->shape[0]) && rows_join(&t->rows, model, file))
		return true;
	if (!file->shape[0] || !before.joined)
		cli_fail(name, "%llu rows in batches of %llu, expected one at least",
			 (unsigned long long)file->shape[0], (unsigned long long)model->shape[0]);
	else
		cli_fail(name, "%llu rows in batches of %llu, expected %llu in %llu",
			 (unsigned long long)file->shape[0], (unsigned long long)model->shape[0],
			 (unsigned long long)before.given, (unsigned long long)before.batch);
	return false;
}

/* Reads what is given for an input, in the model's type. */
static bool take_input(struct tensor *tensor, const struct cli_input *input, struct sized_input *in)
{
	const char *why = "";
	uint64_t bad;
	int err;

	in->name = tensor->info->name;
	in->source = tensor->info->source_name;
	in->npy = &tensor->file;
	if (!model_shape(tensor->info, &in->bound))
		return false;
	if (!input)
		return true;
	err = npy_read(input->file, &tensor->file, &why);
	if (err) {
		cli_fail(input->file, "%s", why);
		return false;
	}

	err = npy_narrow(&tensor->file, in->bound.dtype, &bad);
	if (err < 0) {
		cli_fail(input->file, "element %llu: %s does not hold this %s",
			 (unsigned long long)bad, npy_dtype_name(in->bound.dtype),
			 npy_dtype_name(tensor->file.dtype));
		return false;
	}
	if (err)
		fprintf(stderr, "neuron-cli: %s: narrowed to %s\n", input->file,
			npy_dtype_name(in->bound.dtype));
	return true;
}

static bool bind_input(struct cli *cli, struct tensors *t, const struct cli_input *input,
		       const struct sized_input *in)
{
	char have[160], want[160];

	if (!rows_match(&t->rows, &in->bound, in->npy)) {
		rows_dims_text(in->npy, 0, ", ", have, sizeof(have));
		rows_dims_text(&in->bound, in->sized, ", ", want, sizeof(want));
		cli_fail(input->file, "%s (%s), expected %s (%s)%s", npy_dtype_name(in->npy->dtype),
			 have, npy_dtype_name(in->bound.dtype), want,
			 cli->options->rows ? " with any number of rows" : "");
		return false;
	}
	return bind_rows(t, in->name, &in->bound, in->npy);
}

static bool bind_output(struct tensors *t, struct tensor *tensor)
{
	if (!model_shape(tensor->info, &tensor->file))
		return false;
	if (rows_extend(&t->rows, &tensor->file))
		return true;
	cli_fail(tensor->info->name, "the shape of this output does not follow the inputs' rows");
	return false;
}

static void refuse_name(const struct neff_called *names, unsigned int n, const char *given,
			int which, int rc)
{
	char all[512];

	if (rc == -ENOENT) {
		name_list(names, n, all, sizeof(all));
		cli_fail(given, "the model has no such input: it has %s", all);
	} else if (rc == -EEXIST) {
		cli_fail(names[which].name,
			 "this input of the model is given twice, the second time as '%s'", given);
	} else {
		cli_fail("infer", "%s", strerror(-rc));
	}
}

/* The file of each input, in the order of names */
static bool choose_files(const struct cli_options *o, const struct neff_called *names,
			 unsigned int n, const struct cli_input **taken)
{
	const char **given = calloc(o->ninputs + 1, sizeof(*given));
	int *which = calloc(o->ninputs + 1, sizeof(*which)), rc = given && which ? 0 : -ENOMEM;
	unsigned int bad = 0;

	for (unsigned int i = 0; !rc && i < o->ninputs; i++)
		given[i] = o->inputs[i].name;
	rc = rc ? rc : names_given(names, n, given, o->ninputs, which, &bad);
	for (unsigned int i = 0; !rc && i < o->ninputs; i++)
		taken[which[i]] = &o->inputs[i];
	if (rc)
		refuse_name(names, n, bad < o->ninputs ? o->inputs[bad].name : "infer",
			    rc == -EEXIST ? which[bad] : 0, rc);
	free(given);
	free(which);
	return !rc;
}

static bool all_given(const struct neff_called *names, const struct sized_input *in, unsigned int n)
{
	char all[512];

	for (unsigned int i = 0; i < n; i++) {
		if (in[i].npy->data)
			continue;
		name_list(&names[i], 1, all, sizeof(all));
		cli_fail(all, "this input of the model is not given (--input %s=FILE.npy)",
			 in[i].name);
		return false;
	}
	return true;
}

/* The requests' names of the inputs, or the outputs */
static bool call_tensors(struct tensors *t, bool output)
{
	struct neff_called *names = calloc(t->n + 1, sizeof(*names));
	const char **called = calloc(t->n + 1, sizeof(*called));
	unsigned int n = 0;
	bool ok = names && called;

	for (unsigned int i = 0; ok && i < t->n; i++)
		if (t->list[i].output == output)
			names[n++] = (struct neff_called){ t->list[i].info->name,
							   t->list[i].info->source_name };
	ok = ok && !neff_called_names(names, n, called);
	n = 0;
	for (unsigned int i = 0; ok && i < t->n; i++)
		if (t->list[i].output == output)
			t->list[i].called = called[n++];
	free(names);
	free(called);
	return ok || (cli_fail("infer", "out of memory"), false);
}

/* An answer has the model's own names, where there are some, if the request's inputs had. */
static void expect_names(struct tensors *t)
{
	bool own = false;

	for (unsigned int i = 0; i < t->n; i++)
		if (!t->list[i].output)
			own |= strcmp(t->list[i].called, t->list[i].info->name) != 0;
	for (unsigned int i = 0; i < t->n; i++) {
		const Nrtx__TensorInfo *info = t->list[i].info;

		t->list[i].answered = own && *info->source_name ? info->source_name : info->name;
	}
}

static bool bind_inputs(struct cli *cli, struct tensors *t)
{
	struct neff_called *names = calloc(t->n + 1, sizeof(*names));
	const struct cli_input **taken = calloc(t->n + 1, sizeof(struct cli_input *));
	struct sized_input *in = calloc(t->n + 1, sizeof(*in));
	unsigned int n = 0, next = 0;
	bool ok = names && taken && in;

	for (unsigned int i = 0; ok && i < t->n; i++)
		if (!t->list[i].output)
			names[n++] = (struct neff_called){ t->list[i].info->name,
							   t->list[i].info->source_name };
	ok = ok && choose_files(cli->options, names, n, taken);
	for (unsigned int i = 0; ok && i < t->n; i++) {
		if (t->list[i].output)
			continue;
		ok = take_input(&t->list[i], taken[next], &in[next]);
		next++;
	}
	if (ok && !t->rows.split && !sizes_pad("neuron-cli", in, n)) {
		cli_fail("infer", "out of memory");
		ok = false;
	}
	ok = ok && all_given(names, in, n);
	for (unsigned int i = 0; ok && i < n; i++)
		ok = bind_input(cli, t, taken[i], &in[i]);
	free(names);
	free(taken);
	free(in);
	return ok;
}

static Nrtx__DescribeModelResponse *describe(struct cli *cli, uint32_t model)
{
	Nrtx__DescribeModelRequest req = NRTX__DESCRIBE_MODEL_REQUEST__INIT;
	Nrtx__DescribeModelResponse *resp;

	req.id = model;
	resp = (void *)cli_call(cli, &describe_method, &req.base);
	if (!resp || !resp->status ||
	    cli_check("infer", resp->status->code, &resp->status->details))
		return resp;
	protobuf_c_message_free_unpacked(&resp->base, NULL);
	return NULL;
}

bool tensors_bind(struct cli *cli, uint32_t model, struct tensors *t)
{
	memset(t, 0, sizeof(*t));
	rows_init(&t->rows, cli->options->rows);
	t->model = describe(cli, model);
	if (!t->model)
		return false;

	t->n = t->model->n_tensor;
	t->list = calloc(t->n + 1, sizeof(*t->list));
	if (!t->list)
		return false;

	for (unsigned int i = 0; i < t->n; i++) {
		t->list[i].info = t->model->tensor[i];
		t->list[i].output = t->list[i].info->usage == NRTX__USAGE__USAGE_OUTPUT;
	}
	if (!call_tensors(t, false) || !call_tensors(t, true) || !bind_inputs(cli, t))
		return false;
	expect_names(t);
	for (unsigned int i = 0; i < t->n; i++)
		if (t->list[i].output && !bind_output(t, &t->list[i]))
			return false;
	return true;
}

void tensors_free(struct tensors *t)
{
	for (unsigned int i = 0; t->list && i < t->n; i++)
		npy_free(&t->list[i].file);
	free(t->list);
	if (t->model)
		protobuf_c_message_free_unpacked(&t->model->base, NULL);
}

uint64_t tensors_count(const struct tensors *t)
{
	return rows_count(&t->rows);
}

uint8_t *tensor_at(const struct tensor *tensor, uint64_t i, uint64_t *bytes)
{
	size_t offset;

	*bytes = rows_slice(&tensor->file, tensor->info->size, i, &offset);
	return (uint8_t *)tensor->file.data + offset;
}

static bool cut_outputs(const struct tensors *t)
{
	struct sized_output *out = calloc(t->n + 1, sizeof(*out));
	unsigned int n = 0;

	if (!out) {
		cli_fail("infer", "out of memory");
		return false;
	}
	for (unsigned int i = 0; i < t->n; i++)
		if (t->list[i].output)
			out[n++] = (struct sized_output){ t->list[i].info->name,
							  t->list[i].info->source_name,
							  &t->list[i].file };
	sizes_cut("neuron-cli", out, n);
	free(out);
	return true;
}

bool tensors_write(const struct tensors *t, const char *dir, bool whole)
{
	if (!whole && !cut_outputs(t))
		return false;
	for (unsigned int i = 0; i < t->n; i++) {
		char *path;
		int err;

		if (!t->list[i].output)
			continue;
		err = rows_write(dir, t->list[i].info->name, &t->list[i].file, &path);
		if (err)
			cli_fail(path ? path : dir, "%s", strerror(-err));
		free(path);
		if (err)
			return false;
	}
	return true;
}
