// SPDX-License-Identifier: MIT
/*
 * Recognises functions that ACT has where a front end wrote them out: GELU with the error function
 * (JAX gives erfc as two polynomials) or with tanh, and the logistic function. The whole expression
 * has to match, operation by operation and constant by constant, with the operands of sums and
 * products in any order. An idiom is an expression in postfix form: x is the argument, =a pops the
 * stack and gives the value a name, ? is select(predicate, on true, on false).
 */
#include <ctype.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "pass.h"

/* The expansion of jax.lax.erfc(t), with s = t t, z = 1 / s, q = -s */
#define ERFC_SERIES                                                                                \
	"t t * =s 1 t s 7.85386146e-05 * -0.000801019371 + s * 0.00518832775 + s * -0.0268538129 " \
	"+ s * 0.112835854 + s * -0.37612626 + s * 1.12837911 + * - =a "
#define ERFC_TAIL                                                                                 \
	"s neg =q 1 s / =z z 0.0232682005 * -0.138703942 + z * 0.368742466 + z * -0.582473278 + " \
	"z * 0.621000469 + z * -0.494451523 + z * 0.340487987 + z * -0.274112701 + z * "          \
	"0.563825965 + =b "                                                                       \
	"z -10.477664 * 12.9771996 + z * -7.49551868 + z * 2.92101908 + z * -1.01526523 + z * "   \
	"0.42184633 + z * -0.282076746 + z * 0.564189494 + =c "                                   \
	"q -88.7228394 < 0 q exp 1 t abs / * t abs 2 < b c ? * ? =u "
#define ERFC ERFC_SERIES ERFC_TAIL "t abs 1 < a t 0 < 2 u - u ? ? =e "
#define ERF_1 "x 0.707106769 * erf 1 + =e "
#define ERF_2 "x 1.41421354 / erf 1 + =e "
#define TANH_OF(cube) "x " cube " 0.0447149985 * + 0.797884583 * tanh 1 + =e "
#define TANH_1 TANH_OF("x x x * *")
#define TANH_2 TANH_OF("x 3 pow")

/* Half of x times e, in each of the ways in which it can be written */
#define HALF_1(kind, e)               \
	{                             \
		kind, e "x 0.5 * e *" \
	}
#define HALF_2(kind, e)               \
	{                             \
		kind, e "x e 0.5 * *" \
	}
#define HALF_3(kind, e)               \
	{                             \
		kind, e "x e * 0.5 *" \
	}
#define HALF(kind, e) HALF_1(kind, e), HALF_2(kind, e), HALF_3(kind, e)

static const struct {
	enum ncc_kind kind;
	const char *text;
} texts[] = {
	{ NCC_LOGISTIC, "1 x neg exp 1 + /" },
	HALF(NCC_GELU, "x neg 0.707106769 * =t " ERFC),
	HALF(NCC_GELU, ERF_1),
	HALF(NCC_GELU, ERF_2),
	HALF(NCC_GELU_TANH, TANH_1),
	HALF(NCC_GELU_TANH, TANH_2),
};

static const struct {
	const char *word;
	enum ncc_kind kind;
	unsigned int nin;
} words[] = {
	/* clang-format off */
	{ "*",    NCC_MUL,    2 },
	{ "+",    NCC_ADD,    2 },
	{ "-",    NCC_SUB,    2 },
	{ "/",    NCC_DIV,    2 },
	{ "<",    NCC_LT,     2 },
	{ "?",    NCC_SELECT, 3 },
	{ "abs",  NCC_ABS,    1 },
	{ "erf",  NCC_ERF,    1 },
	{ "exp",  NCC_EXP,    1 },
	{ "neg",  NCC_NEG,    1 },
	{ "tanh", NCC_TANH,   1 },
	{ "pow",  NCC_POW,    2 },
	/* clang-format on */
};

#define MOST_NODES 128
#define MOST_STEPS 2048 /* of one comparison; the longest idiom takes some 150 */

#define IDIOMS (sizeof(texts) / sizeof(texts[0]))

enum form { ARGUMENT, NUMBER, OPERATION };

struct idiom {
	unsigned int n; /* the last node is the whole expression */
	struct {
		enum form form;
		float value; /* NUMBER */
		enum ncc_kind kind; /* OPERATION, as are its operands */
		unsigned int nin;
		unsigned char in[3];
	} node[MOST_NODES];
};

/* Read once a process: that takes longer than all else of the passes for one operation. */
static struct idiom idioms[IDIOMS];
static pthread_once_t idioms_read = PTHREAD_ONCE_INIT;

