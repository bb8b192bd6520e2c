; SPDX-License-Identifier: MIT
; Two results: the first 60 columns of x, turned by the DMA engine; n, converted by it
.kernel turned
.input x fp32[128,384]
.input n fp16[128,60]
.output t fp32[60,128]
.output w fp32[128,60]
.sbuf tile 60 512
.sbuf wide 128 240
.for half 0 2
    dma p=60 from=x[{half*64*384}]:fp32[384:64,1:60] to=tile[0,{half*256}]:fp32[1:64] transpose=64:60
.end
dma p=60 from=tile[0,0]:fp32[1:128] to=t[0]:fp32[128:60,1:128]
dma p=128 from=n[0]:fp16[60:128,1:60] to=wide[0,0]:fp32[1:60]
dma p=128 from=wide[0,0]:fp32[1:60] to=w[0]:fp32[60:128,1:60]
.end
