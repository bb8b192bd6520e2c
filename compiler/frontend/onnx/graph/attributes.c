// SPDX-License-Identifier: MIT
/*
 * A node's attributes, and what its operator's row says of them: which there are, their types and
 * what stands for them where they are absent. Part of the ONNX front end.
 */
#include <errno.h>
#include <string.h>

#include "onnx.h"

const Ncc__Onnx__Attribute *onnx_attr(const struct onnx_node *n, const char *name)
{
	const Ncc__Onnx__Attribute *a = NULL, *given;
	const char *ref;

	n->imp->steps += n->p->n_attribute;
	for (size_t i = 0; i < n->p->n_attribute && !a; i++)
		if (!strcmp(n->p->attribute[i]->name, name))
			a = n->p->attribute[i];
	ref = a ? a->ref_attr_name : "";
	if (!*ref)
		return a;
	if (!n->caller || !n->function)
		return NULL;
	given = onnx_attr(n->caller, ref);
	n->imp->steps += n->function->n_attribute_proto;
	for (size_t i = 0; i < n->function->n_attribute_proto && !given; i++)
		if (!strcmp(n->function->attribute_proto[i]->name, ref))
			given = n->function->attribute_proto[i];
	return given;
}

/* Has the operator the attribute in the node's operator set? */
static bool is_there(const struct onnx_node *n, const struct onnx_attribute *r)
{
	return n->opset >= r->from && (!r->until || n->opset <= r->until);
}

/* What the row says of it; NULL: there is none of that name in the node's operator set */
static const struct onnx_attribute *described(const struct onnx_node *n, const char *name)
{
	const struct onnx_attribute *r = n->rule->attrs;

	while (r && r->name && (strcmp(r->name, name) != 0 || !is_there(n, r)))
		r++;
	return r && r->name ? r : NULL;
}

/* The same for a default: what an operator set before or after it does is as if it was absent. */
static const struct onnx_attribute *default_of(const struct onnx_node *n, const char *name)
{
	const struct onnx_attribute *r = described(n, name);

	if (r)
		return r;
	for (r = n->rule->attrs; r && r->name && strcmp(r->name, name) != 0;)
		r++;
	return r && r->name ? r : NULL;
}

int64_t onnx_int_or(const struct onnx_node *n, const char *name, int64_t otherwise)
{
	const Ncc__Onnx__Attribute *a = onnx_attr(n, name);

	return a ? a->i : otherwise;
}

int64_t onnx_int(const struct onnx_node *n, const char *name)
{
	const struct onnx_attribute *r = default_of(n, name);

	return onnx_int_or(n, name, r ? r->i : 0);
}

double onnx_float_or(const struct onnx_node *n, const char *name, double otherwise)
{
	const Ncc__Onnx__Attribute *a = onnx_attr(n, name);

	return a ? (double)a->f : otherwise;
}

double onnx_float(const struct onnx_node *n, const char *name)
{
	const struct onnx_attribute *r = default_of(n, name);

	return onnx_float_or(n, name, r ? r->f : 0);
}

bool onnx_string_is(const struct onnx_node *n, const char *name, const char *value)
{
	const Ncc__Onnx__Attribute *a = onnx_attr(n, name);
	const struct onnx_attribute *r = default_of(n, name);

	if (!a)
		return !strcmp(value, r && r->s ? r->s : "");
	return a->s.len == strlen(value) && !memcmp(a->s.data, value, a->s.len);
}

bool onnx_ints(struct onnx_node *n, const char *name, int64_t *v, unsigned int max,
	       unsigned int *count)
{
	const Ncc__Onnx__Attribute *a = onnx_attr(n, name);

	*count = 0;
	if (!a)
		return false;
	if (a->n_ints > max) {
		onnx_fail(n, -EINVAL, "%zu numbers in '%s', at most %u expected", a->n_ints, name,
			  max);
		return false;
	}
	*count = (unsigned int)a->n_ints;
	if (a->n_ints)
		memcpy(v, a->ints, a->n_ints * sizeof(*v));
	return true;
}

