; SPDX-License-Identifier: MIT
; The mask of causal attention by GpSimd: what lies right of the diagonal becomes -9984
.kernel causal
.input x fp32[128,128]
.output y fp32[128,128]
.sbuf tile 128 512
dma p=128 from=x[0]:fp32[128:128,1:128] to=tile[0,0]:fp32[1:128]
gpsimd affine_select p=128 dst=tile[0,0]:fp32[1:128] src0=tile[0,0]:fp32[1:128] pattern=0,1[0:1,0:1,0:1,-1:128] op0=ge scalar0=-9984
dma p=128 from=tile[0,0]:fp32[1:128] to=y[0]:fp32[128:128,1:128]
.end
