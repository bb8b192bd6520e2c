

JÀ„fff©f¶fÂfÏfÛfèfôfg'g3g@gLgYgegrg~g‹g°g½gÉgÖgâgïgûgh
hh#h*h0h6h<hChIhOhUh\hohuh{hhˆhŽh”hšh¡h§hºhÀhÆhÍhÓhÙhßhæhìhòhiiiii$i+i1i7i=iPiVi]iciiipivi|i‚i‰i2j8j?jEjKjQjXj^jdjjj}jƒjŠjj–jj£j©j¯j¶jÉjÏjÕjÛjâjèjîjôjûjkkk k'k-k3k9k@kFkLk_keklkrkxk~k„k‹k‘k—kªk±k·k½kÃkÉkÐkÖkÜkãköküklll
lllll l$l'l*l-l0l3l6l9l=l