
JF|uyyv{t|u{}s}wtsy|y|ys{xwtyyxxyuyxu{u|utwvywvtxzyy{qyxvyw|uw|q|xvwy{wv