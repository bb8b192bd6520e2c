// SPDX-License-Identifier: MIT
/*
 * LSTM, GRU and RNN, unrolled over the sequence. The input's contribution is one product for all
 * steps; each step multiplies the state. Part of the ONNX front end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "recurrent.h"
#include "frontend/onnx/elements/elements.h"

enum cell { CELL_RNN, CELL_GRU, CELL_LSTM };

/* One layer in one direction */
struct rnn {
	struct onnx_node *n;
	enum cell cell;
	unsigned int gates, dir, dirs;
	int64_t steps, batch, hidden;
	bool batch_first, reverse;
	onnx_op x; /* the input's contribution: [steps, batch, gates * hidden] */
	onnx_op r; /* the state's weights */
	bool dynamic; /* weights of eight bits, [from, to], and products of quantized operands */
	onnx_op rs, rz; /* the scale and zero point of r */
	onnx_op rb; /* bias of the state's product, gates * hidden */
	onnx_op peep, lens;
	onnx_op h, c;
	onnx_op *y; /* each step's */
};

static onnx_op affine(struct onnx_node *n, onnx_op x, double alpha, double beta)
{
	return ox_binc(n, NCC_ADD, ox_binc(n, NCC_MUL, x, alpha), beta);
}

static onnx_op scaled_tanh(struct onnx_node *n, onnx_op x, double alpha, double beta)
{
	return ox_binc(n, NCC_MUL, ox_un(n, NCC_TANH, ox_binc(n, NCC_MUL, x, beta)), alpha);
}

/* The functions that gates may have: a kind of the IR, or a formula of as many numbers */
static const struct activation {
	const char *name;
	enum ncc_kind kind;
	onnx_op (*none)(struct onnx_node *n, onnx_op x);
	onnx_op (*one)(struct onnx_node *n, onnx_op x, double alpha);
	onnx_op (*two)(struct onnx_node *n, onnx_op x, double alpha, double beta);
	double alpha, beta; /* where the node does not say them */
} activations[] = {
	{ "Sigmoid", .kind = NCC_LOGISTIC },
	{ "Tanh", .kind = NCC_TANH },
	{ "Softplus", .kind = NCC_SOFTPLUS },
	{ "Relu", .none = ox_relu },
	{ "Softsign", .none = ox_softsign },
	{ "Elu", .one = ox_elu, .alpha = 1 },
	{ "LeakyRelu", .one = ox_leaky, .alpha = (double)0.01f },
	{ "ThresholdedRelu", .one = ox_thresholded, .alpha = 1 },
	{ "Affine", .two = affine, .alpha = 1 },
	{ "HardSigmoid", .two = ox_hard_sigmoid, .alpha = (double)0.2f, .beta = 0.5 },
	{ "ScaledTanh", .two = scaled_tanh, .alpha = 1, .beta = 1 },
};

/* The node's activation number i; NULL: another one, and n->rc is set */
static const struct activation *activation_of(struct onnx_node *n, size_t i, const char *otherwise)
{
	const Ncc__Onnx__Attribute *a = onnx_attr(n, "activations");
	const bool given = a && i < a->n_strings;
	const char *name = given ? (const char *)a->strings[i].data : otherwise;
	const size_t len = given ? a->strings[i].len : strlen(otherwise);

	for (size_t k = 0; k < sizeof(activations) / sizeof(activations[0]); k++)
		if (len == strlen(activations[k].name) &&
		    !strncasecmp(name, activations[k].name, len))
			return &activations[k];
	onnx_fail(n, -ENOTSUP, "activation '%.*s' is not supported", (int)(len < 40 ? len : 40),
		  name);
	return NULL;
}

/* Number i of a list of those activations that take such a number */
static double number_of(const struct onnx_node *n, const char *list, size_t i, double otherwise)
{
	const Ncc__Onnx__Attribute *a = onnx_attr(n, list);

	return a && i < a->n_floats ? (double)a->floats[i] : otherwise;
}

static onnx_op activate(struct onnx_node *n, onnx_op x, unsigned int which, const char *otherwise)
{
	const struct activation *f = activation_of(n, which, otherwise), *before;
	size_t alphas = 0, betas = 0;

	for (unsigned int i = 0; f && i < which; i++) {
		before = activation_of(n, i, "Tanh");
		alphas += before && (before->one || before->two);
		betas += before && before->two;
	}
	if (!f || !x || n->rc)
		return NULL;
	if (f->none)
		return f->none(n, x);
	if (f->one)
		return f->one(n, x, number_of(n, "activation_alpha", alphas, f->alpha));
	if (f->two)
		return f->two(n, x, number_of(n, "activation_alpha", alphas, f->alpha),
			      number_of(n, "activation_beta", betas, f->beta));
	return ox_un(n, f->kind, x);
}

