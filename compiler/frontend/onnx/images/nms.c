// SPDX-License-Identifier: MIT
/*
 * NonMaxSuppression: a loop whose iterations take the best box that is left of every class at once,
 * and drop those that overlap with it, a few times, until no class has any left or all have enough.
 * Areas and overlaps are computed in fp32 as onnxruntime computes them. Part of the ONNX front end.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "images.h"
#include "frontend/onnx/values/kept.h"

#define LANES 128 /* partitions */
#define AT_ONCE 4 /* boxes of each class in one iteration, which carries much besides */

enum { Y1, X1, Y2, X2, AREA, COLUMNS };

struct nms {
	int64_t batches, classes, boxes;
	/* What a class has of boxes, and of places for those chosen, is lanes x so many: a few more
	 */
	int64_t lanes, each, places;
	int64_t most; /* iterations */
	onnx_op limit; /* fp32; NULL: most */
	onnx_op overlap; /* of more than that: the threshold */
	/* fp32[rows * lanes, each]: -Inf where there is no box; the boxes in the same places */
	onnx_op scores, column[COLUMNS];
	onnx_op table; /* fp32[batches * lanes * each, COLUMNS] */
	onnx_op number, place; /* constants: those of boxes and of places within a class */
};

static int64_t rows_of(const struct nms *s)
{
	return s->batches * s->classes;
}

static onnx_op f32_scalar(struct onnx_node *n, double v)
{
	return ox_scalar(n, &(struct ncc_shape){ .dtype = NEURON_DT_FP32 }, v);
}

/*
 * x, fp32, as it is, but lying with its first dimension along the partitions: what is read in every
 * iteration is not to be put together in each
 */
static onnx_op laid(struct onnx_node *n, onnx_op x)
{
	x = ox_binc(n, NCC_ADD, x, 0);
	if (x && x->kind != NCC_CONST)
		x->upright = true;
	return x;
}

/* [.., boxes] as [.., lanes * each]; what is missing has the value v */
static onnx_op padded(struct onnx_node *n, const struct nms *s, onnx_op x, double v)
{
	int64_t low[NCC_MAX_DIMS] = { 0 }, high[NCC_MAX_DIMS] = { 0 };

	if (!x)
		return NULL;
	high[x->shape.ndim - 1] = s->lanes * s->each - s->boxes;
	return ox_pad(n, x, f32_scalar(n, v), low, high);
}

/* x[rows, ..] for every lane of its row: [rows * lanes, ..] */
static onnx_op in_lanes(struct onnx_node *n, const struct nms *s, onnx_op x)
{
	struct ncc_shape all = { .ndim = 3, .dim = { rows_of(s), s->lanes, 1 } };
	static const uint8_t map[2] = { 0, 2 };

	if (!x)
		return NULL;
	if (x->shape.ndim > 1)
		all.dim[2] = x->shape.dim[1];
	x = ox_reshape(n, x, 2, (int64_t[]){ all.dim[0], all.dim[2] });
	x = ox_spread(n, x, &all, map);
	return laid(n, ox_reshape(n, x, 2, (int64_t[]){ all.dim[0] * s->lanes, all.dim[2] }));
}

/* [rows * lanes, 1] in so many columns */
static onnx_op in_columns(struct onnx_node *n, onnx_op x, int64_t columns)
{
	return x ? ox_expand(n, x, 2, (int64_t[]){ x->shape.dim[0], columns }) : NULL;
}

/* [batches, lanes * each] in all classes: [rows * lanes, each] */
static onnx_op in_classes(struct onnx_node *n, const struct nms *s, onnx_op x)
{
	struct ncc_shape all = { .ndim = 3, .dim = { s->batches, s->classes, s->lanes * s->each } };
	static const uint8_t map[2] = { 0, 2 };

	return ox_reshape(n, ox_spread(n, x, &all, map), 2,
			  (int64_t[]){ rows_of(s) * s->lanes, s->each });
}

