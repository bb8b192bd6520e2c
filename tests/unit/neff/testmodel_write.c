/* SPDX-License-Identifier: MIT */
/*
 * testmodel_write add|gather|words|long|matmul|shuffle|stages|peek|empty|hang|fault FILE: a
 * hand-made NEFF for tests; meet|absent|late|astray|alone: for a logical core of trn2
 */
#include "testmodel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int save(const char *path, void *buf, size_t size)
{
	FILE *f = fopen(path, "wb");

	if (!f || fwrite(buf, 1, size, f) != size || fclose(f))
		return 1;
	free(buf);
	return 0;
}

int main(int argc, char **argv)
{
	const struct testmodel_tables tables = { 3, 300, 100, 130 };
	const struct testmodel_tables words = { 1, 65536, 4, 1 << 18 };
	static const char *const siblings[] = { "meet", "absent", "late", "astray", "alone" };
	static uint16_t w[128 * 64];
	struct testmodel t;
	size_t size;
	void *buf;

	if (argc != 3)
		return 2;
	for (int i = 0; i < 128 * 64; i++)
		w[i] = (uint16_t)(0x3f80 + (i * 37) % 128); /* 1.0 to 1.99 */

	for (unsigned int i = 0; i < sizeof(siblings) / sizeof(siblings[0]); i++)
		if (!strcmp(argv[1], siblings[i])) {
			buf = testmodel_siblings((enum testmodel_siblings)i, &size);
			return save(argv[2], buf, size);
		}
	if (!strcmp(argv[1], "stages")) {
		buf = testmodel_stages(7, 64, &size);
		return save(argv[2], buf, size);
	}

	if (!strcmp(argv[1], "add"))
		testmodel_add(&t, 64);
	else if (!strcmp(argv[1], "gather"))
		testmodel_gather(&t, &tables);
	else if (!strcmp(argv[1], "words"))
		testmodel_gather(&t, &words);
	else if (!strcmp(argv[1], "long"))
		testmodel_long(&t, 4096, 2000);
	else if (!strcmp(argv[1], "matmul"))
		testmodel_matmul(&t, 64, 256, w);
	else if (!strcmp(argv[1], "shuffle"))
		testmodel_shuffle(&t);
	else if (!strcmp(argv[1], "peek"))
		testmodel_peek(&t, 64);
	else if (!strcmp(argv[1], "empty"))
		testmodel_bare(&t, "empty");
	else if (!strcmp(argv[1], "hang"))
		testmodel_hang(&t);
	else if (!strcmp(argv[1], "large"))
		testmodel_large(&t);
	else if (!strcmp(argv[1], "fault"))
		testmodel_fault(&t);
	else
		return 2;

	buf = testmodel_write(&t, &size);
	testmodel_free(&t);
	return save(argv[2], buf, size);
}
