// SPDX-License-Identifier: MIT
/*
 * TreeEnsembleClassifier and TreeEnsembleRegressor: every comparison of every tree is made at once;
 * a leaf is reached if as many comparisons on its path hold as lead to it, which a product with the
 * paths (1: holds, -1: does not) counts, a tree at a time; its numbers come from a second product.
 * Part of the ONNX front end.
 */
#include "ml.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_NODES (1 << 20)
#define MOST_PATHS (1 << 26) /* comparisons times leaves of a tree, of all trees */
#define MOST_DEPTH 256 /* numbers up to it are exact in bf16 */

enum mode { MODE_LEAF, MODE_LEQ, MODE_LT, MODE_GTE, MODE_GT, MODE_EQ, MODE_NEQ, MODES };

static const struct {
	const char *name;
	enum ncc_kind kind;
} modes[MODES] = {
	[MODE_LEAF] = { "LEAF", 0 },	       [MODE_LEQ] = { "BRANCH_LEQ", NCC_LE },
	[MODE_LT] = { "BRANCH_LT", NCC_LT },   [MODE_GTE] = { "BRANCH_GTE", NCC_GE },
	[MODE_GT] = { "BRANCH_GT", NCC_GT },   [MODE_EQ] = { "BRANCH_EQ", NCC_EQ },
	[MODE_NEQ] = { "BRANCH_NEQ", NCC_NE },
};

struct tree_node {
	int64_t tree, id, feature;
	float value;
	enum mode mode;
	bool missing_is_true, seen;
	unsigned int yes, no; /* numbers of nodes */
	unsigned int place; /* in its tree: of comparisons, or of leaves */
	unsigned int at; /* its tree's number */
};

struct forest {
	struct tree_node *node; /* ordered by tree and id */
	unsigned int n, ntrees;
	unsigned int compares, leaves; /* of the tree that has the most */
	float *paths; /* [trees, compares, leaves] */
	float *needed; /* [trees, 1, leaves] */
	int64_t features;
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
		if (a->strings[i].len == strlen(modes[*mode].name) &&
		    !memcmp(a->strings[i].data, modes[*mode].name, a->strings[i].len))
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
		x->place = f->n;
		if (!read_mode(n, f->n, &x->mode))
			return bad(n, f->n, "its mode is not known");
		if (x->mode && (x->feature < 0 || x->feature >= f->features))
			return bad(n, f->n, "it compares a feature that is not there");
	}
	return 0;
}

/* Orders the nodes, and finds their children. */
static int link(struct onnx_node *n, struct forest *f)
{
	struct ml_ints yes = ml_ints(n, "nodes_truenodeids"), no = ml_ints(n, "nodes_falsenodeids");

	qsort(f->node, f->n, sizeof(*f->node), order);
	for (unsigned int i = 1; i < f->n; i++)
		if (!order(&f->node[i - 1], &f->node[i]))
			return bad(n, f->node[i].place, "another one of its tree has its number");
	for (unsigned int i = 0; i < f->n; i++) {
		struct tree_node *x = &f->node[i], *a, *b;
		unsigned int place = x->place;

		x->at = i ? x[-1].at + (x->tree != x[-1].tree) : 0;
		f->ntrees = x->at + 1;
		if (!x->mode)
			continue;
		a = find(f, x->tree, yes.v[place]);
		b = find(f, x->tree, no.v[place]);
		if (!a || !b)
			return bad(n, place, "a branch leads nowhere");
		x->yes = (unsigned int)(a - f->node);
		x->no = (unsigned int)(b - f->node);
	}
	return 0;
}

/* Numbers the comparisons and leaves of each tree. */
static void count(struct forest *f)
{
	unsigned int compares = 0, leaves = 0;

	for (unsigned int i = 0; i < f->n; i++) {
		struct tree_node *x = &f->node[i];

		if (i && x->at != x[-1].at)
			compares = leaves = 0;
		x->place = x->mode ? compares++ : leaves++;
		f->compares = compares > f->compares ? compares : f->compares;
		f->leaves = leaves > f->leaves ? leaves : f->leaves;
	}
	f->compares = f->compares ? f->compares : 1; /* trees of one leaf */
}

