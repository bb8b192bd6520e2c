; SPDX-License-Identifier: MIT
; y = a b, of 128 x 256 and 256 x 512: a is turned by the DMA that loads it, two halves of the sums meet in PSUM
.kernel product
.input a fp16[128,256]
.input b fp16[256,512]
.output y fp32[128,512]
.sbuf turned 128 2*128*2
.sbuf right 128 2*512*2
.sbuf result 128 512*4
.psum acc 128 512*4
.for k 0 2
    dma p=128 from=a[{k*128}]:fp16[1:128,256:128] to=turned[0,{k*256}]:fp16[1:128]
    dma p=128 from=b[{k*128*512}]:fp16[512:128,1:512] to=right[0,{k*1024}]:fp16[1:512]
.end
.for k 0 2
    tensor ldweights p=128 src0=turned[0,{k*256}]:fp16[1:128]
    .if k
        tensor matmul p=128 dst=acc[0,0]:fp32[1:512] src0=right[0,{k*1024}]:fp16[1:512] accumulate
    .else ; nothing is there to be added to
        tensor matmul p=128 dst=acc[0,0]:fp32[1:512] src0=right[0,{k*1024}]:fp16[1:512]
    .end
.end
scalar tensor_copy p=128 dst=result[0,0]:fp32[1:512] src0=acc[0,0]:fp32[1:512]
dma p=128 from=result[0,0]:fp32[1:512] to=y[0]:fp32[512:128,1:512]
.end
