// SPDX-License-Identifier: MIT
/*
 * What VHLO has for what the text of StableHLO says: names without a dialect, dimension numbers one
 * by one, and what is left out with its default. mlir.h says how; the rules are in the order of
 * strcmp, for each attribute what is done when it is not there, or is there in another form.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

static const struct rules {
	const char *name, *rules;
} rules[] = {
	/* clang-format off */
	{ "all_gather", "all_gather_dim:need channel_handle:channel replica_groups:need use_global_device_ids:no" },
	{ "all_reduce", "channel_handle:channel replica_groups:need use_global_device_ids:no" },
	{ "all_to_all", "channel_handle:channel concat_dimension:need replica_groups:need split_count:need split_dimension:need" },
	{ "batch_norm_grad", "epsilon:need feature_index:need" },
	{ "batch_norm_inference", "epsilon:need feature_index:need" },
	{ "batch_norm_training", "epsilon:need feature_index:need" },
	{ "broadcast", "broadcast_sizes:need" },
	{ "broadcast_in_dim", "broadcast_dimensions:need" },
	{ "call", "callee:need" },
	{ "cbrt", "result_accuracy:accuracy" },
	{ "cholesky", "lower:no" },
	{ "collective_broadcast", "channel_handle:channel replica_groups:need" },
	{ "collective_permute", "channel_handle:channel source_target_pairs:need" },
	{ "compare", "compare_type:notype comparison_direction:need" },
	{ "composite", "composite_attributes:dictionary decomposition:need name:need version:zero32" },
	{ "concatenate", "dimension:need" },
	{ "constant", "value:need" },
	{ "convolution", "batch_group_count:need dimension_numbers:expand feature_group_count:need lhs_dilation:ones padding:zeros precision_config:precision rhs_dilation:ones window_reversal:forward window_strides:ones" },
	{ "cosine", "result_accuracy:accuracy" },
	{ "custom_call", "api_version:api backend_config:empty call_target_name:need called_computations:none has_side_effect:no operand_layouts:none output_operand_aliases:none result_layouts:none" },
	{ "dot", "precision_config:precision" },
	{ "dot_general", "algorithm:algorithm dot_dimension_numbers:dot precision_config:precision" },
	{ "dynamic_broadcast_in_dim", "broadcast_dimensions:need known_expanding_dimensions:list known_nonexpanding_dimensions:list" },
	{ "dynamic_conv", "batch_group_count:need dimension_numbers:expand feature_group_count:need lhs_dilation:ones precision_config:precision rhs_dilation:ones window_reversal:forward window_strides:ones" },
	{ "dynamic_gather", "dimension_numbers:gather indices_are_sorted:no" },
	{ "dynamic_iota", "iota_dimension:need" },
	{ "dynamic_slice", "slice_sizes:need" },
	{ "einsum", "einsum_config:need" },
	{ "exponential", "result_accuracy:accuracy" },
	{ "exponential_minus_one", "result_accuracy:accuracy" },
	{ "fft", "fft_length:need fft_type:need" },
	{ "func", "arg_attrs:none function_type:need res_attrs:none sym_name:need sym_visibility:empty" },
	{ "gather", "dimension_numbers:gather indices_are_sorted:no slice_sizes:need" },
	{ "get_dimension_size", "dimension:need" },
	{ "get_tuple_element", "index:need" },
	{ "infeed", "infeed_config:empty layout:none" },
	{ "iota", "iota_dimension:need" },
	{ "log", "result_accuracy:accuracy" },
	{ "log_plus_one", "result_accuracy:accuracy" },
	{ "logistic", "result_accuracy:accuracy" },
	{ "map", "dimensions:need" },
	{ "outfeed", "outfeed_config:empty" },
	{ "pad", "edge_padding_high:need edge_padding_low:need interior_padding:need" },
	{ "recv", "channel_handle:typed is_host_transfer:no source_target_pairs:list" },
	{ "reduce", "dimensions:need" },
	{ "reduce_precision", "exponent_bits:need mantissa_bits:need" },
	{ "reduce_scatter", "channel_handle:channel replica_groups:need scatter_dimension:need use_global_device_ids:no" },
	{ "reduce_window", "base_dilations:ones padding:zeros window_dilations:ones window_dimensions:need window_strides:ones" },
	{ "reverse", "dimensions:need" },
	{ "rng", "rng_distribution:need" },
	{ "rng_bit_generator", "rng_algorithm:need" },
	{ "rsqrt", "result_accuracy:accuracy" },
	{ "scatter", "indices_are_sorted:no scatter_dimension_numbers:scatter unique_indices:no" },
	{ "select_and_scatter", "padding:zeros window_dimensions:ones window_strides:ones" },
	{ "send", "channel_handle:typed is_host_transfer:no source_target_pairs:list" },
	{ "set_dimension_size", "dimension:need" },
	{ "sine", "result_accuracy:accuracy" },
	{ "slice", "limit_indices:need start_indices:need strides:need" },
	{ "sort", "dimension:last is_stable:no" },
	{ "sqrt", "result_accuracy:accuracy" },
	{ "tan", "result_accuracy:accuracy" },
	{ "tanh", "result_accuracy:accuracy" },
	{ "torch_index_select", "batch_dims:need dim:need" },
	{ "transpose", "permutation:need" },
	{ "triangular_solve", "left_side:need lower:need transpose_a:need unit_diagonal:need" },
	{ "unary_einsum", "einsum_config:need" },
	/* clang-format on */
};