/* Walks from a root to every leaf: which[] are the nodes above, hold[] whether they must hold */
static int walk(struct onnx_node *n, struct forest *f, unsigned int root)
{
	unsigned int which[MOST_DEPTH + 1], depth = 0;
	bool hold[MOST_DEPTH + 1];

	which[0] = root;
	for (;;) {
		struct tree_node *x = &f->node[which[depth]];
		float *need = &f->needed[(size_t)x->at * f->leaves];

		if (x->seen)
			return onnx_fail(n, -EINVAL, "tree %lld: two ways lead to node %lld",
					 (long long)x->tree, (long long)x->id);
		x->seen = true;
		if (x->mode) {
			hold[depth] = true;
			if (depth == MOST_DEPTH)
				return onnx_fail(n, -ENOTSUP, "a tree is deeper than %d",
						 MOST_DEPTH);
			which[++depth] = x->yes;
			continue;
		}
		need[x->place] = 0;
		for (unsigned int i = 0; i < depth; i++) {
			f->paths[((size_t)x->at * f->compares + f->node[which[i]].place) * f->leaves +
				 x->place] = hold[i] ? 1 : -1;
			need[x->place] += hold[i];
		}
		while (depth && !hold[depth - 1])
			depth--;
		if (!depth)
			return 0;
		hold[depth - 1] = false;
		which[depth] = f->node[which[depth - 1]].no;
	}
}

static int make_paths(struct onnx_node *n, struct forest *f)
{
	const size_t leaves = (size_t)f->ntrees * f->leaves;
	unsigned int root = 0;

	if (leaves * f->compares > MOST_PATHS)
		return onnx_fail(n, -EFBIG,
				 "too large: %u trees of up to %u comparisons and %u "
				 "leaves",
				 f->ntrees, f->compares, f->leaves);
	f->paths = calloc(leaves * f->compares, sizeof(*f->paths));
	f->needed = calloc(leaves, sizeof(*f->needed));
	if (!f->paths || !f->needed)
		return onnx_fail(n, -ENOMEM, "out of memory");
	for (size_t i = 0; i < leaves; i++)
		f->needed[i] = -1 - MOST_DEPTH; /* of leaves that are none: never reached */
	for (unsigned int i = 0; i < f->n; i++) /* a tree's root is its first node */
		if (!i || f->node[i].at != f->node[i - 1].at) {
			root = i;
			if (walk(n, f, root))
				return n->rc;
		}
	return 0;
}

static int read_forest(struct onnx_node *n, struct forest *f)
{
	if (!read_nodes(n, f) && !link(n, f)) {
		count(f);
		make_paths(n, f);
	}
	return n->rc;
}

static void forest_free(struct forest *f)
{
	free(f->node);
	free(f->paths);
	free(f->needed);
}

/* One number for each comparison: its mode's, whether it holds for NaN, ... by what */
enum what { WHAT_FEATURE, WHAT_VALUE, WHAT_MISSING, WHAT_MODE };

static onnx_op of_compares(struct onnx_node *n, const struct forest *f, enum what what,
			   enum mode mode)
{
	struct ncc_shape s = { .dtype = what == WHAT_FEATURE ? NEURON_DT_INT32 : NEURON_DT_FP32,
			       .ndim = 1,
			       .dim = { (int64_t)f->ntrees * f->compares } };
	onnx_op c = ox_data(n, &s);

	if (!c)
		return NULL;
	for (int64_t i = 0; i < s.dim[0]; i++)
		ncc_set(s.dtype, c->data, i, 0);
	for (unsigned int i = 0; i < f->n; i++) {
		const struct tree_node *x = &f->node[i];
		double v = what == WHAT_FEATURE	  ? (double)x->feature
			   : what == WHAT_VALUE	  ? (double)x->value
			   : what == WHAT_MISSING ? x->missing_is_true
						  : x->mode == mode;

		if (x->mode)
			ncc_set(s.dtype, c->data, (int64_t)x->at * f->compares + x->place, v);
	}
	return c;
}

/* [rows, trees * compares]: 1 where a comparison holds, else 0 */
static onnx_op compare_all(struct onnx_node *n, const struct forest *f, onnx_op x)
{
	onnx_op a = ox_take(n, x, of_compares(n, f, WHAT_FEATURE, 0), 1),
		b = of_compares(n, f, WHAT_VALUE, 0), r = NULL;
	bool has[MODES] = { false }, missing = false;

	for (unsigned int i = 0; i < f->n; i++) {
		has[f->node[i].mode] = true;
		missing = missing || (f->node[i].mode && f->node[i].missing_is_true);
	}
	for (enum mode m = MODE_LEQ; m < MODES; m++) {
		onnx_op one;

		if (!has[m])
			continue;
		one = ox_cast(n, ox_bin(n, modes[m].kind, a, b), NEURON_DT_FP32, false);
		if (!r)
			r = one;
		else
			r = ox_select(n, ox_binc(n, NCC_EQ, of_compares(n, f, WHAT_MODE, m), 1),
				      one, r);
	}
	if (!r) /* leaves alone */
		return ox_binc(n, NCC_MUL, a, 0);
	if (missing)
		r = ox_select(n,
			      ox_bin(n, NCC_AND, ox_bin(n, NCC_NE, a, a),
				     ox_binc(n, NCC_EQ, of_compares(n, f, WHAT_MISSING, 0), 1)),
			      ox_scalar(n, &b->shape, 1), r);
	return r;
}

