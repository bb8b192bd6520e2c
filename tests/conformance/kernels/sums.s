; SPDX-License-Identifier: MIT
; The sums of each row up to each element, by a scan: r = r * 1 + x
.kernel sums
.input x fp32[128,200]
.output y fp32[128,200]
.sbuf ones 128 800
.sbuf tile 128 800
vector memset p=128 dst=ones[0,0]:fp32[1:200] scalar0=1
dma p=128 from=x[0]:fp32[200:128,1:200] to=tile[0,0]:fp32[1:200]
vector tensor_tensor_scan p=128 dst=tile[0,0]:fp32[1:200] src0=ones[0,0]:fp32[1:200] src1=tile[0,0]:fp32[1:200] op0=mult op1=add scalar0=0
dma p=128 from=tile[0,0]:fp32[1:200] to=y[0]:fp32[200:128,1:200]
.end