static struct named_attr *entry_of(struct draft *d, const char *name)
{
	struct named_attr *e = d->attrs.p;

	for (size_t i = 0; i < d->attrs.n; i++)
		if (!strcmp(e[i].name, name))
			return &e[i];
	return NULL;
}

/* Takes an attribute away, whose fields become the operation's own; NULL: there is none */
static const struct mlir_attr *take_away(struct text *x, struct draft *d, const char *name)
{
	struct named_attr *e = entry_of(d, name), *all = d->attrs.p;
	const struct mlir_attr *a;

	if (!e)
		return NULL;
	a = e->attr;
	if (a->kind != MLIR_DICTIONARY) {
		text_fail_at(x, d->at.p, -EINVAL, "its attribute '%s' has no fields", name);
		return NULL;
	}
	*e = all[--d->attrs.n];
	return a;
}

static void set_default(struct text *x, struct draft *d, const char *name,
			const struct mlir_attr *a)
{
	if (!text_get(d, name))
		text_set(x, d, name, a);
}

static void need(struct text *x, struct draft *d, const char *name)
{
	if (!text_get(d, name))
		text_fail_at(x, d->at.p, -EINVAL, "'%s' without its attribute '%s'", d->op.spelled,
			     name);
}

/* A unit's presence is true */
static void no(struct text *x, struct draft *d, const char *name)
{
	struct named_attr *e = entry_of(d, name);

	if (!e)
		text_set(x, d, name, attr_of_int(&x->r, MLIR_BOOL, 0));
	else if (e->attr->kind == MLIR_UNIT)
		e->attr = attr_of_int(&x->r, MLIR_BOOL, 1);
}

static void empty(struct text *x, struct draft *d, const char *name)
{
	set_default(x, d, name, attr_of_text(&x->r, MLIR_STRING, ""));
}

static void none(struct text *x, struct draft *d, const char *name)
{
	struct list list = { 0 };

	set_default(x, d, name, text_array_of(x, &list));
}

static void dictionary(struct text *x, struct draft *d, const char *name)
{
	struct list list = { 0 };

	set_default(x, d, name, text_dictionary_of(x, "", &list));
}

static void list(struct text *x, struct draft *d, const char *name)
{
	set_default(x, d, name, text_dense_of(x, NULL, 0));
}

static void last(struct text *x, struct draft *d, const char *name)
{
	set_default(x, d, name, text_int(x, "i64", -1));
}