/* Numbers from 0 on for each row: a constant [rows * lanes, each] */
static onnx_op counted(struct onnx_node *n, const struct nms *s, int64_t each)
{
	struct ncc_shape all = { NEURON_DT_FP32, false, 2, { rows_of(s) * s->lanes, each } };
	onnx_op op = ox_data(n, &all);

	for (int64_t i = 0; op && i < ncc_elems(&all); i++)
		ncc_set(all.dtype, op->data, i, (double)(i % (s->lanes * each)));
	return op;
}

/* Combines all places of a row: [rows] */
static onnx_op of_row(struct onnx_node *n, const struct nms *s, onnx_op x, enum ncc_kind func)
{
	x = ox_reduce(n, x, func, 1u << 1, false);
	if (s->lanes == 1)
		return x;
	x = ox_reshape(n, x, 2, (int64_t[]){ rows_of(s), s->lanes });
	return ox_reduce(n, x, func, 1u << 1, false);
}

/*
 * The boxes' four numbers, of any one shape, become two opposite corners, in order, and the area
 * between them.
 */
static void take_corners(struct onnx_node *n, onnx_op column[COLUMNS])
{
	const bool center = onnx_int(n, "center_point_box");
	onnx_op c[4], half;

	memcpy(c, column, sizeof(c));
	for (unsigned int i = 0; i < 2; i++) { /* y, then x; or centers and sizes of x, then y */
		unsigned int low = center ? 1 - i : i;

		if (center) {
			half = ox_binc(n, NCC_MUL, c[2 + i], 0.5);
			column[low] = ox_bin(n, NCC_SUB, c[i], half);
			column[low + 2] = ox_bin(n, NCC_ADD, c[i], half);
		} else {
			column[low] = ox_bin(n, NCC_MIN, c[i], c[i + 2]);
			column[low + 2] = ox_bin(n, NCC_MAX, c[i], c[i + 2]);
		}
	}
	column[AREA] = ox_bin(n, NCC_MUL, ox_bin(n, NCC_SUB, column[X2], column[X1]),
			      ox_bin(n, NCC_SUB, column[Y2], column[Y1]));
}

static bool take_boxes(struct onnx_node *n, struct nms *s)
{
	onnx_op boxes = ox_f32(n, onnx_in(n, 0)), part[COLUMNS] = { 0 };
	int64_t all = s->batches * s->lanes * s->each;

	for (unsigned int i = 0; i < AREA; i++) {
		part[i] = ox_slice(n, boxes, 2, i, 1, 1);
		part[i] = padded(n, s, ox_reshape(n, part[i], 2, onnx_in(n, 0)->shape.dim), 0);
		s->column[i] = in_classes(n, s, part[i]);
	}
	take_corners(n, s->column);
	take_corners(n, part);
	for (unsigned int i = 0; i < COLUMNS; i++) {
		s->column[i] = laid(n, s->column[i]);
		part[i] = ox_reshape(n, part[i], 2, (int64_t[]){ all, 1 });
	}
	s->table = ox_concat(n, part, COLUMNS, 1);
	return s->table;
}

/* A number that may come as a tensor of one element; NULL: it is absent */
static onnx_op one_number(struct onnx_node *n, unsigned int i)
{
	onnx_op x = onnx_in(n, i);

	if (x && ncc_elems(&x->shape) != 1)
		onnx_fail(n, -EINVAL, "operand %u has %lld elements, expected one", i,
			  (long long)ncc_elems(&x->shape));
	return x && !n->rc ? ox_reshape(n, x, 0, NULL) : NULL;
}

static bool take_scores(struct onnx_node *n, struct nms *s)
{
	onnx_op x = ox_f32(n, onnx_in(n, 1)), least = one_number(n, 4), there;

	if (least)
		x = ox_select(n, ox_bin(n, NCC_GT, x, least), x, f32_scalar(n, -INFINITY));
	for (unsigned int i = 0; i < 2; i++) { /* boxes that are not there have no scores */
		there = onnx_there(n, &n->in[i], ONNX_ALL_DIMS);
		there = there ? ox_reshape(n, there, 1, &s->boxes) : NULL;
		if (there)
			x = ox_select(n, there, x, f32_scalar(n, -INFINITY));
	}
	x = padded(n, s, x, -INFINITY);
	s->scores = ox_reshape(n, x, 2, (int64_t[]){ rows_of(s) * s->lanes, s->each });
	s->scores = laid(n, s->scores);
	s->number = counted(n, s, s->each);
	s->place = counted(n, s, s->places);
	return !n->rc;
}

