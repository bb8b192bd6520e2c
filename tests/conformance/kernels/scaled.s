; SPDX-License-Identifier: MIT
; y = x s + b of a number and a row, each in all partitions by a DMA with a step of 0
.kernel scaled
.input x fp32[128,1024]
.input s fp32[]
.input b fp32[1024]
.output y fp32[128,1024]
.sbuf rows 128 4096
.sbuf row 128 4096
.sbuf number 128 4
dma p=128 from=x[0]:fp32[1024:128,1:1024] to=rows[0,0]:fp32[1:1024]
dma p=128 from=s[0]:fp32[0:128] to=number[0,0]:fp32[1:1]
dma p=128 from=b[0]:fp32[0:128,1:1024] to=row[0,0]:fp32[1:1024]
vector scalar_tensor_tensor p=128 dst=rows[0,0]:fp32[1:1024] src0=rows[0,0]:fp32[1:1024] src1=row[0,0]:fp32[1:1024] op0=mult scalar0=@number[0,0]:fp32 op1=add
dma p=128 from=rows[0,0]:fp32[1:1024] to=y[0]:fp32[1024:128,1:1024]
.end
