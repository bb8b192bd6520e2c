J
ul|nakilrh