/* SPDX-License-Identifier: MIT */
/* Tensors between cores by TCP (sendrecv.c) */
#ifndef RT_SENDRECV_H
#define RT_SENDRECV_H

void rt_sendrecv_close(void); /* at nrt_close: ends what programs left open */

#endif
