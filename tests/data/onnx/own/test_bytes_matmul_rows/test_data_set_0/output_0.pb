
JFT~Ÿq_cg}v•`fa}stŒouh€n}|€Yƒœib¢][mŠzZtd~qzƒwhy…b˜o¥=eT™c†v™`c