/* One comparison of an idiom */
struct comparison {
	const struct idiom *id;
	const struct ncc_op *is[MOST_NODES]; /* the operation that a node has matched */
	bool any; /* of these is there */
	struct ncc_op *x;
	unsigned int steps;
};

/* Makes the node of one word. The stack and the names hold indices of nodes. */
static void read_word(struct idiom *id, const char *word, unsigned char *stack, unsigned int *depth,
		      unsigned char *name)
{
	unsigned int k;

	if (word[0] == '=') {
		name[word[1] - 'a'] = stack[--*depth];
		return;
	}

	if (islower((unsigned char)word[0]) && !word[1]) {
		stack[(*depth)++] = name[word[0] - 'a'];
		return;
	}

	for (k = 0; k < sizeof(words) / sizeof(words[0]) && strcmp(words[k].word, word); k++)
		;
	if (k == sizeof(words) / sizeof(words[0])) {
		id->node[id->n].form = NUMBER;
		id->node[id->n].value = strtof(word, NULL);
	} else {
		id->node[id->n].form = OPERATION;
		id->node[id->n].kind = words[k].kind;
		id->node[id->n].nin = words[k].nin;
		*depth -= words[k].nin;
		memcpy(id->node[id->n].in, stack + *depth, words[k].nin);
	}
	stack[(*depth)++] = (unsigned char)id->n++;
}

static void read_idiom(struct idiom *id, const char *text)
{
	unsigned char stack[16], name['z' - 'a' + 1] = { 0 };
	unsigned int depth = 0;
	char word[24];
	int n;

	/* Node 0 is the argument: every name, x among them, refers to it until it is given. */
	id->node[id->n++].form = ARGUMENT;
	for (; sscanf(text, "%23s%n", word, &n) == 1; text += n)
		read_word(id, word, stack, &depth, name);
}

static void read_idioms(void)
{
	for (unsigned int i = 0; i < IDIOMS; i++)
		read_idiom(&idioms[i], texts[i].text);
}

static struct ncc_op *made(struct ncc_op *op)
{
	while (op->replaced)
		op = op->replaced;
	return op;
}

static bool matches(struct comparison *c, unsigned int node, struct ncc_op *op);

/* The last operand is compared first: an idiom's numbers stand there, and they fail soonest. */
static bool operands_match(struct comparison *c, unsigned int node, struct ncc_op *op, bool swap)
{
	for (unsigned int i = c->id->node[node].nin; i-- > 0;)
		if (!matches(c, c->id->node[node].in[i], made(op->in[swap ? 1 - i : i])))
			return false;
	return true;
}

static void forget(struct comparison *c)
{
	if (c->any)
		memset(c->is, 0, sizeof(c->is));
	c->any = false;
}

static bool matches(struct comparison *c, unsigned int node, struct ncc_op *op)
{
	const enum form form = c->id->node[node].form;
	const enum ncc_kind kind = c->id->node[node].kind;
	struct ncc_op *x = c->x;
	double v;

	if (c->is[node] == op)
		return true;
	if (++c->steps > MOST_STEPS)
		return false;
	if (form == NUMBER)
		return ncc_scalar_value(op, &v) && (float)v == c->id->node[node].value;
	if (form == ARGUMENT) {
		c->x = x ? x : op;
		return c->x == op;
	}
	if (op->kind != kind)
		return false;

	for (unsigned int swap = 0; swap < (kind == NCC_ADD || kind == NCC_MUL ? 2 : 1); swap++) {
		if (operands_match(c, node, op, swap)) {
			c->is[node] = op;
			c->any = true;
			return true;
		}
		c->x = x;
		if (!x) /* the matches so far were made with another argument */
			forget(c);
	}
	return false;
}

static int replace(struct ncc_pass *p, struct ncc_op *op, struct comparison *c, enum ncc_kind kind)
{
	forget(c);
	c->x = NULL;
	c->steps = 0;
	if (!matches(c, c->id->n - 1, op) || c->x->shape.dtype != NEURON_DT_FP32 ||
	    !ncc_same_dims(&c->x->shape, &op->shape))
		return 0;
	op->replaced = pass_new(p, kind, op, &op->shape, c->x, NULL);
	return op->replaced ? 0 : ncc_no_memory(p->err);
}

int pass_idioms(struct ncc_pass *p)
{
	struct comparison c = { .any = false };
	int rc = 0;

	pthread_once(&idioms_read, read_idioms);
	for (unsigned int i = 0; !rc && i < IDIOMS; i++) {
		c.id = &idioms[i];
		for (struct ncc_op *op = p->m->first; !rc && op; op = op->next)
			if (op->kind == c.id->node[c.id->n - 1].kind && !op->replaced)
				rc = replace(p, op, &c, texts[i].kind);
	}
	return rc;
}
