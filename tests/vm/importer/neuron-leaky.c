// SPDX-License-Identifier: GPL-2.0-only
/*
 * Forgets memory when it is loaded, for the test of the leak check.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

#define PIECES 3

static int __init leaky_init(void)
{
	char *piece;
	int i;

	for (i = 0; i < PIECES; i++) {
		piece = kmalloc(128 << i, GFP_KERNEL);
		OPTIMIZER_HIDE_VAR(piece);
		if (piece)
			memset(piece, 'x', 128);
	}
	return 0;
}

static void __exit leaky_exit(void)
{
}

module_init(leaky_init);
module_exit(leaky_exit);

MODULE_DESCRIPTION("Forgets memory when it is loaded");
MODULE_LICENSE("GPL");
