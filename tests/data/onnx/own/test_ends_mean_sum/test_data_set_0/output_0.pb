

Jð„vv™v£v®v¹vÃvÎvÙvãvív÷vwww"w,w6wAwKwVw`wkwtw€wŠw•wŸw©w´w¿wÉwÓwÝwèwówýwx	xxxxx#x(x.x3x8x=xBxGxMxRxXx]xbxgxlxqxwx|xx‡xŒx‘x–x›x x¦x«x°xµx»xÀxÅxËxÐxÕxÚxßxäxêxïxôxùxÿxy	yyyyy#y(y.y3y8y=yCyGyMyRyXy]ybygymyqywy|y‚y‡yŒy‘y–y›y¡y¦y«y±y