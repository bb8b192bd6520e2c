# SPDX-License-Identifier: MIT
# Where every processor of a custom operator begins: a0 is the function. The TCM is zero.
	.section .text.start, "ax"
	.globl _start
_start:
	.option push
	.option norelax
	la	gp, __global_pointer$
	la	sp, __stack_top
	la	tp, __tls_start
	.option pop
	mv	s0, a0
	la	a0, __data_start
	la	a1, __data_load
	la	a2, __data_end
	sub	a2, a2, a0
	li	a7, 7			# NEURON_GPS_COPY
	ecall
	la	s1, __init_start
	la	s2, __init_end
1:	beq	s1, s2, 2f
	lw	t0, 0(s1)
	addi	s1, s1, 4
	jalr	t0
	j	1b
2:	jalr	s0
	call	neuron_end
