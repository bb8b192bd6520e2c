/* SPDX-License-Identifier: MIT */
/*
 * How many instructions GpSimd's processors execute a second, of one thread of the host's: a loop
 * of integers in memory and one of fp32, as a compiler makes them; and how many elements a loop of
 * vectors computes. Prints lines "name millions".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gps/gps.h"

#define RUNS 5
#define INSNS 40000000u

/*
 * for (i = 1024; i; i--, p++) { v = *p * a + h; *p = v; h ^= v >> 7; if (h & 1) h += i; }, for ever
 */
static const uint32_t integers[] = {
	0x000023b7, /* lui t2, 2 */
	0x196615b7, /* lui a1, 0x19661 */
	0x00d58593, /* addi a1, a1, 13 */
	0x40000293, /* li t0, 1024 */
	0x00038313, /* mv t1, t2 */
	0x00032503, /* lw a0, 0(t1) */
	0x02b50533, /* mul a0, a0, a1 */
	0x00c50533, /* add a0, a0, a2 */
	0x00a32023, /* sw a0, 0(t1) */
	0x00755513, /* srli a0, a0, 7 */
	0x00a64633, /* xor a2, a2, a0 */
	0x00167513, /* andi a0, a2, 1 */
	0x00050463, /* beqz a0, +8 */
	0x00560633, /* add a2, a2, t0 */
	0x00430313, /* addi t1, t1, 4 */
	0xfff28293, /* addi t0, t0, -1 */
	0xfc029ae3, /* bnez t0, -44 */
	0xfc9ff06f, /* j -56 */
};

/* for (i = 1024; i; i--, p++) { *p = *p * a + b; s += *p; }, for ever */
static const uint32_t floats[] = {
	0x000023b7, /* lui t2, 2 */
	0x3f0005b7, /* lui a1, 0x3f000 */
	0xf0058053, /* fmv.w.x f0, a1 */
	0x40000293, /* li t0, 1024 */
	0x00038313, /* mv t1, t2 */
	0x00032087, /* flw f1, 0(t1) */
	0x0000f0d3 | 0x08000000 | 1 << 15, /* fsub.s f1, f1, f0 */
	0x1000f0d3, /* fmul.s f1, f1, f0 */
	0x00132027, /* fsw f1, 0(t1) */
	0x00117153, /* fadd.s f2, f2, f1 */
	0x00430313, /* addi t1, t1, 4 */
	0xfff28293, /* addi t0, t0, -1 */
	0xfe0292e3, /* bnez t0, -28 */
	0xfd9ff06f, /* j -40 */
};

/* y = y + x / 2 of 1024 elements, 64 at a time, for ever; a2 counts how often */
static const uint32_t vectors[] = {
	0x000023b7, /* lui t2,0x2 */
	0x3f0005b7, /* lui a1,0x3f000 */
	0xf0058053, /* fmv.w.x ft0,a1 */
	0x00160613, /* addi a2,a2,1 */
	0x40000293, /* addi t0,zero,1024 */
	0x00038313, /* addi t1,t2,0 */
	0x00006e37, /* lui t3,0x6 */
	0x0122fed7, /* vsetvli t4,t0,e32,m4,tu,mu */
	0x02036007, /* vle32.v v0,(t1) */
	0x020e6207, /* vle32.v v4,(t3) */
	0xb2005257, /* vfmacc.vf v4,ft0,v0 */
	0x020e6227, /* vse32.v v4,(t3) */
	0x41d282b3, /* sub t0,t0,t4 */
	0x002e9f13, /* slli t5,t4,0x2 */
	0x01e30333, /* add t1,t1,t5 */
	0x01ee0e33, /* add t3,t3,t5 */
	0xfc029ee3, /* bne t0,zero,1c */
	0xfc9ff06f, /* jal zero,c */
};
#define COUNTER 12
#define ELEMENTS 1024

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* elements: those that each round of the program's counter is, 0: instructions are counted */
static int measure(struct gps *g, const char *name, const uint32_t *program, uint32_t bytes,
		   uint32_t elements)
{
	double best = 0;

	memcpy(g->lib, program, bytes);
	g->lib_bytes = bytes;
	gps_library_decode(g);
	for (int run = 0; run < RUNS; run++) {
		double from, rate;

		gps_start(g, 1, 0, 0);
		from = now();
		while (g->core[0].retired < INSNS)
			if (gps_run(NULL, g, 0, NEURON_GPS_SLICE) != GPS_RAN) {
				fprintf(stderr, "bench-gpsimd: %s: cause %u\n", name, g->cause);
				return 1;
			}
		rate = elements ? (double)g->core[0].x[COUNTER] * elements
				: (double)g->core[0].retired;
		rate /= (now() - from) * 1e6;
		best = rate > best ? rate : best;
	}
	printf("%s %.1f\n", name, best);
	return 0;
}

int main(void)
{
	struct gps *g;
	int rc;

	if (gps_new(&g)) {
		fputs("bench-gpsimd: out of memory\n", stderr);
		return 1;
	}
	rc = measure(g, "integers", integers, sizeof(integers), 0) ||
	     measure(g, "floats", floats, sizeof(floats), 0) ||
	     measure(g, "vectors", vectors, sizeof(vectors), ELEMENTS);
	gps_free(g);
	return rc;
}