/*
 * Is a / b, rounded as IEEE does, above t? It is if a is above m b, where m lies in the middle
 * between t and the next number: no quotient of two numbers does. What m b is, is subtracted from a
 * in exact products of parts, the largest ones first, so that what is left is exact where it is
 * small.
 */
static onnx_op is_above(struct onnx_node *n, onnx_op a, onnx_op b, float t)
{
	static const int bits[3] = { 9, 17, 25 }; /* of m, in its first parts */
	double m = ((double)t + (double)nextafterf(t, INFINITY)) / 2, before = 0, whole;
	onnx_op part[2] = { NULL, NULL };
	int exponent;

	if (!a || !b || n->rc)
		return NULL;
	if (t <= 0)
		return ox_binc(n, NCC_GT, a, 0);
	part[0] = build_bitcast(&n->b, b, NEURON_DT_INT32);
	part[0] = ox_binc(n, NCC_AND, part[0], ~0x1ff); /* 15 bits of it */
	part[0] = build_bitcast(&n->b, part[0], NEURON_DT_FP32);
	part[1] = ox_bin(n, NCC_SUB, b, part[0]);
	(void)frexp(m, &exponent);
	for (unsigned int i = 0; i < 3; i++) {
		whole = ldexp(floor(ldexp(m, bits[i] - exponent)), exponent - bits[i]);
		for (unsigned int k = 0; k < 2; k++)
			a = ox_bin(n, NCC_SUB, a, ox_binc(n, NCC_MUL, part[k], whole - before));
		before = whole;
	}
	return ox_binc(n, NCC_GT, a, 0);
}

static onnx_op overlaps(struct onnx_node *n, const struct nms *s, onnx_op both, onnx_op all)
{
	double t;

	if (ncc_scalar_value(s->overlap, &t))
		return is_above(n, both, all, (float)t);
	return ox_bin(n, NCC_GT, ox_bin(n, NCC_DIV, both, all), s->overlap);
}

/* The places that overlap too much with the boxes at, fp32[rows], of their rows */
static onnx_op overlapping(struct onnx_node *n, const struct nms *s, onnx_op at)
{
	struct ncc_shape first = { NEURON_DT_INT32, false, 1, { rows_of(s) } };
	onnx_op row = ox_data(n, &first), box, taken[COLUMNS], side[2], both, all;

	for (int64_t i = 0; row && i < rows_of(s); i++)
		ncc_set(first.dtype, row->data, i, (double)(i / s->classes * s->lanes * s->each));
	row = ox_bin(n, NCC_ADD, build_cast(&n->b, at, NEURON_DT_INT32), row);
	box = n->rc ? NULL : ox_expanded(n, expand_take_inside(&n->b, s->table, row, 0), row);
	box = in_lanes(n, s, box);
	for (unsigned int i = 0; i < COLUMNS; i++)
		taken[i] = in_columns(n, ox_slice(n, box, 1, i, 1, 1), s->each);
	for (unsigned int i = 0; i < 2; i++) {
		side[i] = ox_bin(n, NCC_SUB, ox_bin(n, NCC_MIN, s->column[i + 2], taken[i + 2]),
				 ox_bin(n, NCC_MAX, s->column[i], taken[i]));
		side[i] = ox_binc(n, NCC_MAX, side[i], 0);
	}
	both = ox_bin(n, NCC_MUL, side[1], side[0]);
	all = ox_bin(n, NCC_SUB, ox_bin(n, NCC_ADD, s->column[AREA], taken[AREA]), both);
	return overlaps(n, s, both, all);
}

/* The states of the loop */
enum { SCORE, BEST, CHOSEN, TRIP, STATES };

