/* SPDX-License-Identifier: MIT */
/* See run.h: which file goes into which tensor, in rows of one execution's batch */
#include "run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "nrt/nrtx.h"
#include "sizes.h"

/* The model's shape as .npy files have it */
static bool model_shape(const nrt_tensor_info_t *info, struct npy *npy)
{
	if (info->ndim > NPY_MAX_DIMS)
		return false;
	npy->dtype = (uint8_t)info->dtype;
	npy->ndim = info->ndim;
	for (unsigned int i = 0; i < info->ndim; i++)
		npy->shape[i] = info->shape[i];
	npy->size = info->size;
	return rows_model_ok(npy);
}

/* Takes what is given for an input into `in`, in the model's type. */
static bool take_input(struct binding *item, struct input *given, struct sized_input *in, char *why,
		       size_t size)
{
	uint64_t bad;
	int narrowed;

	if (!model_shape(item->info, &in->bound)) {
		snprintf(why, size, "input '%s': a type or rank that .npy files do not carry",
			 in->name);
		return false;
	}
	item->owned = !given;
	in->npy = given ? &given->npy : &item->all;
	if (!given)
		return true;

	narrowed = npy_narrow(in->npy, in->bound.dtype, &bad);
	if (narrowed < 0) {
		snprintf(why, size, "input '%s': %s, element %llu: %s does not hold this %s",
			 in->name, given->file, (unsigned long long)bad,
			 npy_dtype_name(in->bound.dtype), npy_dtype_name(in->npy->dtype));
		return false;
	}
	if (narrowed)
		fprintf(stderr, "neuron-run: input '%s': %s is narrowed to %s\n", in->name,
			given->file, npy_dtype_name(in->bound.dtype));
	return true;
}

static bool bind_input(struct bindings *b, struct binding *item, const struct input *given,
		       const struct sized_input *in, char *why, size_t size)
{
	char want[160], got[160];

	if (!rows_match(&b->rows, &in->bound, in->npy)) {
		rows_dims_text(&in->bound, in->sized, ",", want, sizeof(want));
		rows_dims_text(in->npy, 0, ",", got, sizeof(got));
		snprintf(why, size, "input '%s': %s holds %s[%s], the model takes %s[%s]%s",
			 in->name, given ? given->file : "", npy_dtype_name(in->npy->dtype), got,
			 npy_dtype_name(in->bound.dtype), want,
			 b->rows.split ? " with any number of rows" : "");
		return false;
	}

	if (!rows_join(&b->rows, &in->bound, in->npy)) {
		snprintf(why, size, "input '%s': its rows differ from another input's", in->name);
		return false;
	}

	item->all = *in->npy;
	return true;
}

/* The file of each input; the inputs' items are marked in `taken`, in the order of names. */
static bool choose_files(const struct neff_called *names, unsigned int n, struct input *inputs,
			 unsigned int ninputs, struct input **taken, char *why, size_t size)
{
	const char **given = calloc(ninputs + 1, sizeof(*given));
	int *which = calloc(ninputs + 1, sizeof(*which)), rc = given && which ? 0 : -ENOMEM;
	unsigned int bad = 0;
	char all[512];

	for (unsigned int i = 0; !rc && i < ninputs; i++)
		given[i] = inputs[i].name;
	rc = rc ? rc : names_given(names, n, given, ninputs, which, &bad);
	for (unsigned int i = 0; !rc && i < ninputs; i++)
		taken[which[i]] = &inputs[i];
	if (rc == -ENOENT) {
		name_list(names, n, all, sizeof(all));
		snprintf(why, size, "the model has no input '%s': it has %s", inputs[bad].name,
			 all);
	} else if (rc == -EEXIST) {
		snprintf(why, size, "input '%s' is given twice, the second time as '%s'",
			 names[which[bad]].name, inputs[bad].name);
	} else if (rc) {
		snprintf(why, size, "%s", strerror(-rc));
	}
	free(given);
	free(which);
	return !rc;
}

static bool all_given(const struct neff_called *names, const struct sized_input *in, unsigned int n,
		      char *why, size_t size)
{
	char all[512];

	for (unsigned int i = 0; i < n; i++) {
		if (in[i].npy->data)
			continue;
		name_list(&names[i], 1, all, sizeof(all));
		snprintf(why, size, "input %s is missing (--input %s=FILE.npy)", all, in[i].name);
		return false;
	}
	return true;
}

static bool bind_inputs(struct bindings *b, struct input *inputs, unsigned int n, char *why,
			size_t size)
{
	struct neff_called *names = calloc(b->info->tensor_count + 1, sizeof(*names));
	struct input **taken = calloc(b->info->tensor_count + 1, sizeof(struct input *));
	struct sized_input *in = calloc(b->info->tensor_count + 1, sizeof(*in));
	struct binding **item = calloc(b->info->tensor_count + 1, sizeof(*item));
	unsigned int nnames = 0;
	bool ok = names && taken && in && item;

	for (uint64_t i = 0; ok && i < b->info->tensor_count; i++) {
		const nrt_tensor_info_t *info = &b->info->tensor_array[i];
		const char *source = nrtx_tensor_source(b->model, info->name);

		b->item[i].info = info;
		if (info->usage != NRT_TENSOR_USAGE_INPUT)
			continue;
		names[nnames] = (struct neff_called){ info->name, source };
		in[nnames] = (struct sized_input){ .name = info->name, .source = source };
		item[nnames++] = &b->item[i];
	}
	ok = ok && choose_files(names, nnames, inputs, n, taken, why, size);
	for (unsigned int i = 0; ok && i < nnames; i++)
		ok = take_input(item[i], taken[i], &in[i], why, size);
	if (ok && !b->rows.split && !sizes_pad("neuron-run", in, nnames)) {
		snprintf(why, size, "out of memory");
		ok = false;
	}
	ok = ok && all_given(names, in, nnames, why, size);
	for (unsigned int i = 0; ok && i < nnames; i++)
		ok = bind_input(b, item[i], taken[i], &in[i], why, size);
	free(names);
	free(taken);
	free(in);
	free(item);
	return ok;
}

