// SPDX-License-Identifier: MIT
/* A convolution's dimensions, in MLIR's text: see text.h */
#include <errno.h>
#include <string.h>

#include "text.h"

#define MOST_SPATIAL 16

/* The dimensions of one of a convolution's tensors: two that have letters, and the rest */
struct sides {
	int64_t first, second, spatial[MOST_SPATIAL];
	size_t n;
};

/* [b, f, 0, 1]: letters says what the two are, and where they go */
static void take_side(struct text *x, const char *letters, struct sides *s)
{
	uint32_t seen = 0;
	const char *at = x->t.p;
	int64_t i = 0;

	*s = (struct sides){ -1, -1, { 0 }, 0 };
	text_expect(x, '[');
	do {
		const char *here = x->t.p;

		if (x->t.kind == TOKEN_WORD && x->t.n == 1 && *here == letters[0] && s->first < 0) {
			s->first = i;
			text_next(x);
		} else if (x->t.kind == TOKEN_WORD && x->t.n == 1 && *here == letters[1] &&
			   s->second < 0) {
			s->second = i;
			text_next(x);
		} else {
			const int64_t d = text_count(x);

			if (d >= MOST_SPATIAL || seen >> d & 1) {
				text_fail_at(x, here, -EINVAL, "a dimension that is not one more");
				return;
			}
			seen |= 1u << d;
			s->spatial[d] = i;
			s->n++;
		}
		i++;
	} while (!text_bad(x) && text_take(x, ','));
	text_expect(x, ']');
	if (!text_bad(x) && (s->first < 0 || s->second < 0 || seen != (1u << s->n) - 1))
		text_fail_at(x, at, -EINVAL, "expected '%c', '%c' and dimensions from 0 on",
			     letters[0], letters[1]);
}

static void add(struct text *x, struct list *attrs, const char *name, const struct mlir_attr *a)
{
	struct named_attr *e = list_add(x, attrs, sizeof(*e));

	if (e)
		*e = (struct named_attr){ name, a };
}

static void add_side(struct text *x, struct list *attrs, const struct sides *s,
		     const char *const *names)
{
	int64_t *spatial = reader_alloc(&x->r, s->n + 1, sizeof(*spatial));

	if (!spatial)
		return;
	memcpy(spatial, s->spatial, s->n * sizeof(*spatial));
	add(x, attrs, names[0], text_int(x, "i64", s->first));
	add(x, attrs, names[1], text_int(x, "i64", s->second));
	add(x, attrs, names[2], text_dense_of(x, spatial, s->n));
}

/* [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1] */
const struct mlir_attr *text_conv_dims(struct text *x)
{
	static const char *const input[] = { "input_batch_dimension", "input_feature_dimension",
					     "input_spatial_dimensions" };
	static const char *const kernel[] = { "kernel_output_feature_dimension",
					      "kernel_input_feature_dimension",
					      "kernel_spatial_dimensions" };
	static const char *const output[] = { "output_batch_dimension", "output_feature_dimension",
					      "output_spatial_dimensions" };
	const char *at = x->t.p;
	struct sides in, by, out;
	struct list attrs = { 0 };

	take_side(x, "bf", &in);
	text_expect_word(x, "x");
	take_side(x, "oi", &by);
	if (x->t.kind == TOKEN_ARROW)
		text_next(x);
	else
		text_expected(x, "'->'");
	take_side(x, "bf", &out);
	if (!text_bad(x) && (in.n != by.n || in.n != out.n))
		text_fail_at(x, at, -EINVAL, "as many spatial dimensions in each of the three");
	if (text_bad(x))
		return NULL;
	add_side(x, &attrs, &in, input);
	add_side(x, &attrs, &by, kernel);
	add_side(x, &attrs, &out, output);
	return text_bad(x) ? NULL : text_dictionary_of(x, "stablehlo.conv", &attrs);
}