static onnx_op goes_on(struct onnx_node *n, const struct nms *s, onnx_op trip, onnx_op best)
{
	onnx_op any = ox_binc(n, NCC_GT, ox_reduce(n, best, NCC_MAX, 1, false), -INFINITY);
	onnx_op more = s->limit ? ox_bin(n, NCC_LT, trip, s->limit)
				: ox_binc(n, NCC_LT, trip, (double)s->most);

	any = ox_bin(n, NCC_AND, any, more);
	return n->imp->guard && any ? ox_bin(n, NCC_AND, any, n->imp->guard) : any;
}

/*
 * Takes a box of every row that has one. Those beyond the number of iterations go to places that
 * nobody reads; those beyond a limit that is only known when the model runs are none.
 */
static void choose(struct onnx_node *n, const struct nms *s, onnx_op *state)
{
	onnx_op best, at, number, dead, now;

	if (n->rc || !state[SCORE] || !state[BEST] || !state[CHOSEN])
		return;
	best = in_lanes(n, s, state[BEST]);
	at = ox_bin(n, NCC_EQ, state[SCORE], in_columns(n, best, s->each));
	at = of_row(n, s, ox_select(n, at, s->number, f32_scalar(n, 0x1p24)), NCC_MIN);
	number = in_lanes(n, s, at);
	dead = ox_bin(n, NCC_EQ, s->number, in_columns(n, number, s->each));
	dead = ox_bin(n, NCC_OR, dead, overlapping(n, s, at));
	state[SCORE] = ox_select(n, dead, f32_scalar(n, -INFINITY), state[SCORE]);
	state[BEST] = of_row(n, s, state[SCORE], NCC_MAX);

	now = ox_binc(n, NCC_GT, best, -INFINITY);
	if (s->limit)
		now = ox_bin(n, NCC_AND, now, ox_bin(n, NCC_LT, state[TRIP], s->limit));
	number = ox_select(n, now, number, f32_scalar(n, -1));
	now = ox_bin(n, NCC_EQ, s->place, state[TRIP]);
	state[CHOSEN] = ox_select(n, now, in_columns(n, number, s->places), state[CHOSEN]);
	state[TRIP] = ox_binc(n, NCC_ADD, state[TRIP], 1);
}

/* The numbers of the boxes, s32[rows, most], the best first; -1: no more */
static onnx_op chosen_of(struct onnx_node *n, const struct nms *s)
{
	onnx_op before[STATES], state[STATES], next[STATES] = { 0 }, loop, end, none;

	none = in_columns(n, s->place, s->places);
	none = none ? ox_expand(n, f32_scalar(n, -1), 2, none->shape.dim) : NULL;
	before[SCORE] = s->scores;
	before[BEST] = of_row(n, s, s->scores, NCC_MAX);
	before[CHOSEN] = none;
	before[TRIP] = f32_scalar(n, 0);
	loop = n->rc ? NULL : build_loop(&n->b, goes_on(n, s, before[TRIP], before[BEST]));
	for (unsigned int i = 0; i < STATES; i++)
		state[i] = n->rc ? NULL : build_state(&n->b, loop, before[i]);
	memcpy(next, state, sizeof(next));
	for (unsigned int i = 0; i < AT_ONCE && state[TRIP]; i++)
		choose(n, s, next);
	end = build_loop_end(&n->b, loop, next[TRIP] ? goes_on(n, s, next[TRIP], next[BEST]) : NULL,
			     state, next, STATES);
	end = end ? build_loop_result(&n->b, end, state[CHOSEN]) : NULL;
	if (!end)
		onnx_fail(n, -ENOMEM, "out of memory");
	end = ox_reshape(n, end, 2, (int64_t[]){ rows_of(s), s->lanes * s->places });
	return build_cast(&n->b, ox_slice(n, end, 1, 0, s->most, 1), NEURON_DT_INT32);
}