void onnx_ints_each(struct onnx_node *n, const char *name, int64_t *v, unsigned int count,
		    int64_t usual)
{
	const Ncc__Onnx__Attribute *a = onnx_attr(n, name);

	for (unsigned int i = 0; i < count; i++)
		v[i] = usual;
	if (a && a->n_ints != count)
		onnx_fail(n, -EINVAL, "%zu numbers in '%s', expected %u", a->n_ints, name, count);
	else if (a && count)
		memcpy(v, a->ints, count * sizeof(*v));
}

/* The number of a word in a row's list; -1: it is not there */
static int word_in(const char *words, const char *word, size_t len)
{
	for (int i = 0;; i++) {
		const size_t of = strcspn(words, "|");

		if (of == len && !memcmp(words, word, len))
			return i;
		if (!words[of])
			return -1;
		words += of + 1;
	}
}

int onnx_choice(const struct onnx_node *n, const char *name)
{
	const Ncc__Onnx__Attribute *a = onnx_attr(n, name);
	const struct onnx_attribute *r = default_of(n, name);
	const char *word = r && r->s ? r->s : "";
	int i = -1;

	if (r && r->words && a)
		i = word_in(r->words, (const char *)a->s.data, a->s.len);
	else if (r && r->words)
		i = word_in(r->words, word, strlen(word));
	return i < 0 ? 0 : i; /* onnx_check_attributes has refused others */
}

static const char *type_name(int32_t type)
{
	static const char *const names[] = {
		[ONNX_A_FLOAT] = "a number",	     [ONNX_A_INT] = "an integer",
		[ONNX_A_TEXT] = "a string",	     [ONNX_A_TENSOR] = "a tensor",
		[ONNX_A_GRAPH] = "a graph",	     [ONNX_A_FLOATS] = "numbers",
		[ONNX_A_INTS] = "integers",	     [ONNX_A_TEXTS] = "strings",
		[ONNX_A_SPARSE] = "a sparse tensor",
	};
	const bool known = type > 0 && (size_t)type < sizeof(names) / sizeof(names[0]);

	return known && names[type] ? names[type] : "of another type";
}

/* Names that begin with two underscores are whoever's wrote the model. */
static bool check_given(struct onnx_node *n, const Ncc__Onnx__Attribute *a)
{
	const struct onnx_attribute *r = described(n, a->name);
	const Ncc__Onnx__Attribute *given = onnx_attr(n, a->name); /* to the function */

	if (!strncmp(a->name, "__", 2))
		return true;
	if (!r)
		onnx_fail(n, -ENOTSUP, "attribute '%.60s' is not known of it", a->name);
	else if (given && given->type && given->type != (int32_t)r->type)
		onnx_fail(n, -EINVAL, "attribute '%.60s' is %s, expected %s", a->name,
			  type_name(given->type), type_name((int32_t)r->type));
	else if (r->only && onnx_int(n, a->name) != r->i)
		onnx_fail(n, -ENOTSUP, "%s of %lld is not supported", a->name,
			  (long long)onnx_int(n, a->name));
	else if (r->words && given &&
		 word_in(r->words, (const char *)given->s.data, given->s.len) < 0)
		onnx_fail(n, -ENOTSUP, "%s has a value that is not supported", a->name);
	return !n->rc;
}

bool onnx_check_attributes(struct onnx_node *n)
{
	const struct onnx_attribute *r = n->rule->attrs;

	n->imp->steps += n->p->n_attribute;
	for (size_t i = 0; i < n->p->n_attribute && !n->rule->any_attrs; i++)
		if (!check_given(n, n->p->attribute[i]))
			return false;
	for (; r && r->name; r++)
		if (r->needed && is_there(n, r) && !onnx_attr(n, r->name))
			onnx_fail(n, -EINVAL, "attribute '%s' is absent", r->name);
	return !n->rc;
}
