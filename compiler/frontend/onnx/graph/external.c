// SPDX-License-Identifier: MIT
/*
 * External data of an ONNX model: a tensor's raw bytes that lie in a file beside the model. Which
 * file, and where in it, is in the tensor's external_data: location, offset and length. All three
 * are checked here; who opens the file (ncc_options.external_data) sees to symbolic links. Part of
 * the ONNX front end.
 */
#include <errno.h>
#include <string.h>

#include "onnx.h"

struct place {
	const char *location, *offset, *length;
};

/* An entry's value as text; NULL: it has a NUL, or there is no memory */
static const char *text_of(const struct onnx_import *imp, const Ncc__Onnx__StringStringEntry *e)
{
	char *text = ncc_alloc(imp->m, e->value.len + 1);

	if (text && e->value.len)
		memcpy(text, e->value.data, e->value.len);
	return text && strlen(text) == e->value.len ? text : NULL;
}

/* The keys that ONNX defines; others (checksum, basepath) say nothing about where the bytes are */
static int find_place(const struct onnx_import *imp, const Ncc__Onnx__Tensor *t, const char *name,
		      struct place *p)
{
	for (size_t i = 0; i < t->n_external_data; i++) {
		const Ncc__Onnx__StringStringEntry *e = t->external_data[i];
		const char **to = !strcmp(e->key, "location") ? &p->location
				  : !strcmp(e->key, "offset") ? &p->offset
				  : !strcmp(e->key, "length") ? &p->length
							      : NULL;

		if (!to)
			continue;
		*to = text_of(imp, e);
		if (!*to)
			return ncc_fail(imp->err, -EINVAL,
					"constant '%.100s': external data whose %s '%.*s' has a "
					"NUL at character %zu; expected text",
					name, e->key, 150, (const char *)e->value.data,
					strnlen((const char *)e->value.data, e->value.len));
	}
	return 0;
}

/* Relative, and without a component that is empty or leads upward */
static bool stays_below(const char *path)
{
	for (const char *p = path;; p++) {
		const size_t n = strcspn(p, "/");

		if (!n || (n == 2 && !memcmp(p, "..", 2)))
			return false;
		p += n;
		if (!*p)
			return true;
	}
}

/* A decimal number; none: dflt. False: something else */
static bool number(const char *text, uint64_t dflt, uint64_t *v)
{
	*v = text ? 0 : dflt;
	if (text && !*text)
		return false;
	for (; text && *text; text++)
		if (*text < '0' || *text > '9' || __builtin_mul_overflow(*v, 10, v) ||
		    __builtin_add_overflow(*v, (uint64_t)(*text - '0'), v))
			return false;
	return true;
}

static int fail(const struct onnx_import *imp, const char *name, int code, const char *location,
		const char *what)
{
	return ncc_fail(imp->err, code, "constant '%.100s': external data in '%.150s': %s", name,
			location, what);
}

int onnx_external(struct onnx_import *imp, const Ncc__Onnx__Tensor *t, const char *name,
		  size_t size, const uint8_t **raw)
{
	struct place p = { NULL };
	uint64_t offset, length;
	size_t file_size;
	const void *file;
	int rc;

	if (t->data_location != ONNX_EXTERNAL)
		return ncc_fail(imp->err, -EINVAL, "constant '%.100s': data location %d is unknown",
				name, t->data_location);
	rc = find_place(imp, t, name, &p);
	if (rc)
		return rc;
	if (!p.location)
		return ncc_fail(imp->err, -EINVAL,
				"constant '%.100s': external data without a location", name);
	if (!stays_below(p.location))
		return fail(imp, name, -EINVAL, p.location,
			    "expected a path below the model's directory");
	if (!number(p.offset, 0, &offset) || !number(p.length, size, &length))
		return fail(imp, name, -EINVAL, p.location, "offset or length is not a number");
	if (length != size)
		return ncc_fail(imp->err, -EINVAL,
				"constant '%.100s': external data in '%.150s': %llu bytes, its "
				"shape and type have %zu",
				name, p.location, (unsigned long long)length, size);
	if (!imp->opt->external_data)
		return fail(imp, name, -ENOTSUP, p.location, "the caller gives the model alone");
	rc = imp->opt->external_data(imp->opt->opaque, p.location, &file, &file_size);
	if (rc == -ELOOP)
		return fail(imp, name, rc, p.location,
			    "a symbolic link, which ONNX does not allow");
	if (rc)
		return fail(imp, name, rc, p.location, strerror(-rc));
	if (offset > file_size || length > file_size - offset)
		return ncc_fail(imp->err, -EINVAL,
				"constant '%.100s': external data in '%.150s': %llu bytes from "
				"%llu on, the file has %zu",
				name, p.location, (unsigned long long)length,
				(unsigned long long)offset, file_size);
	*raw = (const uint8_t *)file + offset;
	return 0;
}
