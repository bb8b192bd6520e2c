

Jðäxêxïxôxúxÿxy	yyyyy#y(y.y3y8y=yByHyNyRyXy\ycyhymyrywy|y‚y‡yŒy‘y–yœy¡y¦y«y°yµy¼yÀyÆyÊyÐyÖyÛyàyåyêyïyõyúyÿyz	zzzzz#z*z.z4z8z>zBzIzNzSzXz]zczhzmzrzwz|z‚z‡zŒz‘z–zœz¢z¦z¬z°z¶z¼zÁzÆzËzÐzÖzÛzàzåzêzðzõzúzÿz{	{{{{{${*{/{4{9{>{C{I{N{S{