static onnx_op clipped(struct onnx_node *n, onnx_op x)
{
	double clip = onnx_float(n, "clip");

	return clip > 0 ? ox_binc(n, NCC_MIN, ox_binc(n, NCC_MAX, x, -clip), clip) : x;
}

/* Gate g, a part of the last dimension */
static onnx_op gate(struct rnn *l, onnx_op x, unsigned int g)
{
	return x ? ox_slice(l->n, x, x->shape.ndim - 1, g * l->hidden, l->hidden, 1) : NULL;
}

/*
 * The layer's direction of an operand [dirs, ...]; with layout 1 the first two dimensions are
 * exchanged.
 */
static onnx_op part(struct rnn *l, unsigned int i, unsigned int axis)
{
	onnx_op x = onnx_in(l->n, i);
	int64_t dim[NCC_MAX_DIMS];
	unsigned int k = 0;

	if (!x || l->n->rc)
		return NULL;
	if (axis >= x->shape.ndim || x->shape.dim[axis] != l->dirs) {
		onnx_fail(l->n, -EINVAL, "operand %u does not have %u directions", i, l->dirs);
		return NULL;
	}
	for (unsigned int d = 0; d < x->shape.ndim; d++)
		if (d != axis)
			dim[k++] = x->shape.dim[d];
	x = ox_slice(l->n, x, axis, l->dir, 1, 1);
	return ox_reshape(l->n, x, k, dim);
}

static onnx_op times(struct rnn *l, onnx_op a, onnx_op w)
{
	struct ncc_dot d = { .ncontract = 1, .rhs_contract = { 1 } };

	if (!a || !w || l->n->rc)
		return NULL;
	if (!a->shape.ndim) {
		onnx_fail(l->n, -EINVAL, "a state of rank 0");
		return NULL;
	}
	d.lhs_contract[0] = (uint8_t)(a->shape.ndim - 1);
	if (w->shape.ndim != 2 || w->shape.dim[1] != a->shape.dim[a->shape.ndim - 1] ||
	    w->shape.dim[0] % l->hidden) {
		onnx_fail(l->n, -EINVAL, "weights do not fit");
		return NULL;
	}
	return ox_dot(l->n, a, w, &d, a->shape.dtype);
}

/* The product of a, which is quantized now, and w, whose scale is one number or one for each column
 */
static onnx_op times_quantized(struct rnn *l, onnx_op a, onnx_op w, int32_t type, onnx_op scale,
			       onnx_op zero)
{
	struct onnx_value q[3], in[4], of = { .op = a, .type = ONNX_FLOAT };

	if (!a || !w || !scale || l->n->rc)
		return NULL;
	if (w->shape.ndim != 2 || w->shape.dim[0] != a->shape.dim[a->shape.ndim - 1] ||
	    w->shape.dim[1] != l->gates * l->hidden) {
		onnx_fail(l->n, -EINVAL, "weights do not fit");
		return NULL;
	}
	ox_standard(l->n, "DynamicQuantizeLinear", &of, 1, q, 3);
	in[0] = q[0];
	in[1] = (struct onnx_value){ .op = w, .type = type };
	in[2] = q[2];
	in[3] = (struct onnx_value){ .op = zero, .type = type };
	ox_standard(l->n, "MatMulInteger", in, 4, &of, 1);
	return ox_bin(l->n, NCC_MUL, ox_f32(l->n, of.op), ox_bin(l->n, NCC_MUL, q[1].op, scale));
}

/* The state's contribution to all gates */
static onnx_op times_state(struct rnn *l)
{
	if (!l->dynamic)
		return times(l, l->h, l->r);
	return times_quantized(l, l->h, l->r, l->n->in[2].type, l->rs, l->rz);
}

static onnx_op step_rnn(struct rnn *l, onnx_op x)
{
	onnx_op h = ox_bin(l->n, NCC_ADD, times(l, l->h, l->r), l->rb);

	h = clipped(l->n, ox_bin(l->n, NCC_ADD, x, h));
	return activate(l->n, h, l->dir, "Tanh");
}

