// SPDX-License-Identifier: MIT
/*
 * Discrete Fourier transforms in fp32, element by element. One factor of the length after the other
 * (Stockham's order, which needs no permutation), each with its small transform written out; a
 * length with a prime factor that is too large for that becomes a convolution (Bluestein). Products
 * of the tensor engine are avoided: they take bf16, and fp32 would need six of each. Called by the
 * front ends.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "expand.h"

#define MOST_PRIME 31 /* factors of which the transform is written out */

/* Transforms along the last dimension of [rows, n] */
struct transform {
	struct ncc_build *bl;
	int64_t rows, n;
	bool inverse;
};

static struct ncc_complex failed(void)
{
	return (struct ncc_complex){ NULL, NULL };
}

/* A number of which the imaginary part may be absent; it may not have failed unnoticed. */
static struct ncc_complex number(struct ncc_op *re, struct ncc_op *im, bool real)
{
	return re && (im || real) ? (struct ncc_complex){ re, im } : failed();
}

static struct ncc_complex add(struct ncc_build *bl, struct ncc_complex a, struct ncc_complex b)
{
	bool real = !a.im && !b.im;
	struct ncc_op *im = !a.im ? b.im : !b.im ? a.im : build_binary(bl, NCC_ADD, a.im, b.im);

	return number(build_binary(bl, NCC_ADD, a.re, b.re), im, real);
}

static struct ncc_complex subtract(struct ncc_build *bl, struct ncc_complex a, struct ncc_complex b)
{
	struct ncc_op *im = a.im;

	if (b.im && a.im)
		im = build_binary(bl, NCC_SUB, a.im, b.im);
	else if (b.im)
		im = build_node(bl, NCC_NEG, &b.im->shape, b.im, NULL, NULL);
	return number(build_binary(bl, NCC_SUB, a.re, b.re), im, !a.im && !b.im);
}

/* a plus (or minus) i b */
static struct ncc_complex add_turned(struct ncc_build *bl, struct ncc_complex a,
				     struct ncc_complex b, bool minus)
{
	enum ncc_kind up = minus ? NCC_SUB : NCC_ADD, down = minus ? NCC_ADD : NCC_SUB;
	struct ncc_op *re = b.im ? build_binary(bl, down, a.re, b.im) : a.re, *im = b.re;

	if (a.im)
		im = build_binary(bl, up, a.im, b.re);
	else if (minus && b.re)
		im = build_node(bl, NCC_NEG, &b.re->shape, b.re, NULL, NULL);
	return number(re, im, false);
}

/* a times the complex numbers (re, im), of its shape */
static struct ncc_complex times(struct ncc_build *bl, struct ncc_complex a, struct ncc_op *re,
				struct ncc_op *im)
{
	struct ncc_op *x = build_binary(bl, NCC_MUL, a.re, re),
		      *y = build_binary(bl, NCC_MUL, a.re, im);

	if (a.im) {
		x = build_binary(bl, NCC_SUB, x, build_binary(bl, NCC_MUL, a.im, im));
		y = build_binary(bl, NCC_ADD, y, build_binary(bl, NCC_MUL, a.im, re));
	}
	return number(x, y, false);
}

static struct ncc_complex scaled(struct ncc_build *bl, struct ncc_complex a, double by)
{
	return number(build_number(bl, NCC_MUL, a.re, by),
		      a.im ? build_number(bl, NCC_MUL, a.im, by) : NULL, !a.im);
}

static struct ncc_complex reshape(struct ncc_build *bl, struct ncc_complex x,
				  const struct ncc_shape *s)
{
	return number(build_reshape(bl, x.re, s), x.im ? build_reshape(bl, x.im, s) : NULL, !x.im);
}

/* Rows lie along the partitions also when they are few. */
static struct ncc_complex upright(struct ncc_complex x)
{
	if (x.re)
		x.re->upright = true;
	if (x.re && x.im)
		x.im->upright = true;
	return x;
}

static struct ncc_complex slice(struct ncc_build *bl, struct ncc_complex x, unsigned int d,
				int64_t start, int64_t n)
{
	return number(build_slice(bl, x.re, d, start, n),
		      x.im ? build_slice(bl, x.im, d, start, n) : NULL, !x.im);
}

/* The angle of place i, in parts of a full circle */
struct turns {
	int64_t (*number)(const struct turns *t, int64_t i);
	int64_t factor; /* for number() */
	int64_t whole; /* parts */
};

