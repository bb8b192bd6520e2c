Jpdø—Aù«Ñ¿ðJB•$A/ÎîAoþ¤AÉž B\1«AvI„B±2A9ª½B"ÄAg¼AÓgB`âGB÷ÂwBï	B|8BB!ÄEBpœB§ýB>¨BBÈÆ’BD‰”Bßl‰BC
BB@Û¼B\AB