/* [trees, rows, leaves]: 1 for the leaf of each tree that a row reaches */
static onnx_op reached(struct onnx_node *n, const struct forest *f, onnx_op x)
{
	const int64_t paths[3] = { f->ntrees, f->compares, f->leaves },
		      need[3] = { f->ntrees, 1, f->leaves };
	const struct ncc_dot d = { .nbatch = 1,
				   .ncontract = 1,
				   .lhs_batch = { 1 },
				   .rhs_batch = { 0 },
				   .lhs_contract = { 2 },
				   .rhs_contract = { 1 } };
	onnx_op holds = compare_all(n, f, x), p = ml_constant(n, 3, paths, f->paths), hits;

	if (!holds || !p)
		return NULL;
	holds = ox_reshape(n, holds, 3,
			   (const int64_t[]){ x->shape.dim[0], f->ntrees, f->compares });
	hits = ox_dot(n, ox_cast(n, holds, NEURON_DT_BF16, false),
		      ox_cast(n, p, NEURON_DT_BF16, false), &d, NEURON_DT_FP32);
	return ox_cast(n, ox_bin(n, NCC_EQ, ox_f32(n, hits), ml_constant(n, 3, need, f->needed)),
		       NEURON_DT_FP32, false);
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

/* [rows, targets]: the sums over all trees; only: the one target that has weights, or -1 */
static onnx_op sums(struct onnx_node *n, const struct forest *f, onnx_op x, const struct given *g,
		    int64_t targets, int64_t only)
{
	const struct ncc_dot d = { .ncontract = 2,
				   .lhs_contract = { 0, 2 },
				   .rhs_contract = { 0, 1 } };
	int64_t dim[3] = { f->ntrees, f->leaves, only < 0 ? targets : 1 };
	struct ncc_shape s = { .dtype = NEURON_DT_FP32, .ndim = 3 };
	float *w;
	onnx_op c;

	memcpy(s.dim, dim, sizeof(dim));
	c = ox_data(n, &s);
	if (!c)
		return NULL;
	w = c->data;
	memset(w, 0, (size_t)ncc_elems(&s) * sizeof(*w));
	for (size_t i = 0; i < g->tree.n; i++) {
		const struct tree_node *leaf = find(f, g->tree.v[i], g->node.v[i]);

		if (!leaf || g->id.v[i] < 0 || g->id.v[i] >= targets) {
			onnx_fail(n, -EINVAL, "weight %zu is of no node, or of no target", i);
			return NULL;
		}
		if (leaf->mode)
			continue; /* converters give inner nodes numbers, too */
		w[((size_t)leaf->at * f->leaves + leaf->place) * (size_t)dim[2] +
		  (only < 0 ? (size_t)g->id.v[i] : 0)] += g->weight.v[i];
	}
	return ml_dot(n, reached(n, f, x), c, &d, true);
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
	int64_t targets = onnx_int(n, "n_targets", 1);
	struct forest f = { .features = x ? x->shape.dim[1] : 0 };
	struct given g;

	if (targets < 1 || targets > MOST_NODES)
		onnx_fail(n, -EINVAL, "%lld targets", (long long)targets);
	if (!n->rc && !read_given(n, &g, false) && !read_forest(n, &f)) {
		s = sums(n, &f, x, &g, targets, -1);
		if (onnx_string_is(n, "aggregate_function", "AVERAGE", "SUM"))
			s = ox_binc(n, NCC_MUL, s, 1.0 / f.ntrees);
		else if (!onnx_string_is(n, "aggregate_function", "SUM", "SUM"))
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

static void classify(struct onnx_node *n, const struct forest *f, onnx_op x, const struct given *g,
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
	{ "TreeEnsembleClassifier", 1, 1, .import = import_classifier, .unchanged = true },
	{ "TreeEnsembleRegressor",  1, 1, .import = import_regressor,  .unchanged = true },
	{ .op_type = NULL },
	/* clang-format on */
};
