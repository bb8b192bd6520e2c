; SPDX-License-Identifier: MIT
; y = x / sqrt(mean(x^2) + 1e-5) * gain, of each row; the gain is in all partitions, by a DMA with a step of 0
.kernel rms_norm
.input x fp32[128,384]
.input gain fp32[384]
.output y fp32[128,384]
.sbuf rows 128 384*4
.sbuf gains 128 384*4
.sbuf squares 128 384*4
.sbuf stat 128 4
dma p=128 from=x[0]:fp32[384:128,1:384] to=rows[0,0]:fp32[1:384]
dma p=128 from=gain[0]:fp32[0:128,1:384] to=gains[0,0]:fp32[1:384]
vector tensor_tensor p=128 dst=squares[0,0]:fp32[1:384] src0=rows[0,0]:fp32[1:384] src1=rows[0,0]:fp32[1:384] op0=mult
vector tensor_reduce p=128 dst=stat[0,0]:fp32[1:1] src0=squares[0,0]:fp32[1:384] op0=add reduce_dims=1 scale=0.00260416674
vector tensor_scalar p=128 dst=stat[0,0]:fp32[1:1] src0=stat[0,0]:fp32[1:1] op0=add scalar0=1e-5 op1=rsqrt
vector scalar_tensor_tensor p=128 dst=rows[0,0]:fp32[1:384] src0=rows[0,0]:fp32[1:384] src1=gains[0,0]:fp32[1:384] op0=mult scalar0=@stat[0,0]:fp32 op1=mult
dma p=128 from=rows[0,0]:fp32[1:384] to=y[0]:fp32[384:128,1:384]
.end