/* The gates are z, r, h. */
static onnx_op step_gru(struct rnn *l, onnx_op x)
{
	struct onnx_node *n = l->n;
	bool linear = onnx_int(n, "linear_before_reset");
	onnx_op s = ox_bin(n, NCC_ADD, times(l, l->h, l->r), l->rb), z, r, h, w, one;

	z = activate(n, clipped(n, ox_bin(n, NCC_ADD, gate(l, x, 0), gate(l, s, 0))), 2 * l->dir,
		     "Sigmoid");
	r = activate(n, clipped(n, ox_bin(n, NCC_ADD, gate(l, x, 1), gate(l, s, 1))), 2 * l->dir,
		     "Sigmoid");
	if (linear) {
		h = ox_bin(n, NCC_MUL, r, gate(l, s, 2));
	} else {
		w = ox_slice(n, l->r, 0, 2 * l->hidden, l->hidden, 1);
		h = times(l, ox_bin(n, NCC_MUL, r, l->h), w);
		h = ox_bin(n, NCC_ADD, h, gate(l, l->rb, 2));
	}

	h = clipped(n, ox_bin(n, NCC_ADD, gate(l, x, 2), h));
	h = activate(n, h, 2 * l->dir + 1, "Tanh");
	one = z ? ox_scalar(n, &z->shape, 1) : NULL;
	h = ox_bin(n, NCC_MUL, ox_bin(n, NCC_SUB, one, z), h);
	return ox_bin(n, NCC_ADD, h, ox_bin(n, NCC_MUL, z, l->h));
}

/* A gate of the LSTM, with its peephole to the cell */
static onnx_op lstm_gate(struct rnn *l, onnx_op s, unsigned int g, unsigned int peephole, onnx_op c)
{
	onnx_op v = gate(l, s, g);

	if (l->peep)
		v = ox_bin(l->n, NCC_ADD, v, ox_bin(l->n, NCC_MUL, gate(l, l->peep, peephole), c));
	return activate(l->n, clipped(l->n, v), 3 * l->dir, "Sigmoid");
}

/* The gates are i, o, f, c; the peepholes i, o, f. */
static onnx_op step_lstm(struct rnn *l, onnx_op x, onnx_op *cell)
{
	struct onnx_node *n = l->n;
	onnx_op s = ox_bin(n, NCC_ADD, x, ox_bin(n, NCC_ADD, times_state(l), l->rb));
	onnx_op i = lstm_gate(l, s, 0, 0, l->c), f, c, o;

	if (onnx_int(n, "input_forget")) {
		f = i ? ox_bin(n, NCC_SUB, ox_scalar(n, &i->shape, 1), i) : NULL;
	} else {
		f = lstm_gate(l, s, 2, 2, l->c);
	}
	c = activate(n, clipped(n, gate(l, s, 3)), 3 * l->dir + 1, "Tanh");
	c = ox_bin(n, NCC_ADD, ox_bin(n, NCC_MUL, f, l->c), ox_bin(n, NCC_MUL, i, c));
	o = lstm_gate(l, s, 1, 1, c);
	*cell = c;
	return ox_bin(n, NCC_MUL, o, activate(n, c, 3 * l->dir + 2, "Tanh"));
}

/* Past a sequence's end the state stays and the output is 0 */
static void one_step(struct rnn *l, int64_t t)
{
	struct onnx_node *n = l->n;
	const int64_t flat[2] = { l->batch, l->gates * l->hidden }, column[2] = { l->batch, 1 };
	onnx_op x = ox_reshape(n, ox_slice(n, l->x, 0, t, 1, 1), 2, flat), h, c = NULL, going;

	h = l->cell == CELL_LSTM  ? step_lstm(l, x, &c)
	    : l->cell == CELL_GRU ? step_gru(l, x)
				  : step_rnn(l, x);
	l->y[t] = h;
	if (l->lens && h) {
		going = ox_binc(n, NCC_GT, ox_reshape(n, l->lens, 2, column), (double)t);
		l->y[t] = ox_select(n, going, h, ox_scalar(n, &h->shape, 0));
		h = ox_select(n, going, h, l->h);
		c = c ? ox_select(n, going, c, l->c) : NULL;
	}
	l->h = h;
	l->c = c;
}

static onnx_op zeros(struct rnn *l)
{
	const int64_t dim[2] = { l->batch, l->hidden };

	return ox_expand(l->n, ox_scalar(l->n, &onnx_in(l->n, 0)->shape, 0), 2, dim);
}

