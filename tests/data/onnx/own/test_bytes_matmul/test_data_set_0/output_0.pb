
Jx|||zyyvvwzrux{qvxx|ywtxxwtvyzwvr{|tqvj|yqy~yxrwnxxryvwqv}tyzsx‰xtmtlyzvvr{tyyw|xut€uonup{xvq}yrftl|{rwxzzsxwwzrvq{{zzuyz