static int64_t linear(const struct turns *t, int64_t i)
{
	return i * t->factor;
}

static int64_t square(const struct turns *t, int64_t i)
{
	(void)t;
	return i * i;
}

/* x times exp(-2 pi i number / whole), for the places along dimension 1 */
static struct ncc_complex turned(const struct transform *f, struct ncc_complex x,
				 const struct turns *t)
{
	static const uint8_t map = 1;
	struct ncc_shape s = { .dtype = NEURON_DT_FP32, .ndim = 1 };
	struct ncc_op *re, *im;

	if (!x.re)
		return failed();
	s.dim[0] = x.re->shape.dim[1];
	re = build_const(f->bl, &s);
	im = build_const(f->bl, &s);
	for (int64_t i = 0; re && im && i < s.dim[0]; i++) {
		double angle = 2 * M_PI * (double)(t->number(t, i) % t->whole) / (double)t->whole;

		ncc_set(s.dtype, re->data, i, cos(angle));
		ncc_set(s.dtype, im->data, i, f->inverse ? sin(angle) : -sin(angle));
	}
	return times(f->bl, x, build_spread(f->bl, &x.re->shape, re, &map),
		     build_spread(f->bl, &x.re->shape, im, &map));
}

/* The transform of two, or four, numbers */
static void of_two(struct ncc_build *bl, struct ncc_complex *x)
{
	struct ncc_complex a = x[0];

	x[0] = add(bl, a, x[1]);
	x[1] = subtract(bl, a, x[1]);
}

static void of_four(struct ncc_build *bl, struct ncc_complex *x, bool inverse)
{
	struct ncc_complex a = add(bl, x[0], x[2]), b = subtract(bl, x[0], x[2]),
			   c = add(bl, x[1], x[3]), d = subtract(bl, x[1], x[3]);

	x[0] = add(bl, a, c);
	x[1] = add_turned(bl, b, d, !inverse);
	x[2] = subtract(bl, a, c);
	x[3] = add_turned(bl, b, d, inverse);
}

/* A transform of an odd number p: what x[j] and x[p - j] contribute differs in the sines' signs. */
static void of_odd(struct ncc_build *bl, struct ncc_complex *x, int64_t p, bool inverse)
{
	struct ncc_complex even[MOST_PRIME / 2], odd[MOST_PRIME / 2], zero = x[0];

	for (int64_t j = 0; j < p / 2; j++) {
		even[j] = add(bl, x[j + 1], x[p - 1 - j]);
		odd[j] = subtract(bl, x[j + 1], x[p - 1 - j]);
		x[0] = add(bl, x[0], even[j]);
	}

	for (int64_t k = 1; k <= p / 2; k++) {
		struct ncc_complex c = zero, s = failed();

		for (int64_t j = 0; j < p / 2; j++) {
			double angle = 2 * M_PI * (double)((j + 1) * k % p) / (double)p;
			struct ncc_complex part = scaled(bl, odd[j], sin(angle));

			c = add(bl, c, scaled(bl, even[j], cos(angle)));
			s = j ? add(bl, s, part) : part;
		}
		x[k] = add_turned(bl, c, s, !inverse);
		x[p - k] = add_turned(bl, c, s, inverse);
	}
}

/* The next factor of n: fours first, since they take the fewest operations */
static int64_t factor(int64_t n)
{
	if (n % 4 == 0)
		return 4;
	for (int64_t p = 2; p * p <= n; p++)
		if (n % p == 0)
			return p;
	return n;
}

static bool is_smooth(int64_t n)
{
	while (n > 1) {
		int64_t p = factor(n);

		if (p > MOST_PRIME)
			return false;
		n /= p;
	}
	return true;
}

static struct ncc_op *joined(struct ncc_build *bl, struct ncc_op **x, int64_t p)
{
	return build_concat(bl, x, (unsigned int)p, 2);
}

/*
 * One factor p of the length: x is [rows, p, m, done]; each of the p results, a transform across p
 * turned by its place among the m, goes to [rows, m, p, done].
 */
