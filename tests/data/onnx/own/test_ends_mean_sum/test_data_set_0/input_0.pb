

Jðâtít÷tuuu u,u6u@uKuUu_ujutu€uŠu”uŸu©u³u¾uÈuÒuÝuçuòuüuvvv&v1v;vFvPvZvfvpvzv…vv™v¤v®v¹vÃvÍvØvâvìvøvwww!w,w6w@wLwVw`wkwuw€wŠw”wŸw©w³w¾wÈwÔwÞwèwówýwx	xxxxx#x(x-x3x8x=xCxHxMxRxWx]xbxgxlxrxvx|xx‡xŒx‘x–x›x x¦x«x±x¶x»xÀxÅxÊxÐxÕxÚxàx