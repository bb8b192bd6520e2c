/* SPDX-License-Identifier: MIT */
/* See tensors.h. */
#include "tensors.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct rtd_client_method describe_method = {
	"/nrtx.nmgr_x/describe_model", &nrtx__describe_model_response__descriptor
};

static void shape_text(const uint64_t *shape, unsigned int n, char *text, size_t size)
{
	size_t at = snprintf(text, size, "(");

	for (unsigned int i = 0; i < n && at < size; i++)
		at += snprintf(text + at, size - at, "%s%llu", i ? ", " : "",
			       (unsigned long long)shape[i]);
	if (at < size)
		snprintf(text + at, size - at, ")");
}

static bool shape_fits(const Nrtx__TensorInfo *info, const struct npy *file, bool rows)
{
	if (file->dtype != info->dtype || file->ndim != info->n_shape || (rows && !file->ndim))
		return false;
	for (unsigned int i = rows ? 1 : 0; i < file->ndim; i++)
		if (file->shape[i] != info->shape[i])
			return false;
	return true;
}

static bool bind_rows(struct tensors *t, struct tensor *tensor)
{
	const Nrtx__TensorInfo *info = tensor->info;
	uint64_t rows = tensor->file.shape[0], batch = info->shape[0];

	if (!batch || !rows || (t->rows && (t->rows != rows || t->batch != batch))) {
		cli_fail(info->name, "%llu rows in batches of %llu, expected %llu in %llu",
			 (unsigned long long)rows, (unsigned long long)batch,
			 (unsigned long long)t->rows, (unsigned long long)t->batch);
		return false;
	}
	t->rows = rows;
	t->batch = batch;
	tensor->row_bytes = info->size / batch;
	return true;
}

static bool bind_input(struct cli *cli, struct tensors *t, struct tensor *tensor)
{
	const struct cli_options *o = cli->options;
	const Nrtx__TensorInfo *info = tensor->info;
	const struct cli_input *input = NULL;
	const char *why = "";
	char have[128], want[128];
	int err;

	for (unsigned int i = 0; i < o->ninputs; i++)
		if (!strcmp(o->inputs[i].name, info->name))
			input = &o->inputs[i];
	if (!input) {
		cli_fail(info->name, "this input of the model is not given (--input %s=FILE.npy)",
			 info->name);
		return false;
	}
	err = npy_read(input->file, &tensor->file, &why);
	if (err) {
		cli_fail(input->file, "%s", why);
		return false;
	}
	if (!shape_fits(info, &tensor->file, o->rows)) {
		shape_text(tensor->file.shape, tensor->file.ndim, have, sizeof(have));
		shape_text(info->shape, info->n_shape, want, sizeof(want));
		cli_fail(input->file, "%s %s, expected %s %s%s", npy_dtype_name(tensor->file.dtype),
			 have, npy_dtype_name(info->dtype), want,
			 o->rows ? " with any number of rows" : "");
		return false;
	}
	if (o->rows)
		return bind_rows(t, tensor);
	tensor->row_bytes = info->size;
	return true;
}

static bool bind_output(struct cli *cli, struct tensors *t, struct tensor *tensor)
{
	const Nrtx__TensorInfo *info = tensor->info;
	struct npy *file = &tensor->file;
	bool rows = cli->options->rows;

	if (info->n_shape > NPY_MAX_DIMS ||
	    (rows && (!info->n_shape || info->shape[0] != t->batch))) {
		cli_fail(info->name, "the shape of this output does not follow the inputs' rows");
		return false;
	}
	file->dtype = info->dtype;
	file->ndim = info->n_shape;
	for (unsigned int i = 0; i < file->ndim; i++)
		file->shape[i] = info->shape[i];
	tensor->row_bytes = info->size / t->batch;
	if (rows)
		file->shape[0] = t->rows;
	if (__builtin_mul_overflow(tensor->row_bytes, t->rows, &file->size)) {
		cli_fail(info->name, "too many rows");
		return false;
	}
	file->data = calloc(file->size ? file->size : 1, 1);
	if (!file->data)
		cli_fail(info->name, "out of memory");
	return file->data;
}

static bool known_inputs(struct cli *cli, const struct tensors *t)
{
	const struct cli_options *o = cli->options;

	for (unsigned int i = 0; i < o->ninputs; i++) {
		unsigned int j = 0;

		while (j < t->n &&
		       (t->list[j].output || strcmp(t->list[j].info->name, o->inputs[i].name)))
			j++;
		if (j == t->n) {
			cli_fail(o->inputs[i].name, "the model has no such input");
			return false;
		}
	}
	return true;
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
		if (!t->list[i].output && !bind_input(cli, t, &t->list[i]))
			return false;
	}
	if (!cli->options->rows)
		t->rows = t->batch = 1;
	for (unsigned int i = 0; i < t->n; i++)
		if (t->list[i].output && !bind_output(cli, t, &t->list[i]))
			return false;
	return t->batch && known_inputs(cli, t);
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
	return t->rows / t->batch + (t->rows % t->batch != 0);
}

uint8_t *tensor_at(const struct tensors *t, const struct tensor *tensor, uint64_t i,
		   uint64_t *bytes)
{
	uint64_t first = i * t->batch, rows = t->rows - first;

	if (rows > t->batch)
		rows = t->batch;
	*bytes = rows * tensor->row_bytes;
	return (uint8_t *)tensor->file.data + first * tensor->row_bytes;
}

bool tensors_write(const struct tensors *t, const char *dir)
{
	char path[4096], name[512];
	int err;

	if (mkdir(dir, 0777) && errno != EEXIST) {
		cli_fail(dir, "%s", strerror(errno));
		return false;
	}
	for (unsigned int i = 0; i < t->n; i++) {
		if (!t->list[i].output)
			continue;
		snprintf(name, sizeof(name), "%s", t->list[i].info->name);
		for (char *p = name; *p; p++)
			if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "._:-",
				    *p) ||
			    (p == name && *p == '.'))
				*p = '_';
		snprintf(path, sizeof(path), "%s/%s.npy", dir, name);
		err = npy_write(path, &t->list[i].file);
		if (err) {
			cli_fail(path, "%s", strerror(-err));
			return false;
		}
	}
	return true;
}
