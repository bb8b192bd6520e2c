; SPDX-License-Identifier: MIT
; Two products of 64 x 64 in two quarters of the array: y = a' b, z = c' d
.kernel quarters
.input a fp32[64,64]
.input b fp32[64,64]
.input c fp32[64,64]
.input d fp32[64,64]
.output y fp32[64,64]
.output z fp32[64,64]
.sbuf left 128 256
.sbuf right 128 256
.sbuf result 64 512
.psum first 64 256
.psum second 64 256
dma p=64 from=a[0]:fp32[64:64,1:64] to=left[0,0]:fp32[1:64]
dma p=64 from=b[0]:fp32[64:64,1:64] to=right[0,0]:fp32[1:64]
dma p=64 from=c[0]:fp32[64:64,1:64] to=left[64,0]:fp32[1:64]
dma p=64 from=d[0]:fp32[64:64,1:64] to=right[64,0]:fp32[1:64]
tensor ldweights p=64 src0=left[0,0]:fp32[1:64] tile=0,0:64,64
tensor ldweights p=64 src0=left[64,0]:fp32[1:64] tile=64,64:64,64
tensor matmul p=64 dst=first[0,0]:fp32[1:64] src0=right[0,0]:fp32[1:64] tile=0,0:64,64
tensor matmul p=64 dst=second[0,0]:fp32[1:64] src0=right[64,0]:fp32[1:64] tile=64,64:64,64
vector tensor_copy p=64 dst=result[0,0]:fp32[1:64] src0=first[0,0]:fp32[1:64]
vector tensor_copy p=64 dst=result[0,256]:fp32[1:64] src0=second[0,0]:fp32[1:64]
dma p=64 from=result[0,0]:fp32[1:64] to=y[0]:fp32[64:64,1:64]
dma p=64 from=result[0,256]:fp32[1:64] to=z[0]:fp32[64:64,1:64]
.end