static struct ncc_complex stage(const struct transform *t, struct ncc_complex x, int64_t p,
				int64_t m, int64_t done)
{
	struct ncc_build *bl = t->bl;
	const struct ncc_shape cut = { .ndim = 4, .dim = { t->rows, p, m, done } },
			       part = { .ndim = 4, .dim = { t->rows, m, 1, done } };
	struct ncc_complex v[MOST_PRIME];
	struct ncc_op *re[MOST_PRIME], *im[MOST_PRIME];

	x = reshape(bl, x, &cut);
	for (int64_t j = 0; j < p; j++)
		v[j] = upright(reshape(bl, slice(bl, x, 1, j, 1), &part));
	if (p == 2)
		of_two(bl, v);
	else if (p == 4)
		of_four(bl, v, t->inverse);
	else
		of_odd(bl, v, p, t->inverse);

	for (int64_t k = 0; k < p; k++) {
		if (k && m > 1)
			v[k] = turned(t, v[k], &(struct turns){ linear, k, p * m });
		if (!v[k].re)
			return failed();
		re[k] = v[k].re;
		im[k] = v[k].im ? v[k].im : build_splat(bl, &v[k].re->shape, 0);
	}
	return upright(number(joined(bl, re, p), joined(bl, im, p), false));
}

static struct ncc_complex by_factors(const struct transform *t, struct ncc_complex x)
{
	const struct ncc_shape rows = { .ndim = 2, .dim = { t->rows, t->n } };

	for (int64_t left = t->n, done = 1; x.re && left > 1;) {
		int64_t p = factor(left);

		left /= p;
		x = stage(t, x, p, left, done);
		done *= p;
	}
	return reshape(t->bl, x, &rows);
}

/* The transform of n complex numbers, re then im of each; n is a power of 2. */
static void transform_numbers(double *x, int64_t n)
{
	for (int64_t i = 1, j = 0; i < n; i++) {
		int64_t bit = n / 2;

		for (; j & bit; bit /= 2)
			j -= bit;
		j += bit;
		for (int64_t k = 0; i < j && k < 2; k++) {
			double was = x[2 * i + k];

			x[2 * i + k] = x[2 * j + k];
			x[2 * j + k] = was;
		}
	}

	for (int64_t half = 1; half < n; half *= 2) {
		for (int64_t k = 0; k < half; k++) {
			double re = cos(M_PI * (double)k / (double)half),
			       im = -sin(M_PI * (double)k / (double)half);

			for (int64_t i = k; i < n; i += 2 * half) {
				double *a = &x[2 * i], *b = &x[2 * (i + half)];
				double br = b[0] * re - b[1] * im, bi = b[0] * im + b[1] * re;

				b[0] = a[0] - br;
				b[1] = a[1] - bi;
				a[0] += br;
				a[1] += bi;
			}
		}
	}
}

/* The factors by which a convolution with exp(i pi t^2 / n) multiplies a transform of size m */
static struct ncc_complex chirp(const struct transform *t, int64_t m)
{
	const struct ncc_shape s = { .dtype = NEURON_DT_FP32, .ndim = 1, .dim = { m } };
	double *h = calloc((size_t)m, 2 * sizeof(*h));
	struct ncc_op *re = build_const(t->bl, &s), *im = build_const(t->bl, &s);

	for (int64_t i = 0; h && i < t->n; i++) {
		double angle = M_PI * (double)(i * i % (2 * t->n)) / (double)t->n;
		int64_t mirrored = i ? m - i : 0;

		h[2 * i] = h[2 * mirrored] = cos(angle);
		h[2 * i + 1] = h[2 * mirrored + 1] = t->inverse ? -sin(angle) : sin(angle);
	}
	if (h)
		transform_numbers(h, m);
	for (int64_t i = 0; h && re && im && i < m; i++) {
		ncc_set(s.dtype, re->data, i, h[2 * i] / (double)m);
		ncc_set(s.dtype, im->data, i, h[2 * i + 1] / (double)m);
	}
	free(h);
	return h ? number(re, im, false) : failed();
}

/* x with zeros behind: [rows, n] */
static struct ncc_op *extended(struct ncc_build *bl, struct ncc_op *x, int64_t n)
{
	int64_t low[2] = { 0 }, high[2] = { 0 };

	if (!x)
		return NULL;
	high[1] = n - x->shape.dim[1];
	return build_pad(bl, x, build_scalar(bl, &x->shape, 0), low, high);
}