static void zero32(struct text *x, struct draft *d, const char *name)
{
	set_default(x, d, name, text_int(x, "i32", 0));
}

static void notype(struct text *x, struct draft *d, const char *name)
{
	set_default(x, d, name, attr_of_text(&x->r, MLIR_WORD, "NOTYPE"));
}

static void precision(struct text *x, struct draft *d, const char *name)
{
	const struct mlir_attr *word = attr_of_text(&x->r, MLIR_WORD, "DEFAULT");
	const struct mlir_attr **both = reader_alloc(&x->r, 2, sizeof(*both));
	struct list list = { both, 2, 2 };

	if (!both)
		return;
	both[0] = both[1] = word;
	set_default(x, d, name, text_array_of(x, &list));
}

/* Windows: of each dimension that they have */

static size_t rank(const struct draft *d)
{
	const struct mlir_attr *w = text_get(d, "window_dimensions");
	const struct mlir_attr *spatial = text_get(d, "input_spatial_dimensions");
	struct mlir_value *const *in = d->in.p;

	w = w ? w : spatial;
	if (w && w->kind == MLIR_DENSE && mlir_elems(w->type) >= 0)
		return (size_t)mlir_elems(w->type);
	return d->in.n && in[0]->type->kind == MLIR_TENSOR ? in[0]->type->ndim : 0;
}

static void ones(struct text *x, struct draft *d, const char *name)
{
	const size_t n = text_get(d, name) ? 0 : rank(d);
	int64_t *v = reader_alloc(&x->r, n + 1, sizeof(*v));

	for (size_t i = 0; v && i < n; i++)
		v[i] = 1;
	set_default(x, d, name, text_dense_of(x, v, n));
}

static void zeros(struct text *x, struct draft *d, const char *name)
{
	const size_t n = text_get(d, name) ? 0 : rank(d);
	int64_t *v = reader_alloc(&x->r, 2 * n + 1, sizeof(*v));
	int64_t *dim = reader_alloc(&x->r, 2, sizeof(*dim));
	const struct mlir_type *element = type_of_number(&x->r, "i64");
	struct mlir_type *t = new_type(&x->r, MLIR_TENSOR, "i64");
	struct mlir_attr *a = new_attr(&x->r, MLIR_DENSE);

	if (!v || !dim || !element || !t || !a)
		return;
	dim[0] = (int64_t)n;
	dim[1] = 2;
	t->number = element->number;
	t->ndim = 2;
	t->dim = dim;
	a->type = t;
	a->data = (const uint8_t *)v;
	a->size = 2 * n * sizeof(*v);
	set_default(x, d, name, a);
}

static void forward(struct text *x, struct draft *d, const char *name)
{
	const size_t n = text_get(d, name) ? 0 : rank(d);
	struct mlir_attr *a = new_attr(&x->r, MLIR_DENSE);

	if (!a)
		return;
	a->type = text_tensor_of(x, "i1", (int64_t)n);
	a->data = reader_alloc(&x->r, n + 1, 1);
	a->size = n;
	set_default(x, d, name, a);
}

/* Numbers in attributes that have fields have no type there. */
static const struct mlir_attr *typed_int(struct text *x, const struct mlir_attr *a)
{
	return a && a->kind == MLIR_INTEGER && !a->type ? text_int(x, "i64", a->integer) : a;
}

static void expand(struct text *x, struct draft *d, const char *name)
{
	const struct mlir_attr *a = take_away(x, d, name);

	if (!a && !text_bad(x))
		need(x, d, name);
	for (size_t i = 0; a && i < a->n; i++)
		text_set(x, d, a->names[i], typed_int(x, a->list[i]));
}

static void lists(struct text *x, struct draft *d, const char *const *names)
{
	for (; *names; names++)
		list(x, d, *names);
}

