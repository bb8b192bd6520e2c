/* SPDX-License-Identifier: MIT */
/* Views: a tensor's dimensions laid over a buffer, and the operations that only change the view. */
#ifndef NCC_GEN_VIEW_H
#define NCC_GEN_VIEW_H

#include "gen.h"

void view_row_major(struct ncc_view *v, struct ncc_buf *buf, const struct ncc_shape *s);
/* Lays a view out row-major with pdim along the partitions. */
void view_set_pdim(struct ncc_view *v, int pdim);
/* Lays a view in DRAM out with pdim outermost, if neighbours would lie in different partitions. */
void view_set_outermost(struct ncc_view *v, int pdim);
struct ncc_view view_box(const struct ncc_view *v, const int64_t *lo, const int64_t *size);
struct ncc_view view_slice(const struct ncc_view *v, unsigned int d, int64_t lo, int64_t n,
			   int64_t step);
struct ncc_view view_permute(const struct ncc_view *v, const uint8_t *map, unsigned int ndim);
struct ncc_view view_drop(const struct ncc_view *v, unsigned int d); /* at index 0 of d */
bool view_reshape(const struct ncc_view *v, const struct ncc_shape *s, struct ncc_view *out);
/* Is it the variable's beginning, row-major, as a value of shape s? */
bool view_fills_variable(const struct ncc_view *v, const struct ncc_shape *s);
/*
 * May a result of that shape take the place of in? It may if no operation but this one, which reads
 * it that often, still needs it.
 */
bool view_can_take(const struct ncc_value *in, unsigned int reads, const struct ncc_shape *s,
		   int pdim);
bool view_on_engine(const struct ncc_view *v); /* can an engine access it? */
int64_t view_elems(const struct ncc_view *v);
void view_shape(const struct ncc_view *v, struct ncc_shape *s);

#endif