/*
 * Since 2 t k = t^2 + k^2 - (k - t)^2, the transform is a convolution of x, turned by t^2, whose
 * result is turned by k^2. The convolution is a product of transforms of a larger size.
 */
static struct ncc_complex by_convolution(const struct transform *t, struct ncc_complex x)
{
	static const uint8_t last = 1;
	struct ncc_build *bl = t->bl;
	const struct turns by_square = { square, 0, 2 * t->n };
	struct transform there = { bl, t->rows, 1, false }, back;
	struct ncc_complex h;

	while (there.n < 2 * t->n - 1)
		there.n *= 2;
	back = there;
	back.inverse = true;
	x = turned(t, x, &by_square);
	x = number(extended(bl, x.re, there.n), extended(bl, x.im, there.n), false);
	x = by_factors(&there, x);
	h = chirp(t, there.n);
	if (!x.re || !h.re)
		return failed();
	x = times(bl, x, build_spread(bl, &x.re->shape, h.re, &last),
		  build_spread(bl, &x.re->shape, h.im, &last));
	x = slice(bl, by_factors(&back, x), 1, 0, t->n);
	return turned(t, x, &by_square);
}

/* x with its dimension d moved to the end, or the last one to d */
static struct ncc_complex moved(struct ncc_build *bl, struct ncc_complex x, unsigned int d,
				bool to_end)
{
	uint8_t map[NCC_MAX_DIMS];
	unsigned int last;

	if (!x.re || d == x.re->shape.ndim - 1)
		return x;
	last = x.re->shape.ndim - 1;
	for (unsigned int i = 0; i <= last; i++)
		map[i] = (uint8_t)(i < d    ? i
				   : to_end ? (i == last ? d : i + 1)
					    : (i == d ? last : i - 1));
	return number(build_transpose(bl, x.re, map), x.im ? build_transpose(bl, x.im, map) : NULL,
		      !x.im);
}

/*
 * One row as two equal ones: these lie each along its partition and every step reads and writes
 * long runs there, while a single one would be spread over all partitions and moved in every step.
 */
static struct ncc_complex twice(struct transform *t, struct ncc_complex x)
{
	static const uint8_t map = 1;
	const struct ncc_shape row = { .ndim = 1, .dim = { t->n } },
			       two = { .dtype = NEURON_DT_FP32, .ndim = 2, .dim = { 2, t->n } };

	t->rows = 2;
	x = reshape(t->bl, x, &row);
	return number(build_spread(t->bl, &two, x.re, &map),
		      x.im ? build_spread(t->bl, &two, x.im, &map) : NULL, !x.im);
}

struct ncc_complex expand_fft(struct ncc_build *bl, struct ncc_complex x, unsigned int d,
			      bool inverse)
{
	struct transform t = { .bl = bl, .inverse = inverse };
	struct ncc_shape s, rows = { .ndim = 2 };

	x = moved(bl, x, d, true);
	if (!x.re)
		return failed();
	s = x.re->shape;
	t.n = s.dim[s.ndim - 1];
	t.rows = ncc_elems(&s) / t.n;
	rows.dim[0] = t.rows;
	rows.dim[1] = t.n;
	x = reshape(bl, x, &rows);
	if (t.rows == 1)
		x = twice(&t, x);
	x = is_smooth(t.n) ? by_factors(&t, x) : by_convolution(&t, x);
	if (x.re && !x.im) /* of a single number */
		x.im = build_splat(bl, &x.re->shape, 0);
	if (inverse)
		x = scaled(bl, x, 1 / (double)t.n);
	x = slice(bl, x, 0, 0, rows.dim[0]);
	return moved(bl, reshape(bl, x, &s), d, false);
}

struct ncc_op *expand_fft_to_real(struct ncc_build *bl, struct ncc_complex x, unsigned int d,
				  int64_t n)
{
	const int64_t mirrored = n - (n / 2 + 1);
	struct ncc_op *part[2] = { x.re, x.im };

	for (unsigned int i = 0; i < 2 && mirrored; i++) {
		struct ncc_op *tail = build_slice(bl, part[i], d, 1, mirrored);

		tail = build_reverse(bl, tail, d);
		tail = i ? build_unary(bl, NCC_NEG, tail) : tail;
		part[i] = build_concat(bl, (struct ncc_op *[]){ part[i], tail }, 2, d);
	}
	return expand_fft(bl, number(part[0], part[1], false), d, true).re;
}