static void gather(struct text *x, struct draft *d, const char *name)
{
	static const char *const names[] = { "offset_dims",	      "collapsed_slice_dims",
					     "operand_batching_dims", "start_indices_batching_dims",
					     "start_index_map",	      NULL };

	expand(x, d, name);
	lists(x, d, names);
	set_default(x, d, "index_vector_dim", text_int(x, "i64", 0));
}

static void scatter(struct text *x, struct draft *d, const char *name)
{
	static const char *const names[] = {
		"update_window_dims",		"inserted_window_dims",
		"input_batching_dims",		"scatter_indices_batching_dims",
		"scatter_dims_to_operand_dims", NULL
	};

	expand(x, d, name);
	lists(x, d, names);
	set_default(x, d, "index_vector_dim", text_int(x, "i64", 0));
}

/* The form of its own has them one by one already. */
static void dot(struct text *x, struct draft *d, const char *name)
{
	static const char *const names[] = { "lhs_batching_dimensions", "rhs_batching_dimensions",
					     "lhs_contracting_dimensions",
					     "rhs_contracting_dimensions", NULL };

	if (text_get(d, name))
		expand(x, d, name);
	lists(x, d, names);
}

/* The algorithm of the product: none of it is said, or all */
static void algorithm(struct text *x, struct draft *d, const char *name)
{
	static const char *const names[] = {
		"lhs_precision_type",	       "rhs_precision_type",  "accumulation_type",
		"lhs_component_count",	       "rhs_component_count", "num_primitive_operations",
		"allow_imprecise_accumulation"
	};
	struct mlir_attr *none = new_attr(&x->r, MLIR_TYPE);

	if (text_get(d, name)) {
		expand(x, d, name);
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			need(x, d, names[i]);
		return;
	}
	if (none)
		none->type = new_type(&x->r, MLIR_NONE, "none");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		set_default(x, d, names[i], none);
}

static void set_channel(struct text *x, struct draft *d, const char *name, bool typed)
{
	const struct mlir_attr *a = take_away(x, d, name);
	const struct mlir_attr *handle = mlir_entry_of(a, "handle");
	const struct mlir_attr *type = mlir_entry_of(a, "type");

	text_set(x, d, "channel_id", text_int(x, "i64", handle ? handle->integer : 0));
	if (typed)
		text_set(x, d, "channel_type", text_int(x, "i64", type ? type->integer : 0));
}

static void channel(struct text *x, struct draft *d, const char *name)
{
	set_channel(x, d, name, false);
}

static void typed(struct text *x, struct draft *d, const char *name)
{
	set_channel(x, d, name, true);
}

static const struct mlir_attr *real(struct text *x, const struct mlir_attr *a)
{
	struct mlir_attr *f = new_attr(&x->r, MLIR_FLOAT);

	if (f && a)
		f->real = a->kind == MLIR_FLOAT ? a->real : (double)a->integer;
	return f;
}

static void accuracy(struct text *x, struct draft *d, const char *name)
{
	static const char *const names[] = { "atol", "rtol", "ulps", "mode", NULL };
	struct named_attr *e = entry_of(d, name);
	const struct mlir_attr *from = e ? e->attr : NULL, *v[4];
	const struct mlir_attr *ulps = mlir_entry_of(from, "ulps"), *a;

	v[0] = real(x, mlir_entry_of(from, "atol"));
	v[1] = real(x, mlir_entry_of(from, "rtol"));
	v[2] = attr_of_int(&x->r, MLIR_INTEGER, ulps ? ulps->integer : 0);
	v[3] = mlir_entry_of(from, "mode");
	v[3] = v[3] ? v[3] : attr_of_text(&x->r, MLIR_WORD, "DEFAULT");
	a = attr_of_fields(&x->r, "stablehlo.result_accuracy", names, v);
	if (e)
		e->attr = a;
	else
		text_set(x, d, name, a);
}

