; SPDX-License-Identifier: MIT
; y = m' x of a matrix of 128 rows and 32 columns that is 2:4 sparse: each column has two of four rows, whose places are the tags.
; Row 4 g + 2 c + a of x lies in partition 2 g + a, slot c.
.kernel sparse
.input w fp16[64,32]
.input tags uint16[64,8]
.input x fp16[128,96]
.output y fp32[32,96]
.sbuf left 64 32*2
.sbuf places 64 8*2
.sbuf right 64 2*96*2
.sbuf result 32 96*4
.psum acc 32 96*4
dma p=64 from=w[0]:fp16[32:64,1:32] to=left[0,0]:fp16[1:32]
dma p=64 from=tags[0]:uint16[8:64,1:8] to=places[0,0]:uint16[1:8]
.for c 0 2
    dma p=64 from=x[{2*c*96}]:fp16[{4*96}:32,96:2,1:96] to=right[0,{c*96*2}]:fp16[1:96]
.end
tensor ldweights p=64 src0=left[0,0]:fp16[1:32]
tensor matmul_sparse p=64 dst=acc[0,0]:fp32[1:96] src0=right[0,0]:fp16[96:2,0:1,0:1,1:96] src1=places[0,0]:uint16[1:8] neighbours=2
vector tensor_copy p=32 dst=result[0,0]:fp32[1:96] src0=acc[0,0]:fp32[1:96]
dma p=32 from=result[0,0]:fp32[1:96] to=y[0]:fp32[96:32,1:96]
.end