static bool take_direction(struct rnn *l)
{
	struct onnx_node *n = l->n;
	onnx_op bias = part(l, 3, 0), wb = NULL;
	const int64_t gh = l->gates * l->hidden;
	const unsigned int axis = l->batch_first ? 1 : 0;

	l->r = part(l, 2, 0);
	if (bias && bias->shape.dim[0] == 2 * gh) {
		wb = ox_slice(n, bias, 0, 0, gh, 1);
		l->rb = ox_slice(n, bias, 0, gh, gh, 1);
	} else if (bias) {
		onnx_fail(n, -EINVAL, "the bias does not have %lld numbers", (long long)(2 * gh));
	} else {
		l->rb = ox_expand(n, ox_scalar(n, &onnx_in(n, 0)->shape, 0), 1, &gh);
	}

	if (n->rc || !l->r || l->r->shape.ndim != 2 || l->r->shape.dim[l->dynamic] != gh ||
	    l->r->shape.dim[!l->dynamic] != l->hidden) {
		onnx_fail(n, -EINVAL, "the state's weights do not fit");
		return false;
	}

	if (l->dynamic) {
		l->rs = part(l, 10, 0);
		l->rz = part(l, 11, 0);
		l->x = times_quantized(l, l->x, part(l, 1, 0), n->in[1].type, part(l, 8, 0),
				       part(l, 9, 0));
	} else {
		l->x = times(l, l->x, part(l, 1, 0));
	}
	if (l->x && l->x->shape.dim[2] != gh)
		onnx_fail(n, -EINVAL, "the input's weights do not fit");
	l->x = wb ? ox_bin(n, NCC_ADD, l->x, wb) : l->x;
	l->h = onnx_in(n, 5) ? part(l, 5, axis) : zeros(l);
	if (l->cell != CELL_LSTM)
		return !n->rc;
	l->c = onnx_in(n, 6) ? part(l, 6, axis) : zeros(l);
	l->peep = part(l, 7, 0);
	return !n->rc;
}

/* Y of one direction: [steps, 1, batch, hidden] */
static onnx_op run_direction(struct rnn *l)
{
	const int64_t dim[4] = { 1, 1, l->batch, l->hidden };
	onnx_op y = NULL;

	l->y = calloc((size_t)l->steps, sizeof(*l->y));
	if (!l->y) {
		onnx_fail(l->n, -ENOMEM, "out of memory");
		return NULL;
	}
	for (int64_t t = 0; t < l->steps && !l->n->rc; t++)
		one_step(l, l->reverse ? l->steps - 1 - t : t);
	for (int64_t t = 0; t < l->steps && !l->n->rc; t++)
		l->y[t] = ox_reshape(l->n, l->y[t], 4, dim);
	if (!l->n->rc)
		y = ox_concat(l->n, l->y, (unsigned int)l->steps, 0);
	free(l->y);
	return y;
}

/* [dirs, batch, hidden], or [batch, dirs, hidden] */
static onnx_op states(struct rnn *l, onnx_op *h)
{
	const int64_t dim[3] = { l->batch_first ? l->batch : 1, l->batch_first ? 1 : l->batch,
				 l->hidden };

	for (unsigned int d = 0; d < l->dirs; d++)
		h[d] = ox_reshape(l->n, h[d], 3, dim);
	return ox_concat(l->n, h, l->dirs, l->batch_first);
}

static bool take_sizes(struct rnn *l)
{
	struct onnx_node *n = l->n;
	onnx_op x = onnx_in(n, 0), r = onnx_in(n, 2);
	static const uint8_t swap[3] = { 1, 0, 2 };

	l->batch_first = onnx_int(n, "layout");
	l->dirs = onnx_string_is(n, "direction", "bidirectional") ? 2 : 1;
	l->gates = l->cell == CELL_LSTM ? 4 : l->cell == CELL_GRU ? 3 : 1;
	if (x->shape.ndim != 3 || r->shape.ndim != 3 || !ncc_is_float(x->shape.dtype)) {
		onnx_fail(n, -EINVAL, "operands of rank %u and %u, expected 3", x->shape.ndim,
			  r->shape.ndim);
		return false;
	}

	l->x = l->batch_first ? ox_transpose(n, x, swap) : x;
	l->hidden = r->shape.dim[l->dynamic ? 1 : 2];
	l->lens = onnx_in(n, 4) ? ox_cast(n, onnx_in(n, 4), NEURON_DT_INT32, false) : NULL;
	if (n->rc)
		return false;
	l->steps = l->x->shape.dim[0];
	l->batch = l->x->shape.dim[1];
	if (l->steps > ONNX_MAX_ITERATIONS)
		onnx_fail(n, -EFBIG, "more than %d steps", ONNX_MAX_ITERATIONS);
	return !n->rc;
}