/* A number, of which each has a word */
static void api(struct text *x, struct draft *d, const char *name)
{
	static const char *const words[] = { "UNSPECIFIED", "ORIGINAL", "STATUS_RETURNING",
					     "UNIFIED", "TYPED_FFI" };
	struct named_attr *e = entry_of(d, name);
	const int64_t v = e ? e->attr->integer : 1;

	if (v < 0 || v >= (int64_t)(sizeof(words) / sizeof(words[0]))) {
		text_fail_at(x, d->at.p, -ENOTSUP, "a version of custom calls that is not known");
		return;
	}
	if (e)
		e->attr = attr_of_text(&x->r, MLIR_WORD, words[v]);
	else
		text_set(x, d, name, attr_of_text(&x->r, MLIR_WORD, words[v]));
}

static const struct {
	const char *name;
	void (*apply)(struct text *x, struct draft *d, const char *name);
} kinds[] = {
	{ "need", need },
	{ "no", no },
	{ "empty", empty },
	{ "none", none },
	{ "dictionary", dictionary },
	{ "list", list },
	{ "last", last },
	{ "zero32", zero32 },
	{ "notype", notype },
	{ "precision", precision },
	{ "ones", ones },
	{ "zeros", zeros },
	{ "forward", forward },
	{ "expand", expand },
	{ "gather", gather },
	{ "scatter", scatter },
	{ "dot", dot },
	{ "algorithm", algorithm },
	{ "channel", channel },
	{ "typed", typed },
	{ "accuracy", accuracy },
	{ "api", api },
};

static void apply(struct text *x, struct draft *d, const char *name, const char *kind)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].name, kind))
			kinds[i].apply(x, d, name);
}

static int by_name(const void *name, const void *r)
{
	return strcmp(name, ((const struct rules *)r)->name);
}

#define MOST_RULE 64

static void apply_rules(struct text *x, struct draft *d)
{
	const struct rules *r = bsearch(d->op.name, rules, sizeof(rules) / sizeof(rules[0]),
					sizeof(rules[0]), by_name);
	const char *p = r ? r->rules : "";

	while (*p && !text_bad(x)) {
		const size_t name = strcspn(p, ":"), kind = strcspn(p + name + 1, " ");
		char *n = reader_alloc(&x->r, name + 1, 1), k[MOST_RULE] = "";

		if (!n || kind >= MOST_RULE)
			return;
		memcpy(n, p, name);
		memcpy(k, p + name + 1, kind);
		apply(x, d, n, k);
		p += name + 1 + kind;
		p += strspn(p, " ");
	}
}

void text_to_vhlo(struct text *x, struct draft *d)
{
	static const char *const dialects[] = { "stablehlo.", "func." };
	const struct mlir_attr **attrs;
	const struct named_attr *e;
	const char **names;

	if (d->attrs.n > TEXT_MOST_ATTRS) {
		text_fail_at(x, d->at.p, -EFBIG, "an operation of more than %d attributes",
			     TEXT_MOST_ATTRS);
		return;
	}
	d->op.name = d->op.spelled;
	for (size_t i = 0; i < sizeof(dialects) / sizeof(dialects[0]); i++)
		if (!strncmp(d->op.spelled, dialects[i], strlen(dialects[i])))
			d->op.name = d->op.spelled + strlen(dialects[i]);
	if (!strcmp(d->op.spelled, "arith.constant"))
		d->op.name = "constant";
	if (!strncmp(d->op.spelled, "chlo.", strlen("chlo.")))
		text_chlo(x, d);
	else
		apply_rules(x, d);
	d->op.nattrs = d->attrs.n;
	names = reader_alloc(&x->r, d->attrs.n + 1, sizeof(*names));
	attrs = reader_alloc(&x->r, d->attrs.n + 1, sizeof(*attrs));
	d->op.names = names;
	d->op.attrs = attrs;
	e = d->attrs.p;
	for (size_t i = 0; i < d->attrs.n && !text_bad(x); i++) {
		names[i] = e[i].name;
		attrs[i] = e[i].attr;
	}
}