/* Batch, class and box of each that was chosen */
static void give_chosen(struct onnx_node *n, const struct nms *s, onnx_op chosen)
{
	int64_t all = rows_of(s) * s->most;
	struct ncc_shape place = { NEURON_DT_INT32, false, 2, { all, 2 } };
	onnx_op part[2] = { ox_data(n, &place), NULL }, keep, rows, size;

	for (int64_t i = 0; part[0] && i < all; i++) {
		int64_t row = i / s->most;

		ncc_set(place.dtype, part[0]->data, 2 * i, (double)(row / s->classes));
		ncc_set(place.dtype, part[0]->data, 2 * i + 1, (double)(row % s->classes));
	}
	part[1] = ox_reshape(n, chosen, 2, (int64_t[]){ all, 1 });
	rows = ox_concat(n, part, 2, 1);
	keep = ox_binc(n, NCC_GE, ox_reshape(n, chosen, 1, &all), 0);
	if (rows_of(s) > 1) {
		rows = onnx_keep_rows(n, rows, keep, all, &size);
	} else { /* they come first already */
		size = ox_reduce(n, ox_cast(n, keep, NEURON_DT_INT32, false), NCC_ADD, 1, false);
		keep = ox_reshape(n, keep, 2, (int64_t[]){ all, 1 });
		rows = ox_select(n, keep, rows, ox_scalar(n, &place, 0));
	}
	onnx_give_some(n, 0, rows, ONNX_INT64, 0, size);
}

/* false: an error, or there is nothing to choose */
static bool take_limit(struct onnx_node *n, struct nms *s)
{
	struct ncc_shape none = { .ndim = 2, .dim = { 0, 3 } };
	struct onnx_number most = { 0 };

	if (onnx_in(n, 2) && (!one_number(n, 2) || !onnx_number(n, onnx_in(n, 2), 0, &most)))
		return false;
	s->limit = most.op ? ox_f32(n, most.op) : NULL;
	s->most = most.value < s->boxes ? most.value : s->boxes;
	if (s->most > 0)
		return true;
	onnx_give_empty(n, 0, &none, ONNX_INT64);
	return false;
}

static void import_nms(struct onnx_node *n)
{
	const struct ncc_shape *boxes = &onnx_in(n, 0)->shape, *scores = &onnx_in(n, 1)->shape;
	struct nms s = { .lanes = 1 };

	n->exact = true;
	if (boxes->ndim != 3 || scores->ndim != 3 || boxes->dim[2] != 4 ||
	    boxes->dim[0] != scores->dim[0] || boxes->dim[1] != scores->dim[2]) {
		onnx_fail(n, -EINVAL,
			  "boxes or scores of other shapes than batches x boxes x 4, "
			  "batches x classes x boxes");
		return;
	}
	if (onnx_sized_but(&n->in[0], 1) || onnx_sized_but(&n->in[1], 2)) {
		onnx_fail(n, -ENOTSUP, "the number of batches or classes depends on the data");
		return;
	}
	s.batches = scores->dim[0];
	s.classes = scores->dim[1];
	s.boxes = scores->dim[2];
	if (rows_of(&s) < LANES && s.boxes > LANES)
		s.lanes = LANES / rows_of(&s);
	s.each = (s.boxes + s.lanes - 1) / s.lanes;
	if (s.lanes * s.each >= 1 << 24)
		onnx_fail(n, -EFBIG, "too large: %lld boxes", (long long)s.boxes);
	if (n->rc || !take_limit(n, &s))
		return;
	s.places = (s.most + s.lanes - 1) / s.lanes;
	s.overlap = one_number(n, 3);
	s.overlap = s.overlap ? ox_f32(n, s.overlap) : f32_scalar(n, 0);
	if (take_boxes(n, &s) && take_scores(n, &s))
		give_chosen(n, &s, chosen_of(n, &s));
}

const struct onnx_rule onnx_nms[] = {
	/* clang-format off */
	{ "NonMaxSuppression", 2, 5, .import = import_nms, .sized = sized_own, .takes = ONNX_OPERAND(0) | ONNX_OPERAND(1), .since = 10,
	  .attrs = ONNX_ATTRS(
		ATTR("center_point_box", INT)) },
	{ .op_type = NULL },
	/* clang-format on */
};
