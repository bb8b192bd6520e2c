// SPDX-License-Identifier: MIT
/*
 * TreeEnsembleClassifier and TreeEnsembleRegressor: which leaves a row reaches says ml_leaves.c; a
 * product with their numbers adds them up. Part of the ONNX front end.
 */
#include "tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_NODES (1 << 20)

static const char *const mode_name[MODES] = {
	[MODE_LEAF] = "LEAF",	   [MODE_LEQ] = "BRANCH_LEQ", [MODE_LT] = "BRANCH_LT",
	[MODE_GTE] = "BRANCH_GTE", [MODE_GT] = "BRANCH_GT",   [MODE_EQ] = "BRANCH_EQ",
	[MODE_NEQ] = "BRANCH_NEQ",
};

static int order(const void *a, const void *b)
{
	const struct tree_node *x = a, *y = b;

	if (x->tree != y->tree)
		return x->tree < y->tree ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static struct tree_node *find(const struct forest *f, int64_t tree, int64_t id)
{
	const struct tree_node key = { .tree = tree, .id = id };

	return bsearch(&key, f->node, f->n, sizeof(key), order);
}

static bool read_mode(const struct onnx_node *n, size_t i, enum mode *mode)
{
	const Ncc__Onnx__Attribute *a = onnx_attr(n, "nodes_modes");

	for (*mode = MODE_LEAF; *mode < MODES; ++*mode)
		if (a->strings[i].len == strlen(mode_name[*mode]) &&
		    !memcmp(a->strings[i].data, mode_name[*mode], a->strings[i].len))
			return true;
	return false;
}

static int bad(struct onnx_node *n, size_t i, const char *what)
{
	return onnx_fail(n, -EINVAL, "node %zu: %s", i, what);
}

/* The nodes, with their children's numbers as the file has them until link() */
static int read_nodes(struct onnx_node *n, struct forest *f)
{
	struct ml_ints tree = ml_ints(n, "nodes_treeids"), id = ml_ints(n, "nodes_nodeids"),
		       feature = ml_ints(n, "nodes_featureids"),
		       missing = ml_ints(n, "nodes_missing_value_tracks_true");
	struct ml_floats value = ml_floats(n, "nodes_values");

	if (!tree.n || tree.n > MOST_NODES || id.n != tree.n || feature.n != tree.n ||
	    value.n != tree.n || ml_strings(n, "nodes_modes") != tree.n ||
	    ml_ints(n, "nodes_truenodeids").n != tree.n ||
	    ml_ints(n, "nodes_falsenodeids").n != tree.n || (missing.n && missing.n != tree.n))
		return onnx_fail(n, -EINVAL,
				 "%zu nodes, or lists of other lengths; expected 1 to %d", tree.n,
				 MOST_NODES);
	f->node = calloc(tree.n, sizeof(*f->node));
	if (!f->node)
		return onnx_fail(n, -ENOMEM, "out of memory");
	for (; f->n < tree.n; f->n++) {
		struct tree_node *x = &f->node[f->n];

		x->tree = tree.v[f->n];
		x->id = id.v[f->n];
		x->feature = feature.v[f->n];
		x->value = value.v[f->n];
		x->missing_is_true = missing.n && missing.v[f->n];
		x->given = f->n;
		if (!read_mode(n, f->n, &x->mode))
			return bad(n, f->n, "its mode is not known");
		if (x->mode && (x->feature < 0 || x->feature >= f->features))
			return bad(n, f->n, "it compares a feature that is not there");
	}
	return 0;
}

/* The link that x follows for values that it does not ask for */
static unsigned int *rest_of(struct tree_node *x)
{
	return x->mode == MODE_EQ ? &x->no : &x->yes;
}

/*
 * Is x one of several that ask whether a feature has one of some values, as converters write a set
 * of categories? All lead to the same node then, or on to the next.
 */
static void join(struct forest *f, struct tree_node *x)
{
	struct tree_node *next;

	if (x->mode != MODE_EQ && x->mode != MODE_NEQ)
		return;
	next = &f->node[*rest_of(x)];
	if (next->mode == x->mode && next->feature == x->feature &&
	    (x->mode == MODE_EQ ? next->yes == x->yes : next->no == x->no))
		x->also = *rest_of(x);
}

/* Does a way lead back to where it came from? */
static int check_ways(struct onnx_node *n, const struct forest *f)
{
	unsigned int *to = calloc(2 * (size_t)f->n, sizeof(*to)), *next = to ? to + f->n : NULL;
	unsigned int ready = 0;

	if (!to)
		return onnx_fail(n, -ENOMEM, "out of memory");
	for (unsigned int i = 0; i < f->n; i++) {
		if (!f->node[i].mode)
			continue;
		to[f->node[i].yes]++;
		to[f->node[i].no]++;
	}
	for (unsigned int i = 0; i < f->n; i++)
		if (!to[i])
			next[ready++] = i;
	for (unsigned int i = 0; i < ready; i++) {
		const struct tree_node *x = &f->node[next[i]];

		if (x->mode && !--to[x->yes])
			next[ready++] = x->yes;
		if (x->mode && !--to[x->no])
			next[ready++] = x->no;
	}
	for (unsigned int i = 0; i < f->n && ready < f->n && !n->rc; i++)
		if (to[i])
			onnx_fail(n, -EINVAL, "tree %lld: a way leads back to node %lld",
				  (long long)f->node[i].tree, (long long)f->node[i].id);
	free(to);
	return n->rc;
}

/* Orders the nodes, and finds their children. */
static int link(struct onnx_node *n, struct forest *f)
{
	struct ml_ints yes = ml_ints(n, "nodes_truenodeids"), no = ml_ints(n, "nodes_falsenodeids");

	qsort(f->node, f->n, sizeof(*f->node), order);
	for (unsigned int i = 1; i < f->n; i++)
		if (!order(&f->node[i - 1], &f->node[i]))
			return bad(n, f->node[i].given, "another one of its tree has its number");
	for (unsigned int i = 0; i < f->n; i++) {
		struct tree_node *x = &f->node[i], *a, *b;
		unsigned int place = x->given;

		f->ntrees += !i || x->tree != x[-1].tree;
		if (!x->mode)
			continue;
		a = find(f, x->tree, yes.v[place]);
		b = find(f, x->tree, no.v[place]);
		if (!a || !b)
			return bad(n, place, "a branch leads nowhere");
		x->yes = (unsigned int)(a - f->node);
		x->no = (unsigned int)(b - f->node);
	}
	for (unsigned int i = 0; i < f->n; i++)
		join(f, &f->node[i]);
	return check_ways(n, f);
}

static int read_forest(struct onnx_node *n, struct forest *f)
{
	return read_nodes(n, f) ? n->rc : link(n, f);
}

static void forest_free(struct forest *f)
{
	free(f->node);
	free(f->way);
	free(f->compare);
	free(f->size);
	free(f->paths);
	free(f->chosen);
}

/* The attributes that give leaves their numbers: class_... or target_... */
struct given {
	struct ml_ints tree, node, id;
	struct ml_floats weight;
};

static int read_given(struct onnx_node *n, struct given *g, bool classes)
{
	g->tree = ml_ints(n, classes ? "class_treeids" : "target_treeids");
	g->node = ml_ints(n, classes ? "class_nodeids" : "target_nodeids");
	g->id = ml_ints(n, classes ? "class_ids" : "target_ids");
	g->weight = ml_floats(n, classes ? "class_weights" : "target_weights");
	if (!g->tree.n || g->node.n != g->tree.n || g->id.n != g->tree.n ||
	    g->weight.n != g->tree.n)
		return onnx_fail(n, -EINVAL,
				 "the lists of leaves' weights are empty or differ in "
				 "length");
	return 0;
}

#define PARTS 3 /* of bf16, whose sum is a number of fp32 */

/*
 * [leaves, blocks, parts * targets]: the parts of the leaves' numbers, the smallest ones first;
 * only: the one target that has weights, or -1
 */
static onnx_op numbers_of(struct onnx_node *n, const struct forest *f, const struct given *g,
			  int64_t targets, int64_t only)
{
	const int64_t each = only < 0 ? targets : 1;
	struct ncc_shape s = { .dtype = NEURON_DT_BF16,
			       .ndim = 3,
			       .dim = { f->leaves, f->nblocks, PARTS * each } };
	onnx_op c = ox_data(n, &s);
	const int64_t all = s.dim[0] * s.dim[1] * each;
	float *sum = calloc((size_t)all, sizeof(*sum));

	if (!sum)
		onnx_fail(n, -ENOMEM, "out of memory");
	for (size_t i = 0; i < g->tree.n && !n->rc; i++) {
		const struct tree_node *leaf = find(f, g->tree.v[i], g->node.v[i]);

		if (!leaf || g->id.v[i] < 0 || g->id.v[i] >= targets)
			onnx_fail(n, -EINVAL, "weight %zu is of no node, or of no target", i);
		/* Converters give inner nodes numbers, too, to which no way is a leaf's. */
		for (unsigned int w = leaf ? leaf->ways : 0; w && !n->rc; w = f->way[w - 1].next)
			sum[((size_t)f->way[w - 1].place * f->nblocks + f->way[w - 1].block - 1) *
				    (size_t)each +
			    (only < 0 ? (size_t)g->id.v[i] : 0)] += g->weight.v[i];
	}
	for (int64_t i = 0; i < all && !n->rc; i++) {
		double left = (double)sum[i];

		for (int64_t part = PARTS; part-- > 0;) {
			int64_t at = (i / each * PARTS + part) * each + i % each;

			ncc_set(s.dtype, c->data, at, left);
			left -= ncc_get(s.dtype, c->data, at);
		}
	}
	free(sum);
	return n->rc ? NULL : c;
}

/* [rows, targets]: the sums over all trees */
static onnx_op sums(struct onnx_node *n, struct forest *f, onnx_op x, const struct given *g,
		    int64_t targets, int64_t only)
{
	const struct ncc_dot d = { .ncontract = 2,
				   .lhs_contract = { 1, 0 },
				   .rhs_contract = { 0, 1 } };
	const int64_t each = only < 0 ? targets : 1;
	onnx_op leaves = ml_leaves(n, f, x), all, r = NULL;

	if (!leaves)
		return NULL;
	all = ox_f32(n, ox_dot(n, leaves, numbers_of(n, f, g, targets, only), &d, NEURON_DT_FP32));
	for (int64_t part = 0; part < PARTS && !n->rc; part++) {
		onnx_op one = ox_slice(n, all, 1, part * each, each, 1);

		r = r ? ox_bin(n, NCC_ADD, r, one) : one;
	}
	return r;
}

static onnx_op with_base(struct onnx_node *n, onnx_op s, int64_t targets)
{
	struct ml_floats base = ml_floats(n, "base_values");
	int64_t count = (int64_t)base.n;

	if (!count || !s)
		return s;
	if (count != targets && count != 1) {
		onnx_fail(n, -EINVAL, "%lld base values for %lld targets", (long long)count,
			  (long long)targets);
		return NULL;
	}
	if (s->shape.dim[1] == 1 && count > 1) { /* a binary model's one score: the last one's */
		int64_t one = 1;

		return ox_bin(n, NCC_ADD, s, ml_constant(n, 1, &one, base.v + count - 1));
	}
	return ox_bin(n, NCC_ADD, s, ml_constant(n, 1, &count, base.v));
}

static void import_regressor(struct onnx_node *n)
{
	onnx_op x = ml_rows(n), s;
	int64_t targets = onnx_int(n, "n_targets");
	struct forest f = { .features = x ? x->shape.dim[1] : 0 };
	struct given g;

	if (targets < 1 || targets > MOST_NODES)
		onnx_fail(n, -EINVAL, "%lld targets", (long long)targets);
	if (!n->rc && !read_given(n, &g, false) && !read_forest(n, &f)) {
		s = sums(n, &f, x, &g, targets, -1);
		if (onnx_string_is(n, "aggregate_function", "AVERAGE"))
			s = ox_binc(n, NCC_MUL, s, 1.0 / f.ntrees);
		else if (!onnx_string_is(n, "aggregate_function", "SUM"))
			onnx_fail(n, -ENOTSUP, "aggregate_function is not SUM or AVERAGE");
		onnx_give(n, 0, ml_post_transform(n, with_base(n, s, targets)));
	}
	forest_free(&f);
}

/* The only class that has weights; -1: several do */
static int64_t only_class(const struct given *g)
{
	for (size_t i = 1; i < g->id.n; i++)
		if (g->id.v[i] != g->id.v[0])
			return -1;
	return g->id.v[0];
}

static void classify(struct onnx_node *n, struct forest *f, onnx_op x, const struct given *g,
		     int64_t classes)
{
	int64_t only = classes == 2 ? only_class(g) : -1;
	onnx_op s = with_base(n, sums(n, f, x, g, classes, only), classes), number;
	bool positive = true;

	if (!s)
		return;
	if (only < 0) {
		number = ml_largest(n, s);
		s = ml_post_transform(n, s);
	} else {
		for (size_t i = 0; i < g->weight.n; i++)
			positive = positive && g->weight.v[i] >= 0;
		number = ox_binc(n, NCC_GT, s, positive ? 0.5 : 0);
		number = ox_cast(n, ox_reshape(n, number, 1, &s->shape.dim[0]), NEURON_DT_INT32,
				 false);
		s = ml_two_scores(n, s, positive);
	}
	ml_give_label(n, number, "classlabels_int64s", "classlabels_strings");
	onnx_give(n, 1, s);
}

static void import_classifier(struct onnx_node *n)
{
	int64_t classes = (int64_t)(ml_ints(n, "classlabels_int64s").n + ml_strings(n, "classlabels"
										       "_strings"));
	onnx_op x = ml_rows(n);
	struct forest f = { .features = x ? x->shape.dim[1] : 0 };
	struct given g;

	if (classes < 1 || classes > MOST_NODES)
		onnx_fail(n, -EINVAL, "%lld class labels", (long long)classes);
	if (!n->rc && !read_given(n, &g, true) && !read_forest(n, &f))
		classify(n, &f, x, &g, classes);
	forest_free(&f);
}

const struct onnx_rule onnx_ml_tree[] = {
	/* clang-format off */
	{ "TreeEnsembleClassifier", 1, 1, .import = import_classifier, .unchanged = true, .sized = sized_batch, .takes = ONNX_OPERAND(0),
	  .attrs = ONNX_ATTRS(
		ATTR("base_values", FLOATS), ATTR("base_values_as_tensor", TENSOR),
		ATTR("class_ids", INTS), ATTR("class_nodeids", INTS),
		ATTR("class_treeids", INTS), ATTR("class_weights", FLOATS),
		ATTR("class_weights_as_tensor", TENSOR), ATTR("classlabels_int64s", INTS),
		ATTR("classlabels_strings", TEXTS), ATTR("nodes_falsenodeids", INTS),
		ATTR("nodes_featureids", INTS), ATTR("nodes_hitrates", FLOATS),
		ATTR("nodes_hitrates_as_tensor", TENSOR),
		ATTR("nodes_missing_value_tracks_true", INTS), ATTR("nodes_modes", TEXTS),
		ATTR("nodes_nodeids", INTS), ATTR("nodes_treeids", INTS),
		ATTR("nodes_truenodeids", INTS), ATTR("nodes_values", FLOATS),
		ATTR("nodes_values_as_tensor", TENSOR), ATTR("post_transform", TEXT, .words = "NONE|SOFTMAX|LOGISTIC|SOFTMAX_ZERO|PROBIT", .s = "NONE")) },
	{ "TreeEnsembleRegressor",  1, 1, .import = import_regressor,  .unchanged = true, .sized = sized_batch, .takes = ONNX_OPERAND(0),
	  .attrs = ONNX_ATTRS(
		ATTR("aggregate_function", TEXT, .words = "SUM|AVERAGE|MIN|MAX", .s = "SUM"), ATTR("base_values", FLOATS),
		ATTR("base_values_as_tensor", TENSOR), ATTR("n_targets", INT, .i = 1),
		ATTR("nodes_falsenodeids", INTS), ATTR("nodes_featureids", INTS),
		ATTR("nodes_hitrates", FLOATS), ATTR("nodes_hitrates_as_tensor", TENSOR),
		ATTR("nodes_missing_value_tracks_true", INTS), ATTR("nodes_modes", TEXTS),
		ATTR("nodes_nodeids", INTS), ATTR("nodes_treeids", INTS),
		ATTR("nodes_truenodeids", INTS), ATTR("nodes_values", FLOATS),
		ATTR("nodes_values_as_tensor", TENSOR), ATTR("post_transform", TEXT, .words = "NONE|SOFTMAX|LOGISTIC|SOFTMAX_ZERO|PROBIT", .s = "NONE"),
		ATTR("target_ids", INTS), ATTR("target_nodeids", INTS),
		ATTR("target_treeids", INTS), ATTR("target_weights", FLOATS),
		ATTR("target_weights_as_tensor", TENSOR)) },
	{ .op_type = NULL },
	/* clang-format on */
};
