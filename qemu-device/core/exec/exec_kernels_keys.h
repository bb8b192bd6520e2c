/* SPDX-License-Identifier: MIT */
/*
 * Part of exec_kernels.h: the loops of GATHER and SORT, which move and compare bits, so that every
 * instance gives the same.
 */

/*
 * An element at each place, without a branch: whether an index is one may be as good as random. The
 * mask comes from a subtraction, since that of a comparison would wait for the one before it.
 */
#define GATHER(type)                                                             \
	do {                                                                     \
		const type *from = table;                                        \
		type *to = out;                                                  \
                                                                                 \
		for (uint32_t i = 0; i < m; i++) {                               \
			uint32_t there = (uint32_t)(((int64_t)at[i] - n) >> 32); \
                                                                                 \
			to[i] = from[at[i] & there] & there;                     \
		}                                                                \
	} while (0)

KTARGET static void KNAME(gather)(void *out, const void *table, uint8_t size, uint32_t n,
				  const int32_t *index, uint32_t m)
{
	const uint32_t *at = (const uint32_t *)index;

	if (size == 1)
		GATHER(uint8_t);
	else if (size == 2)
		GATHER(uint16_t);
	else
		GATHER(uint32_t);
}
#undef GATHER

/*
 * How many keys come before each one, equal ones in the order in which they are. The keys behind
 * the last one, up to a whole vector, may be anything.
 */
KTARGET static void KNAME(rank)(uint32_t *rank, const int32_t *keys, uint32_t n)
{
	for (uint32_t i = 0; i < n; i += LANES) {
		uint32_t before = i, behind = i + LANES < n ? i + LANES : n;
		vi k, count = { 0 }, lane;

		memcpy(&k, keys + i, sizeof(k));
		for (uint32_t j = 0; j < LANES; j++)
			lane[j] = (int32_t)j;
		for (uint32_t j = 0; j < before; j++)
			count -= k >= keys[j];
		for (uint32_t j = before; j < behind; j++)
			count -= (k > keys[j]) | ((k == keys[j]) & (lane > (int32_t)(j - before)));
		for (uint32_t j = behind; j < n; j++)
			count -= k > keys[j];
		memcpy(rank + i, &count, sizeof(count));
	}
}

/*
 * Vectors that are looked at together when few keys of many count: they are passed over as a whole
 */
#define TOGETHER 4

KINLINE bool any_below(const int32_t *keys, int32_t bound)
{
	vi less = { 0 }, k;
	int64_t some = 0;

	for (unsigned int i = 0; i < TOGETHER; i++) {
		memcpy(&k, keys + i * LANES, sizeof(k));
		less |= k < bound;
	}
	for (unsigned int l = 0; l < LANES / 2; l++)
		some |= ((vl)less)[l];
	return some;
}

KTARGET static uint32_t KNAME(below)(const int32_t *keys, uint32_t from, uint32_t n, int32_t bound)
{
	while (from + TOGETHER * LANES <= n && !any_below(keys + from, bound))
		from += TOGETHER * LANES;
	while (from < n && keys[from] >= bound)
		from++;
	return from;
}
#undef TOGETHER
