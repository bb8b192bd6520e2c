
Jx|}{zyyvvw}rtx}rvxx|zwrxywuuy{wvpz~trvl}{qy}yxswpxxrzvvrw}uz|sw†xuotny|vus~uyyx|xurtpquq{wvm}zsjsn|~rwx{ytxww}rur}{zzuy{