static void import_layer(struct onnx_node *n, enum cell cell, bool dynamic)
{
	static const uint8_t batch_first[4] = { 2, 0, 1, 3 };
	struct rnn l = { .n = n, .cell = cell, .dynamic = dynamic };
	onnx_op y[2] = { NULL, NULL }, h[2], c[2], x;

	if (!take_sizes(&l))
		return;
	x = l.x;
	for (l.dir = 0; l.dir < l.dirs && !n->rc; l.dir++) {
		l.x = x;
		l.reverse = l.dir || onnx_string_is(n, "direction", "reverse");
		if (take_direction(&l))
			y[l.dir] = run_direction(&l);
		h[l.dir] = l.h;
		c[l.dir] = l.c;
	}

	if (n->rc)
		return;
	y[0] = ox_concat(n, y, l.dirs, 1);
	onnx_give(n, 0, l.batch_first ? ox_transpose(n, y[0], batch_first) : y[0]);
	onnx_give(n, 1, states(&l, h));
	if (l.cell == CELL_LSTM)
		onnx_give(n, 2, states(&l, c));
}

static void import_rnn(struct onnx_node *n)
{
	import_layer(n, (enum cell)onnx_arg(n), false);
}

void onnx_dynamic_lstm(struct onnx_node *n)
{
	if (!onnx_in(n, 8) || !onnx_in(n, 9) || !onnx_in(n, 10) || !onnx_in(n, 11))
		onnx_fail(n, -EINVAL, "a scale or zero point of the weights is absent");
	else
		import_layer(n, CELL_LSTM, true);
}

const struct onnx_rule onnx_rnn[] = {
	/* clang-format off */
	{ "GRU",  3,  6, .import = import_rnn, .arg = CELL_GRU, .sized = sized_rnn, .takes = ONNX_OPERAND(0) | ONNX_OPERAND(4) | ONNX_OPERAND(5),
	  .attrs = ONNX_ATTRS(
		ATTR("activation_alpha", FLOATS), ATTR("activation_beta", FLOATS),
		ATTR("activations", TEXTS), ATTR("clip", FLOAT),
		ATTR("direction", TEXT, .words = "forward|reverse|bidirectional", .s = "forward"), ATTR("hidden_size", INT),
		ATTR("layout", INT, .from = 14), ATTR("linear_before_reset", INT),
		ATTR("output_sequence", INT, .until = 6)) },
	{ "LSTM", 3,  8, .import = import_rnn, .arg = CELL_LSTM, .sized = sized_rnn, .takes = ONNX_OPERAND(0) | ONNX_OPERAND(4) | ONNX_OPERAND(5) | ONNX_OPERAND(6),
	  .attrs = ONNX_ATTRS(
		ATTR("activation_alpha", FLOATS), ATTR("activation_beta", FLOATS),
		ATTR("activations", TEXTS), ATTR("clip", FLOAT),
		ATTR("direction", TEXT, .words = "forward|reverse|bidirectional", .s = "forward"), ATTR("hidden_size", INT),
		ATTR("input_forget", INT), ATTR("layout", INT, .from = 14),
		ATTR("output_sequence", INT, .until = 6)) },
	{ "RNN",  3,  6, .import = import_rnn, .arg = CELL_RNN, .sized = sized_rnn, .takes = ONNX_OPERAND(0) | ONNX_OPERAND(4) | ONNX_OPERAND(5),
	  .attrs = ONNX_ATTRS(
		ATTR("activation_alpha", FLOATS), ATTR("activation_beta", FLOATS),
		ATTR("activations", TEXTS), ATTR("clip", FLOAT),
		ATTR("direction", TEXT, .words = "forward|reverse|bidirectional", .s = "forward"), ATTR("hidden_size", INT),
		ATTR("layout", INT, .from = 14), ATTR("output_sequence", INT, .until = 6)) },
	{ .op_type = NULL },
	/* clang-format on */
};