/* Makes room for all rows of an output; without --rows that is the tensor itself. */
static bool size_output(struct bindings *b, struct binding *item)
{
	item->owned = model_shape(item->info, &item->all) && rows_extend(&b->rows, &item->all);
	return item->owned;
}

static bool make_tensors(struct bindings *b, char *why, size_t size)
{
	for (uint64_t i = 0; i < b->info->tensor_count; i++) {
		struct binding *item = &b->item[i];
		bool input = item->info->usage == NRT_TENSOR_USAGE_INPUT;
		NRT_STATUS status;

		if (!input && !size_output(b, item)) {
			snprintf(why, size,
				 "output '%s': its shape does not follow the inputs' rows",
				 item->info->name);
			return false;
		}

		status = nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_HOST, -1, item->info->size,
					     item->info->name, &item->tensor);
		if (!status)
			status = nrt_add_tensor_to_tensor_set(input ? b->inputs : b->outputs,
							      item->info->name, item->tensor);
		if (status) {
			snprintf(why, size, "tensor '%s': %s", item->info->name,
				 nrt_get_status_as_str(status));
			return false;
		}
	}
	return true;
}

bool bindings_make(nrt_model_t *model, struct input *inputs, unsigned int ninputs, bool by_rows,
		   struct bindings *b, char *why, size_t size)
{
	memset(b, 0, sizeof(*b));
	b->model = model;
	rows_init(&b->rows, by_rows);
	snprintf(why, size, "the model's tensors cannot be read");
	if (nrt_get_model_tensor_info(model, &b->info))
		return false;
	b->item = calloc(b->info->tensor_count ? b->info->tensor_count : 1, sizeof(*b->item));
	if (!b->item || nrt_allocate_tensor_set(&b->inputs) || nrt_allocate_tensor_set(&b->outputs))
		return false;
	if (!bind_inputs(b, inputs, ninputs, why, size))
		return false;
	return make_tensors(b, why, size);
}

void bindings_free(struct bindings *b)
{
	for (uint64_t i = 0; b->item && i < b->info->tensor_count; i++) {
		if (b->item[i].tensor)
			nrt_tensor_free(&b->item[i].tensor);
		if (b->item[i].owned)
			npy_free(&b->item[i].all);
	}
	free(b->item);
	if (b->inputs)
		nrt_destroy_tensor_set(&b->inputs);
	if (b->outputs)
		nrt_destroy_tensor_set(&b->outputs);
	if (b->info)
		nrt_free_model_tensor_info(b->info);
}

uint64_t bindings_count(const struct bindings *b)
{
	return rows_count(&b->rows);
}

NRT_STATUS bindings_load(struct bindings *b, uint64_t i)
{
	for (uint64_t t = 0; t < b->info->tensor_count; t++) {
		struct binding *item = &b->item[t];
		size_t offset, n = rows_slice(&item->all, item->info->size, i, &offset);
		NRT_STATUS status;

		if (item->info->usage != NRT_TENSOR_USAGE_INPUT)
			continue;
		status = nrt_tensor_write(item->tensor, (char *)item->all.data + offset, 0, n);
		if (!status && n < item->info->size)
			status = nrt_tensor_memset(item->tensor, n, 0, item->info->size - n);
		if (status)
			return status;
	}
	return NRT_SUCCESS;
}

NRT_STATUS bindings_store(struct bindings *b, uint64_t i)
{
	for (uint64_t t = 0; t < b->info->tensor_count; t++) {
		struct binding *item = &b->item[t];
		size_t offset, n = rows_slice(&item->all, item->info->size, i, &offset);
		NRT_STATUS status;

		if (item->info->usage != NRT_TENSOR_USAGE_OUTPUT)
			continue;
		status = nrt_tensor_read(item->tensor, (char *)item->all.data + offset, 0, n);
		if (status)
			return status;
	}
	return NRT_SUCCESS;
}

/* Cuts outputs to their sizes. With --rows no output is a number, so that none is a size. */
static int cut_outputs(const struct bindings *b)
{
	struct sized_output *out = calloc(b->info->tensor_count + 1, sizeof(*out));
	unsigned int n = 0;

	if (!out)
		return -ENOMEM;
	for (uint64_t t = 0; t < b->info->tensor_count; t++) {
		const nrt_tensor_info_t *info = b->item[t].info;

		if (info->usage == NRT_TENSOR_USAGE_OUTPUT)
			out[n++] = (struct sized_output){ info->name,
							  nrtx_tensor_source(b->model, info->name),
							  &b->item[t].all };
	}
	sizes_cut("neuron-run", out, n);
	free(out);
	return 0;
}

int bindings_write(const struct bindings *b, const char *dir, char *why, size_t size)
{
	int rc = b->whole ? 0 : cut_outputs(b);

	if (rc) {
		snprintf(why, size, "%s", strerror(-rc));
		return rc;
	}
	for (uint64_t t = 0; t < b->info->tensor_count; t++) {
		const struct binding *item = &b->item[t];
		char *path;
		int err;

		if (item->info->usage != NRT_TENSOR_USAGE_OUTPUT)
			continue;
		err = rows_write(dir, item->info->name, &item->all, &path);
		if (err)
			snprintf(why, size, "%s: %s", path ? path : dir, strerror(-err));
		free(path);
		if (err)
			return err;
	}
	return 0;
}
